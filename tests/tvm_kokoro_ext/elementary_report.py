"""Write docs/functions.md: the errors of every elementary function on llvm, CUDA and Metal.

    python tests/tvm_kokoro_ext/elementary_report.py [--output docs/functions.md]

CUDA and Metal are computed by `tvm_gpu_emulator`, which runs the generated text with the functions
of this machine's C library in place of the device's: the table shows what the formulas lose.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tvm
from elementary import FUNCTIONS, Accuracy, accuracy, imported, points
from frontend_cases import scheduled_for_gpu
from tvm import relax

from tvm_gpu_emulator import emulate
from tvm_gpu_emulator.errors import EmulatorError
from tvm_kokoro_ext import UnsupportedOperatorError

HEADER = """# Elementary functions

The extension's error of every elementary and special function in float32, in units in the last
place of the exact value: from 1e-30 to overflow with both signs, ±0, subnormals, ±infinity and NaN.
In brackets stands the error of eager PyTorch on a CPU. On llvm a test holds four units or PyTorch's
error, if that is larger, in float16 and bfloat16 too (in float64 eight of PyTorch's own result). A
sum whose terms cancel (`logaddexp`, `logsumexp`, `log_softmax`, `gelu`, `ndtr`, `digamma`) is
counted in places of its largest term.

The columns CUDA and Metal come from [the emulator](emulator.md). It runs the generated text with
the C library's functions in place of the device's, so they show what TVM's formulas lose, and not
what a device's own functions add; nothing here ran on a GPU. "Kind" counts points that are NaN or
infinite where they should not be, or the other way round. The command that writes this page is
`python tests/tvm_kokoro_ext/elementary_report.py`.

| function | llvm (PyTorch) | CUDA | Metal |
|---|---|---|---|
"""
TARGETS = {
    "cuda": {"kind": "cuda", "arch": "sm_90"},
    "metal": {"kind": "metal"},
}
GIVEN = points(torch.float32)


def on_llvm(name: str) -> torch.Tensor:
    module = imported([name], GIVEN, decomposed=True)
    executable = tvm.compile(module, tvm.target.Target({"kind": "llvm"}))
    machine = relax.VirtualMachine(executable, tvm.cpu())
    return torch.from_dlpack(machine["main"](tvm.runtime.from_dlpack(GIVEN))[0])


def emulated(kind: str) -> Callable[[str], torch.Tensor]:
    target = tvm.target.Target(TARGETS[kind], host={"kind": "llvm"})

    def compute(name: str) -> torch.Tensor:
        module = imported([name], GIVEN, decomposed=True)
        scheduled = scheduled_for_gpu(module, target)
        result = emulate(scheduled, target)["main"](GIVEN.numpy())
        return torch.from_numpy(np.array(result[0].numpy()))

    return compute


def cell(name: str, compute: Callable[[str], Any], *, eager: bool) -> str:
    try:
        found: Accuracy = accuracy(name, GIVEN, compute(name))
    except UnsupportedOperatorError:
        return "refused"
    except (EmulatorError, RuntimeError, ValueError) as error:
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        return "does not compile"
    text = f"{found.ours:.2g}" + (f" ({found.eager:.2g})" if eager else "")
    return text + (f", kind: {len(found.kinds)}" if found.kinds else "")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    docs = Path(__file__).resolve().parents[2] / "docs"
    parser.add_argument("--output", type=Path, default=docs / "functions.md")
    options = parser.parse_args(arguments)
    rows = []
    for name in FUNCTIONS:
        cells = [cell(name, on_llvm, eager=True)]
        cells += [cell(name, emulated(kind), eager=False) for kind in TARGETS]
        rows.append(f"| `{name}` | {' | '.join(cells)} |\n")
        print(rows[-1], end="", file=sys.stderr, flush=True)
    options.output.write_text(HEADER + "".join(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
