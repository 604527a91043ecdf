"""Reductions, normalizations, pools and losses of the dtype sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from dtype_sweep import FLOATS, HALVES, name_of
from dtype_sweep_inputs import (
    INF,
    LARGE,
    ROWS,
    STATIC,
    K,
    L,
    X,
    holed,
    index,
    listed,
    normal,
    positive,
    row,
    seeded,
)
from torch.nn import functional

OFFSET = normal(3, "L", mean=10.0)

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
