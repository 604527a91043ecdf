"""Operators that TVM does not know but torch can decompose are decomposed by torch.

Stock refuses a program for `x.T`, `new_full` or `addcmul` that torch itself can express in
operators that TVM has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from tvm_kokoro_ext import _probe
from tvm_kokoro_ext._errors import UnsupportedOperatorError, op_name
from tvm_kokoro_ext._fix import Fix

_ROUNDS = 8  # a decomposition may use operators that need decomposing; none is this deep


def decompose_unsupported(program: Any, converters: Collection[str]) -> Any:
    """The program with every operator that has no converter decomposed, as far as torch can."""
    for _ in range(_ROUNDS):
        unsupported = {
            node.target
            for node in program.graph.nodes
            if node.op == "call_function"
            and (node.target.__name__ not in converters or _misread(node))
        }
        table = _decompositions(unsupported)
        if not table:
            _refuse_unknown(program, converters)
            return program
        program = program.run_decompositions(table)
    return program


def _refuse_unknown(program: Any, converters: Collection[str]) -> None:
    """Name every operator that neither TVM nor torch's decompositions know, in one message."""
    unknown = [
        node
        for node in program.graph.nodes
        if node.op == "call_function" and node.target.__name__ not in converters
    ]
    if unknown:
        raise UnsupportedOperatorError(
            ", ".join(dict.fromkeys(map(op_name, unknown))),
            "TVM has no converter of it and torch no decomposition",
            "Write it with other operators, or pass a converter of your own in custom_convert_map",
        )


def _misread(node: Any) -> bool:
    """Whether stock's converter would get this node wrong, or fail, where its parts are right."""
    question = _MISREAD.get(node.target.__name__)
    return question is not None and question(node)


def _value(argument: Any) -> Any:
    return argument.meta.get("val") if hasattr(argument, "meta") else None


def _symbolic(node: Any) -> bool:
    """Whether the node's first argument has a symbolic dimension."""
    return not all(isinstance(size, int) for size in _value(node.args[0]).shape)


def _not_multiple(node: Any) -> bool:
    """Resizing to no multiple of the size, where stock rounds the source positions."""
    if _symbolic(node):
        return True
    return any(
        b % a for a, b in zip(_value(node.args[0]).shape[2:], _value(node).shape[2:], strict=True)
    )


def _attends_otherwise(node: Any) -> bool:
    """Attention with a bool mask, a scale, shared heads, or a rank that stock does not know."""
    mask = node.args[3] if len(node.args) > 3 else node.kwargs.get("attn_mask")
    masked = mask is not None and not _value(mask).is_floating_point()
    scaled = node.kwargs.get("scale") is not None
    shared = bool(node.kwargs.get("enable_gqa"))
    return masked or scaled or shared or _value(node.args[0]).dim() not in (2, 4)


def _infinite_or_symbolic(number: Any) -> bool:
    return hasattr(number, "meta") or number in (math.inf, -math.inf)


def _not_float32(node: Any) -> bool:
    return str(_value(node).dtype) != "torch.float32"


def _celu_not_one(node: Any) -> bool:
    """celu with an alpha of its own: stock divides behind the exponential."""
    alpha = node.args[1] if len(node.args) > 1 else node.kwargs.get("alpha", 1.0)
    return bool(alpha != 1)


def _smooths_labels(node: Any) -> bool:
    """cross_entropy with label_smoothing, which stock does not read."""
    given = node.args[5] if len(node.args) > 5 else node.kwargs.get("label_smoothing", 0.0)
    return bool(given != 0)


# Converters of stock that are wrong or fail for some nodes: those are decomposed as well.
_MISREAD: dict[str, Callable[[Any], bool]] = {
    "batch_norm.default": lambda node: True,  # reads eps from the place of momentum
    "narrow.default": lambda node: True,  # takes the length for the end
    "celu.default": _celu_not_one,
    "cross_entropy_loss.default": _smooths_labels,
    "take.default": lambda node: True,
    "gru.input": lambda node: True,  # without h
    "rnn_tanh.input": lambda node: True,
    "eye.default": lambda node: "dtype" not in node.kwargs,
    "eye.m": lambda node: "dtype" not in node.kwargs,
    "masked_fill.Scalar": lambda node: _infinite_or_symbolic(node.args[2]),
    "linear.default": _not_float32,
    "scaled_dot_product_attention.default": _attends_otherwise,
    "roll.default": _symbolic,
    "upsample_nearest2d.vec": _not_multiple,
    "upsample_bilinear2d.vec": _symbolic,
    "upsample_bicubic2d.vec": _symbolic,
    "conv1d.default": lambda node: _value(node.args[0]).dim() != 3,
    "conv2d.default": lambda node: _value(node.args[0]).dim() != 4,
    "prelu.default": lambda node: True,  # does not legalize with one slope
    "softmax.int": lambda node: len(node.args) > 2 or node.kwargs.get("dtype") is not None,
    "log_softmax.int": lambda node: len(node.args) > 2 or node.kwargs.get("dtype") is not None,
    "pixel_shuffle.default": lambda node: True,
    "grid_sampler_2d.default": lambda node: True,  # reads the grid in another layout
}


# Torch decomposes these into writes, which an exported program may not have.
_NOT_FUNCTIONAL = ("diagonal_scatter.default",)


def _decompositions(operators: set[Any]) -> dict[Any, Any]:
    """Torch's decompositions of these operators, by operator; those without one are left out."""
    if not operators:
        return {}
    import torch
    from torch._decomp import decomposition_table

    key = torch._C.DispatchKey.CompositeImplicitAutograd
    default = torch.export.default_decompositions().materialize()
    table = {}
    for operator in operators:
        if not isinstance(operator, torch._ops.OpOverload) or operator.__name__ in _NOT_FUNCTIONAL:
            continue
        known = default.get(operator) or decomposition_table.get(operator)
        if known is None and torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), key):
            # The kernel itself: `operator.decompose` would find this table and call itself.
            known = partial(operator._op_dk, key)
        if known is not None:
            table[operator] = known
    return table


FIX = Fix(
    id="decompose",
    what="operators that torch can decompose into known ones are refused",
    op="aten operators without a converter",
    affected="",
    probe=_probe.always,
    prepare=decompose_unsupported,
)
