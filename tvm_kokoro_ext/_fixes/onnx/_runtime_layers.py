"""The operators of floats that ONNX Runtime's optimizer writes into a graph, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fixes.onnx import _attention, _frontend, _layers, _quantized
from tvm_kokoro_ext._fixes.onnx._activations import text
from tvm_kokoro_ext._fixes.onnx._layers import int64
from tvm_kokoro_ext._fixes.onnx._quantized import optional


def scaled(bb: Any, x: Any, factor: float) -> Any:
    """x times a number."""
    if factor == 1:
        return x
    return bb.emit(relax.op.multiply(x, relax.const(factor, _compat.dtype_of(x))))


def added(bb: Any, x: Any, *others: Any) -> Any:
    """The sum of x and of those of the others that are given."""
    for other in others:
        x = x if other is None else bb.emit(relax.op.add(x, other))
    return x


# --- activations -------------------------------------------------------------------------


def _gelu(bb: Any, inputs: Any, attr: Any) -> Any:
    return relax.op.nn.gelu(added(bb, inputs[0], optional(inputs, 1)))


def _fast_gelu(bb: Any, inputs: Any, attr: Any) -> Any:
    return relax.op.nn.gelu_tanh(added(bb, inputs[0], optional(inputs, 1)))


def _quick_gelu(bb: Any, inputs: Any, attr: Any) -> Any:
    x = inputs[0]
    gate = bb.emit(relax.op.sigmoid(scaled(bb, x, float(attr.get("alpha", 1.702)))))
    return relax.op.multiply(x, gate)


def _hard_sigmoid(bb: Any, x: Any, alpha: float = 0.2, beta: float = 0.5) -> Any:
    line = bb.emit(relax.op.add(scaled(bb, x, alpha), relax.const(beta, _compat.dtype_of(x))))
    return bb.emit(relax.op.clip(line, 0, 1))


_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "": lambda bb, x: x,
    "Relu": lambda bb, x: bb.emit(relax.op.nn.relu(x)),
    "Tanh": lambda bb, x: bb.emit(relax.op.tanh(x)),
    "Sigmoid": lambda bb, x: bb.emit(relax.op.sigmoid(x)),
    "LeakyRelu": lambda bb, x, alpha=0.01: bb.emit(relax.op.nn.leakyrelu(x, alpha)),
    "Clip": lambda bb, x, low, high: bb.emit(relax.op.clip(x, low, high)),
    "HardSigmoid": _hard_sigmoid,
}


def activated(bb: Any, x: Any, operator: str, attr: Mapping[str, Any]) -> Any:
    """x through the activation that the attributes of a fused operator name."""
    name = text(attr.get("activation", ""))
    if name not in _ACTIVATIONS:
        raise _frontend.refusal(
            operator, f"its activation is {name}", f"Use one of {', '.join(_ACTIVATIONS)[2:]}"
        )
    numbers = [float(number) for number in attr.get("activation_params", ())]
    for letter in ("alpha", "beta", "gamma"):
        if f"activation_{letter}" in attr:
            numbers.append(float(attr[f"activation_{letter}"]))
    return _ACTIVATIONS[name](bb, x, *numbers)


# --- products ----------------------------------------------------------------------------


def _fused_conv(bb: Any, inputs: Any, attr: Any) -> Any:
    """A convolution, plus its bias and another tensor, through an activation."""
    made = _quantized.convolution(bb, inputs[0], inputs[1], attr, "FusedConv")
    bias = _quantized.by_channels(bb, optional(inputs, 2), 1, _compat.rank_of(made) - 2)
    made = added(bb, made, bias, optional(inputs, 3))
    return activated(bb, made, "FusedConv", attr)


def _turned(bb: Any, x: Any, last: bool, batch: bool) -> Any:
    """A matrix with its last axes exchanged; before, its first axis moved before the last."""
    rank = _compat.rank_of(x)
    axes = list(range(rank))
    if batch:
        axes = [*axes[1 : rank - 1], axes[0], axes[rank - 1]]
    if last:
        axes[-2:] = axes[:-3:-1]
    return x if axes == sorted(axes) else bb.emit(relax.op.permute_dims(x, axes))


def _fused_matmul(bb: Any, inputs: Any, attr: Any) -> Any:
    sides = [
        _turned(bb, x, bool(attr.get(f"trans{side}")), bool(attr.get(f"transBatch{side}")))
        for x, side in zip(inputs[:2], "AB", strict=True)
    ]
    made = scaled(bb, bb.emit(relax.op.matmul(*sides)), float(attr.get("alpha", 1.0)))
    own = {k: v for k, v in attr.items() if k.startswith("activation")}
    return activated(bb, made, "FusedMatMul", own)


def _fused_gemm(bb: Any, inputs: Any, attr: Any) -> Any:
    sides = [
        _turned(bb, x, bool(attr.get(f"trans{side}")), False)
        for x, side in zip(inputs[:2], "AB", strict=True)
    ]
    made = scaled(bb, bb.emit(relax.op.matmul(*sides)), float(attr.get("alpha", 1.0)))
    c = optional(inputs, 2)
    if c is not None:
        made = added(bb, made, scaled(bb, c, float(attr.get("beta", 1.0))))
    return activated(bb, made, "FusedGemm", attr)


# --- normalization -----------------------------------------------------------------------


def _normalized(
    bb: Any, x: Any, gamma: Any, beta: Any, epsilon: float, centred: bool
) -> tuple[Any, Any, Any]:
    """x normalized over its last axis, in float32, with the mean and the inverse deviation."""
    dtype, emit = _compat.dtype_of(x), bb.emit
    wide = x if dtype == "float32" else emit(relax.op.astype(x, "float32"))
    mean = emit(relax.op.mean(wide, [-1], keepdims=True))
    if centred:
        wide = emit(relax.op.subtract(wide, mean))
    square = emit(relax.op.mean(emit(relax.op.multiply(wide, wide)), [-1], keepdims=True))
    moved = emit(relax.op.add(square, relax.const(epsilon, "float32")))
    inverse = emit(relax.op.rsqrt(moved))
    made = emit(relax.op.multiply(wide, inverse))
    made = emit(relax.op.multiply(made, emit(relax.op.astype(gamma, "float32"))))
    if beta is not None:
        made = emit(relax.op.add(made, emit(relax.op.astype(beta, "float32"))))
    return emit(relax.op.astype(made, dtype)), mean, inverse


def _skip(bb: Any, inputs: Any, attr: Any, *, centred: bool) -> Any:
    """The result, the mean, the inverse deviation, and the sum that is normalized."""
    beta, bias = (optional(inputs, 3), optional(inputs, 4)) if centred else (None, None)
    if not centred:
        bias = optional(inputs, 3)
    x = added(bb, inputs[0], inputs[1], bias)
    epsilon = float(attr.get("epsilon", 1e-12))
    return relax.Tuple([*_normalized(bb, x, inputs[2], beta, epsilon, centred), x])


def _simplified(bb: Any, inputs: Any, attr: Any) -> Any:
    x, rank = inputs[0], _compat.rank_of(inputs[0])
    if int(attr.get("axis", -1)) % rank != rank - 1:
        raise _frontend.refusal(
            "SimplifiedLayerNormalization", "its axis is not the last", "Use RMSNormalization"
        )
    made, _, inverse = _normalized(
        bb, x, inputs[1], None, float(attr.get("epsilon", 1e-5)), centred=False
    )
    return relax.Tuple([made, inverse])


def _embedded(bb: Any, inputs: Any, attr: Any) -> Any:
    """The result, the number of tokens that count, and the sum that is normalized."""
    ids, segments, words, places, kinds, gamma, beta = inputs[:7]
    mask, positions = optional(inputs, 7), optional(inputs, 8)
    batch, length = _compat.shape_of(ids)
    if positions is None:
        positions = bb.emit(relax.op.arange(0, int64(length), 1, "int64"))
    x = bb.emit(relax.op.take(words, ids, axis=0))
    x = added(bb, x, bb.emit(relax.op.take(places, positions, axis=0)))
    if segments is not None:
        x = added(bb, x, bb.emit(relax.op.take(kinds, segments, axis=0)))
    made, *_ = _normalized(bb, x, gamma, beta, float(attr.get("epsilon", 1e-12)), centred=True)
    if mask is None:
        count = bb.emit(relax.op.zeros(relax.ShapeExpr([int64(batch)]), "int32"))
    else:
        ones = bb.emit(relax.op.equal(mask, relax.const(1, _compat.dtype_of(mask))))
        count = bb.emit(relax.op.sum(bb.emit(relax.op.astype(ones, "int32")), [1]))
    return relax.Tuple([made, count, x])


# --- attention ---------------------------------------------------------------------------


def _attention_of(bb: Any, inputs: Any, attr: Any) -> Any:
    """Microsoft's Attention: one product gives queries, keys and values."""
    if optional(inputs, 6) is not None:
        raise _frontend.refusal(
            "Attention", "it shares a buffer with its past", "Leave out past_sequence_length"
        )
    made = added(bb, bb.emit(relax.op.matmul(inputs[0], inputs[1])), optional(inputs, 2))
    return attended(
        bb, made, attr, "Attention", optional(inputs, 3), optional(inputs, 4), optional(inputs, 5)
    )


def attended(
    bb: Any, packed: Any, attr: Any, operator: str, mask: Any, past: Any, bias: Any
) -> Any:
    """Attention of queries, keys and values beside each other, and the keys and values."""
    own = _attention.settings(operator, attr)
    width = int(_compat.shape_of(packed)[2])
    widths = [int(size) for size in attr.get("qkv_hidden_sizes") or [width // 3] * 3]
    parts = bb.emit(relax.op.split(packed, [widths[0], widths[0] + widths[1]], axis=2))
    query, key, value = (
        _attention.heads_of(bb, bb.emit(relax.TupleGetItem(parts, i)), own.heads) for i in range(3)
    )
    if past is not None:
        before = [bb.emit(relax.op.take(past, relax.const(i, "int64"), axis=0)) for i in (0, 1)]
        key, value = (
            _attention.with_past(bb, b, n) for b, n in zip(before, (key, value), strict=True)
        )
    made = _attention.attend(bb, query, key, value, own, mask, bias)
    if widths[1] != widths[2]:
        return made
    return relax.Tuple([made, bb.emit(relax.op.stack([key, value], axis=0))])


def _multi_head(bb: Any, inputs: Any, attr: Any) -> Any:
    """Attention of queries, keys and values, or of those beside each other."""
    own = _attention.settings("MultiHeadAttention", attr)
    query, key, value, bias, mask, scores = (optional(inputs, i) for i in range(6))
    past = [optional(inputs, 6), optional(inputs, 7)]
    if optional(inputs, 8) is not None or optional(inputs, 9) is not None:
        raise _frontend.refusal(
            own.operator, "it shares a buffer with its past", "Leave out past_sequence_length"
        )
    if key is None or value is None:
        raise _frontend.refusal(
            own.operator, "it is given no keys and values", "Give it queries, keys and values"
        )
    both = [query, key, value]
    if bias is not None:
        width, last = int(_compat.shape_of(query)[2]), _compat.rank_of(value) == 3
        blocks = bb.emit(relax.op.split(bias, [width, 2 * width], axis=0))
        own_biases = [bb.emit(relax.TupleGetItem(blocks, i)) for i in range(3)]
        for i in (0, 1, 2) if last else (0,):
            both[i] = added(bb, both[i], own_biases[i])
    query, key, value = (
        _attention.heads_of(bb, x, own.heads) if _compat.rank_of(x) == 3 else x for x in both
    )
    key, value = (_attention.with_past(bb, b, n) for b, n in zip(past, (key, value), strict=True))
    made = _attention.attend(bb, query, key, value, own, mask, scores)
    return relax.Tuple([made, key, value])


def _rotary(bb: Any, inputs: Any, attr: Any) -> Any:
    """x turned by the angle of its position, in pairs of its first `rotary_embedding_dim`."""
    x, positions, cosines, sines = inputs[:4]
    rank, half = _compat.rank_of(x), int(_compat.shape_of(cosines)[1])
    heads = int(attr.get("num_heads", 0))
    if attr.get("is_packed_batching") or (
        rank == 3 and not heads and attr.get("rotary_embedding_dim")
    ):
        raise _frontend.refusal(
            "RotaryEmbedding", "it is packed, or does not say its heads", "Give it num_heads"
        )
    width = _compat.shape_of(x)[rank - 1]
    size = int(width) if rank == 4 else int(width) // heads if heads else 2 * half
    interleaved = bool(attr.get("interleaved", 0))
    offset = _compat.rank_of(positions) == 1

    def compute(x: Any, positions: Any, cosines: Any, sines: Any) -> Any:
        def element(*at: Any) -> Any:
            b, t = (at[0], at[1]) if rank == 3 else (at[0], at[2])
            place = positions[0] + t if offset else positions[b, t]
            feature = at[-1] % size
            first = feature % 2 == 0 if interleaved else feature < half
            pair = feature // 2 if interleaved else feature % half
            step = 1 if interleaved else half
            other = x(*at[:-1], tirx.if_then_else(first, at[-1] + step, at[-1] - step))
            sine = sines[place, pair]
            turned = x(*at) * cosines[place, pair] + tirx.Select(first, -sine, sine) * other
            if size == 2 * half:
                return turned
            return tirx.if_then_else(feature < 2 * half, turned, x(*at))

        return te.compute(x.shape, element, name="rotary")

    return bb.emit_te(compute, x, positions, cosines, sines, primfunc_name_hint="rotary")


OPERATORS: dict[str, _layers.Conversion] = {
    "Gelu": _gelu,
    "BiasGelu": _gelu,
    "FastGelu": _fast_gelu,
    "QuickGelu": _quick_gelu,
    "FusedConv": _fused_conv,
    "FusedMatMul": _fused_matmul,
    "TransposeMatMul": _fused_matmul,
    "FusedMatMulActivation": _fused_matmul,
    "FusedGemm": _fused_gemm,
    "SkipLayerNormalization": partial(_skip, centred=True),
    "SkipSimplifiedLayerNormalization": partial(_skip, centred=False),
    "EmbedLayerNormalization": _embedded,
    "Attention": _attention_of,
    "MultiHeadAttention": _multi_head,
    "RotaryEmbedding": _rotary,
}
"""By their names in the domain com.microsoft."""

OF_ONNX: dict[str, _layers.Conversion] = {"SimplifiedLayerNormalization": _simplified}
"""By their names in ONNX's own domain, into which ONNX Runtime puts them."""
