"""Numbers among the outputs, and a single output that is neither put into a tuple nor bound.

Stock raises an unspecific ValueError for a constant number, and takes the single output apart.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Collection
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _importer, _probe, _program_probe, _replace
from tvm_kokoro_ext._compat import relax, tirx
from tvm_kokoro_ext._errors import UnsupportedOperatorError
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import graphs

#: The function of TVM's machine that reads the tensor of a condition.
_READ = "vm.builtin.read_if_cond"


def constant_output(value: Any) -> Any:
    """Represents a number that the program returns, as a function in the graph."""
    return value


def bind_constants(program: Any, converters: Collection[str]) -> Any:
    """Replace constant outputs of a program by nodes; a program without them is unchanged."""
    import torch
    from torch.utils import _pytree

    output = next(node for node in program.graph.nodes if node.op == "output")
    leaves = _pytree.tree_leaves(output.args[0])
    for leaf in leaves:
        if isinstance(leaf, str):
            raise UnsupportedOperatorError(
                f"the output {leaf!r}",
                "a compiled program returns tensors and numbers, and this is a text",
                "Keep it outside of the program",
            )
    if all(leaf is None for leaf in leaves):
        raise UnsupportedOperatorError(
            "the program", "it returns nothing", "Return a tensor or a number"
        )
    if not any(isinstance(leaf, int | float) for leaf in leaves):
        return program
    graph = graphs.copied(program.graph)  # do not change the caller's program
    output = next(node for node in graph.nodes if node.op == "output")

    def bound(leaf: Any) -> Any:
        if not isinstance(leaf, int | float):
            return leaf
        with graph.inserting_before(output):
            node = graph.call_function(constant_output, (leaf,))
        node.meta["val"] = leaf
        return node

    output.args = (_pytree.tree_map(bound, output.args[0]),)
    changed = copy.copy(program)
    changed._graph_module = torch.fx.GraphModule(program.graph_module, graph)
    return changed


def convert_constant(importer: Any, node: Any, previous: Any) -> Any:
    value = node.args[0]
    if not _compat.returns_constants() and type(value) is not int:
        raise UnsupportedOperatorError(
            f"the output {value!r}",
            "this TVM returns no constant but whole numbers",
            "Return torch.tensor of it, or keep it outside of the program",
        )
    if isinstance(value, float):
        return _compat.prim_value(tirx.FloatImm("float64", value))
    if isinstance(value, bool):
        return _truth(importer, value)
    return _compat.prim_value(tirx.IntImm("int64", value))


def _truth(importer: Any, value: bool) -> Any:
    """A truth value; TVM's machine makes the number 1 or 0 of a constant expression."""
    constant = relax.const(value, "bool")
    return _emit.emit(importer, _compat.call_of_scalar(_READ, constant, "bool"))


def _whole(original: Callable[..., Any]) -> Callable[..., Any]:
    """`no_bind_return_tuple` says nothing of a single output that is unwrapped."""

    @functools.wraps(original)
    def from_exported_program(exported_program: Any, *args: Any, **options: Any) -> Any:
        if options.get("unwrap_unit_return_tuple"):
            several = len(exported_program.graph_signature.user_outputs) > 1
            options["no_bind_return_tuple"] = options.get("no_bind_return_tuple") and several
        return original(exported_program, *args, **options)

    return from_exported_program


def install() -> Callable[[], None]:
    _importer.importer_class()
    translator = sys.modules[_compat.IMPORTER_MODULE]
    return _replace.in_place({translator.from_exported_program: _whole})


@_probe.wrong
def _still_wrong() -> bool:
    program = _program_probe.graph_module(lambda graph, x: [x, 3], [_probe.Input((4,))])
    _program_probe.imported(program)
    return False


FIX = Fix(
    id="outputs",
    what="a constant number among the outputs raises, and so does one output without any tuple",
    op="from_exported_program",
    affected="",
    probe=_still_wrong,
    converters={"constant_output": convert_constant},
    prepare=bind_constants,
    install=install,
)
