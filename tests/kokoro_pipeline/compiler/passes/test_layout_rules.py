"""Elementwise and shape operators keep the channels-last layout, with the results of torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import torch
import tvm
from torch.export import Dim
from torch.nn import functional
from tvm import relax

from kokoro_pipeline.compiler.codegen.target import resolve_target
from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget
from kokoro_pipeline.compiler.lowering.cpu_backend import CpuBackend
from kokoro_pipeline.compiler.lowering.lower_to_kernels import lower_to_kernels
from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable

L = Dim("L", min=1, max=4096)
CHANNELS = 16


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(6)
    return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


def assert_same(module: torch.nn.Module, program: Any, *inputs: np.ndarray) -> None:
    with torch.no_grad():
        expected = module(*map(torch.from_numpy, inputs))
    actual = program(*inputs)
    # The importer unwraps a tuple of one.
    if isinstance(actual, np.ndarray):
        actual = (actual,)
    for got, want in zip(actual, expected, strict=True):
        np.testing.assert_allclose(got, want.numpy(), atol=3e-6 * max(1, want.abs().max()))


def conv(m: Any, x: torch.Tensor) -> torch.Tensor:
    """A convolution, which makes a value channels-last."""
    return functional.conv1d(x, m.w, m.b)


def between_convs(as_module: Any, functions: Iterable[Callable[..., Any]], **more: Any) -> Any:
    """conv(f(m, conv(x), x)) for each function: a layout of its own would show as transposes.

    The second convolution has as many input channels as the function gives.
    """
    parameters = {"w": 0.3 * seeded(CHANNELS, 6, 1), "b": seeded(CHANNELS), **more}
    scratch = as_module(conv, **parameters)
    x = torch.zeros(2, 6, 12)
    steps = []
    for index, function in enumerate(functions):
        width = function(scratch, conv(scratch, x), x).shape[1]
        parameters[f"v{index}"] = 0.3 * seeded(4, width, 1)
        steps.append((f"v{index}", function))

    def branches(m: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = conv(m, x)
        return tuple(functional.conv1d(f(m, y, x), getattr(m, weight)) for weight, f in steps)

    return as_module(branches, **parameters)


def transposes(program: Any) -> int:
    return program.operators("lower_to_kernels").count("relax.permute_dims")


ELEMENTWISE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "abs": torch.abs,
    "add": lambda y: y + y,
    "cos": torch.cos,
    "divide": lambda y: 1.0 / (2.0 + torch.abs(y)),
    "exp": torch.exp,
    "gelu": lambda y: functional.gelu(y, approximate="tanh"),
    "leaky_relu": lambda y: functional.leaky_relu(y, 0.2),
    "maximum": lambda y: torch.maximum(y, y * 0.5),
    "minimum": lambda y: torch.minimum(y, y * 0.5),
    "multiply": lambda y: y * y,
    "negative": torch.neg,
    "power": lambda y: torch.abs(y) ** 1.5,
    "relu": torch.relu,
    "rsqrt": lambda y: torch.rsqrt(torch.abs(y) + 0.5),
    "sigmoid": torch.sigmoid,
    "sin": torch.sin,
    "sqrt": lambda y: torch.sqrt(torch.abs(y)),
    "subtract": lambda y: 1.0 - y,
    "tanh": torch.tanh,
    "where": lambda y: torch.where(y > 0.25, y, 0.5 * y),
}


def test_elementwise_operators_stay_channels_last(mcpu, as_module, compile_program):
    """A transpose at the input and one at each result; one more each side for the comparison."""
    module = between_convs(as_module, [lambda _m, y, _x, f=f: f(y) for f in ELEMENTWISE.values()])
    x, single = arrays((2, 6, 33), (2, 6, 1))
    program = compile_program(module, [torch.from_numpy(x)], ({2: L},), mcpu=mcpu)
    assert transposes(program) <= 1 + len(ELEMENTWISE) + 2
    assert_same(module, program, x)
    assert_same(module, program, single)


BROADCASTS = {
    "a scalar": lambda m, y, x: y * 3.0 + 1.0,
    "a column": lambda m, y, x: y * m.column,
    "a column of each row": lambda m, y, x: y * x.mean(dim=2)[:, :1, None],
    "a row": lambda m, y, x: y + x[:, 2:3],
    "a whole tensor from the input": lambda m, y, x: y + torch.cat([x, x, x[:, :4]], dim=1),
    "a vector along time": lambda m, y, x: y + x[0, 0],
    "a tensor of no dimensions": lambda m, y, x: y * m.number,
    "a plane": lambda m, y, x: y + x[0, 0][None],
}


def test_operands_broadcast_in_either_layout(as_module, compile_program):
    module = between_convs(
        as_module,
        BROADCASTS.values(),
        column=seeded(1, CHANNELS, 1),
        number=torch.tensor(0.7),
    )
    # 16 samples are as many as there are channels: an operand of the wrong axis would fit.
    x, single = arrays((2, 6, 16), (2, 6, 1))
    program = compile_program(module, [torch.from_numpy(x)], ({2: L},))
    assert_same(module, program, x)
    assert_same(module, program, single)


FREE: dict[str, Callable[..., torch.Tensor]] = {
    "concat of channels": lambda m, y, x: torch.cat([y, y * 2], dim=1),
    "concat of channels with the input": lambda m, y, x: torch.cat([y, x], dim=1),
    "concat of time": lambda m, y, x: torch.cat([y, y * 2], dim=2),
    "concat from the end": lambda m, y, x: torch.cat([y, y * 2], dim=-2),
    "concat of the batch": lambda m, y, x: torch.cat([y, y * 2], dim=0),
    "slice of channels": lambda m, y, x: y[:, 4:12],
    "every third channel": lambda m, y, x: y[:, 1::3],
    "last channels": lambda m, y, x: y[:, -3:],
    "slice of time": lambda m, y, x: y[:, :, 2:7],
    "every second sample": lambda m, y, x: y[:, :, ::2],
    "one channel": lambda m, y, x: y * y[:, 3][:, None],
    "two transposes": lambda m, y, x: (y.transpose(1, 2) * 2).transpose(2, 1),
    "a linear layer on columns": lambda m, y, x: functional.linear(
        y.transpose(1, 2), m.square
    ).transpose(1, 2),
}
"""What needs no transpose where its shapes are static."""

OTHERS: dict[str, Callable[..., torch.Tensor]] = {
    "one column": lambda m, y, x: torch.cat([y[:, :, 1, None], y], dim=2),
    "nearest upsampling": lambda m, y, x: functional.interpolate(
        y, scale_factor=2.0, mode="nearest"
    ),
    "repeat of channels": lambda m, y, x: y.repeat_interleave(2, dim=1),
    "transpose of the batch": lambda m, y, x: y.transpose(0, 1).transpose(1, 0),
    "sum over time": lambda m, y, x: y.sum(dim=2, keepdim=True) + y,
}


def test_shape_operators_follow_the_layout(mcpu, as_module, compile_program):
    square = 0.3 * seeded(CHANNELS, CHANNELS)
    module = between_convs(as_module, FREE.values(), square=square)
    (x,) = arrays((2, 6, 19))
    program = compile_program(module, [torch.from_numpy(x)], mcpu=mcpu)
    called = program.operators("lower_to_kernels")
    assert transposes(program) <= 1 + len(FREE), called
    assert_same(module, program, x)


@pytest.mark.slow
def test_shape_operators_are_right_at_every_length(as_module, compile_program):
    square = 0.3 * seeded(CHANNELS, CHANNELS)
    module = between_convs(as_module, [*FREE.values(), *OTHERS.values()], square=square)
    x, short = arrays((2, 6, 19), (2, 6, 8))
    program = compile_program(module, [torch.from_numpy(x)], ({2: Dim("L", min=8, max=4096)},))
    assert_same(module, program, x)
    assert_same(module, program, short)


def test_repeat_follows_the_layout(compile_program):
    """torch's importer has no relax.repeat: a program made by hand."""
    table = ParameterTable({"w": 0.3 * seeded(CHANNELS, 6, 1).numpy()})
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([1, 6, 9], "float32"))
    w = relax.Var("w", relax.TensorType([CHANNELS, 6, 1], "float32"))
    attrs = {"num_input": 1, PARAMETER_NAMES: ["w"], "global_symbol": "program"}
    with builder.function("program", [x, w], attrs=attrs):
        with builder.dataflow():
            y = builder.emit(relax.op.nn.conv1d(x, w))
            doubled = [builder.emit(relax.op.repeat(y, 2, axis)) for axis in (1, 2, -1)]
            output = builder.emit_output(relax.Tuple(doubled))
        builder.emit_func_output(output)
    vectors = VectorTarget.of(resolve_target().tvm)
    lowered = lower_to_kernels(builder.get(), table, CpuBackend(False, vectors))
    machine = relax.VirtualMachine(tvm.compile(lowered, target=resolve_target().tvm), tvm.cpu())
    (data,) = arrays((1, 6, 9))
    (name,) = [str(name) for name in lowered["program"].attrs[PARAMETER_NAMES]]
    results = machine["program"](*map(tvm.runtime.tensor, (data, table[name])))
    product = np.einsum("oc,bcl->bol", table["w"][:, :, 0], data)
    for result, axis in zip(results, (1, 2, 2), strict=True):
        np.testing.assert_allclose(result.numpy(), product.repeat(2, axis), atol=1e-5)


def test_a_stack_of_convolutions_keeps_two_transposes(mcpu, as_module, compile_program):
    """Convolution, norm, activation, residual, as the generator has them: in once, out once."""

    def stack(m: Any, x: torch.Tensor) -> torch.Tensor:
        y = conv(m, x)
        for dilation in (1, 3):
            z = functional.instance_norm(y)
            z = m.scale * z + m.shift
            wave = torch.sin(m.alpha * z)
            z = z + (1 / m.alpha) * (wave * wave)
            y = y + functional.conv1d(z, m.v, m.b, padding=dilation, dilation=dilation)
        return functional.leaky_relu(y, 0.1)

    column = (1, CHANNELS, 1)
    module = as_module(
        stack,
        w=0.3 * seeded(CHANNELS, 6, 1),
        b=seeded(CHANNELS),
        v=0.1 * seeded(CHANNELS, CHANNELS, 3),
        scale=seeded(*column),
        shift=seeded(*column),
        alpha=1 + 0.1 * seeded(*column),
    )
    x, longer = arrays((2, 6, 12), (2, 6, 101))
    program = compile_program(module, [torch.from_numpy(x)], ({2: L},), mcpu=mcpu)
    assert transposes(program) == 2
    with torch.no_grad():
        for data in (x, longer):
            expected = module(torch.from_numpy(data)).numpy()
            np.testing.assert_allclose(program(data), expected, atol=3e-5)


def test_several_results_in_either_layout(as_module, compile_program):
    """A tuple of a value as the kernel gives it, of one transposed, and of an input."""
    module = as_module(
        lambda m, x: (conv(m, x), conv(m, x).transpose(1, 2) * 2, x * 1.0, x.sum(dim=2)),
        w=0.3 * seeded(CHANNELS, 6, 1),
        b=seeded(CHANNELS),
    )
    (x,) = arrays((2, 6, 9))
    program = compile_program(module, [torch.from_numpy(x)])
    assert_same(module, program, x)


def test_float64_between_float32_kernels(as_module, compile_program):
    """The layout rules apply to any dtype, but the kernels only support float32."""
    module = between_convs(as_module, [lambda _m, y, _x: torch.sin(y.double()).float()])
    (x,) = arrays((1, 6, 9))
    program = compile_program(module, [torch.from_numpy(x)])
    assert_same(module, program, x)
