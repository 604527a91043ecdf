"""Tensors that a branch or the body of a loop makes of numbers.

`torch.tensor([1.0, 2.0])` in a branch of `torch.cond`, in a `while_loop` or in a `scan` is exported
as an attribute of the branch. Torch runs such a program, but fails to trace it again, and so to
decompose it. As a constant of the program that is an operand of the branch, it is no obstacle.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tvm_kokoro_ext._fixes._shared import graphs

# Their last argument holds what every branch reads besides the values that are carried.
_WITH_OPERANDS = ("cond", "while_loop", "scan", "map_impl")


def as_operands(program: Any) -> Any:
    """The program with the tensors of its branches as operands, or the same one if it has none."""
    import torch
    from torch._guards import detect_fake_mode
    from torch.export import graph_signature as signatures

    root = program.graph_module
    if not _held(_branches(root)):
        return program
    changed = copy.copy(program)
    changed._graph_module = copy.deepcopy(root)
    for part, twin in zip(root.modules(), changed.graph_module.modules(), strict=True):
        if isinstance(part, torch.fx.GraphModule):
            twin.graph = graphs.copied(part.graph)
    mode = detect_fake_mode([node.meta.get("val") for node in root.graph.nodes])
    tensors = _held(_branches(changed.graph_module))

    specs = list(program.graph_signature.input_specs)
    kinds = [spec.kind for spec in specs]
    user = signatures.InputKind.USER_INPUT
    place = kinds.index(user) if user in kinds else len(kinds)
    inputs = _new_inputs(changed.graph_module.graph, place, tensors, mode)
    _pass_on(changed.graph_module, inputs, mode)
    specs[place:place] = [
        signatures.InputSpec(
            signatures.InputKind.CONSTANT_TENSOR,
            signatures.TensorArgument(node.name),
            node.name,
        )
        for node in inputs.values()
    ]
    changed._graph_signature = signatures.ExportGraphSignature(
        specs, list(program.graph_signature.output_specs)
    )
    constants = {node.name: tensors[key] for key, node in inputs.items()}
    changed._constants = program.constants | constants
    return changed


def _branches(part: Any) -> list[Any]:
    """The modules of the branches that a graph calls, and of those inside them."""
    import torch

    return [m for m in part.modules() if m is not part and isinstance(m, torch.fx.GraphModule)]


def _constants(part: Any) -> Iterator[tuple[Any, Any]]:
    """The nodes of a graph that are tensors of its module, each with its tensor."""
    import torch

    for node in part.graph.nodes:
        tensor = getattr(part, node.target, None) if node.op == "get_attr" else None
        if isinstance(tensor, torch.Tensor):
            yield node, tensor


def _held(parts: list[Any]) -> dict[int, Any]:
    """The tensors that these modules hold, by their identity."""
    return {id(tensor): tensor for part in parts for _, tensor in _constants(part)}


def _new_inputs(graph: Any, place: int, tensors: dict[int, Any], mode: Any) -> dict[int, Any]:
    """An input for each tensor, in front of the input number `place`, or behind the last one."""
    nodes = [node for node in graph.nodes if node.op == "placeholder"]
    following = nodes[place] if place < len(nodes) else (nodes[-1].next if nodes else None)
    made: dict[int, Any] = {}
    with graph.inserting_before(following or next(iter(graph.nodes))):
        for key, tensor in tensors.items():
            made[key] = graph.placeholder(f"c_branch_{len(made)}")
            value = tensor if mode is None else mode.from_tensor(tensor, static_shapes=True)
            made[key].meta["val"] = value
    return made


def _pass_on(part: Any, inputs: dict[int, Any], mode: Any) -> None:
    """Give the branches that a graph calls their tensors, which are inputs of the graph."""
    for node in part.graph.nodes:
        if getattr(node.target, "__name__", "") not in _WITH_OPERANDS:
            continue
        named = [argument.target for argument in node.args if hasattr(argument, "target")]
        branches = [getattr(part, name) for name in named if hasattr(part, str(name))]
        tensors = _held([m for branch in branches for m in (branch, *_branches(branch))])
        for branch in branches:
            own = _new_inputs(branch.graph, len(branch.graph.nodes), tensors, mode)
            for held, tensor in list(_constants(branch)):
                held.replace_all_uses_with(own[id(tensor)])
                branch.graph.erase_node(held)
                if hasattr(branch, held.target):
                    delattr(branch, held.target)
            _pass_on(branch, own, mode)
        node.args = (*node.args[:-1], (*node.args[-1], *(inputs[key] for key in tensors)))
    part.recompile()
