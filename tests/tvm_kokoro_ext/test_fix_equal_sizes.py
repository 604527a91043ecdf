"""Sizes that torch takes for equal, and TVM cannot prove equal."""

import pytest
import torch
from frontend_cases import Case, compile_module, fix_tests, import_program, module_of
from packaging.specifiers import SpecifierSet

import tvm_kokoro_ext
from tvm_kokoro_ext import UnsupportedOperatorError, _compat, _emit
from tvm_kokoro_ext._compat import relax, tirx

pytestmark = pytest.mark.skipif(
    _compat.tvm_version() not in SpecifierSet(">=0.27"), reason="refused by name there, as by stock"
)

SYMBOLIC = {"symbolic": (True,)}
BIAS = torch.randn(4, 1, 64)
KERNEL = torch.randn(3, 3, 3)


def square(n):
    return (torch.randn(2, 4, n, n),)


def rows(n):
    return (torch.randn(2, n, 3),)


def image(n):
    return (torch.randn(2, 3, 2 * n, 2 * n + 2),)


def last_of_the_bias(x):  # MPT: n beside 64 - max(0, 64 - n)
    n = x.shape[-1]
    return x + BIAS[:, max(0, 1 - n) :, max(0, 64 - n) :]


def padded(x):
    return torch.nn.functional.pad(x, (0, 0, 0, (4 - x.shape[1] % 4) % 4))


def chunks(x):  # Mamba2: a chunk's length is a quotient of the number of chunks
    p = padded(x)
    c = p.reshape(p.shape[0], -1, 4, p.shape[2])
    q = p.reshape(p.shape[0], c.shape[1], -1, p.shape[2])
    return (c.cumsum(1) * q)[:, :, 1:], c @ q.transpose(2, 3)


def one_chunk(x):  # Qwen3-Next: torch knows from the loop that there is one chunk of 64
    p = torch.nn.functional.pad(x, (0, 0, 0, (64 - x.shape[1] % 64) % 64))
    c = p.reshape(x.shape[0], -1, 64, 3)
    scores = c @ c.transpose(-1, -2)
    rows = [scores[:, i] @ c[:, i] for i in range(p.shape[1] // 64)]
    return scores, torch.stack(rows, 1)


def blocks(x):  # PEGASUS-X: pads by a whole block where nothing is missing
    n = x.shape[1]
    p = torch.nn.functional.pad(x, (0, 0, 2, 2 + (4 - n % 4)))
    k = p.shape[1] // 4
    return p.reshape(2, k, -1, 3) + p[:, : k * 4].reshape(2, k, 4, 3)


def skipped(x):  # GLPN: an image made smaller and larger beside itself
    small = torch.nn.functional.max_pool2d(x, 3, 2, 1)
    large = torch.nn.functional.interpolate(small, scale_factor=2.0)
    return torch.cat([large, x], 1), torch.stack([large, x]), torch.where(x > 0, large, x)


STRIDE4, PLAIN, STRIDE2 = torch.randn(3, 3, 5, 5), torch.randn(3, 3, 1, 1), torch.randn(3, 3, 3, 3)


def one_pixel(x):  # Inception: torch knows that only one of the operands has a single pixel
    y = torch.nn.functional.conv2d(x, STRIDE4, stride=4)
    narrow = torch.nn.functional.conv2d(y, STRIDE2, stride=2)
    wide = torch.nn.functional.conv2d(torch.nn.functional.conv2d(y, PLAIN), STRIDE2, stride=2)
    pooled = torch.nn.functional.max_pool2d(y, 3, 2)
    zeros = torch.zeros(3)
    norm = torch.nn.functional.batch_norm(narrow, zeros, torch.ones(3))
    return torch.cat([norm, wide, pooled], 1).relu()


def photo(n):
    return (torch.randn(2, 3, 16 + n // 3, 16 + n // 3),)


def scores(x):  # SEW-D: a batch of heads, divided by itself
    y = torch.nn.functional.conv1d(x.transpose(1, 2), KERNEL, stride=2, padding=1)
    z = torch.nn.functional.conv1d(x.transpose(1, 2), KERNEL, stride=2, padding=1)
    together = (y.transpose(1, 2) @ z).repeat(4, 1, 1)
    n = y.shape[2]
    return together.view(-1, together.shape[0] // x.shape[0], n, n) + y.new_ones(2, 1, n, n)


test_equals_torch, test_stock_is_wrong = fix_tests(
    "equal_sizes",
    [
        Case("bias", last_of_the_bias, square, **SYMBOLIC),
        Case("chunks", chunks, rows, tolerance=1e-4, **SYMBOLIC),
        Case("one_chunk", one_chunk, rows, tolerance=1e-4, wrong=None, **SYMBOLIC),
        Case("blocks", blocks, rows, **SYMBOLIC),
        Case("skipped", skipped, image, **SYMBOLIC),
        Case("one_pixel", one_pixel, photo, tolerance=1e-4, wrong=None, **SYMBOLIC),
        Case("scores", scores, rows, tolerance=1e-4, wrong=None, **SYMBOLIC),
    ],
)

EYE = torch.eye(3)


def sampled(x, y):  # RAFT
    places = torch.stack([x[:, :, 0].tanh(), x[:, :, 1].tanh()], -1)[:, None]
    images = y[: y.shape[0] // 2, None]
    return torch.nn.functional.grid_sample(images, places, align_corners=True)


HALVES = {  # of x with n, and y with 2 n rows
    "grid_sample": sampled,
    "expand": lambda x, y: y[: y.shape[0] // 2, :1].expand(x.shape[0], 3, 3) * 2,
    "expand_as": lambda x, y: y[: y.shape[0] // 2, :1].expand_as(x) * 2,
    "addmm": lambda x, y: torch.addmm(y[: y.shape[0] // 2, 0], x[:, 0], EYE),
    "addmm_of_a_row": lambda x, y: torch.addmm(y[0, :1], x[:, 0], EYE),
    "addmv": lambda x, y: torch.addmv(y[: y.shape[0] // 2, 0, 0], x[:, 0], EYE[0]),
    "baddbmm": lambda x, y: torch.baddbmm(y[: y.shape[0] // 2], x, x.transpose(1, 2)),
    "baddbmm_of_halves": lambda x, y: torch.baddbmm(
        x, y[: y.shape[0] // 2], y[: y.shape[0] // 2].transpose(1, 2)
    ),
    "where_number": lambda x, y: torch.where(x > 0, y[: y.shape[0] // 2], 2.0),
}


@pytest.mark.parametrize("decomposed", [True, False])
@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in HALVES.items()])
def test_half_as_many_rows(function, decomposed):
    def inputs(n):
        return torch.randn(n, 3, 3), torch.randn(2 * n, 3, 3)

    case = Case("halves", function, inputs)
    marks = (({0: torch.export.Dim.AUTO},) * 2,)
    program = torch.export.export(module_of(case), inputs(5), dynamic_shapes=marks)
    run = compile_module(import_program(program, decomposed))
    for n in (5, 9):
        x, y = inputs(n)
        (made,) = run(x.numpy(), y.numpy())
        torch.testing.assert_close(torch.from_numpy(made), function(x, y), atol=1e-5, rtol=1e-5)


def one_chunk(x):  # Qwen3-Next
    y = torch.nn.functional.pad(x, (0, 0, 0, (16 - x.shape[1] % 16) % 16)).reshape(2, -1, 16, 3)
    return y @ y.transpose(2, 3)


ONE = {  # of 7 to 13 rows
    "chunk": one_chunk,
    "quotient": lambda x: x[:, : x.shape[1] // 7].expand(2, 4, 3) * 2,
    "quotient_to_rows": lambda x: x[:, : x.shape[1] // 7].expand(2, x.shape[1], 3) * x,
    "quotient_in_front": lambda x: x[0, : x.shape[1] // 7].expand(5, 1, 3) * 2,
}


@pytest.mark.parametrize("decomposed", [True, False])
@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in ONE.items()])
def test_a_size_that_torch_knows_to_be_one(function, decomposed):
    """TVM has the quotient of a size there, and did not build its broadcast."""

    def inputs(n):
        return (torch.randn(2, n, 3),)

    case = Case("one", function, inputs)
    marks = (({1: torch.export.Dim.AUTO},),)
    program = torch.export.export(module_of(case), inputs(10), dynamic_shapes=marks)
    run = compile_module(import_program(program, decomposed))
    for n in (7, 10, 13):
        (x,) = inputs(n)
        torch.testing.assert_close(torch.from_numpy(run(x.numpy())[0]), function(x))


COUNTED = {
    "add": lambda x, y: x[x > 0] + y,
    "hypot": lambda x, y: torch.hypot(x[x > 0], y),
    "where": lambda x, y: torch.where(x[x > 0] > 2, y, 0.0),
    "floor_divide": lambda x, y: torch.floor_divide(y, x[x > 0]),
    "cat": lambda x, y: torch.cat([x[x > 0][:, None], y[:, None]], 1),
    "matmul": lambda x, y: y @ x[x > 0].reshape(-1, 1),
    "index": lambda x, y: BIAS[(x > 0).nonzero()[:, 0] % 4, 0, y.long()],
    "index_put": lambda x, y: torch.zeros(100).index_put((y.long(),), x[x > 0]),
    "reshape": lambda x, y: x[x > 0].reshape(y.shape),
}


@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in COUNTED.items()])
def test_as_many_numbers_as_a_mask_selects(function):
    """Checked at each call: kernels that take the sizes for equal would read outside of a tensor.

    Of fewer numbers than the mask selects, the program without a check makes NaN.
    """

    def inputs(n):
        return torch.arange(-3.0, 6.0), torch.rand(n) * 3

    case = Case("counted", function, inputs)
    marks = (({0: torch.export.Dim.AUTO},) * 2,)
    program = torch.export.export(module_of(case), inputs(5), dynamic_shapes=marks)
    run = compile_module(import_program(program, False))
    x, y = inputs(5)
    torch.testing.assert_close(torch.from_numpy(run(x.numpy(), y.numpy())[0]), function(x, y))
    for n in (2, 20):
        with pytest.raises(Exception, match="mismatch"):
            run(*[t.numpy() for t in inputs(n)])


def test_a_size_that_is_longer_than_the_table_is_refused_at_run_time():
    case = Case("bias", last_of_the_bias, square)
    marks = (({2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO},),)
    program = torch.export.export(module_of(case), square(6), dynamic_shapes=marks)
    run = compile_module(import_program(program, True))
    run(*[t.numpy() for t in square(63)])
    with pytest.raises(Exception, match="mismatch"):
        run(*[t.numpy() for t in square(65)])


def added(x):
    return x + BIAS[:, :, max(0, 64 - x.shape[-1]) :]


def added_after_a_reshape(x):
    bias = BIAS[:, :, max(0, 64 - x.shape[-1]) :]
    return x + bias.reshape(1, 4, 1, x.shape[-1])


def test_without_the_fix_the_sizes_and_a_way_around_are_named():
    def imported(function):
        case = Case("bias", function, square)
        marks = (({3: torch.export.Dim.AUTO},),)
        program = torch.export.export(module_of(case), square(6), dynamic_shapes=marks)
        with tvm_kokoro_ext.disabled("equal_sizes"):
            return compile_module(import_program(program, False))

    with pytest.raises(UnsupportedOperatorError) as raised:
        imported(added)
    message = str(raised.value)
    assert "aten.add.Tensor" in message and "64" in message and "[2, 4, 6, s" in message
    assert ".py, line" in message and "y.reshape(x.shape)" in message
    run = imported(added_after_a_reshape)
    (x,) = square(6)
    torch.testing.assert_close(torch.from_numpy(run(x.numpy())[0]), added_after_a_reshape(x))


def test_declaring_a_size_that_is_an_expression_of_itself_does_not_end_the_process():
    """`CanonicalizeBindings` would put `64 - max(0, 64 - n)` for n in it, without an end."""
    n = _compat.tir_var("n")
    cut = 64 - tirx.max(tirx.IntImm("int64", 0), 64 - n)
    x = relax.Var("x", _compat.tensor_type([n], "float32"))
    y = relax.Var("y", _compat.tensor_type([cut], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        with builder.dataflow():
            declared = _emit.with_sizes(builder, y, [n])
            output = builder.emit_output(builder.emit(relax.op.add(x, declared)))
        builder.emit_func_output(output)
    module = relax.transform.CanonicalizeBindings()(builder.get())
    run = compile_module(module)
    ones = torch.ones(5).numpy()
    assert run(ones, ones)[0].tolist() == [2.0] * 5
