"""Attention of several heads, as ONNX Runtime's operators compute it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fixes.onnx import _frontend
from tvm_kokoro_ext._fixes.onnx._layers import int64

MASKED = -10000.0
"""What is added to the score of a key that a mask excludes, unless the node says otherwise."""


@dataclass(frozen=True)
class Settings:
    """What the attributes of a node say."""

    operator: str
    heads: int
    scale: float | None
    masked: float
    causal: bool


def settings(operator: str, attr: Mapping[str, Any]) -> Settings:
    """The settings of a node of Attention, QAttention or MultiHeadAttention."""
    if attr.get("do_rotary"):
        raise _frontend.refusal(
            operator, "it turns its inputs (do_rotary)", "Put RotaryEmbedding before it"
        )
    return Settings(
        operator,
        int(attr["num_heads"]),
        float(attr["scale"]) if attr.get("scale") else None,
        float(attr.get("mask_filter_value", MASKED)),
        bool(attr.get("unidirectional", 0)),
    )


def heads_of(bb: Any, x: Any, heads: int) -> Any:
    """[batch, length, heads · size] as [batch, heads, length, size]."""
    batch, length, width = _compat.shape_of(x)
    shape = [int64(d) for d in (batch, length, heads, int(width) // heads)]
    return bb.emit(relax.op.permute_dims(bb.emit(relax.op.reshape(x, shape)), [0, 2, 1, 3]))


def attend(
    bb: Any, query: Any, key: Any, value: Any, own: Settings, mask: Any = None, bias: Any = None
) -> Any:
    """[batch, length, heads · size] of queries, keys and values [batch, heads, length, size].

    `mask` says which keys count: by number [batch, keys], [batch, queries, keys] or
    [batch, 1, queries, keys], or by the end [batch] or the ends and starts [2 · batch] of the keys.
    """
    batch, heads, length, size = _compat.shape_of(query)
    keys = _compat.shape_of(key)[2]
    scale = own.scale if own.scale is not None else 1 / math.sqrt(int(size))
    turned = bb.emit(relax.op.permute_dims(key, [0, 1, 3, 2]))
    scores = bb.emit(relax.op.matmul(query, turned))
    scores = bb.emit(relax.op.multiply(scores, relax.const(scale, _compat.dtype_of(query))))
    if mask is not None or own.causal:
        scores = _masked(bb, scores, own, mask, keys)
    if bias is not None:
        scores = bb.emit(relax.op.add(scores, bias))
    weights = bb.emit(relax.op.nn.softmax(scores, axis=-1))
    made = bb.emit(relax.op.matmul(weights, value))
    made = bb.emit(relax.op.permute_dims(made, [0, 2, 1, 3]))
    width = int(heads) * int(_compat.shape_of(value)[3])
    return bb.emit(relax.op.reshape(made, [int64(d) for d in (batch, length, width)]))


def _masked(bb: Any, scores: Any, own: Settings, mask: Any, keys: Any) -> Any:
    rank = 0 if mask is None else _compat.rank_of(mask)
    batch = _compat.shape_of(scores)[0]
    if rank == 4 and not _compat.prim_equal(_compat.shape_of(mask)[3], keys):
        raise _frontend.refusal(
            own.operator,
            "its mask [batch, 1, longest, longest] is larger than the scores",
            "Give the mask as [batch, keys]",
        )
    starts = False
    if rank == 1:
        count = _compat.shape_of(mask)[0]
        starts = not _compat.prim_equal(count, batch)
        if starts and not _compat.prim_equal(count, int64(batch) * 2):
            raise _frontend.refusal(
                own.operator,
                f"its mask has {count} numbers for {batch} rows",
                "Give the mask as [batch, keys]",
            )

    def compute(scores: Any, *mask: Any) -> Any:
        rows, _, length, width = scores.shape
        filtered = tirx.const(own.masked, str(scores.dtype))
        none = tirx.const(0.0, str(scores.dtype))

        def element(b: Any, n: Any, i: Any, j: Any) -> Any:
            added: Any = none
            if mask:
                (given,) = mask
                if rank == 1:
                    counts = j.astype(given.dtype) < given[b]
                    if starts:
                        counts = tirx.all(counts, j.astype(given.dtype) >= given[b + rows])
                else:
                    at = {2: (b, j), 3: (b, i, j), 4: (b, 0, i, j)}[rank]
                    counts = given(*at)
                    if str(given.dtype) != "bool":
                        counts = counts > tirx.const(0, str(given.dtype))
                added = tirx.Select(counts, none, filtered)
            made = scores(b, n, i, j) + added
            if own.causal:  # the queries are the last of the keys
                least = tirx.min_value(str(scores.dtype))
                made = tirx.Select(j > width - length + i, least, made)
            return made

        return te.compute(scores.shape, element, name="masked")

    masks = [] if mask is None else [mask]
    return bb.emit_te(compute, scores, *masks, primfunc_name_hint="masked")


def with_past(bb: Any, past: Any, now: Any) -> Any:
    """Keys or values [batch, heads, length, size] behind those of earlier calls."""
    return now if past is None else bb.emit(relax.op.concat([past, now], axis=2))
