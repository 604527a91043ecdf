"""Checks of factorizations without effect tokens.

Torch decomposes `linalg.inv` to a factorization and `_linalg_check_errors`, whose order among other
effects it fixes by tokens: an input of the program that is passed from one `with_effects` to the
next and is an output at the end. A converted check needs no order.
"""

from __future__ import annotations

import copy
from typing import Any

from tvm_kokoro_ext._fixes._shared import graphs

_CHECK = "_linalg_check_errors.default"


def with_plain_checks(program: Any) -> Any:
    """The program where `_linalg_check_errors` is called as it is, without a token."""
    if not any(map(_is_check, program.graph.nodes)):
        return program
    import torch
    from torch.export.graph_signature import ExportGraphSignature, InputKind

    graph = graphs.copied(program.graph)
    for node in filter(_is_check, list(graph.nodes)):
        token, check, *arguments = node.args
        with graph.inserting_before(node):
            graph.call_function(check, tuple(arguments), dict(node.kwargs))
        for following in list(node.users):  # the token is its only result
            following.replace_all_uses_with(token)
            graph.erase_node(following)
        graph.erase_node(node)

    signature, inputs = program.graph_signature, []
    (output,) = (node for node in graph.nodes if node.op == "output")
    results = list(zip(signature.output_specs, output.args[0], strict=True))
    placeholders = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    for spec in signature.input_specs:
        token = placeholders.get(spec.arg.name) if spec.kind is InputKind.TOKEN else None
        if token is not None and set(token.users) == {output}:
            results = [(kind, result) for kind, result in results if result is not token]
            output.args = (tuple(result for _, result in results),)
            graph.erase_node(token)
        else:
            inputs.append(spec)
    changed = copy.copy(program)
    changed._graph_module = torch.fx.GraphModule(program.graph_module, graph)
    changed._graph_signature = ExportGraphSignature(inputs, [spec for spec, _ in results])
    return changed


def _is_check(node: Any) -> bool:
    wrapped = getattr(node.target, "__name__", "") == "with_effects"
    return wrapped and getattr(node.args[1], "__name__", "") == _CHECK
