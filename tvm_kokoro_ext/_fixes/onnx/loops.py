"""Loop, and Scan whose number of steps is known at import: their body, once for each step.

A step sees the outer graph. What a body computes of its own counter is known at import, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend, _known, _layers, _repeated
from tvm_kokoro_ext._fixes.onnx._converters import Node
from tvm_kokoro_ext._fixes.onnx._known import Known

Previous = Callable[[Node], Any]

LARGEST = 8192
"""Nodes beyond which a loop is not written out: a compiler would take minutes."""
_WAY = (
    "Export the model for a fixed number of steps, or keep the loop in Python and compile its body"
)


def loop(node: Node, previous: Previous) -> Any:
    """The carried values after the last step, and the values of all steps, stacked."""
    body = node.attributes["body"]
    count, go = node.known(0), node.known(1)
    known = (node.given(1) is None or (go is not None and go.constant)) and (
        node.given(0) is None or (count is not None and count.constant)
    )
    if known:
        written = _written_out(node, body, count, go)
        if written is not None:
            return _results(node, written)

    def step(at: Any, carried: Sequence[Any]) -> list[Any]:
        number = at
        if body.input[0].type.tensor_type.shape.dim:
            number = node.emit(relax.op.reshape(at, [1]))
        return _stepped(node, body, [number, _number(True, "bool", body.input[1]), *carried])

    return _results(node, _repeated.repeated(node, step))


def _written_out(node: Node, body: Any, count: Known | None, go: Known | None) -> Any:
    """The results of a loop of a known number of steps; None if a step or their number says no.

    What the steps have written until then is not used.
    """
    most = LARGEST // max(len(body.node), 1)
    steps = most + 1 if count is None else int(count.values.item())
    if count is not None and steps > most:
        return None
    going = go is None or bool(go.values.item())
    carried = list(node.inputs[2:])
    kept: list[list[Any]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    step = 0
    while going and step < steps:
        if step == most:
            return None
        own = [_number(step, "int64", body.input[0]), _number(True, "bool", body.input[1])]
        given = [*own, *map(_counter, carried)]
        more, *made = _stepped(node, body, given)
        further = node.with_inputs(more).known(0)
        if further is None or not further.constant:
            return None
        carried = made[: len(carried)]
        for values, value in zip(kept, made[len(carried) :], strict=True):
            values.append(_tensor(node, value))
        going, step = bool(further.values.item()), step + 1
    if kept and not step:
        return None
    return [*carried, *(_stacked(node, values, 0) for values in kept)]


def scan(node: Node, previous: Previous) -> Any:
    """The states after the last step, and the values of all steps along an axis."""
    body, attributes = node.attributes["body"], node.attributes
    if node.opset < 9:
        raise _frontend.refusal("Scan", "it is that of opset 8", "Convert the model to opset 9")
    count = int(attributes["num_scan_inputs"])
    states = list(node.inputs[: len(node.inputs) - count])
    sources = [node.tensor(at) for at in range(len(states), len(node.inputs))]
    results = len(body.output) - len(states)
    axes = [
        int(axis) % _compat.rank_of(source)
        for axis, source in zip(
            attributes.get("scan_input_axes") or [0] * count, sources, strict=True
        )
    ]
    back = [bool(flag) for flag in attributes.get("scan_input_directions") or [0] * count]
    sizes = {_compat.as_int(_compat.shape_of(s)[a]) for s, a in zip(sources, axes, strict=True)}
    steps = sizes.pop()
    if sizes or steps is None:
        reason = "the number of its steps is no constant"
        raise _frontend.refusal("Scan", reason, _WAY)
    if steps * len(body.node) > LARGEST:
        reason = f"it has {steps} steps of {len(body.node)} nodes, more than {LARGEST} in all"
        raise _frontend.refusal("Scan", reason, _WAY)
    kept: list[list[Any]] = [[] for _ in range(results)]
    for step in range(steps):
        places = [steps - 1 - step if flag else step for flag in back]
        slices = [
            node.emit(relax.op.take(source, relax.const(place, "int64"), axis=axis))
            for source, place, axis in zip(sources, places, axes, strict=True)
        ]
        made = _stepped(node, body, [*states, *slices])
        states = made[: len(states)]
        for values, value in zip(kept, made[len(states) :], strict=True):
            values.append(_tensor(node, value))
    for values, flag in zip(
        kept, attributes.get("scan_output_directions") or [0] * results, strict=True
    ):
        if flag:
            values.reverse()
    behind = attributes.get("scan_output_axes") or [0] * results
    stacked = [_stacked(node, v, int(a)) for v, a in zip(kept, behind, strict=True)]
    return _results(node, [*states, *stacked])


def _number(value: Any, dtype: str, declared: Any) -> Known:
    """A scalar, or a list of it where the body declares one axis, as PyTorch's exporter does."""
    values = np.empty((1,) * len(declared.type.tensor_type.shape.dim), object)
    values[...] = value
    return Known(values, dtype)


def _counter(value: Any) -> Any:
    """A carried integer that is a constant as a known value; anything else unchanged."""
    array = None if isinstance(value, Known) else _compat.constant_value(value)
    if array is None or array.size != 1 or array.dtype.kind not in "biu":
        return value
    return _known.known_constant(np.asarray(array)) or value


def _stepped(node: Node, body: Any, given: Sequence[Any]) -> list[Any]:
    """The results of a body for its inputs."""
    importer = node.importer
    outside = dict(importer._nodes)
    try:
        for tensor in body.initializer:
            importer._nodes[tensor.name] = relax.const(importer._parse_array(tensor))
        importer._nodes.update(zip((value.name for value in body.input), given, strict=True))
        importer._construct_nodes(body)
        return [importer._nodes[output.name] for output in body.output]
    finally:
        importer._nodes = outside


def _tensor(node: Node, value: Any) -> Any:
    value = _known.as_tensor(node.builder, value) if isinstance(value, Known) else value
    if not _compat.is_tensor(value):
        raise _frontend.refusal(node.operator, "its steps give what is no tensor", "Give tensors")
    return value


def _stacked(node: Node, values: list[Any], axis: int) -> Any:
    if not values:
        reason = "it has no steps, so that nothing says the sizes of its results"
        raise _frontend.refusal(node.operator, reason, "Leave the node out")
    return node.emit(relax.op.stack(values, axis=axis))


def _results(node: Node, values: list[Any]) -> Any:
    """One result as it is, and several as tensors."""
    if len(values) == 1:
        return values[0]
    return relax.Tuple(
        [_known.as_tensor(node.builder, v) if isinstance(v, Known) else v for v in values]
    )


def _install() -> Callable[[], None]:
    def none(bb: Any, inputs: Any, attr: Any) -> Any:
        raise NotImplementedError

    return _frontend.both(
        _frontend.with_operators(_layers.classes({"Loop": none, "Scan": none})),
        _converters.laid_over({"Loop": loop, "Scan": scan}),
    )


FIX = Fix(
    id="onnx_loops",
    what="the ONNX operators Loop and Scan are missing",
    op="ONNX Loop, ONNX Scan",
    affected=">=0.27",
    install=_install,
    probe=lambda: _frontend.holds_expressions() and '"Loop"' not in _frontend.text(),
    needs_torch=False,
)
