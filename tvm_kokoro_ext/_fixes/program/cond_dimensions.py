"""Equal symbolic dimensions of the operands of torch.cond are equal in its branches.

Stock creates a separate variable for every dimension of every operand in the branch: two operands
[3, n] become [3, n'] and [3, n''], and operators that broadcast them cannot be compiled. A
dimension such as n - 2 even refers to the variable of the caller.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _importer, _probe, _program_probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix


def install() -> Callable[[], None]:
    """Wrap the importer's translation of branches; returns the function that unwraps it."""
    cls = _importer.importer_class()
    importing = cls.__dict__["_import_branch_subgraph"]
    translating = cls.__dict__["_translate_fx_graph"]
    waiting: dict[int, list[Any]] = {}  # operands of branches that are being imported, by graph

    @functools.wraps(importing)
    def import_branch(self: Any, graph_module: Any, operands: Any, *args: Any, **kw: Any) -> Any:
        waiting[id(graph_module)] = list(operands)
        try:
            plain = [_with_bare_variables(operand) for operand in operands]
            return importing(self, graph_module, plain, *args, **kw)
        finally:
            waiting.pop(id(graph_module), None)

    @functools.wraps(translating)
    def translate(self: Any, graph_module: Any, nodes: Any, *args: Any, **kw: Any) -> Any:
        operands = waiting.pop(id(graph_module), None)
        if operands is not None:
            inputs = [node for node in nodes if node.op == "placeholder"]
            _unify(self, inputs, operands)
        return translating(self, graph_module, nodes, *args, **kw)

    cls._import_branch_subgraph = import_branch
    cls._translate_fx_graph = translate

    def restore() -> None:
        cls._import_branch_subgraph = importing
        cls._translate_fx_graph = translating

    return restore


def _with_bare_variables(operand: Any) -> Any:
    """The operand, or one with a variable in place of every derived dimension."""
    if not _compat.has_shape(operand):
        return operand
    shape = _compat.shape_of(operand)
    if all(isinstance(dim, int) or _compat.is_var(dim) for dim in shape):
        return operand
    dims = [
        dim if isinstance(dim, int) or _compat.is_var(dim) else _compat.tir_var(f"dim{axis}")
        for axis, dim in enumerate(shape)
    ]
    return relax.Var("operand", _compat.tensor_type(dims, _compat.dtype_of(operand)))


def _unify(importer: Any, inputs: list[Any], operands: list[Any]) -> None:
    """Cast the parameters of the branch to shapes with one variable for each of the caller's."""
    pairs = [
        (node, _compat.shape_of(operand), _compat.shape_of(importer.env[node]))
        for node, operand in zip(inputs, operands, strict=True)
        if _compat.has_shape(operand) and _compat.has_shape(importer.env[node])
    ]
    dims = [dim for _, *shapes in pairs for dim in zip(*shapes, strict=True)]
    own: dict[Any, Any] = {}
    for theirs, ours in dims:
        if _compat.is_var(theirs):
            own.setdefault(theirs, ours)
    derived: list[tuple[Any, Any]] = []  # dimensions that are not linear in a known dimension

    def here(theirs: Any, ours: Any) -> Any:
        if isinstance(theirs, int):
            return theirs
        variables = _compat.variables_of(theirs)
        if len(variables) == 1 and variables[0] in own:
            form = _compat.linear_form(theirs, variables[0])
            if form is not None:
                return own[variables[0]] * form[0] + form[1]
        for known, name in derived:
            if _compat.prim_equal(known, theirs):
                return name
        derived.append((theirs, ours))
        return ours

    for node, theirs, ours in pairs:
        parameter = importer.env[node]
        shape = [here(*pair) for pair in zip(theirs, ours, strict=True)]
        if not all(_compat.prim_equal(a, b) for a, b in zip(shape, ours, strict=True)):
            kind = _compat.tensor_type(shape, _compat.dtype_of(parameter))
            importer.env[node] = importer.block_builder.match_cast(parameter, kind)


@_probe.wrong
def _still_wrong() -> bool:
    """Whether the shape of a sum of two operands [3, n] is unknown in a branch."""
    import torch

    def add(graph: Any, x: Any, y: Any) -> list[Any]:
        return [graph.call_function(torch.ops.aten.add.Tensor, (x, y))]

    operands = [_probe.Input((3, "n")), _probe.Input((3, "n"))]
    made = _program_probe.branch(_program_probe.graph_module(add, operands), operands)
    total = next(b.value for block in made.body.blocks for b in block.bindings)
    return _compat.type_of(total).shape is None


FIX = Fix(
    id="cond_dimensions",
    what="operands of torch.cond with a common symbolic dimension do not compile",
    op="torch.cond",
    affected="",
    install=install,
    probe=_still_wrong,
)
