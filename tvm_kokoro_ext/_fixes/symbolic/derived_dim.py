"""Inputs with dimensions such as `2*m` or `3*m + 1` where no input has the dimension `m`.

TVM determines the variables of a function from plain input dimensions; a variable that only occurs
in expressions is undefined at run time. Here the first such dimension becomes a new variable k, and
m is replaced by (k - b) // a everywhere else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _importer, _probe
from tvm_kokoro_ext._compat import relax, tirx
from tvm_kokoro_ext._errors import UnsupportedOperatorError
from tvm_kokoro_ext._fix import Fix


def install() -> Callable[[], None]:
    cls = _importer.importer_class()
    original = cls.__dict__["create_input_vars"]

    @functools.wraps(original)
    def create_input_vars(self: Any, exported_program: Any) -> Any:
        fixed, given, ranges, *rest = original(self, exported_program)
        given, ranges = solved(given, ranges)
        return (fixed, given, ranges, *rest)

    cls.create_input_vars = create_input_vars

    def restore() -> None:
        cls.create_input_vars = original

    return restore


def solved(inputs: Any, ranges: Any) -> tuple[Any, Any]:
    """The inputs (name → variable) and ranges (name → bounds) with a plain dimension for each
    variable."""
    while (found := _unbound(inputs)) is not None:
        variable, dim, factor, offset = found
        bare = _compat.tir_var(f"{variable.name}_dim")
        value = tirx.floordiv(bare - offset, factor)
        inputs = type(inputs)(
            (name, _with_dims(given, dim, bare, variable, value)) for name, given in inputs.items()
        )
        ranges = dict(ranges)
        if variable.name in ranges:
            bounds = ranges.pop(variable.name)
            scaled = (None if b is None else factor * b + offset for b in bounds)
            ranges[bare.name] = tuple(scaled)
    return inputs, ranges


def _unbound(inputs: Any) -> tuple[Any, Any, int, int] | None:
    """A variable without a plain dimension, a dimension a·variable + b with a > 0, and a, b."""
    dims = [dim for given in inputs.values() for dim in _dims(given)]
    bare = [dim for dim in dims if _compat.is_var(dim)]
    for dim in dims:
        if _compat.is_var(dim):
            continue
        variables = _compat.variables_of(dim)
        if len(variables) == 1 and not any(variables[0].same_as(known) for known in bare):
            linear = _compat.linear_form(dim, variables[0])
            if linear is not None and linear[0] > 0:
                return variables[0], dim, *linear
    return None


def _dims(given: Any) -> list[Any]:
    if not _compat.has_shape(given):
        return []
    return [dim for dim in _compat.shape_of(given) if not isinstance(dim, int)]


def _with_dims(given: Any, dim: Any, bare: Any, variable: Any, value: Any) -> Any:
    """The input with `bare` for the dimension and `value` for the variable."""
    if not _dims(given):
        return given

    def rewritten(d: Any) -> Any:
        if isinstance(d, int) or not any(v.same_as(variable) for v in _compat.variables_of(d)):
            return d
        if _compat.prim_equal(d, dim):
            return bare
        linear = _compat.linear_form(d, variable)
        if linear is None:
            raise UnsupportedOperatorError(
                f"an input dimension {d}",
                f"no input has a dimension {variable.name} to compute it from",
                f"Pass a tensor with a dimension {variable.name} as well",
            )
        return value * linear[0] + linear[1]

    shape = [rewritten(d) for d in _compat.shape_of(given)]
    return relax.Var(_compat.name_of(given), _compat.tensor_type(shape, _compat.dtype_of(given)))


def _still_wrong() -> bool:
    """Whether a function of one tensor with 2·m elements fails to build."""
    doubled = _compat.tir_var("m") * 2
    x = relax.Var("x", _compat.tensor_type([doubled], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    return _probe.fails_to_build(builder.get())


FIX = Fix(
    id="derived_dim",
    what="an input of 2*m elements beside none of m elements does not build",
    op="from_exported_program, VMShapeLower",
    affected="",
    install=install,
    probe=_probe.wrong(_still_wrong),
    needs_symbols=True,
)
