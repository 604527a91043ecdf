"""Sizes of which torch knows no bound but that of int64.

Where torch has found the number of elements that a mask selects to be equal to another size, it
records the bound 2^63 - 2 for it. Stock's memory planner multiplies it by the bytes of an element,
which is no int64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tvm_kokoro_ext import _compat, _importer, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix

#: No tensor has so many elements along an axis.
_NO_BOUND = 2**48


def install() -> Callable[[], None]:
    cls = _importer.importer_class()
    original = cls.__dict__["create_input_vars"]

    @functools.wraps(original)
    def create_input_vars(self: Any, exported_program: Any) -> Any:
        fixed, given, ranges, *rest = original(self, exported_program)
        return (fixed, given, bounded(ranges), *rest)

    cls.create_input_vars = create_input_vars

    def restore() -> None:
        cls.create_input_vars = original

    return restore


def bounded(ranges: Any) -> Any:
    """The ranges (name → bounds) without upper bounds that say nothing."""
    return {
        name: (lower, None if upper is not None and upper >= _NO_BOUND else upper)
        for name, (lower, upper) in ranges.items()
    }


def _still_wrong() -> bool:
    """Whether stock records that n is at most 2^63 - 2, and fails to build such a function."""
    return _is_recorded() and _fails_to_build()


def _is_recorded() -> bool:
    import sympy

    program = SimpleNamespace(
        range_constraints={sympy.Symbol("n"): SimpleNamespace(lower=2, upper=2**63 - 2)},
        graph_signature=SimpleNamespace(input_specs=[]),
        named_buffers=dict,
    )
    ranges = _importer.stock().create_input_vars(program)[2]
    return bool(bounded(ranges) != ranges)


def _fails_to_build() -> bool:
    x = relax.Var("x", _compat.tensor_type([_compat.tir_var("n")], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x], attrs={"tir_var_upper_bound": {"n": 2**63 - 2}}):
        builder.emit_func_output(builder.emit(relax.op.exp(builder.emit(relax.op.exp(x)))))
    return _probe.fails_to_build(builder.get())


FIX = Fix(
    id="upper_bound",
    what="a size without an upper bound, equal to the number that a mask selects, does not build",
    op="from_exported_program, StaticPlanBlockMemory",
    affected=">=0.27",
    install=install,
    probe=_probe.wrong(_still_wrong),
    needs_symbols=True,
)
