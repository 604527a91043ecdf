"""Products, convolutions, recurrent layers and attention of the dtype sweep."""

from __future__ import annotations

from typing import Any

import torch
from dtype_sweep_inputs import STATIC, K, L, normal, positive, row, seeded
from torch.nn import functional

A, B = positive("n", K), positive(K, 4)
LEFT, RIGHT = positive(2, "n", K), positive(2, K, 4)
VECTOR = positive(K)

PRODUCTS = [
    row("matmul", torch.matmul, A, B),
    row("matmul_long", torch.matmul, positive(3, "K"), positive("K", 4)),
    row("matmul_batch", torch.matmul, LEFT, B),
    row("matmul_vector", torch.matmul, LEFT, VECTOR),
    row("matmul_dot", torch.matmul, positive("K"), positive("K")),
    row("mm", torch.mm, A, B),
    row("bmm", torch.bmm, LEFT, RIGHT),
    row("addmm", lambda c, a, b: torch.addmm(c, a, b), positive("n", 4), A, B),
    row(
        "addmm_scaled",
        lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2),
        positive("n", 4),
        A,
        B,
    ),
    row("baddbmm", torch.baddbmm, positive(2, "n", 4), LEFT, RIGHT),
    row(
        "baddbmm_scaled",
        lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=0.25),
        positive(2, "n", 4),
        LEFT,
        RIGHT,
    ),
    row("addbmm", torch.addbmm, positive("n", 4), LEFT, RIGHT),
    row("addmv", torch.addmv, positive("n"), A, VECTOR),
    row(
        "addmv_scaled",
        lambda c, a, b: torch.addmv(c, a, b, beta=2, alpha=3),
        positive("n"),
        A,
        VECTOR,
    ),
    row("mv", torch.mv, A, VECTOR),
    row("dot", torch.dot, positive("K"), positive("K")),
    row("vdot", torch.vdot, positive("K"), positive("K")),
    row("inner", torch.inner, A, positive(4, K)),
    row("outer", torch.outer, positive("n"), positive(5)),
    row("addr", torch.addr, positive("n", 5), positive("n"), positive(5)),
    row("einsum_matmul", lambda a, b: torch.einsum("ik,kj->ij", a, b), A, B),
    row("einsum_batch", lambda a, b: torch.einsum("bik,bkj->bji", a, b), LEFT, RIGHT),
    row("einsum_two_axes", lambda a, b: torch.einsum("bik,bkj->ij", a, b), LEFT, RIGHT),
    row("einsum_dot", lambda a, b: torch.einsum("k,k->", a, b), positive("K"), positive("K")),
    row("einsum_sum", lambda a: torch.einsum("ik->i", a), A),
    row("einsum_trace", lambda a: torch.einsum("ii->", a), positive(2048, 2048), **STATIC),
    row(
        "einsum_heads",
        lambda a, b: torch.einsum("bhqk,bhkd->bqhd", a, b),
        positive(1, 2, "n", K),
        positive(1, 2, K, 3),
    ),
    row("einsum_three", lambda a, b, c: torch.einsum("ik,kj,k->ij", a, b, c), A, B, VECTOR),
    row("linear", functional.linear, A, positive(4, K)),
    row("linear_bias", functional.linear, A, positive(4, K), positive(4)),
    row("linear_module", seeded(torch.nn.Linear(K, 4), 0.5, 1.5), LEFT),
    row("linear_vector", functional.linear, VECTOR, positive(4, K), positive(4)),
    row(
        "bilinear",
        functional.bilinear,
        positive("n", 64),
        positive("n", 64),
        positive(3, 64, 64),
        positive(3),
    ),
    row(
        "tensordot",
        lambda a, b: torch.tensordot(a, b, dims=([1, 2], [0, 1])),
        positive("n", 64, 64),
        positive(64, 64, 3),
    ),
    row(
        "chain_matmul",
        lambda a, b: torch.linalg.multi_dot([a, b, b.T[:, :8]]),
        positive(6, K, low=0.0, high=0.02),
        positive(K, 4, low=0.0, high=1.0),
    ),
    row("matrix_power", lambda a: torch.linalg.matrix_power(a, 2), positive(64, 64), **STATIC),
    row("kron", torch.kron, positive(6, 2), positive(2, 3)),
    row("cov", torch.cov, normal(4, "L", mean=8.0), floor=1.0, lacking=".*"),
    row("corrcoef", torch.corrcoef, normal(4, "L", mean=8.0), floor=1.0, lacking=".*"),
    row("cdist", torch.cdist, positive("n", K), normal(3, K, mean=4.0), lacking="b?float16-.*"),
    row(
        "cdist_1",
        lambda a, b: torch.cdist(a, b, p=1.0),
        positive("n", K),
        normal(3, K, mean=4.0),
        lacking="b?float16-.*",
    ),
    row(
        "pairwise_distance",
        functional.pairwise_distance,
        positive("n", K),
        normal("n", K, mean=4.0),
    ),
    row("pdist", functional.pdist, normal(4, K), **STATIC, lacking="b?float16-.*"),
    row("cosine_similarity", functional.cosine_similarity, positive("n", L), positive("n", L)),
    row(
        "cosine_similarity_large",
        functional.cosine_similarity,
        positive("n", L, low=50, high=150),
        positive("n", L),
    ),
]


CONVOLUTIONS = [
    row("conv1d", functional.conv1d, positive(2, 1024, "n"), positive(3, 1024, 4)),
    row(
        "conv1d_bias",
        lambda x, w, b: functional.conv1d(x, w, b, 2, 1, 2),
        positive(2, 1024, "n"),
        positive(3, 1024, 4, high=0.6),
        positive(3),
    ),
    row(
        "conv1d_groups",
        lambda x, w: functional.conv1d(x, w, groups=2),
        positive(1, 2048, "n"),
        positive(4, 1024, 4),
    ),
    row(
        "conv1d_depthwise",
        lambda x, w: functional.conv1d(x, w, groups=2),
        positive(1, 2, "L"),
        positive(2, 1, K),
    ),
    row("conv2d", functional.conv2d, positive(1, 512, 5, "n"), positive(2, 512, 3, 3)),
    row(
        "conv2d_bias",
        lambda x, w, b: functional.conv2d(x, w, b, (2, 1), 1, (1, 2)),
        positive(1, 512, 5, "n"),
        positive(2, 512, 3, 3),
        positive(2),
    ),
    row(
        "conv2d_groups",
        lambda x, w: functional.conv2d(x, w, padding=(0, 1), groups=2),
        positive(1, 1024, 3, "n"),
        positive(2, 512, 3, 3),
    ),
    row(
        "conv2d_same",
        lambda x, w: functional.conv2d(x, w, padding="same"),
        positive(1, 512, 5, "n"),
        positive(2, 512, 3, 3),
    ),
    row("conv2d_module", seeded(torch.nn.Conv2d(512, 2, 3), 0.5, 1.5), positive(1, 512, 5, "n")),
    row("conv3d", functional.conv3d, positive(1, 160, 3, 4, "n"), positive(2, 160, 3, 3, 3)),
    row(
        "conv3d_bias",
        lambda x, w, b: functional.conv3d(x, w, b, (1, 2, 1), 1, 2),
        positive(1, 160, 5, 5, "n"),
        positive(2, 160, 3, 3, 3, high=0.6),
        positive(2),
    ),
    row(
        "conv3d_groups",
        lambda x, w: functional.conv3d(x, w, groups=2),
        positive(1, 320, 3, 3, "n"),
        positive(2, 160, 3, 3, 3),
    ),
    row(
        "conv_transpose1d",
        functional.conv_transpose1d,
        positive(2, 1024, "n"),
        positive(1024, 3, 4),
    ),
    row(
        "conv_transpose1d_bias",
        lambda x, w, b: functional.conv_transpose1d(x, w, b, 2, 1, 1),
        positive(1, K, "n"),
        positive(K, 3, 4),
        positive(3),
    ),
    row(
        "conv_transpose1d_groups",
        lambda x, w: functional.conv_transpose1d(x, w, groups=2, dilation=2),
        positive(1, 2048, "n"),
        positive(2048, 2, 4),
    ),
    row(
        "conv_transpose2d",
        functional.conv_transpose2d,
        positive(1, 512, 4, "n"),
        positive(512, 2, 3, 3),
    ),
    row(
        "conv_transpose2d_bias",
        lambda x, w, b: functional.conv_transpose2d(x, w, b, (2, 1), 1, (1, 0)),
        positive(1, 1024, 4, "n"),
        positive(1024, 2, 3, 3),
        positive(2),
    ),
    row(
        "conv_transpose2d_groups",
        lambda x, w: functional.conv_transpose2d(x, w, groups=2),
        positive(1, 1024, 4, "n"),
        positive(1024, 2, 3, 3),
    ),
    row(
        "conv_transpose3d",
        functional.conv_transpose3d,
        positive(1, 256, 3, 3, "n"),
        positive(256, 2, 3, 3, 3),
    ),
    row(
        "conv_transpose3d_bias",
        lambda x, w, b: functional.conv_transpose3d(x, w, b, (1, 2, 1), 1),
        positive(1, 256, 3, 3, "n"),
        positive(256, 2, 3, 3, 3),
        positive(2),
    ),
    row("unfold", lambda x: functional.unfold(x, 2, padding=1), positive(1, 2, 4, "n")),
    row("fold", lambda x: functional.fold(x, (8, 8), 8, padding=7), positive(1, 64, 225)),
    row("fold_symbolic", lambda x: functional.fold(x, (8, 8), 2, stride=2), positive("n", 8, 16)),
]


def _first(module: torch.nn.Module) -> torch.nn.Module:
    """The recurrent module with weights such that sums over 4,096 inputs leave it unsaturated."""
    return seeded(module, 0.5 / K, 1.5 / K)


RECURRENT = [
    row("lstm", _first(torch.nn.LSTM(K, 4, batch_first=True)), positive("n", 3, K), floor=1.0),
    row("lstm_static", _first(torch.nn.LSTM(K, 4)), positive(3, 2, K), floor=1.0),
    row(
        "lstm_two_ways",
        _first(torch.nn.LSTM(K, 3, 2, bidirectional=True)),
        positive(3, "n", K),
        floor=1.0,
    ),
    row("gru", _first(torch.nn.GRU(K, 4, batch_first=True)), positive("n", 3, K), floor=1.0),
    row("gru_static", _first(torch.nn.GRU(K, 4)), positive(3, 2, K), floor=1.0),
    row("rnn_tanh", _first(torch.nn.RNN(K, 4)), positive(3, "n", K), floor=1.0),
    row("rnn_relu", _first(torch.nn.RNN(K, 4, nonlinearity="relu")), positive(3, 2, K), floor=1.0),
    row("lstm_cell", _first(torch.nn.LSTMCell(K, 4)), positive("n", K), floor=1.0),
    row("gru_cell", _first(torch.nn.GRUCell(K, 4)), positive("n", K), floor=1.0),
    row("rnn_cell", _first(torch.nn.RNNCell(K, 4)), positive("n", K), floor=1.0),
]

attention = functional.scaled_dot_product_attention
QUERY, KEY, VALUE = positive(1, 2, "n", 8), positive(1, 2, K, 8), positive(1, 2, K, 5)
SQUARE = positive(1, 2, 1024, 8)


class SelfAttention(torch.nn.Module):
    """Attention whose queries, keys and values are projections of one input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.attention(x, x, x, need_weights=False)[0]


class CrossAttention(torch.nn.Module):
    """Attention to keys and values of 4,096 features, with its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(8, 2, kdim=K, vdim=K, batch_first=True)

    def forward(self, x: torch.Tensor, key: torch.Tensor) -> Any:
        return self.attention(x, key, key)


ATTENTION = [
    row("attention", attention, QUERY, KEY, VALUE),
    row(
        "attention_mask",
        lambda q, k, v, m: attention(q, k, v, m),
        QUERY,
        KEY,
        VALUE,
        normal("n", K),
    ),
    row(
        "attention_bool_mask",
        lambda q, k, v, m: attention(q, k, v, m > 0),
        QUERY,
        KEY,
        VALUE,
        normal("n", K),
    ),
    row(
        "attention_causal",
        lambda q, k, v: attention(q, k, v, is_causal=True),
        SQUARE,
        SQUARE,
        SQUARE,
        **STATIC,
    ),
    row("attention_scale", lambda q, k, v: attention(q, k, v, scale=1.5), QUERY, KEY, VALUE),
    row(
        "attention_wide",
        lambda q, k, v: attention(q, k, v, scale=1.0 / 1024),
        positive(1, 2, "n", K),
        positive(1, 2, 32, K),
        positive(1, 2, 32, 5),
    ),
    row(
        "attention_gqa",
        lambda q, k, v: attention(q, k, v, enable_gqa=True),
        positive(1, 4, "n", 8),
        KEY,
        VALUE,
    ),
    row(
        "attention_symbolic",
        attention,
        positive(1, 2, 3, 8),
        positive(1, 2, "K", 8),
        positive(1, 2, "K", 8),
    ),
    row("attention_rank3", attention, positive(2, "n", 8), positive(2, K, 8), positive(2, K, 8)),
    row("self_attention", seeded(SelfAttention(8, 2), 0.05, 0.15), positive(1, 1024, 8), floor=1.0),
    row(
        "self_attention_symbolic",
        seeded(SelfAttention(8, 2), 0.05, 0.15),
        positive(2, "n", 8),
        floor=1.0,
    ),
    row(
        "cross_attention",
        seeded(CrossAttention(), 0.5 / K, 1.5 / K),
        positive(2, "n", 8),
        positive(2, 5, K),
        floor=1.0,
    ),
    row(
        "transformer_layer",
        seeded(torch.nn.TransformerEncoderLayer(8, 2, K, batch_first=True), 0.01, 0.03),
        normal(2, "n", 8),
        floor=1.0,
    ),
    row(
        "transformer_layer_first",
        seeded(
            torch.nn.TransformerEncoderLayer(8, 2, K, norm_first=True, activation="gelu"),
            0.01,
            0.03,
        ),
        normal("n", 2, 8),
        floor=1.0,
    ),
]
