"""Symbolic sizes as numbers: arithmetic on them, and tensors combined with them."""

import math
import operator

import pytest
import torch
from frontend_cases import (
    Case,
    compile_module,
    export,
    fix_tests,
    import_program,
    module_of,
)

from tvm_kokoro_ext import UnsupportedOperatorError


def rows(n):
    return (torch.randn(3, n),)


def ints(n):
    return (torch.arange(3 * n).reshape(3, n) - 5,)


FLOORDIV = [
    Case("floordiv", lambda x: x.new_zeros((x.shape[1] // 2,)), rows, symbolic=(True,)),
    Case("sub", lambda x: x[:, : x.shape[1] - 1], rows, symbolic=(True,)),
    Case("add_neg", lambda x: x.new_zeros((x.shape[1] + 1,)), rows, symbolic=(True,)),
]
test_floordiv, test_floordiv_stock = fix_tests("floordiv", FLOORDIV)


def steps(x):
    """A tensor whose size is a float that is rounded up, and another of that size."""
    places = torch.arange(0, x.shape[1], 1.3)
    return places.reshape(1, -1) + torch.zeros(x.shape[0], places.shape[0])


SYM_FLOAT = [
    Case("size_of_steps", steps, rows, symbolic=(True,)),
    Case("truediv", lambda x: x * (x.shape[1] / 4), rows, symbolic=(True,)),
    Case("sym_float", lambda x: x * torch.sym_float(x.shape[1]), rows, symbolic=(True,)),
    Case("trunc", lambda x: x.new_ones((math.trunc(x.shape[1] * 1.5),)), rows, symbolic=(True,)),
    Case("round", lambda x: x[:, : round(x.shape[1] * 0.5)], rows, symbolic=(True,)),
    Case("round_size", lambda x: x + round(x.shape[1]), rows, symbolic=(True,)),
    Case("round_0", lambda x: x + round(x.shape[1] * 0.5, 0), rows, symbolic=(True,)),
    Case("ceil", lambda x: x + math.ceil(x.shape[1] / 4), rows, symbolic=(True,)),
    Case("pow_int", lambda x: x + x.shape[1] ** 2, rows, symbolic=(True,)),
    Case("pow_half", lambda x: x / x.shape[1] ** 0.5, rows, symbolic=(True,)),
    Case("abs", lambda x: x * abs(6 - x.shape[1]) + abs(1.5 - x.shape[1]), rows, symbolic=(True,)),
    Case("shifts", lambda x: x + (x.shape[1] << 2) - (x.shape[1] >> 1), rows, symbolic=(True,)),
    Case("mod", lambda x: x + (x.shape[1] % 4), rows, wrong="<0.27", symbolic=(True,)),
    Case("mod_float", lambda x: x + (x.shape[1] * 0.5) % 1.25, rows, symbolic=(True,)),
    Case("mod_negative", lambda x: x + (1 - x.shape[1]) / 2 % 1.5, rows, symbolic=(True,)),
    Case("sym_max", lambda x: x + torch.sym_max(x.shape[1], 7), rows, symbolic=(True,)),
    Case("sym_min", lambda x: x + torch.sym_min(x.shape[1], 7), rows, symbolic=(True,)),
]
test_sym_float, test_sym_float_stock = fix_tests("sym_float", SYM_FLOAT)


def test_rounding_a_symbolic_number_to_digits_is_refused_by_name():
    case = Case("round_2", lambda x: x + round(x.shape[1] * 0.37, 2), rows)
    program = export(case, symbolic=True)
    with pytest.raises(UnsupportedOperatorError, match=r"round.*decimal.*round\(x\)"):
        import_program(program, decomposed=False)


def chosen(condition):
    return lambda x: torch.cond(condition(x.shape[1]), lambda x: x + 1, lambda x: x * 2, (x,))


CONDITION = [
    Case("gt", chosen(lambda n: n > 6), rows, wrong="<0.27", symbolic=(True,)),
    Case("eq", chosen(lambda n: n == 5), rows, wrong="<0.27", symbolic=(True,)),
    Case("float", chosen(lambda n: n / 2 <= 3.5), rows, wrong="<0.27", symbolic=(True,)),
    Case("not", chosen(lambda n: torch.sym_not(n > 6)), rows, symbolic=(True,)),
    Case("and", chosen(lambda n: (n > 3) & (n < 8)), rows, symbolic=(True,)),
    Case("or", chosen(lambda n: (n < 3) | (n > 8)), rows, symbolic=(True,)),
    Case("bits", lambda x: x + ((x.shape[1] & 6) | 8), rows, symbolic=(True,)),
    Case(
        "ite",
        lambda x: x * torch.sym_ite(x.shape[1] > 6, x.shape[1], x.shape[1] + 3),
        rows,
        symbolic=(True,),
    ),
    Case(
        "ite_float",
        lambda x: x * torch.sym_ite(x.shape[1] > 6, x.shape[1] / 4, x.shape[1] * 1.5),
        rows,
        symbolic=(True,),
    ),
]
test_condition, test_condition_stock = fix_tests("symbolic_condition", CONDITION)


def test_bits_that_differ_are_computed_of_sizes():
    """torch.export takes `^` of sizes for none of its functions; other sources of a program do."""
    marks = (({1: torch.export.Dim.AUTO},),)
    case = Case("or", lambda x: x + (x.shape[1] | 5), rows)
    program = torch.export.export(module_of(case), case.inputs(6), dynamic_shapes=marks)
    for node in program.graph.nodes:
        if node.target is operator.or_:
            node.target = operator.xor
    run = compile_module(import_program(program, decomposed=False))
    for n in (6, 9):
        (x,) = case.inputs(n)
        torch.testing.assert_close(torch.from_numpy(run(x.numpy())[0]), x + (n ^ 5))


SYMBOLIC_SCALAR = [
    Case("mul", lambda x: x * x.shape[1], rows, symbolic=(True,)),
    Case("mul_float", lambda x: x * (x.shape[1] * 0.5), rows, symbolic=(True,)),
    Case("rsub", lambda x: x.shape[1] - x, rows, symbolic=(True,)),
    Case("int_div", lambda x: x / x.shape[1], ints, symbolic=(True,)),
    Case("int_add", lambda x: x + x.shape[1], ints, wrong="<0.26", symbolic=(True,)),
    Case("compare", lambda x: x < x.shape[1], ints, wrong="<0.26", symbolic=(True,)),
    Case("remainder", lambda x: x % x.shape[1], ints, wrong="<0.26", symbolic=(True,)),
]
test_symbolic_scalar, test_symbolic_scalar_stock = fix_tests("symbolic_scalar", SYMBOLIC_SCALAR)

F = torch.nn.functional


def rows_and_places(n):
    return torch.randn(3, n), torch.randint(0, n, (3, 2))


def square(n):
    return torch.randn(n, n), torch.randn(n, n)


ARGUMENTS = [
    Case("leaky_relu", lambda x: F.leaky_relu(x, 1 / x.shape[1]), rows, symbolic=(True,)),
    Case("elu", lambda x: F.elu(x, x.shape[1]), rows, symbolic=(True,)),
    Case("softplus", lambda x: F.softplus(x, x.shape[1] / 3), rows, symbolic=(True,)),
    Case(
        "hardtanh",
        lambda x: F.hardtanh(x, -x.shape[1] / 20, x.shape[1] / 10),
        rows,
        symbolic=(True,),
    ),
    Case(
        "scatter", lambda x, i: x.scatter(1, i, x.shape[1] / 2), rows_and_places, symbolic=(True,)
    ),
    Case(
        "scatter_int", lambda x, i: x.scatter(1, i, x.shape[1]), rows_and_places, symbolic=(True,)
    ),
    Case(
        "addmm",
        lambda x, y: torch.addmm(x, x, y, alpha=x.shape[1], beta=1 / x.shape[1]),
        square,
        symbolic=(True,),
    ),
    Case(
        "baddbmm",
        lambda x, y: torch.baddbmm(x[None], x[None], y[None], alpha=x.shape[1] / 2),
        square,
        symbolic=(True,),
    ),
    Case("norm", lambda x: torch.norm(x, p=x.shape[1] / 2, dim=1), rows, symbolic=(True,)),
]
test_arguments, test_arguments_stock = fix_tests("decompose", ARGUMENTS)

SCALAR_TENSOR = [
    Case("float", lambda x: x * torch.scalar_tensor(x.shape[1]), rows, symbolic=(True,)),
    Case(
        "int64",
        lambda x: x + torch.scalar_tensor(x.size(1), dtype=torch.int64),
        ints,
        symbolic=(True,),
    ),
]
test_scalar_tensor, test_scalar_tensor_stock = fix_tests("scalar_tensor", SCALAR_TENSOR)
