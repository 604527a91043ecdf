"""A model that multiplies on AMX, emulated bit for bit on this CPU, against float64.

    python -m benchmarks.amx_emulation [--weights synthetic] [--precision float32,bfloat16]

Lowers the model as `build --mcpu sapphirerapids` does, with the instructions on tiles replaced by
loops that add in their order, and judges it by the cases that end a build. Nothing is timed: the
emulation says nothing about the speed of AMX.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

from benchmarks.precision_cost import judge
from kokoro_pipeline.compiler.codegen.target import resolve_target
from kokoro_pipeline.compiler.exporting import export_component
from kokoro_pipeline.compiler.importing import import_program
from kokoro_pipeline.compiler.kernels.cpu.tile_unit import emulated_tiles
from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
from kokoro_pipeline.compiler.model.components import COMPONENT_NAMES, make_components
from kokoro_pipeline.compiler.passes.merge_components import merge_components
from kokoro_pipeline.compiler.passes.pipeline import generate_code, phases, run_phases
from kokoro_pipeline.compiler.weights import WeightsFolder, load_model, resolve

Functions = Mapping[str, Callable[..., Any]]


def compile_emulated(
    folder: WeightsFolder, names: Sequence[str], precision: str
) -> tuple[Functions, int]:
    """The functions, compiled in this process, and the bytes of their parameters."""
    target, table = resolve_target("llvm").tvm, ParameterTable()
    modules = [
        import_program(export_component(component), component.name, table)
        for component in make_components(load_model(folder), names)
    ]
    with emulated_tiles():
        todo = phases(2, target, table, names, precision)
        lowered = run_phases(merge_components(modules), todo, target)
    machine = relax.VirtualMachine(generate_code(lowered, target), tvm.cpu())

    def function(name: str) -> Callable[..., Any]:
        parameters = [tvm.runtime.tensor(table[key]) for key in needed[name]]

        def call(*arrays: np.ndarray) -> Any:
            inputs = [tvm.runtime.tensor(np.ascontiguousarray(array)) for array in arrays]
            result = machine[name](*inputs, *parameters)
            if hasattr(result, "numpy"):
                return result.numpy()
            return tuple(each.numpy() for each in result)

        return call

    needed = {name: [str(key) for key in lowered[name].attrs[PARAMETER_NAMES]] for name in names}
    used = {key for keys in needed.values() for key in keys}
    return {name: function(name) for name in names}, sum(table[key].nbytes for key in used)


def main() -> int:
    """Print the figures; returns 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", default="synthetic")
    parser.add_argument("--precision", default="float32,bfloat16")
    args = parser.parse_args()
    folder, passed = resolve(args.weights), True
    for name in args.precision.split(","):
        functions, size = compile_emulated(folder, COMPONENT_NAMES, name)
        shown = f"emulated AMX, {name}, {size / 1e6:.0f} MB of parameters"
        passed = judge(functions, folder, shown, name) and passed
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
