"""Lower the harmonic source, a float64 program, to kernels.

On a GPU there are four kernels, in fixed point: Metal has no float64, and consumer GPUs compute it
at a sixty-fourth of the float32 speed. On a CPU there are two, in float64. The program is
recognized by the names of its parameters. Its constants are read from it, and each of them must be
one whose meaning the kernels know.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import tvm
from tvm import relax, tirx

from kokoro_pipeline.errors import InputError

from ..kernels.common.harmonic_source import HarmonicSource
from ..kernels.cpu import harmonic_source
from ..kernels.cpu.vector import VectorTarget
from ..kernels.gpu.harmonic_source import (
    excitation,
    pack_basis,
    pack_mix,
    phase_increments,
    spectrum,
)
from ..kernels.gpu.scan import running_sum
from .parameter_table import PARAMETER_NAMES, ParameterTable
from .program_lowering import KernelLibrary

PARAMETERS = ("harmonics", "weight", "bias", "stft.basis")
"""Names of the source's parameters in order, without the prefix of the function's name."""

BASIS_TAPS, HOP = 20, 5


def is_source(function: relax.Function) -> bool:
    """Whether a function is the harmonic source, judged by its parameter names."""
    names = [str(name) for name in function.attrs.get(PARAMETER_NAMES, [])]
    return tuple(name.partition("/")[2] for name in names) == PARAMETERS


def _constants(function: relax.Function) -> list[float]:
    """The program's scalar constants, in the order of its bindings."""
    found = []
    for block in function.body.blocks:
        for binding in block.bindings:
            call = binding.value
            for argument in call.args if isinstance(call, relax.Call) else []:
                value = getattr(argument, "value", None)
                if isinstance(value, tvm.runtime.Tensor) and value.numpy().size == 1:
                    found.append(float(value.numpy()))
    return found


def match_source(function: relax.Function, parameters: ParameterTable) -> HarmonicSource | None:
    """The constants of the harmonic source; None if the function is not the expected program."""
    if not is_source(function):
        return None
    name = str(function.attrs["global_symbol"])
    harmonics = parameters[f"{name}/harmonics"]
    basis = parameters[f"{name}/stft.basis"]
    constants = _constants(function)
    if len(constants) != 15:
        return None
    rate, block, amplitude = constants[0], constants[1], constants[8]
    threshold, voiced, unvoiced = constants[9], constants[10], constants[12]
    source = HarmonicSource(
        len(harmonics), int(rate), int(block), amplitude, voiced, unvoiced, threshold
    )
    expected = [rate, block, 0.5, block, 0.5, 1.0, 1.0, 2 * np.pi, amplitude, threshold]
    expected += [voiced, 1.0, unvoiced, 0.0, BASIS_TAPS / 2]
    known = (
        constants == expected
        and (rate, block) == (int(rate), int(block))
        and np.array_equal(harmonics, np.arange(1, len(harmonics) + 1))
        and basis.shape[1:] == (1, BASIS_TAPS)
        and int(block) % (2 * HOP) == 0
    )
    return source if known else None


def read_source(function: relax.Function, parameters: ParameterTable) -> HarmonicSource:
    """The constants of the harmonic source.

    Raises InputError if the function is not the expected program.
    """
    source = match_source(function, parameters)
    if source is None:
        name = str(function.attrs["global_symbol"])
        raise InputError(
            f"{name} computes with the constants {_constants(function)}: not the harmonic source "
            "that the GPU kernels were written for; build for CUDA with --opt 0, which takes any "
            "program"
        )
    return source


Run = Callable[..., relax.Var]
"""(kernel, arguments, shape, dtype) -> the variable bound to the kernel's result."""


def _say_again(
    builder: relax.BlockBuilder,
    function: relax.Function,
    parameters: ParameterTable,
    names: list[str],
    body: Callable[[Run, list[relax.Expr]], relax.Var],
) -> None:
    """Emit a function with the same name and inputs over the parameters `names`.

    `body` receives the inputs, followed by the parameters.
    """
    name = str(function.attrs["global_symbol"])
    inputs = list(function.params[: int(function.attrs["num_input"])])
    arguments = [
        relax.Var(
            re.sub(r"\W", "_", key),
            relax.TensorType(list(parameters[key].shape), str(parameters[key].dtype)),
        )
        for key in names
    ]

    def run(
        kernel: tvm.ir.GlobalVar, values: list[relax.Expr], shape: list, dtype: str
    ) -> relax.Var:
        return builder.emit(relax.call_tir(kernel, values, relax.TensorType(shape, dtype)))

    with builder.function(name):
        with builder.dataflow():
            output = builder.emit_output(body(run, [*inputs, *arguments]))
        builder.emit_func_output(output, params=[*inputs, *arguments])
    global_var = builder.get().get_global_var(name)
    attrs = {**dict(function.attrs), PARAMETER_NAMES: names}
    builder.update_func(global_var, builder.get()[global_var].with_attrs(attrs))


def lower_source(
    builder: relax.BlockBuilder,
    library: KernelLibrary,
    function: relax.Function,
    parameters: ParameterTable,
) -> None:
    """Emit the fixed-point harmonic source into `builder`, over packed parameters.

    The function keeps its name. Raises InputError if it is not the expected program.
    """
    source = read_source(function, parameters)
    name = str(function.attrs["global_symbol"])
    H, bins = source.harmonics, parameters[f"{name}/stft.basis"].shape[0] // 2

    def pack(weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
        return pack_mix(source, weight, bias)

    names = [
        parameters.derive((f"{name}/weight", f"{name}/bias"), f"source_mix.{source}", pack),
        parameters.derive((f"{name}/stft.basis",), "source_basis", pack_basis),
    ]

    def body(run: Run, values: list[relax.Expr]) -> relax.Var:
        f0, noise, mix, basis = values
        blocks = f0.ty.shape[1]
        shape = [1, blocks, H]
        increments = run(library.get(phase_increments, source), [f0], shape, "int64")
        sums = run(library.get(running_sum, H, "int64"), [increments], shape, "int64")
        wave = run(
            library.get(excitation, source),
            [f0, noise, increments, sums, mix],
            [1, blocks * source.block],
            "int64",
        )
        kernel = library.get(spectrum, bins, BASIS_TAPS, HOP)
        return run(kernel, [wave, basis], _spectrum_shape(source, blocks, bins), "float32")

    _say_again(builder, function, parameters, names, body)


def lower_source_in_float64(
    builder: relax.BlockBuilder,
    library: KernelLibrary,
    function: relax.Function,
    parameters: ParameterTable,
    source: HarmonicSource,
    target: VectorTarget,
) -> None:
    """Like `lower_source`, but in float64 with the vectors of a CPU."""
    name = str(function.attrs["global_symbol"])
    basis_name = f"{name}/stft.basis"
    bins = parameters[basis_name].shape[0] // 2
    names = [
        parameters.derive(
            (f"{name}/weight", f"{name}/bias"), "source_mix", harmonic_source.pack_mix
        ),
        basis_name,
    ]

    def body(run: Run, values: list[relax.Expr]) -> relax.Var:
        f0, noise, mix, basis = values
        blocks = f0.ty.shape[1]
        kernel = library.get(harmonic_source.excitation, target, source)
        wave = run(kernel, [f0, noise, mix], [1, blocks * source.block], "float64")
        kernel = library.get(harmonic_source.spectrum, target, bins, BASIS_TAPS, HOP)
        return run(kernel, [wave, basis], _spectrum_shape(source, blocks, bins), "float32")

    _say_again(builder, function, parameters, names, body)


def _spectrum_shape(source: HarmonicSource, blocks: tirx.Expr, bins: int) -> list[tirx.Expr | int]:
    return [1, 2 * bins, blocks * (source.block // HOP) + tirx.const(1, "int64")]


def lower_sources(module: tvm.IRModule, parameters: ParameterTable) -> tvm.IRModule:
    """Lower the harmonic source of a module, if present, and leave other functions unchanged."""
    functions = dict(module.functions)
    sources = {
        global_var: function
        for global_var, function in functions.items()
        if isinstance(function, relax.Function) and is_source(function)
    }
    rest = {name: function for name, function in functions.items() if name not in sources}
    builder = relax.BlockBuilder(tvm.IRModule(rest, attrs=module.attrs))
    library = KernelLibrary(builder)
    for function in sources.values():
        lower_source(builder, library, function, parameters)
    return builder.get()
