"""Probes that examine how stock TVM imports a program of a few nodes, or a branch of torch.cond.

The importer gets an object with only those parts of a `torch.export.ExportedProgram` that it reads.
This takes a few milliseconds, while exporting a program, or even creating the object, takes a
second the first time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tvm_kokoro_ext import _importer, _probe
from tvm_kokoro_ext._compat import relax


@dataclass
class _Signature:
    input_specs: list[Any]
    output_specs: list[Any]


@dataclass
class _Program:
    """A program without parameters, buffers or constants.

    `decomposed` is the module that torch would make of it, if the probe has one.
    """

    graph_module: Any
    graph_signature: _Signature
    decomposed: Any = None
    range_constraints: dict[Any, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)

    @property
    def graph(self) -> Any:
        return self.graph_module.graph

    def run_decompositions(self, table: Any = None) -> _Program:
        if self.decomposed is None:
            raise _probe.ProbeError("the program of the probe has no other form")
        return replace(self, graph_module=self.decomposed)

    def named_buffers(self) -> list[Any]:
        return []

    def named_parameters(self) -> list[Any]:
        return []


def graph_module(
    write: Callable[..., Sequence[Any]],
    inputs: Sequence[_probe.Input],
    parts: Mapping[str, Any] | None = None,
) -> Any:
    """A module with the graph whose outputs `write(graph, *input nodes)` returns.

    `parts` are the objects that `get_attr` nodes refer to, such as the branches of torch.cond.
    """
    import torch
    from torch import fx

    graph = fx.Graph()
    nodes = []
    for number, given in enumerate(inputs):
        node = graph.placeholder(f"x{number}")
        sizes = [_probe.EXAMPLE if isinstance(d, str) else d for d in given.shape]
        node.meta["val"] = torch.empty(sizes, dtype=getattr(torch, given.dtype), device="meta")
        node.meta["tensor_meta"] = node.meta["val"]  # what 0.25 and 0.26 read
        nodes.append(node)
    graph.output(tuple(write(graph, *nodes)))
    root = torch.nn.Module()
    for name, part in (parts or {}).items():
        root.add_module(name, part)
    return fx.GraphModule(root, graph)


def imported(
    module: Any,
    converters: Mapping[str, Any] | None = None,
    *,
    written: int = 0,
    decomposed: Any = None,
) -> Any:
    """The result of the stock importer for the module, with these custom converters.

    The first `written` outputs are what the program writes to its first inputs. `decomposed` is the
    module of the same inputs and outputs that torch's decomposition gives, should the importer ask
    for it. Raises ProbeError if it fails.
    """
    from torch.export.graph_signature import (
        ConstantArgument,
        InputKind,
        InputSpec,
        OutputKind,
        OutputSpec,
        TensorArgument,
    )

    nodes = list(module.graph.nodes)
    inputs = [
        InputSpec(InputKind.USER_INPUT, TensorArgument(name=node.name), node.target)
        for node in nodes
        if node.op == "placeholder"
    ]
    outputs = [
        OutputSpec(
            OutputKind.USER_INPUT_MUTATION if number < written else OutputKind.USER_OUTPUT,
            TensorArgument(name=out.name)
            if hasattr(out, "name")
            else ConstantArgument(name="", value=out),
            inputs[number].arg.name if number < written else None,
        )
        for number, out in enumerate(nodes[-1].args[0])
    ]
    importer = _importer.stock()
    translate = _importer.stock_method(type(importer), "from_exported_program")
    program = _Program(module, _Signature(inputs, outputs), decomposed)
    return _asked(importer, lambda: translate(importer, program, False, False, False, converters))


def operators(target: str, *args: Any, out: tuple[Any, ...]) -> tuple[str, ...]:
    """The operators of the program that calls `torch.ops.aten.<target>` with these arguments.

    Arguments that are an Input are inputs of the program; `out` is the (shape, dtype) of the
    result. Raises ProbeError if stock TVM cannot import the program.
    """
    import torch

    inputs = [argument for argument in args if isinstance(argument, _probe.Input)]

    def write(graph: Any, *nodes: Any) -> list[Any]:
        left = list(nodes)
        given = [left.pop(0) if isinstance(one, _probe.Input) else one for one in args]
        name, overload = target.split(".")
        node = graph.call_function(getattr(getattr(torch.ops.aten, name), overload), tuple(given))
        shape, dtype = out
        node.meta["val"] = torch.empty(shape, dtype=getattr(torch, dtype), device="meta")
        return [node]

    return _probe.operators_of(imported(graph_module(write, inputs))["main"])


def branch(module: Any, operands: Sequence[_probe.Input]) -> Any:
    """The function that stock creates for a branch of torch.cond with these operands.

    Dimensions of the same name share a variable. Raises ProbeError if it fails.
    """
    importer = _importer.stock()
    variables = _probe.variables(operands)
    importer.block_builder = relax.BlockBuilder()

    def translate() -> Any:
        made = importer._import_branch_subgraph(module, variables, "branch")
        return importer.block_builder.get()[made]

    return _asked(importer, translate)


def _asked(importer: Any, translate: Callable[[], Any]) -> Any:
    """Return the result of `translate()`, or raise ProbeError if it fails.

    A builder that failed prints native errors when it is destroyed, so it is destroyed here.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return translate()
    except Exception as error:  # noqa: BLE001 - whatever stock raises is the probe's finding
        found = f"{type(error).__name__}: {error}"
    with _probe.native_stderr_dropped():
        importer.block_builder = None
    raise _probe.ProbeError(found)
