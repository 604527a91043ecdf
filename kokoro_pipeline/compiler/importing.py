"""Import exported programs into Relax with TVM's importer and the fixes of `tvm_kokoro_ext`."""

from __future__ import annotations

import tvm
from torch.export import ExportedProgram
from tvm.relax.frontend.torch import from_exported_program

import tvm_kokoro_ext

from .lowering.custom_operators import convert_map
from .lowering.parameter_table import ParameterTable, with_main


def import_program(program: ExportedProgram, name: str, parameters: ParameterTable) -> tvm.IRModule:
    """Import a program as the Relax function `name` and add its weights to `parameters`.

    The function takes the program's inputs, followed by its parameters. Its attribute
    `kokoro.parameters` lists their names in the table (`name/qualified.torch.name`) in order.
    """
    tvm_kokoro_ext.activate()
    module = from_exported_program(
        program,
        keep_params_as_input=True,
        unwrap_unit_return_tuple=True,
        custom_convert_map=convert_map(),
        run_ep_decomposition=False,
    )
    function = module["main"]
    n_inputs = int(function.attrs["num_input"])
    arrays = dict(program.named_parameters())
    if len(function.params) != n_inputs + len(arrays):
        raise RuntimeError(
            f"{name}: the importer made {len(function.params)} arguments of {n_inputs} inputs "
            f"and {len(arrays)} parameters"
        )
    by_argument = {
        spec.arg.name: spec.target for spec in program.graph_signature.input_specs if spec.target
    }
    names = []
    for variable in function.params[n_inputs:]:
        target = by_argument[variable.name]
        names.append(parameters.add(f"{name}/{target}", arrays[target].detach().numpy()))
    return with_main(module, name, function.without_attr("params"), names)
