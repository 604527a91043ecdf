"""OneHot and Hardmax, by comparing places with an index.

Stock's OneHot gives float64 and int64 whatever its values are, and takes only a scalar as depth;
its Hardmax takes no axis of symbolic size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node

Previous = Callable[[Node], Any]


def one_hot(node: Node, previous: Previous) -> Any:
    """The second of two values at the index, which counts from the end if it is negative."""
    depth, values, indices = node.known(1), node.tensor(2), node.tensor(0)
    if depth is None or values is None:
        raise _frontend.refusal(
            "OneHot", "its depth is computed from data", "Give the depth as a constant"
        )
    if "float" in _compat.dtype_of(indices):
        indices = node.emit(relax.op.astype(indices, "int64"))
    axis = int(node.attributes.get("axis", -1)) % (_compat.rank_of(indices) + 1)
    (classes,) = depth.values.flat
    return _hot(node, indices, values, axis, int(classes) if depth.constant else classes)


def hardmax(node: Node, previous: Previous) -> Any:
    """1 at the first largest element along an axis, and 0 elsewhere."""
    x = node.tensor(0)
    axis = int(node.attributes.get("axis", -1)) % _compat.rank_of(x)
    if node.opset < 13 or _compat.as_int(_compat.shape_of(x)[axis]) is not None:
        return previous(node)
    places = node.emit(relax.op.argmax(x, axis))
    values = relax.const([0, 1], _compat.dtype_of(x))
    return _hot(node, places, values, axis, _compat.shape_of(x)[axis])


def _hot(node: Node, indices: Any, values: Any, axis: int, depth: Any) -> Any:
    def compute(indices: Any, values: Any, depth: Any) -> Any:
        def element(*at: Any) -> Any:
            index = indices(*at[:axis], *at[axis + 1 :])
            place = at[axis].astype(indices.dtype)
            from_end = place - tirx.Cast(indices.dtype, depth)
            return tirx.Select(
                tirx.any(tirx.EQ(index, place), tirx.EQ(index, from_end)), values[1], values[0]
            )

        shape = [*indices.shape[:axis], depth, *indices.shape[axis:]]
        return te.compute(shape, element, name="one_hot")

    return node.builder.emit_te(
        compute, indices, values, _converters.int64(depth), primfunc_name_hint="one_hot"
    )


FIX = Fix(
    id="onnx_one_hot",
    what="ONNX OneHot gives float64 for float32, and takes no list as depth; Hardmax no symbol",
    op="ONNX OneHot, ONNX Hardmax",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"OneHot": one_hot, "Hardmax": hardmax}),
    probe=lambda: _frontend.holds_expressions()
    and "relax.prim_value(off_value)" in _frontend.converter("OneHot"),
    needs_torch=False,
)
