"""If: the branch that is taken at import where the condition is known, else one at each run.

Stock computes a branch inside `relax.If` without binding its last result, so that most cannot be
compiled, and what the choice gives has no known sizes. Here each branch is a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend, _known
from tvm_kokoro_ext._fixes.onnx._converters import Node
from tvm_kokoro_ext._fixes.onnx._known import Known

_NAMES = ("then_branch", "else_branch")


def choose(node: Node, previous: Callable[[Node], Any]) -> Any:
    """The results of a branch: one, or a tuple."""
    known = node.known(0)
    branches = [node.attributes[name] for name in _NAMES]
    if known is not None and known.constant and known.values.size == 1:
        (condition,) = known.values.flat
        made = _results(node, branches[0 if condition else 1])
        return made[0] if len(made) == 1 else relax.Tuple(made)
    condition = node.tensor(0)
    if _compat.rank_of(condition) != 0:
        condition = node.emit(relax.op.reshape(condition, []))
    calls = [_branch(node, *pair) for pair in zip(_NAMES, branches, strict=True)]
    _check_agreement(*(_compat.type_of(call) for call in calls))
    # No dataflow block may hold an If: the function that chooses has another block.
    node.builder._begin_binding_block()
    choice = _outlined(node.builder, "choice", node.emit(relax.If(condition, *calls)))
    made = _fields(node, node.emit(choice))
    return made[0] if len(made) == 1 else relax.Tuple(made)


def _results(node: Node, graph: Any) -> list[Any]:
    """The results of a branch, whose nodes are converted where the builder is."""
    importer = node.importer
    outside = dict(importer._nodes)
    for tensor in graph.initializer:
        importer._nodes[tensor.name] = relax.const(importer._parse_array(tensor))
    importer._construct_nodes(graph)
    results = [importer._nodes[output.name] for output in graph.output]
    importer._nodes = outside
    return results


def _branch(node: Node, name: str, graph: Any) -> Any:
    """A call that gives the results of a branch, as a tuple.

    TVM plans the memory of `relax.If` across both of its branches, so that nothing but a call may
    be in them.
    """
    node.builder._begin_dataflow_block()
    results = relax.Tuple([_bound(node, value) for value in _results(node, graph)])
    return _outlined(node.builder, name, node.builder.emit_output(results))


def _outlined(builder: Any, name: str, output: Any) -> Any:
    """A call of a new private function of the block that the builder is in, which is ended.

    The function gives the variable `output` of the block. It takes the sizes and the values that
    the block uses of the blocks around it.
    """
    body = relax.SeqExpr([builder._end_block()], output)
    values = [v for v in relax.analysis.free_vars(body) if not _compat.is_prim(v)]
    loose = relax.Function(values, body, _compat.type_of(output))
    sizes = relax.analysis.free_symbolic_vars(loose)
    parameters = [relax.Var(_compat.name_of(value), _compat.type_of(value)) for value in values]
    body = loose.bind_params(dict(zip(values, parameters, strict=True))).body
    parameters.insert(0, relax.Var("sizes", relax.ShapeType(sizes)))
    builder.begin_scope(parameters)
    body = builder.normalize(body)
    builder.end_scope()
    function = relax.utils.copy_with_new_vars(relax.Function(parameters, body))
    made = relax.Call(builder.add_func(function, name), [relax.ShapeExpr(sizes), *values])
    return builder.normalize(made)


def _bound(node: Node, value: Any) -> Any:
    """A result of a branch as an expression, or as a sequence of expressions."""
    if isinstance(value, relax.Tuple):
        return relax.Tuple([_bound(node, part) for part in value.fields])
    value = _known.as_tensor(node.builder, value) if isinstance(value, Known) else value
    if not _compat.is_tensor(value):
        raise _frontend.refusal("If", "its branches give what is no tensor", "Give tensors")
    return node.emit(value)


def _check_agreement(one: Any, other: Any) -> None:
    """Refuse results of two branches, by their types, of which none can stand for both."""
    tuples = [isinstance(kind, relax.TupleType) for kind in (one, other)]
    if all(tuples) and len(one.fields) == len(other.fields):
        for pair in zip(one.fields, other.fields, strict=True):
            _check_agreement(*pair)
        return
    if any(tuples):
        reason = "its branches give sequences of different lengths"
        raise _frontend.refusal("If", reason, "Give tensors")
    (dtype, rank), (second, axes) = kinds = [(str(kind.dtype), kind.ndim) for kind in (one, other)]
    if kinds[0] != kinds[1]:
        raise _frontend.refusal(
            "If",
            f"its branches give {dtype} of {rank} axes and {second} of {axes}",
            "Give both results the same dtype and number of axes, or the condition as a constant",
        )


def _fields(node: Node, value: Any) -> list[Any]:
    """The fields of a tuple: tensors with sizes, and tuples of such."""
    made = []
    for at in range(len(_compat.type_of(value).fields)):
        field = node.emit(relax.TupleGetItem(value, at))
        inner = _compat.is_tuple(field)
        made.append(
            relax.Tuple(_fields(node, field)) if inner else _converters.with_sizes(node, field)
        )
    return made


FIX = Fix(
    id="onnx_if",
    what="ONNX If does not compile most branches, and loses their sizes",
    op="ONNX If",
    affected=">=0.27",
    install=lambda: _converters.laid_over({"If": choose}),
    probe=lambda: _frontend.holds_expressions()
    and "relax.SeqExpr(blocks=[], body=then_expr)" in _frontend.text(),
    needs_torch=False,
)
