"""Integers divided by the elements of a tensor that has a zero, or by a number read from one.

PyTorch raises ("ZeroDivisionError"). The instruction of x86 traps, and the process ends with
SIGFPE; that of aarch64 gives 0. Here the program counts the zeros first, and raises if there is
one. A symbolic size by which integers are divided is checked by the fix `guards`.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe, _program_probe, _symbolic
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes._shared import promotion, requirements


def _checked(name: str) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        lhs, rhs = importer.retrieve_args(node)[:2]
        rounds = not name.startswith("div.") or node.kwargs.get("rounding_mode") is not None
        operands = [value for value in (lhs, rhs) if _compat.is_tensor(value)]
        if rounds and operands and _may_be_zero(rhs, node.args[1]):
            dtype = promotion.common_dtype(importer, name, lhs, rhs)
            if "int" in dtype:
                divisor = _emit.tensor_or_scalar(importer, rhs, dtype)
                requirements.require_no_zero(importer, divisor, f"{node.name}_zeros")
        return previous(node)

    return convert


def _may_be_zero(divisor: Any, given: Any) -> bool:
    """Whether an element may be 0; a symbolic size is checked with the guards of the program.

    `given` is the node of the divisor, or a number.
    """
    if not _compat.is_tensor(divisor):
        read = _symbolic.is_read_from_data(getattr(given, "meta", {}).get("val"))
        return read or (isinstance(divisor, int) and divisor == 0)
    value = _compat.constant_value(divisor)
    return value is None or not value.all()


_NAMES = (
    "div.Tensor_mode",
    "div.Scalar_mode",
    "floor_divide.default",
    "floor_divide.Scalar",
    "remainder.Tensor",
    "remainder.Scalar",
    "remainder.Scalar_Tensor",
    "fmod.Tensor",
    "fmod.Scalar",
)


@_probe.wrong
def _divides_by_zero() -> bool:
    """Whether a quotient is computed before its divisor is compared with anything."""
    x = _probe.Input((4,), "int64")
    made = _program_probe.operators("floor_divide.default", x, x, out=((4,), "int64"))
    return not {"relax.equal", "relax.not_equal"} & set(made)


FIX = Fix(
    id="zero_divisor",
    what="integers divided by a tensor that has a zero end the process",
    op="aten.div, aten.floor_divide, aten.remainder, aten.fmod",
    affected="",
    converters={name: _checked(name) for name in _NAMES},
    probe=_divides_by_zero,
)
