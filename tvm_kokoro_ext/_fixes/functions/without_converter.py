"""Operators without a converter in stock or a decomposition in torch, as one kernel each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _checks, _compat, _emit, _probe
from tvm_kokoro_ext._compat import T, relax, te, tirx
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes._shared import (
    elementwise,
    hypotenuse,
    indexing,
    loops,
    promotion,
    requirements,
)


def _elementwise_of(function: Callable[..., Any], hint: str) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        operands = importer.retrieve_args(node)[:2]
        dtype = _emit.result_dtype(importer, node)
        dtype = dtype or promotion.common_dtype(importer, "div.Tensor", *operands)
        width = "int8" if dtype == "bool" else dtype
        cast = [_emit.tensor_or_scalar(importer, value, width) for value in operands]
        made = elementwise.emit(importer, function, *cast, hint=hint)
        return _emit.astype(importer, made, dtype)

    return convert


def _copysign(x: Any, y: Any) -> Any:
    return tirx.copysign(x, y)


def _number_of(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """fmax and fmin: the extremum of two values, ignoring a NaN."""

    def choose(x: Any, y: Any) -> Any:
        chosen = function(x, y)
        if "float" in str(x.dtype):
            chosen = tirx.if_then_else(tirx.isnan(y), x, chosen)
            chosen = tirx.if_then_else(tirx.isnan(x), y, chosen)
        return chosen

    return choose


def _signbit(x: Any) -> Any:
    bits = {"float64": "int64", "float32": "int32", "float16": "int16", "bfloat16": "int16"}
    dtype = str(x.dtype)
    return (tirx.reinterpret(bits[dtype], x) if dtype in bits else x) < 0


def signbit(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    return elementwise.emit(importer, _signbit, x, hint="signbit")


def exp2(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    x = _emit.astype(importer, x, _emit.result_dtype(importer, node) or _compat.dtype_of(x))
    return elementwise.emit(importer, tirx.exp2, x, hint="exp2")


def erfc(importer: Any, node: Any, previous: Any) -> Any:
    """The C library's erfc in float64: 1 - erf(x) would lose the digits of small results."""
    x = importer.retrieve_args(node)[0]
    dtype = _emit.result_dtype(importer, node) or _compat.dtype_of(x)

    def function(value: Any) -> Any:
        return tirx.call_pure_extern("float64", "erfc", value)

    made = elementwise.emit(importer, function, _emit.astype(importer, x, "float64"), hint="erfc")
    return _emit.astype(importer, made, dtype)


def convert_element_type(importer: Any, node: Any, previous: Any) -> Any:
    """prims.convert_element_type, of which torch's decompositions are made."""
    x = importer.retrieve_args(node)[0]
    return _emit.astype(importer, x, _emit.result_dtype(importer, node) or _compat.dtype_of(x))


def scatter_add(importer: Any, node: Any, previous: Any) -> Any:
    x, axis, index, source = _emit.arguments(importer, node, "self", "dim", "index", "src")
    added = relax.op.scatter_elements(x, index, source, axis=axis, reduction="add")
    return _emit.emit(importer, added)


def repeat_interleave(importer: Any, node: Any, previous: Any) -> Any:
    """Index i repeated repeats[i] times; without output_size the length depends on the data."""
    repeats = _emit.astype(importer, importer.retrieve_args(node)[0], "int64")
    negative = relax.op.less(repeats, relax.const(0, "int64"))
    requirements.require_none(importer, negative, f"{node.name}_negative")
    total = _emit.emit(importer, relax.op.sum(repeats, axis=[0], keepdims=True))
    length = _emit.dimension(importer, total, f"{node.name}_length")
    given = node.kwargs.get("output_size")
    if given is not None:
        size = _compat.prim(importer._retrieve_args(given))
        _checks.check(importer, length == _emit.int64(size))
        length = size
    ends = _emit.emit(importer, relax.op.cumsum(repeats, axis=0))

    def compute(data: Any, size: Any) -> Any:
        k = te.reduce_axis((0, data.shape[0]), name="k")
        return te.compute(
            (size,),
            lambda i: te.sum(tirx.Cast("int64", data[k] <= tirx.Cast("int64", i)), axis=k),
            name="repeat_interleave",
        )

    return _emit.emit_te(importer, compute, ends, _emit.int64(length), hint="repeat_interleave")


def searchsorted(importer: Any, node: Any, previous: Any) -> Any:
    """The number of boundaries before each value: bucketize with exchanged arguments.

    It is found by bisection as in PyTorch, for which NaN is greater than any number.
    """
    boundaries, values = importer.retrieve_args(node)[:2]
    side = node.kwargs.get("side")
    right = node.kwargs.get("right", False) or side == "right"
    if node.kwargs.get("sorter") is not None:
        order = importer._retrieve_args(node.kwargs["sorter"])
        ordered = relax.op.gather_elements(boundaries, order, axis=_compat.rank_of(boundaries) - 1)
        boundaries = _emit.emit(importer, ordered)
    dtype = "int32" if node.kwargs.get("out_int32") else "int64"
    wide = promotion.common_dtype(importer, "add.Tensor", boundaries, values)
    boundaries, values = (
        _emit.tensor_or_scalar(importer, value, wide) for value in (boundaries, values)
    )
    sizes, shape = _compat.shape_of(boundaries), _compat.shape_of(values)
    whole = relax.ShapeExpr([_emit.int64(size) for size in shape])
    if sizes[-1] == 0:
        return _emit.emit(importer, relax.op.zeros(whole, dtype))
    if wide in ("float16", "bfloat16"):
        boundaries, values = (_emit.astype(importer, v, "float32") for v in (boundaries, values))
    steps = sizes[-1].bit_length() if isinstance(sizes[-1], int) else 63
    missing = tirx.isnan if "float" in wide else lambda x: tirx.const(False, "bool")

    def body(
        dims: Any, low: Any, high: Any, middle: Any, edges: Any, data: Any, *ends: Any
    ) -> None:
        count, (length, columns) = dims[0][0], ends
        with T.serial(0, count) as i:
            low[i] = tirx.const(0, "int64")
            high[i] = length
            first = tirx.floordiv(tirx.Cast("int64", i), columns) * length if sizes[1:] else 0
            with T.serial(0, steps):
                middle[i] = tirx.shift_right(low[i] + high[i], tirx.const(1, "int64"))
                # Where nothing is left to search, the middle may be behind the last boundary.
                edge = edges[first + tirx.min(middle[i], length - 1)]
                before = edge <= data[i] if right else edge < data[i]
                before = tirx.any(before, missing(edge), missing(data[i]))
                open_ = low[i] < high[i]
                high[i] = tirx.if_then_else(tirx.all(open_, tirx.Not(before)), middle[i], high[i])
                low[i] = tirx.if_then_else(tirx.all(open_, before), middle[i] + 1, low[i])

    flat = [indexing.flatten(importer, x) for x in (boundaries, values)]
    ends = (sizes[-1], shape[-1] if shape else 1)
    outputs = [([_emit.extent(shape)], "int64")] * 3
    places = loops.emit(importer, body, outputs, *flat, *ends, hint="searchsorted")[0]
    found = _emit.emit(importer, relax.op.reshape(places, whole))
    return _emit.astype(importer, found, dtype)


def cdist(importer: Any, node: Any, previous: Any) -> Any:
    """Distances between the rows of two batches, by differences (not by |x|² + |y|² − 2xy)."""
    x, y, p = importer.retrieve_args(node)[:3]

    def compute(lhs: Any, rhs: Any) -> Any:
        k = te.reduce_axis((0, lhs.shape[-1]), name="k")
        dtype = str(lhs.dtype)
        power = tirx.const(p, dtype)

        def total(*at: Any) -> Any:
            row, other = [*at[:-1], k], [*at[:-2], at[-1], k]
            difference = tirx.abs(indexing.read(lhs, row) - indexing.read(rhs, other))
            if p == 1:
                return te.sum(difference, axis=k)
            if p == 2:
                return te.sum(difference * difference, axis=k)
            return te.sum(tirx.pow(difference, power), axis=k)

        batches = indexing.broadcast_shapes([list(t.shape[:-2]) for t in (lhs, rhs)])
        shape = (*batches, lhs.shape[-2], rhs.shape[-2])
        sums = te.compute(shape, total, name="sums")
        root = {1: lambda v: v, 2: tirx.sqrt}.get(p, lambda v: tirx.pow(v, 1 / power))
        return te.compute(shape, lambda *at: root(sums(*at)), name="cdist")

    if p in (0, float("inf")):
        raise _emit.refuse(node, f"the norm p = {p}", "Write it with broadcasting")
    return _emit.emit_te(importer, compute, x, y, hint="cdist")


def trilinear(importer: Any, node: Any, previous: Any) -> Any:
    """The operator that bilinear decomposes to: the sum of a product of three tensors."""
    *factors, first, second, third, summed = importer.retrieve_args(node)[:7]
    widened = [
        _emit.emit(importer, relax.op.expand_dims(tensor, list(axes))) if axes else tensor
        for tensor, axes in zip(factors, (first, second, third), strict=True)
    ]
    product = elementwise.emit(importer, lambda a, b, c: a * b * c, *widened, hint="trilinear")
    return _emit.emit(importer, relax.op.sum(product, list(summed))) if summed else product


def diagonal_scatter(importer: Any, node: Any, previous: Any) -> Any:
    """x with one diagonal over two axes replaced."""
    x, source, offset, first, second = _emit.arguments(
        importer, node, "self", "src", "offset", "dim1", "dim2", offset=0, dim1=0, dim2=1
    )
    rank = _compat.rank_of(x)
    first, second = (_emit.normalize_axis(axis, rank) for axis in (first, second))

    def compute(data: Any, diagonal: Any) -> Any:
        def put(*at: Any) -> Any:
            rest = [i for axis, i in enumerate(at) if axis not in (first, second)]
            along = at[first] if offset >= 0 else at[second]
            inside = at[second] - at[first] == offset
            return tirx.if_then_else(inside, diagonal(*rest, along), data(*at))

        return te.compute(data.shape, put, name="diagonal_scatter")

    return _emit.emit_te(importer, compute, x, source, hint="diagonal_scatter")


def log_sum_exp(importer: Any, node: Any, previous: Any) -> Any:
    """log Σ exp(x - m) + m with the largest m, or 0 for one that is infinite or of no elements."""
    x, dims, keep = _emit.arguments(importer, node, "self", "dim", "keepdim", keepdim=False)
    dtype = _emit.result_dtype(importer, node) or _compat.dtype_of(x)
    x, zero = _emit.astype(importer, x, dtype), relax.const(0, dtype)
    axes = dims or list(range(_compat.rank_of(x)))

    def emit(operator: Callable[..., Any], *args: Any) -> Any:
        return _emit.emit(importer, operator(*args))

    largest = emit(relax.op.max, x, axes, True)
    largest = emit(relax.op.where, emit(relax.op.isfinite, largest), largest, zero)
    powers = emit(relax.op.exp, emit(relax.op.subtract, x, largest))
    total = emit(relax.op.log, emit(relax.op.sum, powers, axes, True))
    made = emit(relax.op.add, total, largest)
    return made if keep or not axes else emit(relax.op.squeeze, made, axes)


_CONVERTERS: dict[str, Converter] = {
    "hypot.default": _elementwise_of(hypotenuse.hypot, "hypot"),
    "copysign.Tensor": _elementwise_of(_copysign, "copysign"),
    "copysign.Scalar": _elementwise_of(_copysign, "copysign"),
    "fmax.default": _elementwise_of(_number_of(tirx.max), "fmax"),
    "fmin.default": _elementwise_of(_number_of(tirx.min), "fmin"),
    "erfc.default": erfc,
    "exp2.default": exp2,
    "convert_element_type.default": convert_element_type,
    "signbit.default": signbit,
    "scatter_add.default": scatter_add,
    "repeat_interleave.Tensor": repeat_interleave,
    "searchsorted.Tensor": searchsorted,
    "logsumexp.default": log_sum_exp,
    "_cdist_forward.default": cdist,
    "_trilinear.default": trilinear,
    "diagonal_scatter.default": diagonal_scatter,
}

FIX = Fix(
    id="missing",
    what="hypot, copysign, erfc, scatter_add, repeat_interleave, searchsorted, cdist, …",
    op="aten.hypot, aten.scatter_add, aten.repeat_interleave, aten.searchsorted, …",
    affected="",
    converters=_CONVERTERS,
    probe=_probe.lacks(*_CONVERTERS),
)
