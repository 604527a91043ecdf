"""Loops whose number of steps a call decides, as functions that call each other.

Relax has no loop. A step is a private function, which is called where the condition holds, and
`loop_16` is 16 such calls, `loop_256` 16 calls of that, and so on. Each of them returns at once
where the condition no longer holds. A function that called itself would need memory of the C++
stack for each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fixes.onnx import _converters, _elements, _frontend, _known, branches
from tvm_kokoro_ext._fixes.onnx._converters import Node, int64, known_dims
from tvm_kokoro_ext._fixes.onnx._elements import NotKnown
from tvm_kokoro_ext._fixes.onnx._known import Known

_CALLS = 16
_LEVELS = 6
_WAY = "Give it tensors of the same sizes at each step, or export the model for a fixed number"

#: The results of a body for the number of a step and the carried values.
Body = Callable[[Any, Sequence[Any]], list[Any]]


@dataclass
class _Loop:
    """The state of a loop: the number of the step, whether it goes on, and the carried values.

    The functions are made of the same variables, which become parameters of each of them.
    """

    node: Node
    state: list[Any]
    changing: list[Any]
    """The sizes that a step changes: variables that stand for nothing outside of the loop."""
    kept: list[tuple[list[Any], str]]
    """Sizes and dtypes of what is kept of each step."""

    def rebound(self, call: Any, values: Sequence[Any]) -> Any:
        """The call of a function of the state's variables, with other values of theirs."""
        pairs = list(zip(self.state, values, strict=True))
        sizes = [
            (own, int64(size))
            for old, new in pairs
            for own, size in zip(known_dims(old) or (), known_dims(new) or (), strict=True)
        ]
        given: list[Any] = []
        for argument in call.args:
            if isinstance(argument, relax.ShapeExpr):
                given.append(relax.ShapeExpr([_other(size, sizes) for size in argument.values]))
            else:
                given.append(_other(argument, pairs))
        return relax.Call(call.op, given)

    def parts(self, call: Any) -> tuple[list[Any], list[Any]]:
        """The state that a call gives, and what it has kept, with sizes."""
        made = self.node.emit(call)
        fields = [
            self.node.emit(relax.TupleGetItem(made, at))
            for at in range(len(self.state) + len(self.kept))
        ]
        count = len(self.state)
        state = [
            self._declared(field, [self._lasting(size) for size in known_dims(own) or ()])
            for field, own in zip(fields[:count], self.state, strict=True)
        ]
        kept = [
            self._declared(field, [None, *sizes])
            for field, (sizes, _) in zip(fields[count:], self.kept, strict=True)
        ]
        return state, kept

    def _lasting(self, size: Any) -> Any:
        """A size that is the same at each step; None for any other."""
        return None if _among(size, self.changing) else size

    def _declared(self, tensor: Any, sizes: Sequence[Any]) -> Any:
        """The tensor with its sizes, of which None is one that only the call knows."""
        own = [
            _compat.tir_var(f"loop_{next(_converters._numbers)}_{axis}") if s is None else int64(s)
            for axis, s in enumerate(sizes)
        ]
        declared = _compat.tensor_type(own, _compat.dtype_of(tensor))
        return self.node.builder.match_cast(tensor, declared)

    def where_it_goes_on(self, call: Any, name: str) -> Any:
        """A function that calls another one if the condition holds, and else keeps the state."""
        builder = self.node.builder
        builder._begin_binding_block()
        nothing = [
            self.node.emit(relax.op.zeros(relax.ShapeExpr([0, *map(int64, sizes)]), dtype))
            for sizes, dtype in self.kept
        ]
        still = relax.Tuple([*self.state, *nothing])
        chosen = self.node.emit(relax.If(self.state[1], call, still))
        return branches._outlined(builder, name, chosen)

    def repeated(self, call: Any, name: str) -> Any:
        """A function that calls another one so many times."""
        builder, state = self.node.builder, self.state
        builder._begin_dataflow_block()
        kept: list[list[Any]] = [[] for _ in self.kept]
        for _ in range(_CALLS):
            state, made = self.parts(self.rebound(call, state))
            for values, value in zip(kept, made, strict=True):
                values.append(value)
        joined = [self.node.emit(relax.op.concat(values, axis=0)) for values in kept]
        return branches._outlined(
            builder, name, builder.emit_output(relax.Tuple([*state, *joined]))
        )


def _other(value: Any, pairs: Sequence[tuple[Any, Any]]) -> Any:
    """What stands in place of a value; itself if nothing does."""
    return next((new for old, new in pairs if _compat.same_object(old, value)), value)


def _among(value: Any, others: Sequence[Any]) -> bool:
    return any(_compat.same_object(value, other) for other in others)


def repeated(node: Node, body: Body) -> list[Any]:
    """The carried values after the last step, and what the steps have kept, stacked.

    A loop that does not end within 16⁶ steps raises.
    """
    count = node.given(0) if node.given(0) is None else _number(node, node.tensor(0), "int64")
    go = node.tensor(1)
    go = relax.const(True) if go is None else _number(node, go, "bool")
    carried = [_tensor(node, value) for value in node.inputs[2:]]
    loop, step, forever = _step(node, body, carried, count)
    levels, known = _LEVELS, node.known(0)
    if known is not None and known.constant:
        steps = int(known.values.item())
        levels = next((n for n in range(_LEVELS) if _CALLS**n >= steps), _LEVELS)
    called = loop.where_it_goes_on(step, "loop_step")
    for level in range(1, levels + 1):
        steps = _CALLS**level
        called = loop.repeated(called, f"loop_{steps}_steps")
        called = loop.where_it_goes_on(called, f"loop_{steps}")
    zero = relax.const(0, "int64")
    start = go if count is None else _both(node, go, node.emit(relax.op.less(zero, count)))
    state, made = loop.parts(loop.rebound(called, [node.emit(zero), node.emit(start), *carried]))
    _require_end(node, state[1])
    if forever and known is not None and made:
        made = [_of_steps(node, value, known) for value in made]
    return [*state[2:], *made]


def _step(node: Node, body: Body, carried: list[Any], count: Any) -> tuple[_Loop, Any, bool]:
    """The loop, a call of its step, and whether nothing but the number of steps ends it.

    A size that a step changes becomes a variable, and the body is converted again.
    """
    changing = [[False] * len(known_dims(value) or ()) for value in carried]
    while True:
        variables: list[Any] = []
        state = [
            relax.Var("step", _compat.tensor_type([], "int64")),
            relax.Var("goes_on", _compat.tensor_type([], "bool")),
        ]
        for at, (value, free) in enumerate(zip(carried, changing, strict=True)):
            sizes = []
            for axis, (size, other) in enumerate(zip(known_dims(value) or (), free, strict=True)):
                if other:
                    size = _compat.tir_var(f"carried_{at}_{axis}")
                    variables.append(size)
                sizes.append(int64(size))
            declared = _compat.tensor_type(sizes, _compat.dtype_of(value))
            state.append(relax.Var(f"carried_{at}", declared))
        node.builder._begin_dataflow_block()
        more, *made = body(state[0], state[2:])
        forever = isinstance(more, Known) and more.constant and bool(more.values.item())
        results = [_tensor(node, value) for value in made]
        again = _changed(node, state[2:], results, changing)
        if not again:
            break
        node.builder._end_block()
    going = _number(node, _tensor(node, more), "bool")
    following = node.emit(relax.op.add(state[0], relax.const(1, "int64")))
    if count is not None:
        going = _both(node, going, node.emit(relax.op.less(following, count)))
    chunks = [node.emit(relax.op.expand_dims(value, 0)) for value in results[len(carried) :]]
    kinds = [_sizes_of_kept(node, value) for value in results[len(carried) :]]
    loop = _Loop(node, state, variables, kinds)
    output = relax.Tuple([following, going, *results[: len(carried)], *chunks])
    call = branches._outlined(node.builder, "loop_body", node.builder.emit_output(output))
    known = _variables([*call.args[0].values, *_sizes(call.args[1:])])
    unknown = [
        variable
        for variable in _variables([size for sizes, _ in kinds for size in sizes])
        if _among(variable, variables) or not _among(variable, known)
    ]
    if unknown:
        raise _frontend.refusal(
            node.operator, "what it keeps of each step has sizes that only the step knows", _WAY
        )
    return loop, call, forever


def _sizes(tensors: Sequence[Any]) -> list[Any]:
    return [size for t in tensors if _compat.has_shape(t) for size in _compat.shape_of(t)]


def _variables(sizes: Sequence[Any]) -> list[Any]:
    return [v for size in sizes if _compat.is_prim(size) for v in _compat.variables_of(size)]


def _changed(
    node: Node, state: Sequence[Any], results: Sequence[Any], changing: list[list[bool]]
) -> bool:
    """Mark the sizes that a step gives otherwise than it has got them; whether any is new."""
    found = False
    for old, new, free in zip(state, results, changing, strict=False):
        kinds = [(_compat.dtype_of(value), _compat.rank_of(value)) for value in (old, new)]
        if kinds[0] != kinds[1]:
            reason = f"a step makes {kinds[1][0]} of {kinds[1][1]} axes of {kinds[0][0]} of "
            raise _frontend.refusal(node.operator, f"{reason}{kinds[0][1]}", _WAY)
        sizes = known_dims(new) or [None] * len(free)
        for axis, (own, size) in enumerate(zip(known_dims(old) or (), sizes, strict=True)):
            if not free[axis] and (size is None or not _elements.same_size(own, size)):
                free[axis] = found = True
    return found


def _sizes_of_kept(node: Node, value: Any) -> tuple[list[Any], str]:
    sizes = known_dims(value)
    if sizes is None:
        reason = "what it keeps of each step has unknown sizes"
        raise _frontend.refusal(node.operator, reason, _WAY)
    return sizes, _compat.dtype_of(value)


def _of_steps(node: Node, value: Any, count: Known) -> Any:
    """What is kept of all steps, with their number as its first size."""
    try:
        steps = _elements.larger(0, count.integers()[0])
    except NotKnown:
        return value
    if not isinstance(steps, int) and _elements.limited(steps):
        return value
    sizes = [int64(steps), *map(int64, (known_dims(value) or [])[1:])]
    return _emit.with_sizes(node.builder, value, sizes)


def _require_end(node: Node, going: Any) -> None:
    """Raise in a call in which a loop goes on after all the steps that it can take."""
    still = node.emit(relax.op.reshape(node.emit(relax.op.astype(going, "int64")), [1]))
    shape = node.emit(relax.op.tensor_to_shape(still))
    node.builder.match_cast(shape, _compat.shape_type([int64(0)]))


def _both(node: Node, one: Any, other: Any) -> Any:
    return node.emit(relax.op.logical_and(one, other))


def _number(node: Node, value: Any, dtype: str) -> Any:
    """A tensor of one element without dimensions."""
    if _compat.dtype_of(value) != dtype:
        value = node.emit(relax.op.astype(value, dtype))
    return value if _compat.rank_of(value) == 0 else node.emit(relax.op.reshape(value, []))


def _tensor(node: Node, value: Any) -> Any:
    value = _known.as_tensor(node.builder, value) if isinstance(value, Known) else value
    if not _compat.is_tensor(value) or known_dims(value) is None:
        reason = "it carries what is no tensor, or one of unknown sizes"
        raise _frontend.refusal(node.operator, reason, "Give tensors")
    return node.emit(value)
