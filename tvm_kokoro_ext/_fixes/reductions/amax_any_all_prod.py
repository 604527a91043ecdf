"""Reductions that stock lacks or computes with a wrong dtype: amax, min.dim, any, all, prod.

Over an empty list of axes, any and all reduce nothing, and mean and norms everything.

any and all return bools, extrema keep their dtype, and the indices returned by torch are those of
the first extremum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Converter, Fix, needs_previous


def _arguments(importer: Any, node: Any) -> tuple[Any, Any, bool]:
    x, dim, keep = _emit.arguments(importer, node, "self", "dim", "keepdim", keepdim=False)
    return x, (None if isinstance(dim, list | tuple) and not dim else dim), bool(keep)


def _extremum(reduce: Callable[..., Any]) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x, dim, keep = _arguments(importer, node)
        if _compat.dtype_of(x) != "bool":
            return _emit.emit(importer, reduce(x, dim, keep))
        reduced = _emit.emit(importer, reduce(_emit.astype(importer, x, "int8"), dim, keep))
        return _emit.astype(importer, reduced, "bool")

    return convert


def _quantifier(reduce: Callable[..., Any]) -> Converter:
    """any and all: bool, whatever the input is (uint8 stays uint8, as in torch)."""

    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x, dim, keep = _arguments(importer, node)
        dtype = _compat.dtype_of(x)
        if dtype != "bool":
            x = _emit.emit(importer, relax.op.not_equal(x, relax.const(0, dtype)))
        if _without_axes(node):
            return _emit.astype(importer, x, "uint8" if dtype == "uint8" else "bool")
        reduced = _emit.emit(importer, reduce(_emit.astype(importer, x, "int8"), dim, keep))
        found = reduced
        if not all(isinstance(size, int) and size for size in _compat.shape_of(x)):
            # The maximum of no elements is -128, and the minimum 127.
            found = _emit.emit(importer, relax.op.greater(reduced, relax.const(0, "int8")))
        return _emit.astype(importer, found, "uint8" if dtype == "uint8" else "bool")

    return convert


def _without_axes(node: Any) -> bool:
    """Whether torch reduces over no axis: any and all of an empty list of axes, not of None."""
    return node.target.__name__ in ("any.dims", "all.dims") and list(node.args[1:2]) == [[]]


def _with_index(reduce: Callable[..., Any], index: Callable[..., Any]) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x, dim, keep = _arguments(importer, node)
        values = _emit.emit(importer, reduce(x, dim, keep))
        return _emit.emit(
            importer, relax.Tuple([values, _emit.emit(importer, index(x, dim, keep))])
        )

    return convert


def prod(importer: Any, node: Any, previous: Any) -> Any:
    x, dim, keep = _emit.arguments(importer, node, "self", "dim", "keepdim", keepdim=False)
    if node.target.__name__ == "prod.default":
        dim, keep = None, False
    dtype = _emit.result_dtype(importer, node) or _compat.dtype_of(x)
    return _emit.emit(importer, relax.op.prod(_emit.astype(importer, x, dtype), dim, keep))


@needs_previous
def mean(importer: Any, node: Any, previous: Any) -> Any:
    x, dim, *rest = node.args
    return previous(_emit.view(node, x, dim or None, *rest, **node.kwargs) if dim == [] else node)


@needs_previous
def vector_norm(importer: Any, node: Any, previous: Any) -> Any:
    _, order, dim, keep = _emit.arguments(
        importer, node, "self", "ord", "dim", "keepdim", ord=2, keepdim=False
    )
    if dim is None or list(dim):
        return previous(node)
    kwargs = {name: value for name, value in node.kwargs.items() if name == "dtype"}
    return previous(_emit.view(node, node.args[0], order, None, keep, **kwargs))


@_probe.wrong
def _lists_of_no_axes_are_misread() -> bool:
    x, mask = _probe.Input((3, 4)), _probe.Input((3, 4), "bool")
    made = [
        _probe.convert("any.dims", mask, [], out=((3, 4), "bool")).shape != (3, 4),
        _probe.convert("all.dims", mask, [], out=((3, 4), "bool")).shape != (3, 4),
        _probe.convert("mean.dim", x, [], out=((), "float32")).shape != (),
        _probe.convert("linalg_vector_norm.default", x, 2, [], out=((), "float32")).shape != (),
    ]
    return any(made)


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((3, 4), "int64")
    return _probe.convert("any.dim", x, 1, out=((3,), "bool")).dtype != "bool"


@_probe.wrong
def _product_overflows() -> bool:
    x = _probe.Input((4,), "int32")
    return _probe.convert("prod.default", x, out=((), "int64")).dtype != "int64"


_ANY, _ALL = _quantifier(relax.op.max), _quantifier(relax.op.min)

FIX = Fix(
    id="reductions",
    what="amax, amin, min.dim, all, prod.dim_int missing; any of integers is not a bool",
    op="aten.amax, aten.amin, aten.min, aten.any, aten.all, aten.prod, aten.mean",
    affected="",
    converters={
        "amax.default": _extremum(relax.op.max),
        "amin.default": _extremum(relax.op.min),
        "max.dim": _with_index(relax.op.max, relax.op.argmax),
        "min.dim": _with_index(relax.op.min, relax.op.argmin),
        "any.default": _ANY,
        "any.dim": _ANY,
        "any.dims": _ANY,
        "_is_any_true.default": _ANY,
        "all.default": _ALL,
        "all.dim": _ALL,
        "all.dims": _ALL,
        "_is_all_true.default": _ALL,
        "linalg_vector_norm.default": vector_norm,
        "mean.dim": mean,
        "prod.default": prod,
        "prod.dim_int": prod,
    },
    probe=_probe.any_of(
        _still_wrong,
        _product_overflows,
        _lists_of_no_axes_are_misread,
        _probe.lacks("amax.default", "amin.default", "any.default", "all.default", "all.dim"),
        _probe.lacks("all.dims", "min.dim", "prod.dim_int"),
    ),
)
