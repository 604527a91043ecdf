"""Padding by symbolic amounts, such as `pad(x, (0, x.shape[-1]))`."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import te, tirx
from tvm_kokoro_ext._fix import Fix, needs_previous


@needs_previous
def constant_pad_nd(importer: Any, node: Any, previous: Any) -> Any:
    x, amounts, value = _emit.arguments(importer, node, "self", "pad", "value", value=0)
    return _padded(importer, node, previous, x, amounts, value)


@needs_previous
def pad(importer: Any, node: Any, previous: Any) -> Any:
    names = ("self", "pad", "mode", "value")
    x, amounts, mode, value = _emit.arguments(importer, node, *names, mode="constant")
    if mode != "constant":
        return previous(node)
    return _padded(importer, node, previous, x, amounts, 0 if value is None else value)


def _padded(importer: Any, node: Any, previous: Any, x: Any, amounts: Any, value: Any) -> Any:
    if not amounts:
        return x
    if all(_compat.as_int(amount) is not None for amount in amounts):
        return previous(node)
    amounts = [_emit.int64(_compat.prim(amount)) for amount in amounts]
    whole = len(amounts) // 2
    rest = [tirx.IntImm("int64", 0)] * (_compat.rank_of(x) - whole)
    before = [*rest, *reversed(amounts[0::2])]
    after = [*rest, *reversed(amounts[1::2])]
    shape = _compat.shape_of(x)
    sizes = [low + dim + high for low, dim, high in zip(before, shape, after, strict=True)]
    fill = tirx.const(value, _compat.dtype_of(x))

    def compute(data: Any, sizes: Any, before: Any) -> Any:
        def element(*at: Any) -> Any:
            places = [i - low for i, low in zip(at, before, strict=True)]
            limits = zip(places, data.shape, strict=True)
            inside = [tirx.all(place >= 0, place < dim) for place, dim in limits]
            return tirx.if_then_else(tirx.all(*inside), data(*places), fill)

        return te.compute(tuple(sizes), element, name="pad")

    return _emit.emit_te(importer, compute, x, sizes, before, hint="pad")


@_probe.wrong
def _still_wrong() -> bool:
    x, amount = _probe.Input((2, "n")), _probe.Symbol("n")
    _probe.convert("constant_pad_nd.default", x, [0, amount], 0, out=((2, "n"), "float32"))
    return False


FIX = Fix(
    id="pad",
    what="padding by a symbolic amount fails",
    op="aten.constant_pad_nd, aten.pad",
    affected="",
    converters={"constant_pad_nd.default": constant_pad_nd, "pad.default": pad},
    probe=_still_wrong,
)
