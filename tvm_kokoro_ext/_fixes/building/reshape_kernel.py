"""Kernels that split an axis, or join several, without the other axes.

Stock computes the place of an element in the whole tensor, and from it the place along each axis.
For sizes such as 4 * (n // 4 + 2) the simplification of that stops the compiler. Here axes that
stay as they are keep their index. Only where the sizes of the others are proved to fit.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import loops
from tvm_kokoro_ext._fixes._shared.legalization import overriding


def reshape(below: Any, builder: Any, call: Any) -> Any:
    target = call.args[1]
    if not isinstance(target, relax.ShapeExpr) or _compat.type_of(call.args[0]).shape is None:
        return below(builder, call)
    source, target = _compat.shape_of(call.args[0]), list(target.values)
    if not any(map(_is_expression, (*source, *target))):
        return below(builder, call)
    before = _alike(source, target)
    after = _alike(source[before:][::-1], target[before:][::-1])
    own, wanted = source[before : len(source) - after], target[before : len(target) - after]
    if not own or not wanted or (len(own) > 1 and len(wanted) > 1):
        return below(builder, call)
    if not _compat.prim_equal(_emit.extent(own), _emit.extent(wanted)):
        return below(builder, call)

    def compute(data: Any, *sizes: Any) -> Any:
        def element(*at: Any) -> Any:
            middle = at[before : len(at) - after]
            if len(own) == 1:
                places = [loops.flat(middle, sizes[before : len(at) - after])]
            else:
                places = _split(middle[0], list(data.shape)[before : before + len(own)])
            return data(*at[:before], *places, *at[len(at) - after :])

        return te.compute(tuple(sizes), element, name="T_reshape")

    sizes = [_emit.int64(size) for size in target]
    return builder.call_te(compute, call.args[0], *sizes, primfunc_name_hint="reshape")


def _is_expression(size: Any) -> bool:
    return _compat.as_int(size) is None and not _compat.is_var(size)


def _alike(source: list[Any], target: list[Any]) -> int:
    """The number of axes in front that stay as they are."""
    number = 0
    for mine, theirs in zip(source, target, strict=False):
        if not _compat.prim_equal(mine, theirs):
            break
        number += 1
    return number


def _split(index: Any, sizes: list[Any]) -> list[Any]:
    """The indices along axes that are joined."""
    places = []
    for size in reversed(sizes[1:]):
        places.append(tirx.floormod(index, size))
        index = tirx.floordiv(index, size)
    return [index, *reversed(places)]


def _still_wrong() -> bool:
    """Whether [m, 4, 4 * (n // 4 + 2), 8] to [m, 4, n // 4 + 2, 4, 8] fails to build."""
    m, n = _compat.tir_var("m"), _compat.tir_var("n")
    count = tirx.floordiv(n, 4) + 2
    x = relax.Var("x", _compat.tensor_type([m, 4, count * 4, 8], "float32"))
    y = relax.Var("y", _compat.tensor_type([n], "float32"))
    builder = relax.BlockBuilder()
    four, eight = tirx.IntImm("int64", 4), tirx.IntImm("int64", 8)
    with builder.function("main", [x, y]):
        shape = relax.ShapeExpr([m, four, count, four, eight])
        builder.emit_func_output(builder.emit(relax.op.reshape(x, shape)))
    return _probe.fails_to_build(builder.get())


FIX = Fix(
    id="reshape_kernel",
    what="splitting an axis of 4 * (n // 4 + 2) elements stops the compiler",
    op="relax.reshape",
    affected=">=0.27",
    install=overriding({"relax.reshape": reshape}),
    probe=_probe.wrong(_still_wrong),
    needs_torch=False,
)
