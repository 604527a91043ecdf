"""Numbers that are read from float tensors, `x.max().item()`, and what is computed of them.

Torch computes of them in float64, as Python does, and TVM has no scalars that are read from
tensors but integers: here they are float64 tensors without dimensions. Stock keeps the dtype of the
tensor, in which a product may overflow, and compares, divides or rounds none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Converter, Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import scalars


@needs_previous
def item(importer: Any, node: Any, previous: Any) -> Any:
    number = previous(node)
    return _emit.astype(importer, number, "float64") if _is_float_tensor(number) else number


def scalar_tensor(importer: Any, node: Any, previous: Any) -> Any:
    number = importer.retrieve_args(node)[0]
    dtype = _emit.result_dtype(importer, node)
    if not _is_float_tensor(number) or dtype is None:
        return previous(node)
    return _emit.astype(importer, number, dtype)


def _is_float_tensor(value: Any) -> bool:
    return _compat.is_tensor(value) and _compat.dtype_of(value).startswith(("float", "bfloat"))


def _of_tensors(operator: Callable[..., Any]) -> Converter:
    """A converter that computes a scalar by a Relax operator if an operand is a float tensor."""

    def convert(importer: Any, node: Any, previous: Any) -> Any:
        values = importer.retrieve_args(node)
        if not scalars.is_scalar(node) or not any(map(_is_float_tensor, values)):
            return previous(node)
        operands = [_emit.tensor_or_scalar(importer, value, "float64") for value in values]
        return _emit.emit(importer, operator(*operands))

    return needs_previous(convert)


def _to_integer(operator: Callable[[Any], Any]) -> Converter:
    """A converter that rounds a float tensor to an integer, which may be a size.

    `round(x, 0)` stays a float.
    """

    def convert(importer: Any, node: Any, previous: Any) -> Any:
        value, *digits = importer.retrieve_args(node)
        if not scalars.is_scalar(node) or not _is_float_tensor(value):
            return previous(node)
        if any(digits):
            raise _emit.refuse(
                node,
                "Python rounds to decimal digits exactly, which no operator of TVM does",
                "Round it to an integer: round(x)",
            )
        rounded = _emit.emit(importer, operator(_emit.astype(importer, value, "float64")))
        return rounded if 0 in digits else scalars.integer(importer, rounded, node.name)

    return needs_previous(convert)


_COMPUTED = {
    "add": relax.op.add,
    "sub": relax.op.subtract,
    "mul": relax.op.multiply,
    "truediv": relax.op.divide,
    "pow": relax.op.power,
    "mod": relax.op.floor_mod,
    "neg": relax.op.negative,
    "abs": relax.op.abs,
    "_sym_sqrt": relax.op.sqrt,
    "sym_float": lambda value: value,
    "sym_max": relax.op.maximum,
    "sym_min": relax.op.minimum,
    "eq": relax.op.equal,
    "ne": relax.op.not_equal,
    "ge": relax.op.greater_equal,
    "gt": relax.op.greater,
    "le": relax.op.less_equal,
    "lt": relax.op.less,
}
_ROUNDED = {
    "floor": relax.op.floor,
    "ceil": relax.op.ceil,
    "trunc": relax.op.trunc,
    "sym_int": relax.op.trunc,
    "round": relax.op.round,
}


@_probe.wrong
def _still_wrong() -> bool:
    """Whether a number that is read from a tensor is not compared with 2.5."""
    return "relax.less" not in _probe.convert("lt", _probe.Input(()), 2.5).ops


FIX = Fix(
    id="read_floats",
    what="numbers that are read from float tensors keep the dtype of the tensor, and are neither "
    "compared, divided nor rounded",
    op="aten.item, operator.lt, operator.truediv, math.floor, …",
    affected="",
    converters={
        "item.default": item,
        "_local_scalar_dense.default": item,
        "scalar_tensor.default": scalar_tensor,
        **{name: _of_tensors(operator) for name, operator in _COMPUTED.items()},
        **{name: _to_integer(operator) for name, operator in _ROUNDED.items()},
    },
    probe=_still_wrong,
)
