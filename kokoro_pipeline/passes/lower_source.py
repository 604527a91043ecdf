"""The harmonic source as four kernels in fixed point, in place of a float64 program.

Metal has no float64, and GPUs for everybody have it at a sixty-fourth of the speed. The program is
known by its parameters; its constants are read from it, and every constant of it must be one that
the kernels know the meaning of.
"""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relax, tirx

from ..compiler.parameters import PARAMETER_NAMES, ParameterTable
from ..errors import InputError
from ..gpu_kernels.harmonic_source import (
    HarmonicSource,
    excitation,
    pack_basis,
    pack_mix,
    phase_increments,
    spectrum,
)
from ..gpu_kernels.scan import running_sum
from .program_lowering import KernelLibrary

PARAMETERS = ("harmonics", "weight", "bias", "stft.basis")
"""Names of the source's parameters, in their order, without the function's."""

BASIS_TAPS, HOP = 20, 5


def is_source(function: relax.Function) -> bool:
    """Whether a function is the harmonic source, by its parameters."""
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


def read_source(function: relax.Function, parameters: ParameterTable) -> HarmonicSource:
    """The constants of the source. Raises InputError where it is not the one that is known."""
    name = str(function.attrs["global_symbol"])
    harmonics = parameters[f"{name}/harmonics"]
    basis = parameters[f"{name}/stft.basis"]
    constants = _constants(function)
    if len(constants) == 15:
        rate, block, amplitude = constants[0], constants[1], constants[8]
        threshold, voiced, unvoiced = constants[9], constants[10], constants[12]
        source = HarmonicSource(
            len(harmonics), int(rate), int(block), amplitude, voiced, unvoiced, threshold
        )
        expected = [rate, block, 0.5, block, 0.5, 1.0, 1.0, 2 * np.pi, amplitude, threshold]
        expected += [voiced, 1.0, unvoiced, 0.0, BASIS_TAPS / 2]
        if (
            constants == expected
            and (rate, block) == (int(rate), int(block))
            and np.array_equal(harmonics, np.arange(1, len(harmonics) + 1))
            and basis.shape[1:] == (1, BASIS_TAPS)
            and int(block) % HOP == 0
        ):
            return source
    raise InputError(
        f"{name} computes with the constants {constants}: not the harmonic source that the GPU "
        "kernels were written for; build for CUDA with --opt 0, which compiles any program"
    )


def lower_source(
    builder: relax.BlockBuilder,
    library: KernelLibrary,
    function: relax.Function,
    parameters: ParameterTable,
) -> None:
    """Say the source again in `builder`, by its name, over its packed parameters."""
    source = read_source(function, parameters)
    name = str(function.attrs["global_symbol"])
    H, bins = source.harmonics, parameters[f"{name}/stft.basis"].shape[0] // 2

    def pack(weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
        return pack_mix(source, weight, bias)

    names = [
        parameters.derive((f"{name}/weight", f"{name}/bias"), f"source_mix.{source}", pack),
        parameters.derive((f"{name}/stft.basis",), "source_basis", pack_basis),
    ]
    f0, noise = function.params[:2]
    blocks = f0.ty.shape[1]

    def argument(key: str, word: str) -> relax.Var:
        return relax.Var(word, relax.TensorType(list(parameters[key].shape), "int64"))

    def run(
        kernel: tvm.ir.GlobalVar, arguments: list[relax.Expr], shape: list, dtype: str = "int64"
    ) -> relax.Var:
        return builder.emit(relax.call_tir(kernel, arguments, relax.TensorType(shape, dtype)))

    mix, basis = argument(names[0], "mix"), argument(names[1], "basis")
    shape = [1, blocks, H]
    with builder.function(name):
        with builder.dataflow():
            increments = run(library.get(phase_increments, source), [f0], shape)
            sums = run(library.get(running_sum, H, "int64"), [increments], shape)
            wave = run(
                library.get(excitation, source),
                [f0, noise, increments, sums, mix],
                [1, blocks * source.block],
            )
            columns = blocks * (source.block // HOP) + tirx.const(1, "int64")
            har = run(
                library.get(spectrum, bins, BASIS_TAPS, HOP),
                [wave, basis],
                [1, 2 * bins, columns],
                "float32",
            )
            output = builder.emit_output(har)
        builder.emit_func_output(output, params=[f0, noise, mix, basis])
    global_var = builder.get().get_global_var(name)
    attrs = {**dict(function.attrs), PARAMETER_NAMES: names}
    builder.update_func(global_var, builder.get()[global_var].with_attrs(attrs))


def lower_sources(module: tvm.IRModule, parameters: ParameterTable) -> tvm.IRModule:
    """Lower the harmonic source of a module, if it is there, and leave the rest as it is."""
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
