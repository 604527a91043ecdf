"""Symbolic extents that failed to compile: n - 2 next to two others, and operands of cond."""

import pytest
import torch
from frontend_cases import (
    Case,
    compile_module,
    export,
    fix_tests,
    import_program,
    module_of,
    state_of,
)

import tvm_kokoro_ext
from tvm_kokoro_ext import State, _compat
from tvm_kokoro_ext._compat import relax, tirx, tvm

RAW = {"symbolic": (True,), "decomposed": (False,)}
WEIGHT = torch.randn(4, 3, 3, 3)


def volume(n):
    return (torch.randn(4, 3, n),)


def shorter(x):
    y = x[:, :, 2:]
    return y.unsqueeze(0), y[..., None].exp().squeeze(-1), y.reshape(1, 4, 3, -1), y.flatten(0, 1)


def unbatched(x):
    return torch.nn.functional.conv2d(x, WEIGHT)


RESHAPE_PATTERN = [
    Case("shorter", shorter, volume, wrong=None, **RAW),
    Case("conv2d_unbatched", unbatched, lambda n: (torch.randn(3, 5, n),), tolerance=1e-4, **RAW),
]
test_reshape_pattern, test_reshape_pattern_stock = fix_tests("reshape_pattern", RESHAPE_PATTERN)


def blocks_of_four(x):
    n = x.shape[2]
    y = torch.nn.functional.pad(x, (0, 0, 2, 6 - n % 4)).exp()
    split = y.view(x.shape[0], 4, n // 4 + 2, 4, 8)
    return split, split.transpose(3, 4).contiguous().view(x.shape[0], 4, n // 4 + 2, 32)


def heads(n):
    return (torch.randn(n // 3, 4, n, 8),)


test_reshape_kernel, test_reshape_kernel_stock = fix_tests(
    "reshape_kernel",
    [
        Case("split_and_joined", blocks_of_four, heads, symbolic=(True,)),
        Case("joined", lambda x: x[:, :, 2:].reshape(x.shape[0], 4, -1), heads, wrong=None),
    ],
)


def chunks_of_two(x, y):  # right up to 5 columns, as torch's own exported program
    return torch.ops.aten._chunk_cat.default([x, y], -1, 5)


def thirds_and_halves(n):
    return torch.randn(1, n, n // 3), torch.randn(1, n, n // 2)


test_memory, test_memory_stock = fix_tests(
    "match_cast_memory", [Case("chunk_cat", chunks_of_two, thirds_and_halves, symbolic=(True,))]
)


def chosen_beside_others(x):
    """Constants of one dtype that 0.25 takes for each other."""
    narrow = x.int()
    return (
        *(torch.where(x < 0, number, x) for number in (3, -1, 2, -2, 1, -3)),
        *(torch.where(narrow < 0, torch.tensor(n, dtype=torch.int32), narrow) for n in (1, -1)),
        x[:3] + torch.tensor([1, 2, 3]) * torch.tensor([-3, -2, -1]),
    )


test_constants, test_constants_stock = fix_tests(
    "constant_pool", [Case("chosen", chosen_beside_others, lambda n: (torch.arange(-4, n),))]
)


def test_what_torch_has_found_of_a_range_is_checked_at_run_time():
    marks = (({1: torch.export.Dim.AUTO, 2: torch.export.Dim.AUTO},) * 2,)
    case = Case("chunk_cat", chunks_of_two, thirds_and_halves)
    program = torch.export.export(module_of(case), thirds_and_halves(6), dynamic_shapes=marks)
    run = compile_module(import_program(program, True))
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(*thirds_and_halves(12))
    with pytest.raises(Exception, match="mismatch"):
        run(*[t.numpy() for t in thirds_and_halves(12)])


@pytest.mark.parametrize("returned", [False, True])
def test_a_tensor_that_is_declared_anew_keeps_its_memory(returned):
    """Kernels that run between the declaration and its use write memory of the same size."""
    rows = _compat.tir_var("rows")
    x = relax.Var("x", _compat.tensor_type([8, 8], "float32"))
    y = relax.Var("y", _compat.tensor_type([rows, 8], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        with builder.dataflow():
            square = builder.emit(relax.op.matmul(x, x))
            kind = _compat.tensor_type([tirx.Add(rows, tirx.IntImm("int64", 0)), 8], "float32")
            declared = builder.match_cast(square, kind)
            other = builder.emit(relax.op.matmul(x, builder.emit(relax.op.permute_dims(x))))
            other = builder.emit(relax.op.matmul(other, x))
            used = declared if returned else builder.emit(relax.op.add(declared, y))
            output = builder.emit_output((used, other))
        builder.emit_func_output(output)
    executable = tvm.compile(builder.get(), tvm.target.Target({"kind": "llvm"}))
    run = relax.VirtualMachine(executable, tvm.cpu())["main"]
    x, y = torch.rand(8, 8), torch.rand(8, 8)
    result = run(tvm.runtime.tensor(x.numpy()), tvm.runtime.tensor(y.numpy()))
    expected = (x @ x if returned else x @ x + y, x @ x.T @ x)
    torch.testing.assert_close([torch.from_numpy(r.numpy()) for r in result], list(expected))
    with pytest.raises(Exception, match="mismatch"):
        run(tvm.runtime.tensor(x.numpy()), tvm.runtime.tensor(y[:5].numpy()))


def branches(x, y):
    def add(x, y):
        return x + y

    def subtract(x, y):
        return torch.amax(x, 1, keepdim=True) - y

    return torch.cond(x.sum() > 0, add, subtract, (x, y))


def rows(n):
    return torch.randn(3, n), torch.randn(3, n)


test_cond_dimensions, test_cond_dimensions_stock = fix_tests(
    "cond_dimensions", [Case("two_operands", branches, rows, symbolic=(True,))]
)


def rolled(x):
    return x.roll(1, 0), x.roll((2, -1), (0, 1)), x.roll(-3), x.roll(x.shape[0] // 2, 1)


@pytest.mark.parametrize("decomposed", [False, True], ids=["whole", "decomposed"])
def test_rolling_along_a_size_that_is_0_in_one_call(decomposed):
    """Torch's decomposition divides by the size, and PyTorch's roll does not."""
    case = Case("any_number", rolled, lambda n: (torch.randn(n, 4),))
    number = torch.export.Dim("number", min=0)
    marks = (({0: number},),)
    program = torch.export.export(module_of(case), case.inputs(6), dynamic_shapes=marks)
    program = program.run_decompositions() if decomposed else program
    run = compile_module(import_program(program, True))
    for n in (0, 6, 1, 0):
        x = torch.randn(n, 4)
        for mine, theirs in zip(run(x.numpy()), rolled(x), strict=True):
            torch.testing.assert_close(torch.from_numpy(mine), theirs)


def promises_of_add():
    """Of how many buffers LLVM is told that they overlap no other, by a kernel of 2 buffers.

    Its name "add" sorts before "shape_func", the function that computes symbolic sizes.
    """
    case = Case("add", lambda x: (x + 1).reshape(-1, 2), lambda n: (torch.randn(n, 4),))
    module = import_program(export(case, symbolic=True), True)
    executable = tvm.compile(module, tvm.target.Target({"kind": "llvm"}))
    (library,) = executable.mod.imports
    text = library.inspect_source("ll").splitlines()
    heads = [line for line in text if line.startswith("define") and "@add_compute_(" in line]
    return sum(head.count("noalias") for head in heads)


def test_kernels_of_symbolic_sizes_keep_what_they_promise_of_their_buffers():
    assert promises_of_add() == 2
    if state_of("shape_functions") is State.APPLIED:
        with tvm_kokoro_ext.disabled("shape_functions"):
            assert promises_of_add() == 0
