"""instance_norm, group_norm: a mean of 1000 leaves the variance intact; layer_norm: no affine."""

import torch
from frontend_cases import Case, fix_tests
from torch.nn import functional

import tvm_kokoro_ext
from tvm_kokoro_ext import _compat


def shifted(*shape):
    return lambda n: (1000 + torch.randn(*[n if s == "n" else s for s in shape]),)


def with_affine(module):
    torch.manual_seed(0)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module


def case(name, module, *shape, **options):
    return Case(
        name, with_affine(module), shifted(*shape), tolerance=2e-4, reference64=True, **options
    )


INSTANCE = [
    case("rank3", torch.nn.InstanceNorm1d(4, affine=True), 2, 4, "n"),
    case("rank4", torch.nn.InstanceNorm2d(3, affine=True), 1, 3, "n", 5),
    # Sums side by side: one row of them, less than a row, whole rows, and some more.
    *(case(f"width{w}", torch.nn.InstanceNorm2d(2), 1, 2, "n", w) for w in (1, 8, 15, 32, 35)),
]
test_instance_norm, test_instance_norm_stock = fix_tests("instance_norm", INSTANCE)

GROUP = [
    case("rank3", torch.nn.GroupNorm(2, 6), 2, 6, "n"),
    case("rank4", torch.nn.GroupNorm(3, 6), 1, 6, "n", 4),
    case("one_group", torch.nn.GroupNorm(1, 4), 1, 4, "n"),
]
test_group_norm, test_group_norm_stock = fix_tests("group_norm", GROUP)

LAYER = [
    case("no_affine", torch.nn.LayerNorm(5, elementwise_affine=False), 2, "n", 5),
    case("no_bias", torch.nn.LayerNorm(5, bias=False), 2, "n", 5),
    case("affine", torch.nn.LayerNorm((3, 5)), 2, "n", 3, 5, wrong=None),
    Case(
        "instance_epsilon",
        with_affine(torch.nn.InstanceNorm1d(3, eps=0.3, affine=True)),
        lambda n: (torch.randn(2, 3, n),),
        decomposed=(False,),
    ),
    Case(
        "instance_running",
        with_affine(torch.nn.InstanceNorm1d(3, affine=True, track_running_stats=True)),
        lambda n: (torch.randn(2, 3, n),),
        decomposed=(False,),
    ),
]


def channels(*names):
    """A tensor of n channels, and vectors of as many elements; variances are positive."""
    return lambda n: (torch.randn(2, n, 3), *(torch.rand(n) + 0.5 for _ in names))


SYMBOLIC = {"symbolic": (True,)}
LAYER += [
    Case("channels", functional.batch_norm, channels("mean", "variance"), **SYMBOLIC),
    Case(
        "channels_affine",
        lambda x, m, v, w, b: functional.batch_norm(x, m, v, w, b, eps=0.1),
        channels("mean", "variance", "weight", "bias"),
        **SYMBOLIC,
    ),
    Case(
        "channels_half",
        lambda x, m, v, w: functional.batch_norm(x.half(), m, v, w, w).float(),
        channels("mean", "variance", "weight"),
        tolerance=2e-3,
        **SYMBOLIC,
    ),
    Case("instance_channels", functional.instance_norm, channels(), **SYMBOLIC),
    Case("group_channels", lambda x: functional.group_norm(x, 3), channels(), **SYMBOLIC),
    Case(
        "instance_channels_running",
        lambda x, m, v: functional.instance_norm(x, m, v, use_input_stats=False),
        channels("mean", "variance"),
        **SYMBOLIC,
    ),
]
test_layer_norm, test_layer_norm_stock = fix_tests("layer_norm", LAYER)


def test_the_very_legalization_of_tvm_comes_back():
    for op in ("relax.nn.instance_norm", "relax.nn.group_norm"):
        active = _compat.get_legalization(op)
        with tvm_kokoro_ext.disabled("instance_norm", "group_norm"):
            stock = _compat.get_legalization(op)
            assert not _compat.same_object(active, stock)
        with tvm_kokoro_ext.disabled("all"):
            assert _compat.same_object(_compat.get_legalization(op), stock)
        assert _compat.same_object(_compat.get_legalization(op), active)
