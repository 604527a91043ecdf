"""Nearest, linear and cubic resizing without decomposition, for constant and symbolic sizes."""

import pytest
import torch
from frontend_cases import Case, check, fix_tests
from torch.nn.functional import interpolate


def signal(n):
    return (torch.randn(2, 3, n),)


def kept(mode, **options):
    return lambda x: interpolate(x, mode=mode, **options)


RAW = {"decomposed": (False,)}
CASES = [
    Case("nearest_x2", kept("nearest", scale_factor=2), signal, **RAW),
    Case("nearest_x300", kept("nearest", scale_factor=300), signal, **RAW),
    Case("nearest_1.5", kept("nearest", scale_factor=1.5), signal, **RAW),
    Case("nearest_half", kept("nearest", scale_factor=0.5), signal, **RAW),
    Case("nearest_exact", kept("nearest-exact", scale_factor=2), signal, **RAW),
    Case("nearest_size", kept("nearest", size=11), signal, **RAW),
    Case("linear_x2", kept("linear", scale_factor=2), signal, **RAW),
    Case("linear_1.5", kept("linear", scale_factor=1.5), signal, **RAW),
    Case("linear_third", kept("linear", scale_factor=1 / 3), signal, **RAW, symbolic=(False,)),
    Case("linear_size", kept("linear", size=11), signal, **RAW),
    Case("linear_corners", kept("linear", scale_factor=2, align_corners=True), signal, **RAW),
]


def volume(rank):
    """Only the last size varies: 7 stays beside it where a factor keeps it."""
    return lambda n: (torch.randn(1, 2, *(7,) * (rank - 1), n),)


def image(n):
    return (torch.randn(1, 2, n + 2, n),)


# 1.1 keeps 6, 7 and 9; 2.05 doubles them: there torch reads the factor in some modes only.
CASES += [
    Case(f"{mode}{rank}d_{factor}", kept(mode, scale_factor=factor), volume(rank), wrong=None)
    for mode, rank, factor in (
        ("nearest", 1, 1.1),
        ("nearest", 2, 1.1),
        ("nearest", 2, 2.05),
        ("linear", 1, 1.1),
        ("bilinear", 2, 1.1),
        ("bicubic", 2, 1.1),
        ("trilinear", 3, 1.1),
    )
]
EMBEDDING = torch.randn(1, 4, 7, 7)


def embedded(mode, **options):
    """A table of positions for an image of any size, as ViT resizes it."""
    return lambda x: interpolate(EMBEDDING, size=x.shape[-2:], mode=mode, **options)


CASES += [
    Case(f"positions_{name}", embedded(mode, **options), image, symbolic=(True,))
    for name, mode, options in (
        ("nearest", "nearest", {}),
        ("bilinear", "bilinear", {}),
        ("bicubic", "bicubic", {}),
        ("bicubic_corners", "bicubic", {"align_corners": True}),
    )
]
CASES += [
    Case(
        "float64", kept("bilinear", scale_factor=1.1), lambda n: (torch.randn(1, 2, 7, n).double(),)
    ),
    Case(
        "float16",
        kept("bilinear", scale_factor=1.3),
        lambda n: (torch.randn(1, 2, 7, n).half(),),
        tolerance=2e-3,
    ),
    Case("one_factor_each", kept("bilinear", scale_factor=(1.1, 2.3)), volume(2)),
]
CASES += [
    Case(
        f"{mode}_one_{size}",
        kept(mode, size=size, align_corners=True),
        lambda n: (torch.randn(1, 2, 7, 6),),
        wrong=wrong,
    )
    for mode, size, wrong in (
        ("bilinear", 1, ""),
        ("bicubic", (1, 9), ""),
        ("bicubic", (3, 1), ""),
        ("bilinear", (1, 4), ""),
    )
]


def to_one(rank):
    """An axis of 7 pixels in the example, and of one pixel in the other call."""
    return lambda n: (torch.randn(1, 2, *(7,) * (rank - 1), 19 - 2 * n),)


def grown(x):
    return [size * 3 // 2 for size in x.shape[2:]]


def grown_by_size(mode):
    return lambda x: interpolate(x, size=grown(x), mode=mode, align_corners=True)


aten = torch.ops.aten
CASES += [
    Case(f"{mode}{rank}d_corners_of_one", grown_by_size(mode), to_one(rank))
    for mode, rank in (("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3))
]
CASES += [
    Case("bicubic_to_fewer", kept("bicubic", scale_factor=0.6), image),
    Case(
        "bicubic_float16",
        kept("bicubic", scale_factor=1.3),
        lambda n: (torch.randn(1, 2, 7, n).half(),),
        tolerance=4e-3,
    ),
    Case(
        "bicubic_float64",
        kept("bicubic", scale_factor=1.7),
        lambda n: (torch.randn(1, 2, 7, n).double(),),
    ),
    *(
        Case(
            f"{operator}_by_numbers",
            lambda x, operator=operator, last=last: getattr(aten, operator).default(
                x, grown(x), *last, *[None] * (x.dim() - 2)
            ),
            make,
            decomposed=decomposed,
        )
        for operator, make, last, decomposed in (
            ("upsample_nearest2d", volume(2), (), (True, False)),
            ("upsample_nearest3d", volume(3), (), (True, False)),
            ("_upsample_nearest_exact2d", volume(2), (), (True, False)),
            ("_upsample_nearest_exact3d", volume(3), (), (True, False)),
            ("upsample_linear1d", to_one(1), (True,), (True, False)),
            ("upsample_trilinear3d", to_one(3), (True,), (True, False)),
            # Torch decomposes these even where it is asked not to.
            ("upsample_bilinear2d", to_one(2), (True,), (False,)),
            ("upsample_bicubic2d", to_one(2), (True,), (False,)),
        )
    ),
]
test_equals_torch, test_stock_is_wrong = fix_tests("upsample", CASES)

DECOMPOSED = [
    pytest.param(Case("nearest_x2", kept("nearest", scale_factor=2), signal)),
    pytest.param(Case("linear_x2", kept("linear", scale_factor=2), signal)),
]


@pytest.mark.parametrize("case", DECOMPOSED)
@pytest.mark.parametrize("symbolic", [False, True])
def test_the_decomposed_form_is_right_too(case, symbolic):
    check(case, symbolic, decomposed=True)


def planes(n):
    return (torch.randn(1, 2, 4, 6),)


DECOMPOSED = [
    Case(
        "nearest_to_no_multiple",
        lambda x: torch.nn.functional.interpolate(x, size=(5, 7), mode="nearest"),
        planes,
    ),
    Case(
        "nearest_to_a_multiple",
        lambda x: torch.nn.functional.interpolate(x, scale_factor=2, mode="nearest"),
        planes,
        wrong=None,
    ),
]
test_nearest2d, test_nearest2d_stock = fix_tests("decompose", DECOMPOSED)
