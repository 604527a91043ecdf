"""Small programs through the real import and the real passes, compiled and run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    import torch
    import tvm

    from kokoro_pipeline.compiler.lowering.parameter_table import ParameterTable

NAME = "program"


@dataclass
class SmallProgram:
    """A torch module on its way to code: the parameters' table, the IRModule after each phase."""

    parameters: ParameterTable
    modules: dict[str, tvm.IRModule] = field(default_factory=dict)
    executable: Any = None
    """Before it is linked: a `tvm.runtime.Executable`."""
    _machine: Any = None

    @property
    def final(self) -> tvm.IRModule:
        """After the last phase."""
        return list(self.modules.values())[-1]

    @property
    def parameter_names(self) -> list[str]:
        """What the compiled function takes after its inputs."""
        from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES

        return [str(name) for name in self.final[NAME].attrs[PARAMETER_NAMES]]

    def operators(self, phase: str) -> list[str]:
        """Names of the Relax operators and of the kernels in the order they are called."""
        from tvm import relax

        found: list[str] = []

        def visit(expression: Any) -> None:
            if isinstance(expression, relax.Call) and hasattr(expression.op, "name"):
                name = str(expression.op.name)
                found.append(
                    str(expression.args[0].name_hint) if name == "relax.call_tir" else name
                )

        relax.analysis.post_order_visit(self.modules[phase][NAME], visit)
        return found

    def __call__(self, *arrays: np.ndarray) -> Any:
        """Run on input arrays; the result is an array, or a tuple of them."""
        import tvm

        values = [*arrays, *(self.parameters[name] for name in self.parameter_names)]
        result = self._machine[NAME](*(tvm.runtime.tensor(value) for value in values))
        if hasattr(result, "numpy"):
            return result.numpy()
        return tuple(tensor.numpy() for tensor in result)


CompileProgram = Callable[..., SmallProgram]


@pytest.fixture(scope="session")
def compile_program() -> CompileProgram:
    """`compile_program(module, example, dynamic_shapes, mcpu=, opt=, skip=)`.

    `example` are torch tensors, `dynamic_shapes` as `torch.export` takes them; `mcpu` is by default
    the host's, `opt` 1. Phases named in `skip` do not run.
    """
    import torch
    import tvm
    from tvm import relax

    from kokoro_pipeline.compiler.codegen.target import resolve_target
    from kokoro_pipeline.compiler.importing import import_program
    from kokoro_pipeline.compiler.lowering.parameter_table import ParameterTable
    from kokoro_pipeline.compiler.passes.pipeline import generate_code, phases

    def compile_module(
        module: torch.nn.Module,
        example: Sequence[torch.Tensor],
        dynamic_shapes: Any = None,
        *,
        mcpu: str | None = None,
        opt: int = 1,
        skip: Sequence[str] = (),
    ) -> SmallProgram:
        module = module.eval().requires_grad_(False)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, message=r".*LeafSpec")
            exported = torch.export.export(module, tuple(example), dynamic_shapes=dynamic_shapes)
            exported = exported.run_decompositions({})
        program = SmallProgram(ParameterTable())
        lowered = import_program(exported, NAME, program.parameters)
        program.modules["imported"] = lowered
        target = resolve_target("llvm", mcpu).tvm
        with target:
            for phase in phases(opt, target, program.parameters, [NAME]):
                if phase.name not in skip:
                    for transform in phase.passes:
                        lowered = transform(lowered)
                program.modules[phase.name] = lowered
        program.executable = generate_code(lowered, target)
        program._machine = relax.VirtualMachine(program.executable, tvm.cpu())
        return program

    return compile_module
