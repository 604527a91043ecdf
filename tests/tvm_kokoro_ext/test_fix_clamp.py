"""clamp: integers with one bound, clamp_max's bound, tensor and symbolic bounds."""

import pytest
import torch
from frontend_cases import Case, check, fix_tests

from tvm_kokoro_ext import UnsupportedOperatorError

NAN = float("nan")


def ints(n):
    return (torch.arange(3 * n).reshape(3, n) - 5,)


def floats(n):
    return (torch.randn(3, n),)


CASES = [
    Case("int_lower", lambda x: x.clamp(min=2), ints),
    Case("int_upper", lambda x: x.clamp(max=2), ints, wrong=">=0.27"),
    Case("int_both", lambda x: x.clamp(0, 3), ints, wrong=None),
    Case("int_float_bounds", lambda x: x.clamp(0.5, 2.5), ints),
    Case("int32_lower", lambda x: x.int().clamp_min(1), ints),
    Case("float_both", lambda x: x.clamp(-0.5, 0.5), floats, wrong=None),
    Case("clamp_max", lambda x: torch.clamp_max(x, 0.1), floats),
    Case("clamp_min", lambda x: torch.clamp_min(x, 0.1), floats, wrong=None),
    Case("symbolic_upper", lambda x: (x * 5).long().clamp(0, x.shape[1] - 3), floats),
    Case("int_nan", lambda x: (x.clamp(min=NAN), x.clamp(0, NAN)), ints),
    Case("float_nan", lambda x: (x.clamp(min=NAN), torch.clamp_max(x, NAN)), floats),
    Case(
        "tensor_lower",
        lambda x, lo: x.clamp(min=lo),
        lambda n: (*floats(n), torch.randn(n)),
        wrong=None,
    ),
    Case(
        "tensor_bounds_promote",
        lambda x, lo, hi: torch.clamp(x, lo, hi),
        lambda n: (*ints(n), torch.zeros(1, 1), torch.full((3, 1), 2.5)),
    ),
]

test_equals_torch, test_stock_is_wrong = fix_tests("clamp", CASES)


@pytest.mark.parametrize("bounds", [(-1000, 100), (0, 3000), (None, 128), (-129, None)])
def test_a_bound_that_the_dtype_does_not_hold_is_refused_by_name(bounds):
    case = Case("clamp", lambda x: x.to(torch.int8).clamp(*bounds), ints)
    with pytest.raises(UnsupportedOperatorError, match=r"aten.clamp.*which int8 does not hold"):
        check(case, False, False)
