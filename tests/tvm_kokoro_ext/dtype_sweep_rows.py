"""The operators of the dtype sweep, and inputs on which adding up in half precision shows.

Shapes are of numbers and of the names of `dtype_sweep.Input`: "n", "K" and "L". Values stay where
float16 has no overflow in the result, while squares or sums on the way there may well be larger.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from dtype_sweep import FLOATS, HALVES, WHOLES, Input, Row, name_of
from torch.nn import functional

K, L = 4096, 8192
INF, NAN = float("inf"), float("nan")
STATIC = {"symbolic": (False,)}


def positive(*shape: int | str, low: float = 0.5, high: float = 1.5) -> Input:
    """Uniform between two numbers; by default sums grow with every term."""
    return Input(shape, lambda s: torch.rand(s, dtype=torch.float64) * (high - low) + low)


def normal(*shape: int | str, mean: float = 0.0, std: float = 1.0) -> Input:
    """Normally distributed around a mean."""
    return Input(shape, lambda s: torch.randn(s, dtype=torch.float64) * std + mean)


def whole(*shape: int | str, low: int = -3, high: int = 4) -> Input:
    """Whole numbers, which take the row's dtype."""
    return Input(shape, lambda s: torch.randint(low, high, s).double())


def index(*shape: int | str, below: int) -> Input:
    """Indices: int64, whatever the row's dtype."""
    return Input(shape, lambda s: torch.randint(0, below, s))


def holed(*shape: int | str) -> Input:
    """As `positive`, with a NaN in every seventh place."""
    return Input(shape, lambda s: _every_seventh_nan(torch.rand(s, dtype=torch.float64) + 0.5))


def _every_seventh_nan(x: torch.Tensor) -> torch.Tensor:
    x.view(-1)[::7] = NAN
    return x


def listed(*numbers: float) -> Input:
    """Rows of these numbers."""
    return Input(("n", len(numbers)), lambda s: torch.tensor([numbers] * s[0], dtype=torch.float64))


def row(
    name: str, function: Callable[..., Any] | torch.nn.Module, *inputs: Input, **options: Any
) -> Row:
    return Row(name, function, inputs, **options)


def named(module: Any, names: str, *inputs: Input, **options: Any) -> list[Row]:
    """A row for each function of a module."""
    return [row(name, getattr(module, name), *inputs, **options) for name in names.split()]


def seeded(module: torch.nn.Module, low: float, high: float) -> torch.nn.Module:
    """A module whose parameters, but for those of inner norms, are uniform between two numbers."""
    torch.manual_seed(0)
    for name, parameter in module.named_parameters():
        if "norm" not in name:
            torch.nn.init.uniform_(parameter, low, high)
    return module.eval()


# --- products of matrices -----------------------------------------------------------------

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

# --- convolutions -------------------------------------------------------------------------

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

# --- recurrent ----------------------------------------------------------------------------


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

# --- reductions ---------------------------------------------------------------------------

X = positive(3, "L")
ROWS = positive("n", L)
OFFSET = normal(3, "L", mean=10.0)
LARGE = positive(3, "L", low=50.0, high=150.0)
NEAR_ONE = positive(3, "L", low=0.97, high=1.03)


REDUCTIONS = [
    row("sum", lambda x: x.sum(), positive("L")),
    row("sum_dim", lambda x: x.sum(1), X),
    row("sum_rows", lambda x: x.sum(-1, keepdim=True), ROWS),
    row("sum_first", lambda x: x.sum(0), positive("L", 3)),
    row("sum_dims", lambda x: x.sum((0, 2)), positive(64, "n", 64)),
    row("sum_float32", lambda x: x.sum(1, dtype=torch.float32), X, exact=lambda x: x.sum(1)),
    row("mean", lambda x: x.mean(), positive(8, "L")),
    row("mean_dim", lambda x: x.mean(1), X),
    row("mean_large", lambda x: x.mean(1), LARGE),
    row("mean_dims", lambda x: x.mean((0, 2), keepdim=True), positive(64, "n", 64)),
    row("nansum", lambda x: x.nansum(1), holed(3, "L")),
    row("nanmean", lambda x: x.nanmean(1), holed(3, "L")),
    row("sum_all_dims", lambda x: x.sum((0, 1)), X),
    row("mean_many", lambda x: x.mean(), positive(11000, "n", low=0.1, high=0.9)),
    row("var_many", lambda x: x.var(), normal(11000, "n", mean=3.0)),
    *(
        row(
            f"{name}_to_{name_of(dtype)}",
            lambda x, name=name, dtype=dtype: getattr(x, name)(1, dtype=dtype),
            inputs,
            exact=lambda x, name=name, dtype=dtype: getattr(x.to(dtype).double(), name)(1),
            # torch rounds float64 to float16 by way of float32, which 5 numbers in 100,000 show.
            dtypes=FLOATS if name in ("sum", "mean") else HALVES,
        )
        for dtype in HALVES
        for name, inputs in [
            ("sum", X),
            ("mean", X),
            ("nansum", X),
            ("prod", NEAR_ONE),
            ("cumsum", X),
            ("cumprod", NEAR_ONE),
            ("softmax", X),
            ("log_softmax", X),
        ]
    ),
    row("prod", lambda x: x.prod(1), NEAR_ONE),
    row("prod_all", lambda x: x.prod(), positive("L", low=0.97, high=1.03)),
    row("var", lambda x: x.var(1), OFFSET),
    row("var_biased", lambda x: x.var(1, correction=0), OFFSET),
    row("var_all", lambda x: x.var(), OFFSET),
    row("std", lambda x: x.std(1), OFFSET),
    row("std_all", lambda x: x.std(), OFFSET),
    row("var_mean", lambda x: torch.var_mean(x, 1), OFFSET),
    row("std_mean", lambda x: torch.std_mean(x, 1, keepdim=True), OFFSET),
    *(row(f"norm_{p}", lambda x, p=p: x.norm(p, 1), X) for p in (1, 2, 3, 0, INF, -INF)),
    row("norm_all", lambda x: x.norm(), X),
    row("norm_large", lambda x: x.norm(2, 1), LARGE),
    *(
        row(f"vector_norm_{p}", lambda x, p=p: torch.linalg.vector_norm(x, p, 1), X)
        for p in (1, 2, 3, 0.5, 0, INF)
    ),
    row("vector_norm_large", lambda x: torch.linalg.vector_norm(x, dim=1), LARGE),
    row("matrix_norm_fro", torch.linalg.matrix_norm, X),
    row("matrix_norm_1", lambda x: torch.linalg.matrix_norm(x, 1), positive("L", 3)),
    row("linalg_norm", torch.linalg.norm, X),
    row("renorm", lambda x: x.renorm(2, 0, 1.0), ROWS),
    row("logsumexp", lambda x: x.logsumexp(1), X),
    row("softmax", lambda x: x.softmax(1), positive(3, "L", high=3.5)),
    row("softmax_first", lambda x: x.softmax(0), positive("L", 3, high=3.5)),
    row("log_softmax", lambda x: x.log_softmax(1), positive(3, "L", high=3.5)),
    row("softmin", lambda x: functional.softmin(x, 1), positive(3, "L", high=3.5)),
    row(
        "softmax_float32",
        lambda x: functional.softmax(x, 1, dtype=torch.float32),
        positive(3, "L", high=3.5),
        exact=lambda x: x.softmax(1),
    ),
    row("cumsum", lambda x: x.cumsum(1), X),
    row("cumsum_first", lambda x: x.cumsum(0), positive("L", 3)),
    row("cumprod", lambda x: x.cumprod(1), NEAR_ONE),
    row("logcumsumexp", lambda x: x.logcumsumexp(1), X),
    row("trapezoid", lambda x: torch.trapezoid(x, dim=1), X),
    row("trapezoid_spaced", lambda x: torch.trapezoid(x, dx=0.5, dim=1), X),
    row("cumulative_trapezoid", lambda x: torch.cumulative_trapezoid(x, dim=1), X),
    row("diff", lambda x: x.diff(dim=1), X),
    row("trace", torch.trace, positive(2048, 2048), **STATIC),
    row("count_nonzero", lambda x: torch.count_nonzero(x, 1), X),
    row("aminmax", lambda x: torch.aminmax(x, dim=1), X),
]

# --- normalization ------------------------------------------------------------------------

NORMALIZATIONS = [
    row(
        "layer_norm", lambda x: functional.layer_norm(x, (L,)), normal("n", L, mean=10.0), floor=1.0
    ),
    row(
        "layer_norm_affine",
        lambda x, w, b: functional.layer_norm(x, (L,), w, b),
        normal("n", L, mean=10.0),
        positive(L),
        positive(L),
        floor=1.0,
    ),
    row(
        "layer_norm_large",
        lambda x, w, b: functional.layer_norm(x, (L,), w, b),
        normal("n", L, mean=300.0, std=40.0),
        positive(L),
        positive(L),
        floor=1.0,
    ),
    row(
        "layer_norm_module",
        seeded(torch.nn.LayerNorm(L), 0.5, 1.5),
        normal("n", L, mean=10.0),
        floor=1.0,
    ),
    row(
        "layer_norm_long",
        lambda x: functional.layer_norm(x, x.shape[1:]),
        normal(2, "L", mean=10.0),
        floor=1.0,
    ),
    row("rms_norm", lambda x, w: functional.rms_norm(x, (L,), w), positive("n", L), positive(L)),
    row(
        "rms_norm_large",
        lambda x, w: functional.rms_norm(x, (L,), w, 1e-5),
        positive("n", L, low=200, high=400),
        positive(L),
    ),
    row(
        "group_norm",
        lambda x, w, b: functional.group_norm(x, 2, w, b),
        normal(2, 4, "L", mean=10.0),
        positive(4),
        positive(4),
        floor=1.0,
    ),
    row(
        "group_norm_plane",
        lambda x: functional.group_norm(x, 2),
        normal("n", 4, 64, 64, mean=10.0),
        floor=1.0,
    ),
    row(
        "instance_norm",
        lambda x: functional.instance_norm(x),
        normal(2, 3, "L", mean=10.0),
        floor=1.0,
    ),
    row(
        "instance_norm_affine",
        seeded(torch.nn.InstanceNorm2d(3, affine=True), 0.5, 1.5),
        normal("n", 3, 64, 64, mean=10.0),
        floor=1.0,
    ),
    row(
        "batch_norm",
        lambda x, m, v, w, b: functional.batch_norm(x, m, v, w, b),
        normal("n", 3, 20, mean=10.0),
        positive(3, low=8, high=12),
        positive(3),
        positive(3),
        positive(3),
        floor=1.0,
    ),
    row("batch_norm_module", torch.nn.BatchNorm2d(3).eval(), normal("n", 3, 4, 5, mean=10.0)),
    row("normalize", lambda x: functional.normalize(x, dim=1), X),
    row("normalize_large", lambda x: functional.normalize(x, dim=1), LARGE),
    row("normalize_zero", lambda x: functional.normalize(x * 0.0, dim=1), ROWS),
    row("layer_norm_epsilon", lambda x: functional.layer_norm(x, (8,), eps=1e-12), normal("n", 8)),
    row(
        "layer_norm_constant",
        lambda x: functional.layer_norm(x, (9,)),
        listed(*[3.3] * 9),
        dtypes=HALVES,
    ),
    row(
        "local_response_norm",
        lambda x: functional.local_response_norm(x, 5),
        positive("n", 16, 9, low=1, high=40),
    ),
    row(
        "local_response_norm_wide",
        lambda x: functional.local_response_norm(x, 1024),
        positive(1, 1024, "n"),
    ),
]

# --- pooling and resizing -----------------------------------------------------------------

PLANE = positive(1, 2, 64, 128)
POOLS = [
    row("avg_pool1d", lambda x: functional.avg_pool1d(x, K), positive(1, 3, "L")),
    row(
        "avg_pool1d_padded",
        lambda x: functional.avg_pool1d(x, K, 1024, 1024, count_include_pad=False),
        positive(1, 3, "L"),
    ),
    row("avg_pool2d", lambda x: functional.avg_pool2d(x, 64), positive("n", 2, 64, 128)),
    row(
        "avg_pool2d_ceil",
        lambda x: functional.avg_pool2d(x, 60, 32, ceil_mode=True),
        positive("n", 2, 64, 128),
    ),
    row(
        "avg_pool2d_divisor",
        lambda x: functional.avg_pool2d(x, 64, divisor_override=1000),
        positive("n", 2, 64, 128),
    ),
    row(
        "avg_pool3d",
        lambda x: functional.avg_pool3d(x, 16),
        positive("n", 2, 16, 16, 32),
        lacking="b?float16-.*",
    ),
    row("adaptive_avg_pool1d", lambda x: functional.adaptive_avg_pool1d(x, 2), positive("n", 3, L)),
    row(
        "adaptive_avg_pool2d",
        lambda x: functional.adaptive_avg_pool2d(x, (2, 1)),
        positive("n", 2, 128, 64),
    ),
    row(
        "adaptive_avg_pool2d_one",
        lambda x: functional.adaptive_avg_pool2d(x, 1),
        positive("n", 2, 128, 64),
    ),
    row(
        "adaptive_avg_pool2d_uneven",
        lambda x: functional.adaptive_avg_pool2d(x, (3, 1)),
        positive("n", 2, 128, 100),
    ),
    row(
        "adaptive_avg_pool3d",
        lambda x: functional.adaptive_avg_pool3d(x, 1),
        positive("n", 2, 16, 16, 20),
    ),
    row("lp_pool1d", lambda x: functional.lp_pool1d(x, 2.0, K), positive("n", 3, L)),
    row("lp_pool2d", lambda x: functional.lp_pool2d(x, 2.0, 64), positive("n", 2, 64, 128)),
    row(
        "lp_pool2d_large",
        lambda x: functional.lp_pool2d(x, 2.0, 16),
        positive("n", 2, 32, 32, low=50, high=150),
    ),
    row("max_pool2d", lambda x: functional.max_pool2d(x, 3, 2, 1), normal("n", 2, 9, 9)),
    row("max_pool1d", lambda x: functional.max_pool1d(x, 3), normal("n", 2, 9)),
    row(
        "adaptive_max_pool2d",
        lambda x: functional.adaptive_max_pool2d(x, (2, 3)),
        normal("n", 2, 8, 9),
    ),
    *(
        row(
            f"interpolate_{mode}",
            lambda x, mode=mode: functional.interpolate(x, scale_factor=1.7, mode=mode),
            shape,
        )
        for mode, shape in [
            ("linear", positive("n", 2, 9)),
            ("bilinear", positive("n", 2, 7, 9)),
            ("bicubic", positive("n", 2, 7, 9)),
            ("nearest", positive("n", 2, 7, 9)),
            ("trilinear", positive("n", 2, 3, 4, 5)),
        ]
    ),
    row(
        "interpolate_corners",
        lambda x: functional.interpolate(x, size=(9, 11), mode="bilinear", align_corners=True),
        positive("n", 2, 7, 5),
    ),
    row(
        "interpolate_area",
        lambda x: functional.interpolate(x, size=(1, 2), mode="area"),
        positive("n", 2, 64, 128),
    ),
    row(
        "interpolate_antialias",
        lambda x: functional.interpolate(x, size=(1, 1), mode="bilinear", antialias=True),
        positive("n", 2, 64, 64),
        lacking="b?float16-.*",
    ),
    row(
        "grid_sample",
        lambda x, g: functional.grid_sample(x, g, align_corners=False),
        positive("n", 2, 5, 5),
        positive("n", 4, 4, 2, low=-0.9, high=0.9),
    ),
    row("pixel_shuffle", lambda x: functional.pixel_shuffle(x, 2), normal("n", 8, 3, 3)),
    row("pixel_unshuffle", lambda x: functional.pixel_unshuffle(x, 2), normal("n", 2, 4, 6)),
    row("channel_shuffle", lambda x: functional.channel_shuffle(x, 2), normal("n", 4, 3, 3)),
]

# --- attention ----------------------------------------------------------------------------

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

# --- losses -------------------------------------------------------------------------------

Y = positive(3, "L")
LOGITS = positive("n", L, high=3.5)
MANY = positive("L", 4, high=3.5)


def both(loss: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: (loss(*args, reduction="mean"), loss(*args, reduction="sum"))


LOSSES = [
    row("mse_loss", both(functional.mse_loss), X, normal(3, "L", mean=3.0)),
    row("l1_loss", both(functional.l1_loss), X, normal(3, "L", mean=3.0)),
    row("smooth_l1_loss", both(functional.smooth_l1_loss), X, normal(3, "L", mean=2.0)),
    row("huber_loss", both(functional.huber_loss), X, normal(3, "L", mean=2.0)),
    row(
        "cross_entropy",
        lambda x, i: functional.cross_entropy(x, i, reduction="none"),
        LOGITS,
        index("n", below=L),
    ),
    row("cross_entropy_mean", both(functional.cross_entropy), MANY, index("L", below=4)),
    row(
        "cross_entropy_weight",
        lambda x, i, w: functional.cross_entropy(x, i, w),
        MANY,
        index("L", below=4),
        positive(4),
    ),
    row(
        "cross_entropy_smooth",
        lambda x, i: functional.cross_entropy(x, i, label_smoothing=0.1),
        MANY,
        index("L", below=4),
    ),
    row(
        "cross_entropy_soft",
        functional.cross_entropy,
        LOGITS,
        positive("n", L, low=0.0, high=2.0 / L),
    ),
    row(
        "nll_loss",
        both(lambda x, i, reduction: functional.nll_loss(-x, i, reduction=reduction)),
        MANY,
        index("L", below=4),
    ),
    row(
        "kl_div", both(lambda x, y, reduction: functional.kl_div(-x, y, reduction=reduction)), X, Y
    ),
    row("kl_div_batch", lambda x, y: functional.kl_div(-x, y, reduction="batchmean"), X, Y),
    row(
        "binary_cross_entropy",
        both(functional.binary_cross_entropy),
        positive(3, "L", low=0.1, high=0.4),
        positive(3, "L", low=0.4, high=0.9),
    ),
    row(
        "binary_cross_entropy_logits",
        both(functional.binary_cross_entropy_with_logits),
        X,
        positive(3, "L", low=0.1, high=0.4),
    ),
    row("poisson_nll_loss", both(functional.poisson_nll_loss), X, X),
    row(
        "gaussian_nll_loss",
        functional.gaussian_nll_loss,
        X,
        normal(3, "L", mean=3.0),
        Y,
        lacking=".*",
    ),
    row(
        "hinge_embedding_loss", lambda x: functional.hinge_embedding_loss(x, torch.ones_like(x)), X
    ),
    row(
        "margin_ranking_loss",
        lambda x, y: functional.margin_ranking_loss(x, y, torch.ones_like(x), 3.0),
        X,
        Y,
    ),
    row(
        "cosine_embedding_loss",
        lambda x, y: functional.cosine_embedding_loss(x, y, torch.ones_like(x[:, 0])),
        positive("n", L, low=0.05, high=0.15),
        positive("n", L, low=0.0, high=0.3),
    ),
    row(
        "triplet_margin_loss", functional.triplet_margin_loss, ROWS, normal("n", L, mean=3.0), ROWS
    ),
    row("soft_margin_loss", lambda x: functional.soft_margin_loss(x, torch.ones_like(x)), X),
]

# --- tables and scattering ----------------------------------------------------------------

TABLE = positive(16, 4)
INCLUDED = (True, False)

SCATTERS = [
    row("embedding", functional.embedding, index("n", 5, below=16), TABLE),
    row(
        "embedding_bag_sum",
        lambda i, w: functional.embedding_bag(i, w, mode="sum"),
        index("n", L, below=16),
        TABLE,
    ),
    row(
        "embedding_bag_mean",
        lambda i, w: functional.embedding_bag(i, w, mode="mean"),
        index("n", L, below=16),
        TABLE,
    ),
    row(
        "embedding_bag_weights",
        lambda i, w, p: functional.embedding_bag(i, w, mode="sum", per_sample_weights=p),
        index("n", L, below=16),
        TABLE,
        positive("n", L),
    ),
    row(
        "embedding_bag_max",
        lambda i, w: functional.embedding_bag(i, w, mode="max"),
        index("n", 8, below=16),
        TABLE,
    ),
    row(
        "index_add",
        lambda x, i, s: x.index_add(0, i, s),
        positive(4, 3),
        index("L", below=4),
        positive("L", 3),
    ),
    row(
        "index_add_alpha",
        lambda x, i, s: x.index_add(0, i, s, alpha=0.5),
        positive(4, 3),
        index("L", below=4),
        positive("L", 3),
    ),
    row(
        "scatter_add",
        lambda x, i, s: x.scatter_add(0, i, s),
        positive(4, 3),
        index("L", 3, below=4),
        positive("L", 3),
    ),
    *(
        row(
            f"scatter_reduce_{kind}_{kept}",
            lambda x, i, s, kind=kind, kept=kept: x.scatter_reduce(
                0, i, s, kind, include_self=kept
            ),
            positive(4, 3),
            index("L", 3, below=4),
            positive("L", 3, low=0.97, high=1.03),
        )
        for kind in ("sum", "mean", "prod", "amax", "amin")
        for kept in INCLUDED
    ),
    row(
        "index_reduce_mean",
        lambda x, i, s: x.index_reduce(0, i, s, "mean"),
        positive(4, 3),
        index("L", below=4),
        positive("L", 3),
    ),
    row(
        "index_put",
        lambda x, i, s: x.index_put((i,), s, accumulate=True),
        positive(4, 3),
        index("L", below=4),
        positive("L", 3),
    ),
    row(
        "put",
        lambda x, i, s: x.put(i, s, accumulate=True),
        positive(4, 3),
        index("L", below=12),
        positive("L"),
    ),
    row(
        "bincount",
        lambda i, w: torch.bincount(i, w, minlength=4),
        index("L", below=4),
        positive("L"),
    ),
    row("histc", lambda x: torch.histc(x, 4, 0.0, 2.0), positive("L")),
    row("gather", lambda x, i: x.gather(1, i), positive(3, 9), index(3, "n", below=9)),
    row("index_select", lambda x, i: x.index_select(1, i), positive(3, 9), index("n", below=9)),
    row("masked_fill", lambda x: x.masked_fill(x > 1, 0.3), positive(3, "n")),
    row(
        "masked_scatter",
        lambda x, y: x.masked_scatter(x > 1, y),
        positive(3, "n"),
        positive(3, "n"),
    ),
    row("segment_sum", lambda x: x.unflatten(1, (-1, 2)).sum(1), X),
]

# --- elementwise --------------------------------------------------------------------------

Z = normal(3, "n", std=2.0)
P = positive(3, "n", low=0.1, high=4.0)
UNIT = positive(3, "n", low=-0.9, high=0.9)
TENTH = Input((2, "n"), lambda s: torch.full(s, 0.1, dtype=torch.float64))
WIDE = positive(3, "n", low=-30.0, high=30.0)

ELEMENTWISE = [
    *named(torch, "tanh sigmoid exp exp2 expm1 sin cos tan atan sinh cosh asinh erf erfc sinc", Z),
    *named(torch, "abs neg sign sgn floor ceil round trunc frac square relu deg2rad", Z),
    *named(torch, "isfinite isnan isinf signbit logical_not", Z),
    *named(torch, "log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma", P),
    *named(torch, "asin acos atanh erfinv logit", UNIT),
    *named(torch.special, "entr ndtr i0 i1", P),
    *named(torch.special, "log_ndtr", P, refused={"float64-.*": ""}, lacking="b?float16-.*"),
    *named(functional, "gelu silu softplus elu selu celu mish hardswish hardsigmoid hardtanh", Z),
    *named(functional, "leaky_relu logsigmoid softsign softshrink hardshrink relu6", Z),
    row("tanhshrink", functional.tanhshrink, Z, floor=1.0),
    *(
        row(f"{function.__name__}_wide", function, WIDE)
        for function in (
            *(torch.tanh, torch.sigmoid, torch.exp, torch.erf, torch.atan, torch.asinh),
            *(torch.sinh, torch.expm1, functional.gelu, functional.silu, functional.mish),
            *(functional.softplus, functional.logsigmoid, functional.elu),
        )
    ),
    row("mul_beyond", lambda x: x * 1e5, positive(3, "n", low=0.001, high=0.1)),
    row("div_beyond", lambda x: x / 1e-7, positive(3, "n", low=1e-4, high=1e-3)),
    row("mul_tiny", lambda x: x * 1e-9, positive(3, "n", low=1e3, high=6e4)),
    row("add_beyond", lambda x: x + 7e4, normal(3, "n", mean=-3e4, std=99.0), floor=1.0),
    row("scaled_sum", lambda x: x.sum(1) / 7e4, X),
    row("gelu_tanh", lambda x: functional.gelu(x, approximate="tanh"), Z),
    row("glu", lambda x: functional.glu(x, 1), normal(3, 8, "n")),
    row("prelu", functional.prelu, Z, positive(1)),
    row("threshold", lambda x: functional.threshold(x, 0.1, 20.0), Z),
    row("add", torch.add, Z, Z),
    row("add_alpha", lambda x, y: torch.add(x, y, alpha=0.3), Z, P),
    row("sub_alpha", lambda x, y: torch.sub(x, y, alpha=3), Z, P, floor=1.0),
    row("add_scalar", lambda x: x + 0.1, Z, floor=1.0),
    row("mul_scalar", lambda x: x * 0.1, Z),
    row("div_scalar", lambda x: x / 3, Z),
    row("rsub", lambda x: 0.1 - x, Z, floor=1.0),
    row("rdiv", lambda x: 0.1 / x, P),
    row("mul", torch.mul, Z, P),
    row("div", torch.div, Z, P),
    row("div_floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), Z, P),
    row("div_trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), Z, P),
    row("floor_divide", torch.floor_divide, Z, P),
    row("remainder", torch.remainder, Z, P),
    row("fmod", torch.fmod, Z, P),
    row("remainder_scalar", lambda x: x % 0.3, Z, floor=1.0),
    row("pow", torch.pow, P, UNIT),
    row("pow_2", lambda x: x**2, Z),
    row("pow_3", lambda x: x**3, Z),
    row("pow_half", lambda x: x**0.5, P),
    row("pow_base", lambda x: 2.0**x, Z),
    row("pow_negative", lambda x: x**-1.5, P),
    row("atan2", torch.atan2, Z, P),
    row("hypot", torch.hypot, Z, P),
    row("hypot_large", lambda x, y: torch.hypot(x * 1000, y * 1000), Z, P),
    row("logaddexp", torch.logaddexp, Z, P),
    row("logaddexp2", torch.logaddexp2, Z, P),
    row("xlogy", torch.xlogy, P, P),
    row("lerp", lambda x, y: torch.lerp(x, y, 0.3), P, P),
    row("lerp_tensor", torch.lerp, P, P, positive(3, "n", low=0.0, high=1.0)),
    row("addcmul", lambda x, y: torch.addcmul(x, x, y, value=0.3), P, P),
    row("addcdiv", lambda x, y: torch.addcdiv(x, x, y, value=0.3), P, P),
    row("clamp", lambda x: x.clamp(-0.3, 1.1), Z),
    row("clamp_min", lambda x: x.clamp_min(0.1), Z),
    row("where", lambda x, y: torch.where(x > 0.3, x, y), Z, P),
    row("where_scalar", lambda x: torch.where(x > 0, x, 0.3), Z),
    row("compare", lambda x, y: (x > y, x >= y, x < y, x <= y, x == y, x != y), Z, P),
    row(
        "compare_scalar",
        lambda x: (x > 0.1, x >= 0.1, x < 0.1, x <= 0.1, x == 0.1, x != 0.1),
        TENTH,
    ),
    row("threshold_at", lambda x: functional.threshold(x, 0.1, 20.0), TENTH),
    row("hardshrink_at", lambda x: functional.hardshrink(x, 0.1), TENTH),
    row("where_at", lambda x: torch.where(x > 0.1, x, -0.3), TENTH),
    row("clamp_at", lambda x: (x.clamp(0.1, 0.3), x.clamp_max(0.1)), TENTH),
    row("maximum", torch.maximum, Z, P),
    row("minimum", torch.minimum, Z, P),
    row("fmax", torch.fmax, Z, P),
    row("isclose", torch.isclose, Z, P),
    row("nan_to_num", lambda x: x.nan_to_num(0.5, 100.0, -100.0), listed(NAN, INF, -INF, 1.5)),
    row("round_decimals", lambda x: torch.round(x, decimals=1), Z),
    row("copysign", torch.copysign, Z, P),
    row("heaviside", torch.heaviside, Z, P),
    row("to_float32", lambda x: x.float(), Z),
    row("to_int", lambda x: x.to(torch.int64), Z),
    row("to_half", lambda x: x.half(), Z),
    row("to_bfloat16", lambda x: x.bfloat16(), Z),
    row("from_int", lambda x, i: x + i, Z, index(3, "n", below=9), floor=1.0),
    row("with_float32", lambda x: x + torch.ones(3, 1), Z, floor=1.0),
    row("promote_float32_number", lambda x: x * torch.tensor(0.3), Z),
    row("add_halves", lambda x, y: x + y.half() * y.bfloat16(), Z, P, floor=1.0),
    row(
        "matmul_cast",
        lambda x, y: (x.float() @ y.float()).to(x.dtype),
        positive("n", 99),
        positive(99, 4),
        dtypes=HALVES,
        exact=torch.matmul,
    ),
    row("cat", lambda x, y: torch.cat([x, y], 1), Z, P),
    row("cat_mixed", lambda x, y: torch.cat([x, y.float()], 1), Z, P),
    row("stack", lambda x, y: torch.stack([x, y], 1), Z, P),
    row("pad", lambda x: functional.pad(x, (1, 2), value=0.3), Z),
    row("pad_reflect", lambda x: functional.pad(x, (1, 2), mode="reflect"), Z),
    row("roll", lambda x: x.roll(1, 1), Z),
    row("flip", lambda x: x.flip(0), Z),
    row("tril", torch.tril, Z),
    row("full_like", lambda x: torch.full_like(x, 0.3), Z),
    row("arange", lambda x: x + torch.arange(x.shape[1], dtype=x.dtype), Z, floor=1.0),
    row("linspace", lambda x: x[:, :1] + torch.linspace(0, 1, 7, dtype=x.dtype), Z, floor=1.0),
    row("one_number", lambda x: x * torch.tensor(0.3, dtype=x.dtype), Z),
]

# --- order --------------------------------------------------------------------------------

ORDER = [
    row("max", lambda x: x.max(), X),
    row("max_dim", lambda x: x.max(1), X),
    row("min_dim", lambda x: x.min(1), X),
    row("argmax", lambda x: x.argmax(1), X),
    row("argmin", lambda x: x.argmin(1), X),
    row("amax", lambda x: x.amax(1), X),
    row("amin", lambda x: x.amin(1), X),
    row("topk", lambda x: x.topk(5, 1).values, X),
    row(
        "topk_indices",
        lambda x: x.topk(3, 1).indices,
        Input((12, "n"), lambda s: torch.randperm(s[0] * s[1]).reshape(s).double()),
    ),
    row("sort", lambda x: torch.sort(x, stable=True, dim=1), positive(3, "n")),
    row(
        "sort_down", lambda x: torch.sort(x, stable=True, dim=1, descending=True), positive(3, "n")
    ),
    row("argsort", lambda x: torch.argsort(x, stable=True, dim=1), positive(3, "n")),
    row("msort", torch.msort, positive("n", 3)),
    row("kthvalue", lambda x: x.kthvalue(3, 1).values, positive(3, "n")),
    row("median", lambda x: x.median(1).values, positive(3, "n")),
    row("median_all", lambda x: x.median(), positive(3, "n")),
    row("quantile", lambda x: x.quantile(0.3, 1), positive(3, "n"), lacking="b?float16-.*"),
    row("cummax", lambda x: x.cummax(1), X),
    row("cummin", lambda x: x.cummin(1), X),
    row(
        "searchsorted",
        lambda x: torch.searchsorted(torch.tensor([0.6, 0.9, 1.2], dtype=x.dtype), x),
        positive(3, "n"),
    ),
    row(
        "bucketize",
        lambda x: torch.bucketize(x, torch.tensor([0.6, 0.9, 1.2], dtype=x.dtype)),
        positive(3, "n"),
    ),
    row("any", lambda x: (x > 1.4).any(1), X),
    row("all", lambda x: (x > 0.4).all(1), X),
    row("sum_bool", lambda x: (x > 1).sum(1), X),
]

# --- integers -----------------------------------------------------------------------------

W, V = whole(3, "L"), whole(3, "L", low=1, high=4)
SMALL, SMALL2 = whole("n", 5), whole("n", 5, low=1, high=4)
COUNTS = tuple(d for d in WHOLES if d is not torch.bool)
INTEGER = {"dtypes": WHOLES}
NUMBER = {"dtypes": COUNTS}

INTEGERS = [
    row("int_sum", lambda x: x.sum(1), W, **INTEGER),
    row("int_sum_all", lambda x: x.sum(), W, **INTEGER),
    row("int_sum_large", lambda x: x.sum(1), whole(3, "L", low=90, high=127), **INTEGER),
    row("int_sum_int32", lambda x: x.sum(1, dtype=torch.int32), W, **INTEGER),
    row("int_sum_float", lambda x: x.sum(1, dtype=torch.float32), V, **INTEGER),
    row("int_mean_float", lambda x: x.mean(1, dtype=torch.float32), V, **INTEGER),
    row("int_prod", lambda x: x.prod(1), whole(3, 30, low=1, high=5), **INTEGER),
    row("int_prod_all", lambda x: x.prod(), whole("n", 3, low=1, high=4), **INTEGER),
    row("int_cumsum", lambda x: x.cumsum(1), V, **INTEGER),
    row("int_cumsum_int32", lambda x: x.cumsum(0, dtype=torch.int32), whole("L", 2), **INTEGER),
    row("int_cumprod", lambda x: x.cumprod(1), whole(3, "n", low=1, high=5), **INTEGER),
    row("int_nansum", lambda x: x.nansum(1), W, **INTEGER),
    row("int_any_all", lambda x: (x.any(1), x.all(1)), whole("n", 4, low=0, high=4), **INTEGER),
    row("int_amax", lambda x: (x.amax(1), x.amin(1)), W, **INTEGER),
    row("int_argmax", lambda x: x.argmax(1), whole("n", 5, low=0, high=99), **NUMBER),
    row("int_max_dim", lambda x: x.max(1).values, W, **INTEGER),
    row("int_sort", lambda x: torch.sort(x, stable=True, dim=1), SMALL, **INTEGER),
    row("int_topk", lambda x: x.topk(2, 1).values, SMALL, **NUMBER),
    row("int_count_nonzero", lambda x: torch.count_nonzero(x, 1), W, **INTEGER),
    row("int_trace", torch.trace, whole(7, 7, low=90, high=120), **NUMBER),
    row("int_diff", lambda x: x.diff(dim=1), SMALL, **INTEGER),
    row("int_norm0", lambda x: (x != 0).sum((0, 1)), SMALL, **INTEGER),
    row("int_matmul", torch.matmul, whole("n", K), whole(K, 3), **NUMBER),
    row("int_bmm", torch.bmm, whole(2, "n", 64), whole(2, 64, 3), **NUMBER),
    row("int_mv", torch.mv, whole("n", 64), whole(64), **NUMBER),
    row("int_dot", torch.dot, whole("n"), whole("n"), **NUMBER),
    row(
        "int_einsum",
        lambda a, b: torch.einsum("ik,jk->ij", a, b),
        whole("n", 64),
        whole(3, 64),
        **NUMBER,
    ),
    row("int_outer", torch.outer, whole("n"), whole(3), **INTEGER),
    row(
        "int_index_add",
        lambda x, i, s: x.index_add(0, i, s),
        whole(4, 3),
        index("n", below=4),
        whole("n", 3),
        **NUMBER,
    ),
    row(
        "int_scatter_add",
        lambda x, i, s: x.scatter_add(0, i, s),
        whole(4, 3),
        index("n", 3, below=4),
        whole("n", 3),
        **INTEGER,
    ),
    row(
        "int_scatter_mean",
        lambda x, i, s: x.scatter_reduce(0, i, s, "mean"),
        whole(4, 3),
        index("n", 3, below=4),
        whole("n", 3),
        **NUMBER,
    ),
    row(
        "int_index_put",
        lambda x, i, s: x.index_put((i,), s, accumulate=True),
        whole(4, 3),
        index("n", below=4),
        whole("n", 3),
        **INTEGER,
    ),
    row("int_windows", lambda x: x.unfold(1, 2, 2).sum(2), whole("n", 8), **INTEGER),
    row("int_add", torch.add, SMALL, SMALL2, **INTEGER),
    row("int_sub", torch.sub, SMALL, SMALL2, **NUMBER),
    row("int_mul", torch.mul, SMALL, SMALL2, **INTEGER),
    row("int_div", torch.div, SMALL, SMALL2, **INTEGER),
    row(
        "int_div_floor",
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        SMALL,
        SMALL2,
        **NUMBER,
    ),
    row(
        "int_div_trunc",
        lambda x, y: torch.div(x, y, rounding_mode="trunc"),
        SMALL,
        SMALL2,
        **NUMBER,
    ),
    row("int_remainder", torch.remainder, SMALL, SMALL2, **NUMBER),
    row("int_fmod", torch.fmod, SMALL, SMALL2, **NUMBER),
    row("int_pow", torch.pow, SMALL, SMALL2, **NUMBER),
    row("int_pow_2", lambda x: x**2, SMALL, **NUMBER),
    row(
        "int_compare",
        lambda x, y: (x > y, x >= y, x < y, x <= y, x == y, x != y),
        SMALL,
        SMALL2,
        **INTEGER,
    ),
    row("int_bitwise", lambda x, y: (x & y, x | y, x ^ y, ~x), SMALL, SMALL2, **INTEGER),
    row("int_shift", lambda x, y: (x << y, x >> y), whole("n", 5, low=0), SMALL2, **NUMBER),
    row("int_clamp", lambda x: x.clamp(-1, 2), SMALL, **NUMBER),
    row("int_where", lambda x, y: torch.where(x > y, x, y), SMALL, SMALL2, **INTEGER),
    row("int_abs", lambda x: (x.abs(), -x, x.sign()), SMALL, **NUMBER),
    row(
        "int_mixed",
        lambda x: (x + 1, x * 0.5, x + torch.ones(5, dtype=torch.int16)),
        SMALL,
        **INTEGER,
    ),
    row("int_sqrt", torch.sqrt, SMALL2, **INTEGER),
    row("int_exp", torch.exp, SMALL2, **INTEGER),
    row("int_sigmoid", torch.sigmoid, SMALL2, **INTEGER),
]

GROUPS = {
    "products": PRODUCTS,
    "convolutions": CONVOLUTIONS,
    "recurrent": RECURRENT,
    "reductions": REDUCTIONS,
    "normalizations": NORMALIZATIONS,
    "pools": POOLS,
    "attention": ATTENTION,
    "losses": LOSSES,
    "scatters": SCATTERS,
    "elementwise": ELEMENTWISE,
    "order": ORDER,
    "integers": INTEGERS,
}


def all_rows() -> list[Row]:
    return [row for rows in GROUPS.values() for row in rows]
