"""What in-place operators write to, and views that torch does not write through as PyTorch does.

Torch makes a program functional by the inverse of each view that is written through. That of
`unbind` takes symbolic sizes for those of the example, and that of `unfold` fills what no window
covers with zeros.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tvm_kokoro_ext._errors import UnsupportedOperatorError, op_name, source_line
from tvm_kokoro_ext._fixes._shared import graphs


def schema_of(node: Any) -> Any:
    return getattr(node.target, "_schema", None)


def is_in_place(node: Any) -> bool:
    return node.op == "call_function" and bool(getattr(schema_of(node), "is_mutable", False))


def written_by(node: Any) -> list[Any]:
    """The argument nodes that an in-place operator writes to."""
    parameters = schema_of(node).arguments
    arguments = dict(zip((a.name for a in parameters), node.args, strict=False)) | node.kwargs
    written = [a.name for a in parameters if a.alias_info and a.alias_info.is_write]
    return [arguments[name] for name in written if hasattr(arguments.get(name), "users")]


def is_view(node: Any) -> bool:
    """Whether a node's result may share memory with an argument."""
    schema = schema_of(node)
    return schema is None or any(r.alias_info is not None for r in schema.returns)


def _written_views(graph: Any) -> Iterator[Any]:
    """The views through which something is written, also views of views."""
    seen = set()
    waiting = [node for writer in filter(is_in_place, graph.nodes) for node in written_by(writer)]
    while waiting:
        node = waiting.pop()
        if node.op == "call_function" and node not in seen and is_view(node):
            seen.add(node)
            waiting.extend(node.all_input_nodes)
            yield node


def with_writable_views(program: Any) -> Any:
    """The program with `select` for each `unbind` that is written through.

    Raises UnsupportedOperatorError for a write through `unfold`.
    """
    names = {node.name: node.target.__name__ for node in _written_views(program.graph)}
    for node in program.graph.nodes:
        if names.get(node.name) == "unfold.default":
            raise UnsupportedOperatorError(
                op_name(node),
                "torch's decomposition of a write through it also changes elements that no "
                f"window covers{source_line(node)}",
                "Write to slices, or compute the result and write it with index_copy",
            )
    if "unbind.int" not in names.values():
        return program
    import torch

    graph = graphs.copied(program.graph)
    for node in [n for n in graph.nodes if names.get(n.name) == "unbind.int"]:
        x, *given = node.args
        dim = given[0] if given else node.kwargs.get("dim", 0)
        for piece in list(node.users):
            with graph.inserting_before(piece):
                chosen = graph.call_function(torch.ops.aten.select.int, (x, dim, piece.args[1]))
            chosen.meta = piece.meta
            piece.replace_all_uses_with(chosen)
            graph.erase_node(piece)
        graph.erase_node(node)
    changed = copy.copy(program)
    changed._graph_module = torch.fx.GraphModule(program.graph_module, graph)
    return changed
