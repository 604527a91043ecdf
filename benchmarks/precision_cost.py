"""The decoder's signal-to-noise ratio with reduced precision, simulated in PyTorch.

    python -m benchmarks.precision_cost [--weights synthetic] [--precision tf32,bfloat16,float16]

Every convolution that `build --target cuda --precision P` computes on tensor cores rounds its input
and its weight like the device, and sums in float32; everything else is float32. On a device, sums
are also computed in another order, which only adds the noise of float32 (about 120 dB).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from kokoro_pipeline.compiler.kernels.common.operand_precision import Precision, to_words
from kokoro_pipeline.compiler.model.components import make_components
from kokoro_pipeline.compiler.weights import WeightsFolder, load_model, resolve
from kokoro_pipeline.validation import select_cases, validate_functions

Convolution = nn.Conv1d | nn.ConvTranspose1d


def round_to(x: Tensor, precision: Precision) -> Tensor:
    """Round float32 to the values that tensor cores use, returned as float32."""
    if precision is Precision.TF32:
        return torch.from_numpy(to_words(x.numpy(), precision).view(np.float32))
    return x.to(getattr(torch, precision.value)).float()


def reduce(decoder: nn.Module, precision: Precision) -> int:
    """Make the convolutions of the decoder round their operands; returns their number."""

    def round_input(_module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (round_to(inputs[0], precision), *inputs[1:])

    reduced = 0
    for module in decoder.modules():
        if not isinstance(module, Convolution) or module.groups != 1:
            continue
        rows = module.out_channels * (
            module.stride[0] if isinstance(module, nn.ConvTranspose1d) else 1
        )
        if precision.of_product(rows, module.in_channels) is precision:
            module.weight.data = round_to(module.weight.data, precision)
            module.register_forward_pre_hook(round_input)
            reduced += 1
    return reduced


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
    parser.add_argument("--precision", default="tf32,bfloat16,float16")
    args = parser.parse_args()
    folder = resolve(args.weights)
    passed = True
    for name in args.precision.split(","):
        model = load_model(folder)
        (component,) = make_components(model, ["decoder_forward"])
        count = reduce(component.module, Precision(name))

        def decode(*arrays: np.ndarray, decoder: nn.Module = component.module) -> np.ndarray:
            with torch.no_grad():
                return decoder(*map(torch.from_numpy, arrays)).numpy()

        shown = f"PyTorch, {count} convolutions in {name}"
        passed = judge({"decoder_forward": decode}, folder, shown, name) and passed
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
