"""The decoder's error in each precision of tensor cores, simulated in PyTorch.

    python -m benchmarks.precision_cost [--weights synthetic] [--precision float32,tf32x3,tf32,…]

Every convolution that `build --target cuda --precision P` computes on tensor cores rounds its input
and its weight like the device, or splits them into parts, and sums in float32; everything else is
float32. On a device, sums are also computed in another order, which only adds the noise of float32
(about 120 dB).

Of "float32" the operands are split into two bfloat16 parts. "tf32x3" is what cannot be built: the
same convolutions with two tf32 parts. Both are held to the tolerances of float32, and the others to
their signal-to-noise ratio.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from kokoro_pipeline.compiler.kernels.common.bfloat16_parts import split_words, to_float32
from kokoro_pipeline.compiler.kernels.common.operand_precision import Precision, to_words
from kokoro_pipeline.compiler.model.components import make_components
from kokoro_pipeline.compiler.weights import WeightsFolder, load_model, resolve
from kokoro_pipeline.validation import select_cases, validate_functions

Convolution = nn.Conv1d | nn.ConvTranspose1d

PARTS = ("float32", "tf32x3")
"""Precisions whose operands are split, and that are held to the tolerances of float32."""


def round_to(x: Tensor, precision: Precision) -> Tensor:
    """Round float32 to the values that tensor cores use, returned as float32."""
    if precision is Precision.TF32:
        return torch.from_numpy(to_words(x.numpy(), precision).view(np.float32))
    return x.to(getattr(torch, precision.value)).float()


def split(x: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """The two parts of float32 values, of which the first is the larger one.

    `name` is "float32" or "tf32x3".
    """
    if name == "tf32x3":
        big = round_to(x, Precision.TF32)
        return big, round_to(x - big, Precision.TF32)
    big, small = to_float32(split_words(x.numpy(), 2))
    return torch.from_numpy(big), torch.from_numpy(small)


def convolve(module: Convolution, x: Tensor, weight: Tensor) -> Tensor:
    """The convolution of a module with another weight, and without its bias."""
    if isinstance(module, nn.Conv1d):
        return functional.conv1d(
            x, weight, None, module.stride, module.padding, module.dilation, module.groups
        )
    return functional.conv_transpose1d(
        x,
        weight,
        None,
        module.stride,
        module.padding,
        module.output_padding,
        module.groups,
        module.dilation,
    )


def reduce(decoder: nn.Module, name: str) -> int:
    """Make the convolutions of the decoder round or split their operands; returns their number."""
    parts = name in PARTS
    precision = Precision.BFLOAT16X3 if parts else Precision(name)
    reduced = 0
    for module in decoder.modules():
        if not isinstance(module, Convolution) or module.groups != 1:
            continue
        rows = module.out_channels * (
            module.stride[0] if isinstance(module, nn.ConvTranspose1d) else 1
        )
        if precision.of_product(rows, module.in_channels) is precision:
            (_multiply_parts if parts else _round)(module, name)
            reduced += 1
    return reduced


def _round(module: Convolution, name: str) -> None:
    precision = Precision(name)

    def round_input(_module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (round_to(inputs[0], precision), *inputs[1:])

    module.weight.data = round_to(module.weight.data, precision)
    module.register_forward_pre_hook(round_input)


def _multiply_parts(module: Convolution, name: str) -> None:
    weights = split(module.weight.data, name)

    def multiply(_module: nn.Module, inputs: tuple[Tensor, ...], _output: Tensor) -> Tensor:
        x = split(inputs[0], name)
        pairs = Precision.BFLOAT16X3.pairs
        total = sum(convolve(module, x[i], weights[j]) for i, j in pairs)
        return total if module.bias is None else total + module.bias[:, None]

    module.register_forward_hook(multiply)


def judge(
    functions: Mapping[str, Callable[..., Any]],
    folder: WeightsFolder,
    artifact: str,
    precision: str,
) -> bool:
    """Print the report of the cases that end a build; whether the limits of `precision` hold.

    `functions` are those of an artifact, by name; `artifact` is what the report calls them.
    """
    report = validate_functions(
        functions,
        folder,
        select_cases(2, "short"),
        artifact=artifact,
        opt_level=2,
        precision=precision,
        progress=lambda text: print(text, file=sys.stderr),
    )
    print(f"{report.artifact}\n{report}\n")
    return report.passed


def main() -> int:
    """Print the figures; returns 1 if a precision misses its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", default="synthetic")
    parser.add_argument("--precision", default="float32,tf32x3,tf32,bfloat16,float16")
    args = parser.parse_args()
    folder = resolve(args.weights)
    passed = True
    for name in args.precision.split(","):
        model = load_model(folder)
        (component,) = make_components(model, ["decoder_forward"])
        count = reduce(component.module, name)

        def decode(*arrays: np.ndarray, decoder: nn.Module = component.module) -> np.ndarray:
            with torch.no_grad():
                return decoder(*map(torch.from_numpy, arrays)).numpy()

        shown = f"PyTorch, {count} convolutions in {name}"
        gates = "float32" if name in PARTS else name
        passed = judge({"decoder_forward": decode}, folder, shown, gates) and passed
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
