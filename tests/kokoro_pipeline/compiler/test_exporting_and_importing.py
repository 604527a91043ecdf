"""Every component is exported with symbolic sizes, and imported with its parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tvm import relax, tirx

from kokoro_pipeline.compiler.exporting import dynamic_shapes, export_component
from kokoro_pipeline.compiler.importing import import_program
from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES, ParameterTable
from kokoro_pipeline.compiler.model.components import (
    COMPONENT_NAMES,
    SIGNATURES,
    Component,
    Signature,
    evaluate_dimension,
    make_components,
)
from kokoro_pipeline.compiler.weights import load_model, resolve


@pytest.fixture(scope="module")
def components(synthetic_folder: Path) -> dict[str, Component]:
    made = make_components(load_model(resolve(str(synthetic_folder))))
    return {component.name: component for component in made}


@pytest.fixture(scope="module")
def programs(components: dict[str, Component]) -> dict[str, Any]:
    """Exported components by name, each exported once, when it is asked for."""

    class Programs(dict):
        def __missing__(self, name: str) -> torch.export.ExportedProgram:
            self[name] = export_component(components[name])
            return self[name]

    return Programs()


def arrays(signature: Signature, sizes: dict[str, int], seed: int = 1) -> list[torch.Tensor]:
    rng = np.random.default_rng(seed)
    made = []
    for name, (dtype, shape) in signature.inputs.items():
        size = [evaluate_dimension(dimension, sizes) for dimension in shape]
        if name == "lengths":
            made.append(torch.from_numpy(rng.integers(1, sizes["n"] + 1, size)))
        elif dtype == "int64":
            made.append(torch.from_numpy(rng.integers(0, 100, size)))
        else:
            made.append(torch.from_numpy(rng.standard_normal(size, dtype=np.float32)))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPONENT_NAMES)
def test_an_exported_component_runs_at_every_size(name, components, programs):
    """A guard on a size that tracing saw would fail here, and a baked-in size give another shape.

    torch's own norm refuses a single column, so t starts at 2; the compiled one takes 1.
    """
    component, program = components[name], programs[name]
    for sizes in ({"B": 1, "n": 1, "t": 2, "m": 2}, {"B": 3, "n": 29, "t": 5, "m": 10}):
        inputs = arrays(component.signature, sizes)
        with torch.no_grad():
            expected, actual = component.module(*inputs), program.module()(*inputs)
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", COMPONENT_NAMES)
def test_dynamic_shapes_follow_the_signature(name):
    signature = SIGNATURES[name]
    for dims, (_, shape) in zip(dynamic_shapes(signature), signature.inputs.values(), strict=True):
        symbolic = [axis for axis, dimension in enumerate(shape) if isinstance(dimension, str)]
        assert sorted(dims or {}) == symbolic


@pytest.mark.parametrize("name", ["text_encoder_forward", "f0n_forward", "source_forward"])
def test_an_import_names_the_function_and_its_parameters(name, components, programs):
    table = ParameterTable()
    module = import_program(programs[name], name, table)
    assert [str(g.name_hint) for g in module.get_global_vars()].count(name) == 1
    assert "main" not in [str(g.name_hint) for g in module.get_global_vars()]
    function = module[name]
    assert str(function.attrs["global_symbol"]) == name
    n_inputs = int(function.attrs["num_input"])
    signature = components[name].signature
    assert n_inputs == len(signature.inputs)
    names = [str(parameter) for parameter in function.attrs[PARAMETER_NAMES]]
    assert set(names) == set(table)
    own = dict(components[name].module.named_parameters())
    for variable, parameter in zip(function.params[n_inputs:], names, strict=True):
        component, _, target = parameter.partition("/")
        assert component == name
        np.testing.assert_array_equal(table[parameter], own[target].detach().numpy())
        assert [int(extent) for extent in variable.ty.shape] == list(table[parameter].shape)
        assert str(variable.ty.dtype) == str(table[parameter].dtype)


@pytest.mark.parametrize("name", ["text_encoder_forward", "f0n_forward", "source_forward"])
def test_an_import_keeps_the_sizes_symbolic(name, components, programs):
    """A symbol where the signature has one; the result's extents follow from them."""
    function = import_program(programs[name], name, ParameterTable())[name]
    signature = components[name].signature
    for variable, (dtype, shape) in zip(function.params, signature.inputs.values(), strict=False):
        assert str(variable.ty.dtype) == dtype
        for extent, dimension in zip(variable.ty.shape, shape, strict=True):
            assert isinstance(extent, tirx.IntImm) == isinstance(dimension, int), variable
    result = function.ret_ty
    fields = result.fields if isinstance(result, relax.TupleType) else [result]
    for tensor, (dtype, shape) in zip(fields, signature.outputs.values(), strict=True):
        assert str(tensor.dtype) == dtype
        for extent, dimension in zip(tensor.shape, shape, strict=True):
            assert isinstance(extent, tirx.IntImm) == isinstance(dimension, int), tensor


def test_two_imports_of_one_name_share_no_parameters(programs):
    """The table refuses: a second component of the same name would get the first one's weights."""
    table = ParameterTable()
    import_program(programs["source_forward"], "source_forward", table)
    with pytest.raises(KeyError, match="source_forward/weight"):
        import_program(programs["source_forward"], "source_forward", table)
