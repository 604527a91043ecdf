"""Errors of the kernels and of PyTorch float32 against float64, for the shapes of the model.

    python -m benchmarks.kernel_errors [--mcpu MCPU] [--rows 601]

Prints the largest and the root mean square error relative to the standard deviation of the result.
Nothing is timed, so the table does not depend on the load of the machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import tvm
from torch.nn import functional

from kokoro_pipeline.artifact.cpu import host_architecture
from kokoro_pipeline.benchmarking.tables import markdown_table
from kokoro_pipeline.compiler.codegen.target import host_mcpu
from kokoro_pipeline.compiler.kernels.common.bfloat16_parts import Parts
from kokoro_pipeline.compiler.kernels.common.convolutions import Conv1d, ConvTranspose1d
from kokoro_pipeline.compiler.kernels.common.producer import Activation, Producer
from kokoro_pipeline.compiler.kernels.cpu.adain import adain
from kokoro_pipeline.compiler.kernels.cpu.attention import attention
from kokoro_pipeline.compiler.kernels.cpu.choose_conv1d import ConvShape, choose
from kokoro_pipeline.compiler.kernels.cpu.conv1d import conv1d, pack_conv1d
from kokoro_pipeline.compiler.kernels.cpu.conv_transpose1d import (
    conv_transpose1d,
    pack_conv_transpose1d,
)
from kokoro_pipeline.compiler.kernels.cpu.core import Core
from kokoro_pipeline.compiler.kernels.cpu.layer_norm import layer_norm
from kokoro_pipeline.compiler.kernels.cpu.linear import linear, pack_linear
from kokoro_pipeline.compiler.kernels.cpu.lstm import lstm_recurrence, pack_lstm_recurrent
from kokoro_pipeline.compiler.kernels.cpu.statistics import channel_statistics
from kokoro_pipeline.compiler.kernels.cpu.tile_conv1d import (
    Multiplication,
    TileConv1d,
    tile_conv1d,
)
from kokoro_pipeline.compiler.kernels.cpu.tile_unit import TileUnit
from kokoro_pipeline.compiler.kernels.cpu.tile_weights import pack_tiles
from kokoro_pipeline.compiler.kernels.cpu.transform import SameConv1d
from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget

Truth = Callable[[Callable[[np.ndarray], torch.Tensor]], torch.Tensor]
"""Computes the result, given a function that makes tensors of the required precision."""


@dataclass(frozen=True)
class Case:
    """A kernel, its arguments except the output, and the expected output."""

    name: str
    kernel: Any
    arguments: Sequence[np.ndarray | int]
    truth: Truth


def cases(target: VectorTarget, core: Core, rows: int) -> Iterator[Case]:
    """Every family of kernels, with the algorithms for a core."""
    for channels, taps in ((256, 3), (128, 3), (256, 7), (128, 7), (256, 11), (128, 11)):
        yield transformed(target, core, SameConv1d(channels, channels, taps), rows)
    fused = Producer(adain=True, activation=Activation.SNAKE)
    for taps in (3, 7, 11):
        yield transformed(target, core, SameConv1d(128, 128, taps, fused, residual=True), rows)
    for channels in (1024, 512):
        yield transformed(target, core, SameConv1d(channels, channels, 3), rows // 4)
    for conv in (Conv1d(128, 128, 11, 1, 1, 5, 5), Conv1d(22, 256, 12, 6, 1, 3, 3)):
        yield direct(target, conv, rows)
    for up in (ConvTranspose1d(512, 256, 20, 10, 5, 5), ConvTranspose1d(22, 1, 20, 5, 10, 10)):
        yield transposed(target, up, rows)
    if host_architecture() == "x86_64":
        for parts in Parts:
            for conv in (Conv1d(256, 256, 3, 1, 1, 1, 1), Conv1d(256, 256, 11, 1, 1, 5, 5)):
                yield direct(target, conv, rows, parts)
    yield product(target, 768, 2048, 60)
    yield recurrence(target, 256, 60)
    yield attending(target, 60)
    yield attending(target, 512)
    yield from elementwise(target, rows)


def transformed(target: VectorTarget, core: Core, conv: SameConv1d, rows: int) -> Case:
    c, taps = conv.in_channels, conv.taps
    w, b = draw(c, c, taps, scale=(c * taps) ** -0.5), draw(c)
    x, residual = draw(1, rows, c), draw(1, rows, c, seed=1)
    norm = adain_arguments(c) if conv.producer.adain else []
    chosen = choose(target, core, ConvShape(c, c, taps, rows))
    transform = chosen.transform
    if transform is None:
        return direct(target, Conv1d(c, c, taps, 1, 1, taps // 2, taps // 2), rows)
    kernel, packed = chosen.kernel(target, conv), chosen.pack(target, w, b)

    def truth(tensor: Callable[[np.ndarray], torch.Tensor]) -> torch.Tensor:
        z = adain_snake(tensor, x, norm) if norm else tensor(x)
        y = functional.conv1d(z.mT, tensor(w), tensor(b), padding=taps // 2).mT
        return y + tensor(residual) if conv.residual else y

    added = [residual] if conv.residual else []
    what = ", AdaIN + Snake + residual" if norm else ""
    return Case(
        f"{transform.title} {c}->{c} k{taps}{what}", kernel, [x, *norm, packed, *added, 1], truth
    )


def direct(target: VectorTarget, conv: Conv1d, rows: int, parts: Parts | None = None) -> Case:
    """The direct kernel, or with `parts` that on the tiles of AMX, which are emulated."""
    ci, co, taps = conv.in_channels, conv.out_channels, conv.taps
    x, w, b = draw(1, rows, ci), draw(co, ci, taps, scale=(ci * taps) ** -0.5), draw(co)

    def truth(tensor: Callable[[np.ndarray], torch.Tensor]) -> torch.Tensor:
        z = functional.pad(tensor(x).mT, (conv.pad_left, conv.pad_right))
        return functional.conv1d(z, tensor(w), tensor(b), conv.stride, dilation=conv.dilation).mT

    name = f"conv1d {ci}->{co} k{taps}"
    if parts is None:
        return Case(name, conv1d(target, conv), [x, pack_conv1d(target, w, b)], truth)
    multiplication = Multiplication(parts, TileUnit.EMULATED)
    kernel = tile_conv1d(target, TileConv1d(conv, multiplication))
    return Case(f"AMX {parts.value}, {name}", kernel, [x, pack_tiles(parts, w, b)], truth)


def transposed(target: VectorTarget, up: ConvTranspose1d, rows: int) -> Case:
    ci, co, taps = up.in_channels, up.out_channels, up.taps
    x, w, b = draw(1, rows, ci), draw(ci, co, taps, scale=ci**-0.5), draw(co)

    def truth(tensor: Callable[[np.ndarray], torch.Tensor]) -> torch.Tensor:
        y = functional.conv_transpose1d(tensor(x).mT, tensor(w), tensor(b), up.stride).mT
        return y[:, up.crop_left : y.shape[1] - up.crop_right]

    arguments = [x, pack_conv_transpose1d(target, w, up.stride, b)]
    name = f"conv_transpose1d {ci}->{co} k{taps}"
    return Case(name, conv_transpose1d(target, up), arguments, truth)


def product(target: VectorTarget, features: int, outputs: int, rows: int) -> Case:
    x, w, b = draw(rows, features), draw(outputs, features, scale=features**-0.5), draw(outputs)
    return Case(
        f"linear {features}->{outputs}",
        linear(target, features, outputs),
        [x, pack_linear(target, w, b)],
        lambda tensor: functional.linear(tensor(x), tensor(w), tensor(b)),
    )


def recurrence(target: VectorTarget, hidden: int, steps: int) -> Case:
    """The recurrence only: the contributions of the input to the gates are given."""
    gates = draw(1, steps, 8 * hidden)
    recurrent = draw(2, 4 * hidden, hidden, scale=hidden**-0.5)

    def truth(tensor: Callable[[np.ndarray], torch.Tensor]) -> torch.Tensor:
        weights = tensor(recurrent)
        net = torch.nn.LSTM(8 * hidden, hidden, bidirectional=True).to(weights.dtype)
        identity = torch.eye(8 * hidden, dtype=weights.dtype).chunk(2)
        with torch.no_grad():
            for direction, suffix in enumerate(("", "_reverse")):
                net.get_parameter(f"weight_ih_l0{suffix}").copy_(identity[direction])
                net.get_parameter(f"weight_hh_l0{suffix}").copy_(weights[direction])
                net.get_parameter(f"bias_ih_l0{suffix}").zero_()
                net.get_parameter(f"bias_hh_l0{suffix}").zero_()
            return net(tensor(gates)[0])[0][None]

    packed = pack_lstm_recurrent(target, recurrent)
    arguments = [gates, packed, np.array([steps])]
    return Case(f"lstm {hidden}, {steps} steps", lstm_recurrence(target, hidden), arguments, truth)


def attending(target: VectorTarget, tokens: int) -> Case:
    q, k, v = (draw(1, tokens, 768, seed=seed) for seed in range(3))

    def truth(tensor: Callable[[np.ndarray], torch.Tensor]) -> torch.Tensor:
        heads = (tensor(a).reshape(tokens, 12, 64).transpose(0, 1) for a in (q, k, v))
        out = functional.scaled_dot_product_attention(*heads)
        return out.transpose(0, 1).reshape(1, tokens, 768)

    arguments = [q, k, v, np.array([tokens])]
    return Case(f"attention 12 x 64, {tokens} tokens", attention(target, 12, 64), arguments, truth)


def elementwise(target: VectorTarget, rows: int) -> Iterator[Case]:
    norm = adain_arguments(128)
    x = draw(1, rows, 128)
    yield Case(
        "AdaIN + Snake 128",
        adain(target, 128, Activation.SNAKE),
        [x, *norm],
        lambda tensor: adain_snake(tensor, x, norm),
    )
    for mean in (0, 100):
        moved, w, b = mean + draw(60, 768), draw(768), draw(768, seed=1)
        yield Case(
            f"layer_norm 768, mean {mean}",
            layer_norm(target, 768, 1e-12),
            [moved, w, b],
            lambda tensor, x=moved, w=w, b=b: functional.layer_norm(
                tensor(x), (768,), tensor(w), tensor(b), 1e-12
            ),
        )


def statistics_rows(target: VectorTarget, library: Any, symbol: str, rows: int) -> list[list[str]]:
    """Errors of the two results: means (relative to the deviation) and reciprocal deviations."""
    found = []
    for mean in (0, 1000):
        x = mean + draw(1, rows, 128)
        ours = [tvm.runtime.tensor(np.zeros((1, 128), np.float32)) for _ in range(2)]
        library[symbol](tvm.runtime.tensor(x), *ours)
        exact = torch.from_numpy(x).double()
        truth = exact.mean(1), (exact.var(1, correction=0) + 1e-5).rsqrt()
        single = torch.from_numpy(x)
        theirs = single.mean(1), (single.var(1, correction=0) + 1e-5).rsqrt()
        for what, a, b, t in zip(("mean", "1 / deviation"), ours, theirs, truth, strict=True):
            name = f"channel_statistics 128, mean {mean}: {what}"
            found.append(
                [name, *figures(a.numpy(), t.numpy(), 1), *figures(b.numpy(), t.numpy(), 1)]
            )
    return found


def adain_arguments(channels: int) -> list[np.ndarray]:
    """mean, rstd, weight, bias, style, alpha."""
    c = channels
    mean, rstd = draw(1, c, scale=0.1), np.exp(draw(1, c, seed=1, scale=0.3))
    weight, bias, style = draw(c), draw(c, seed=1, scale=0.5), draw(1, 2 * c, scale=0.5)
    return [mean, rstd, weight, bias, style, np.linspace(0.3, 3, c, dtype=np.float32)]


def adain_snake(
    tensor: Callable[[np.ndarray], torch.Tensor], x: np.ndarray, arguments: Sequence[np.ndarray]
) -> torch.Tensor:
    mean, rstd, weight, bias, style, alpha = map(tensor, arguments)
    gamma, beta = style[:, None].chunk(2, 2)
    z = (1 + gamma) * ((tensor(x) - mean[:, None]) * rstd[:, None] * weight + bias) + beta
    return z + torch.sin(alpha * z) ** 2 / alpha


def draw(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    random = np.random.default_rng([seed, *shape])
    return (scale * random.standard_normal(shape)).astype(np.float32)


def figures(result: np.ndarray, truth: np.ndarray, scale: float) -> list[str]:
    error = np.abs(result - truth) / scale
    return [f"{error.max():.1e}", f"{np.sqrt((error**2).mean()):.1e}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mcpu", default="", help="compile for this CPU (default: this machine's)")
    parser.add_argument("--rows", type=int, default=601, help="of most of the inputs")
    args = parser.parse_args()
    mcpu = args.mcpu or host_mcpu()
    target = VectorTarget.of(mcpu)
    table = list(cases(target, Core.of(mcpu), args.rows))
    moments = channel_statistics(target, 128, 1e-5)
    kernels = {str(k.attrs["global_symbol"]): k for k in (*(c.kernel for c in table), moments)}
    library = tvm.compile(
        tvm.IRModule(kernels), target=tvm.target.Target({"kind": "llvm", "mcpu": mcpu})
    )
    rows = []
    for case in table:
        truth = case.truth(lambda array: torch.from_numpy(array).double()).numpy()
        theirs = case.truth(torch.from_numpy).numpy()
        values = [tvm.runtime.tensor(a) if isinstance(a, np.ndarray) else a for a in case.arguments]
        ours = tvm.runtime.tensor(np.full(truth.shape, np.nan, np.float32))
        library[str(case.kernel.attrs["global_symbol"])](*values, ours)
        scale = truth.std()
        rows.append(
            [case.name, *figures(ours.numpy(), truth, scale), *figures(theirs, truth, scale)]
        )
    rows += statistics_rows(target, library, str(moments.attrs["global_symbol"]), args.rows)
    print(f"{mcpu}, {target.lanes} lanes\n")
    head = ("kernel", "largest error", "rms error", "PyTorch float32: largest", "rms")
    print(markdown_table(head, rows))


if __name__ == "__main__":
    main()
