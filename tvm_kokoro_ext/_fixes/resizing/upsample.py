"""Nearest, linear and cubic resizing without decomposition, for any sizes and factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes.resizing import _resize

_SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}


_SMOOTH = (
    (1, "upsample_linear1d", _resize.linear),
    (2, "upsample_bilinear2d", _resize.linear),
    (3, "upsample_trilinear3d", _resize.linear),
    (2, "upsample_bicubic2d", _resize.cubic),
)

#: Torch's decompositions of these read a factor where its kernels do not, and divide by 0 where
#: a symbolic axis has one pixel and corners are aligned.
SMOOTH = tuple(f"{name}.{overload}" for _, name, _ in _SMOOTH for overload in ("vec", "default"))


def reads_factor(node: Any) -> bool:
    """Whether positions may depend on a factor that cannot be derived from the sizes."""
    factors = node.args[-1] if node.target.__name__.endswith(".vec") else None
    if not isinstance(factors, list | tuple) or None in factors:
        return False
    if _is_symbolic(node):
        return True
    sizes = zip(*_sizes_of(node), factors, strict=True)
    return any(before * factor != after for before, after, factor in sizes)


def _is_symbolic(node: Any) -> bool:
    return not all(isinstance(size, int) for sizes in _sizes_of(node) for size in sizes)


def _sizes_of(node: Any) -> tuple[Any, Any]:
    """The input and output sizes recorded by torch."""
    return node.args[0].meta["val"].shape[2:], node.meta["val"].shape[2:]


def _is_grown_by_a_whole_factor(node: Any) -> bool:
    """Whether stock is right for nearest resizing; otherwise it rounds the source positions."""
    if _is_symbolic(node):
        return False
    sizes = list(zip(*_sizes_of(node), strict=True))
    return not any(after % before for before, after in sizes) and (
        not reads_factor(node) or all(after in (before, 2 * before) for before, after in sizes)
    )


def _is_by_size(node: Any) -> bool:
    """Whether stock is right for linear resizing; it needs constant sizes and ignores factors."""
    return not _is_symbolic(node) and not reads_factor(node)


def _arguments(importer: Any, node: Any, vector: bool, rank: int, *names: str) -> list[Any]:
    """The tensor, its new sizes, the factors, and then the other arguments by name."""
    scales = ("scale_factors",) if vector else _SCALES[rank]
    x, size, *rest = _emit.arguments(importer, node, "input", "output_size", *names, *scales)
    others, factors = rest[: len(names)], rest[len(names) :]
    if vector:
        factors = list(factors[0] or [None] * rank)
    sizes = _compat.shape_of(x)[2:]
    return [x, _resize.output_sizes(importer, node, sizes, size or None, factors), factors, *others]


def _nearest(rank: int, *, exact: bool = False, vector: bool = True) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        if previous is not None and _is_grown_by_a_whole_factor(node):
            return previous(node)
        x, sizes, factors = _arguments(importer, node, vector, rank)
        for axis, (out, factor) in enumerate(zip(sizes, factors, strict=True), start=2):
            x = _resize.nearest(importer, x, axis, out, factor, exact)
        return x

    return convert


def refuse_integers(node: Any, dtype: Any) -> Exception:
    """Torch resizes integers in fixed point, which no converter does."""
    return _emit.refuse(
        node, f"{str(dtype).removeprefix('torch.')} pixels", "Resize in float32, then round"
    )


def _smooth(rank: int, resize: Callable[..., Any], *, vector: bool = True) -> Converter:
    """The converter of linear or cubic resizing; `resize` is that of one axis."""

    def convert(importer: Any, node: Any, previous: Any) -> Any:
        dtype = _compat.dtype_of(importer.env[node.args[0]])
        if "float" not in dtype:
            raise refuse_integers(node, dtype)
        x, sizes, factors, align = _arguments(importer, node, vector, rank, "align_corners")
        alone = bool(align) and 1 in sizes  # stock divides by the size less 1
        if previous is not None and _is_by_size(node) and dtype != "float64" and not alone:
            return previous(node)  # stock finds positions in float32
        x = x if dtype == "float64" else _emit.astype(importer, x, "float32")
        for axis, (out, factor) in enumerate(zip(sizes, factors, strict=True), start=2):
            x = resize(importer, x, axis, out, factor, bool(align))
        return _emit.astype(importer, x, dtype)

    return convert


@_probe.wrong
def _one_pixel_fails() -> bool:
    """Whether an image of one pixel, whose corners are aligned, is a division by zero."""

    def resize(x: Any) -> Any:
        mode = "align_corners"
        sizes = relax.ShapeExpr([1, 1])
        return relax.op.image.resize2d(x, sizes, coordinate_transformation_mode=mode)

    _probe.legalized(resize, _probe.Input((1, 1, 4, 4)))
    return False


_CONVERTERS: dict[str, Converter] = {}
for _overload, _vector in (("vec", True), ("default", False)):
    for _rank in (1, 2, 3):
        for _name, _exact in (("upsample_nearest", False), ("_upsample_nearest_exact", True)):
            _CONVERTERS[f"{_name}{_rank}d.{_overload}"] = _nearest(
                _rank, exact=_exact, vector=_vector
            )
    for _rank, _name, _resize_axis in _SMOOTH:
        _CONVERTERS[f"{_name}.{_overload}"] = _smooth(_rank, _resize_axis, vector=_vector)

FIX = Fix(
    id="upsample",
    what="nearest, linear and cubic resizing, by factors and of symbolic sizes",
    op="aten.upsample_nearest1d, aten.upsample_nearest2d, aten.upsample_linear1d, …",
    affected="",
    converters=_CONVERTERS,
    probe=_probe.any_of(
        _probe.lacks("upsample_nearest1d.vec", "upsample_trilinear3d.vec"), _one_pixel_fails
    ),
)
