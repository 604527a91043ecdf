"""Binary operators: alpha, and the dtype in which torch computes."""

import torch
from frontend_cases import Case, fix_tests


def floats(n):
    return torch.randn(3, n), torch.randn(3, n)


def ints(n):
    return torch.arange(3 * n).reshape(3, n) - 5, torch.arange(n) + 1


def small(n):
    """Numbers of 8 bits, and bools."""
    numbers = torch.arange(3 * n).reshape(3, n) - 5
    return numbers.to(torch.int8), numbers.to(torch.uint8), numbers % 2 == 0


def beyond(x, y, z):
    """Integers that 8 bits cannot hold, which wrap around."""
    sums = x + 300, 300 - x, x * -200, y + 300, y - 300, y % -3
    return *sums, x & 511, torch.maximum(x, torch.tensor(300)), torch.minimum(y, torch.tensor(-3))


ALPHA = [
    Case("add", lambda x, y: torch.add(x, y, alpha=3), floats),
    Case("sub", lambda x, y: torch.sub(x, y, alpha=0.5), floats),
    Case("rsub", lambda x, y: torch.rsub(x, y, alpha=2), floats),
    Case("add_promotes", lambda x, y: torch.add(x, y.float(), alpha=0.5), ints),
    Case("add_scalar", lambda x, y: torch.add(x, 2, alpha=3), floats, symbolic=(False,)),
    Case("plain", lambda x, y: x + y, floats, wrong=None, symbolic=(False,)),
]
test_alpha, test_alpha_stock = fix_tests("alpha", ALPHA)

PROMOTION = [
    Case("int_times_half", lambda x, y: x * 0.5, ints),
    Case("int_plus_float", lambda x, y: x + 0.5, ints),
    Case("int_div_int", lambda x, y: x / y, ints),
    Case("int_compare_float", lambda x, y: x > -0.5, ints),
    Case("rsub_float", lambda x, y: 0.5 - x, ints),
    Case("rsub_float64", lambda x, y: 1.0 - x.double(), floats),
    Case("zero_dim_keeps_int32", lambda x, y: x.int() + y.sum(), ints),
    Case("int_pow_float", lambda x, y: y**0.5, ints),
    Case("int8_plus_300", beyond, small, decomposed=(True,)),
    Case("bool_compare_true", lambda x, y, z: (z == True, z < True, z >= False), small),  # noqa: E712
    Case("bool_compare_large", lambda x, y, z: (z == 2**40, z < 2**40), small),
    Case("int32_plus_int64", lambda x, y: x.int() + y, ints, wrong=None, symbolic=(False,)),
    Case(
        "float64_times_scalar",
        lambda x, y: x.double() * 0.1,
        floats,
        wrong=None,
        symbolic=(False,),
    ),
]
test_promotion, test_promotion_stock = fix_tests("dtype_promotion", PROMOTION)

MATMUL = [
    Case("mm_float64", lambda x, y: x.double() @ y.double().transpose(0, 1), floats),
    Case(
        "bmm_float64",
        lambda x, y: torch.bmm(x[None].double(), y.transpose(0, 1)[None].double()),
        floats,
    ),
    Case("mm_int", lambda x, y: x @ y[:, None], ints),
    Case("mm_float32", lambda x, y: x @ y.transpose(0, 1), floats, wrong=None, symbolic=(False,)),
]
test_matmul, test_matmul_stock = fix_tests("matmul", MATMUL)
