"""The six functions of an artifact: modules, signatures and symbolic dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils import remove_weight_norm

from .bert import BertForward
from .decoder import DecoderForward
from .duration import DurationForward
from .f0n import F0NForward
from .source import SourceForward
from .text_encoder import TextEncoderForward

Shape = tuple[int | str, ...]


@dataclass(frozen=True)
class Signature:
    """Names, dtypes and shapes of a component's inputs and outputs.

    A string in a shape is an expression in the symbols B, n, t and m.
    """

    inputs: dict[str, tuple[str, Shape]]
    outputs: dict[str, tuple[str, Shape]]


@dataclass(frozen=True)
class Component:
    """A function of an artifact before its export."""

    name: str
    module: nn.Module
    signature: Signature
    example: tuple[Tensor, ...]


_TOKENS: tuple[str, Shape] = ("int64", ("B", "n"))
_LENGTHS: tuple[str, Shape] = ("int64", ("B",))

SIGNATURES: dict[str, Signature] = {
    "bert_forward": Signature(
        {"input_ids": _TOKENS, "lengths": _LENGTHS}, {"d_en": ("float32", ("B", 512, "n"))}
    ),
    "duration_forward": Signature(
        {
            "d_en": ("float32", ("B", 512, "n")),
            "style": ("float32", ("B", 128)),
            "lengths": _LENGTHS,
        },
        {"duration": ("float32", ("B", "n", 50)), "d": ("float32", ("B", "n", 640))},
    ),
    "text_encoder_forward": Signature(
        {"input_ids": _TOKENS, "lengths": _LENGTHS}, {"t_en": ("float32", ("B", 512, "n"))}
    ),
    "f0n_forward": Signature(
        {"en": ("float32", (1, 640, "t")), "style": ("float32", (1, 128))},
        {"F0": ("float32", (1, "2*t")), "N": ("float32", (1, "2*t"))},
    ),
    "source_forward": Signature(
        {"F0": ("float32", (1, "m")), "noise": ("float32", (1, "300*m", 9))},
        {"har": ("float32", (1, 22, "60*m+1"))},
    ),
    "decoder_forward": Signature(
        {
            "asr": ("float32", (1, 512, "t")),
            "F0": ("float32", (1, "2*t")),
            "N": ("float32", (1, "2*t")),
            "style": ("float32", (1, 128)),
            "har": ("float32", (1, 22, "120*t+1")),
        },
        {"audio": ("float32", (1, "600*t"))},
    ),
}

COMPONENT_NAMES: tuple[str, ...] = tuple(SIGNATURES)

_MODULES: dict[str, Callable[[nn.Module], nn.Module]] = {
    "bert_forward": BertForward,
    "duration_forward": DurationForward,
    "text_encoder_forward": TextEncoderForward,
    "f0n_forward": F0NForward,
    "source_forward": SourceForward,
    "decoder_forward": DecoderForward,
}

# Sizes for tracing; none of them is 0 or 1, which torch.export would treat as constants.
_EXAMPLE_SIZES = {"B": 2, "n": 12, "t": 14, "m": 28}


def evaluate_dimension(dimension: int | str, sizes: dict[str, int]) -> int:
    """The value of a dimension such as "120*t+1" for the given symbol values."""
    if isinstance(dimension, int):
        return dimension
    return int(eval(dimension, {"__builtins__": {}}, dict(sizes)))


def example_inputs(signature: Signature) -> tuple[Tensor, ...]:
    """Inputs for tracing, with tokens and lengths in range."""
    tensors = []
    for name, (dtype, shape) in signature.inputs.items():
        size = [evaluate_dimension(dimension, _EXAMPLE_SIZES) for dimension in shape]
        if name == "lengths":
            tensors.append(torch.full(size, _EXAMPLE_SIZES["n"], dtype=torch.int64))
        elif dtype == "int64":
            tensors.append(torch.ones(size, dtype=torch.int64))
        else:
            tensors.append(torch.zeros(size, dtype=torch.float32))
    return tuple(tensors)


def fold_weight_norm(model: nn.Module) -> None:
    """Replace every weight norm `weight_g * weight_v / |weight_v|` by its value, in place."""
    for module in model.modules():
        if hasattr(module, "weight_g"):
            remove_weight_norm(module)


def make_components(model: nn.Module, names: tuple[str, ...] = COMPONENT_NAMES) -> list[Component]:
    """Make the named components of a `kokoro.KModel`, whose weight norms are folded in place.

    The model must be in eval mode. Raises KeyError for an unknown name.
    """
    fold_weight_norm(model)
    components = []
    for name in names:
        module = _MODULES[name](model).eval()
        components.append(
            Component(name, module, SIGNATURES[name], example_inputs(SIGNATURES[name]))
        )
    return components
