"""Programs that the extension imports, beside PyTorch on one thread, and beside stock TVM.

    python -m benchmarks.extension [--only stft,gru] [--repeat 7] [--stock] [--json]

Each program is compiled for the CPU with TVM's default pipeline, without tuning. Times are medians
of the process's CPU time, of runs in turns with PyTorch's; the error is the largest difference from
PyTorch's results, as a share of the largest of these. `--stock` compiles without the extension,
where stock TVM imports the program at all.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
import tvm
from torch import Tensor, nn
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program

import tvm_kokoro_ext

SAMPLES = 80_000  # five seconds of audio at 16 kHz


@dataclass(frozen=True)
class Program:
    """A module and the tensors it is called with."""

    name: str
    module: nn.Module
    inputs: tuple[Tensor, ...]


@dataclass(frozen=True)
class Row:
    """Seconds of import and compilation, milliseconds of a run, and the error."""

    name: str
    import_s: float
    compile_s: float
    run_ms: float
    pytorch_ms: float
    error: float


class Function(nn.Module):
    """A function of tensors as a module."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class Outputs(nn.Module):
    """A recurrent layer without its last states."""

    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.layer(x)[0]
        return outputs


def programs() -> Iterator[Program]:
    """Spectrograms and back, recurrent and upsampling layers and means, as speech models have."""
    signal = torch.randn(1, SAMPLES)
    for length, step in ((400, 160), (1024, 256), (2048, 512)):
        window = torch.hann_window(length)

        def spectrum(x: Tensor, n: int = length, s: int = step, w: Tensor = window) -> Tensor:
            return torch.view_as_real(torch.stft(x, n, s, window=w, return_complex=True))

        def back(x: Tensor, n: int = length, s: int = step, w: Tensor = window) -> Tensor:
            return torch.istft(torch.view_as_complex(x), n, s, window=w)

        yield Program(f"stft_{length}", Function(spectrum), (signal,))
        yield Program(f"istft_{length}", Function(back), (spectrum(signal).contiguous(),))
    layers: list[tuple[str, nn.RNNBase, int]] = [
        ("lstm_128", nn.LSTM(64, 128), 64),
        ("gru_128", nn.GRU(64, 128), 64),
        ("rnn_128", nn.RNN(64, 128), 64),
        ("lstm_deep_256", nn.LSTM(256, 256, 2, bidirectional=True), 256),
    ]
    for name, layer, inputs in layers:
        yield Program(name, Outputs(layer).eval(), (torch.randn(50, 1, inputs),))
    upsampling = [(64, 1, 512, 256, 200), (128, 64, 16, 8, 400)]
    for inputs, outputs, taps, stride, length in upsampling:
        module = nn.ConvTranspose1d(inputs, outputs, taps, stride)
        yield Program(f"upsample_{stride}", module, (torch.randn(1, inputs, length),))
    yield Program("mean_of_rows", Function(lambda x: x.mean(-1)), (torch.randn(512, 768),))
    yield Program("mean_of_tokens", Function(lambda x: x.mean(1)), (torch.randn(2, 196, 768),))


def measure(program: Program, repeat: int) -> Row:
    """Import, compile and run a program, in turns with PyTorch."""
    exported = torch.export.export(program.module, program.inputs)
    start = time.process_time()
    module = from_exported_program(exported)
    imported = time.process_time()
    executable = tvm.compile(module, "llvm")
    compiled = time.process_time()
    run = relax.VirtualMachine(executable, tvm.cpu())["main"]
    arguments = [tvm.runtime.tensor(x.numpy()) for x in program.inputs]
    result, expected = run(*arguments)[0].numpy(), program.module(*program.inputs).numpy()
    ours, theirs = [], []
    for _ in range(repeat):
        ours.append(_seconds(lambda: run(*arguments)))
        theirs.append(_seconds(lambda: program.module(*program.inputs)))
    return Row(
        name=program.name,
        import_s=imported - start,
        compile_s=compiled - imported,
        run_ms=1e3 * statistics.median(ours),
        pytorch_ms=1e3 * statistics.median(theirs),
        error=float(np.abs(result - expected).max() / np.abs(expected).max()),
    )


def _seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", help="parts of names, separated by commas")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--stock", action="store_true", help="without the extension")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    parts = arguments.only.split(",") if arguments.only else [""]
    without = tvm_kokoro_ext.disabled("all") if arguments.stock else contextlib.nullcontext()
    rows = []
    with without:
        for program in programs():
            if not any(part in program.name for part in parts):
                continue
            try:
                rows.append(measure(program, arguments.repeat))
            except Exception as error:  # noqa: BLE001 - stock's refusals are of any kind
                print(f"{program.name}: {type(error).__name__}", file=sys.stderr)
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return 0
    print("| program | import, s | compile, s | run, ms | PyTorch, ms | error |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        times = f"{row.import_s:.2f} | {row.compile_s:.2f} | {row.run_ms:.3f}"
        print(f"| {row.name} | {times} | {row.pytorch_ms:.3f} | {row.error:.1e} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
