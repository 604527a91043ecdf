"""while_loop, scan and map of torch's higher-order operators.

Relax has no loop but functions that call themselves. One that called itself at each step would
need memory of the C++ stack for each, and end the process after some thousands of them. So
`while_512` is eight calls of `while_64`, and so on down to `while_1`, which takes one step. Each of
them begins with the condition, and returns at once where it no longer holds. Only what calls
`while_262144` calls itself.

The number of steps of scan and map is the size of an axis. Their body becomes one function, which
is called once for each step where that size is a constant, and refused where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix

_CALLS = 8
_LEVELS = 6

LARGEST = 8192
"""Slices and results of steps beyond which a scan is not written out."""


def while_loop(importer: Any, node: Any, previous: Any) -> Any:
    """The values that are carried, after the last step, as a tuple."""
    condition, body, carried, constants = importer.retrieve_args(node)
    operands = [*carried, *constants]
    _require_tensors(node, operands)
    holds = importer._import_branch_subgraph(condition, operands, "while_condition")
    step = importer._import_branch_subgraph(body, operands, "while_body")
    loop = _Loop(importer, (condition, body), operands, len(carried))

    def stepped(given: list[Any]) -> Any:
        return relax.Tuple(loop.cast(loop.parts(relax.Call(step, given)), given))

    once = loop.function("step", stepped)

    def where_it_holds(function: Any, name: str) -> Any:
        def tried(given: list[Any]) -> Any:
            goes_on = loop.emit(relax.Call(holds, given))
            kept = relax.Tuple(given[: len(carried)])
            return loop.emit(relax.If(goes_on, relax.Call(function, given), kept))

        return loop.function(name, tried)

    called = where_it_holds(once, "1")
    for level in range(1, _LEVELS + 1):

        def repeated(given: list[Any], called: Any = called) -> Any:
            for _ in range(_CALLS):
                given = [*loop.parts(relax.Call(called, given)), *given[len(carried) :]]
            return relax.Tuple(given[: len(carried)])

        steps = _CALLS**level
        called = where_it_holds(loop.function(f"each_of_{steps}", repeated), str(steps))

    def forever(given: list[Any]) -> Any:
        made = loop.parts(relax.Call(called, given))
        given = [*made, *given[len(carried) :]]
        goes_on = loop.emit(relax.Call(holds, given))
        return loop.emit(relax.If(goes_on, relax.Call(itself, given), relax.Tuple(made)))

    itself = loop.function("again", lambda given: relax.Tuple(given[: len(carried)]))
    whole = loop.function("all", forever)
    made = importer.block_builder.get()[whole]
    symbol = _compat.name_of(itself)
    importer.block_builder.update_func(itself, made.with_attr("global_symbol", symbol))
    return importer.block_builder.emit(relax.Call(whole, operands))


class _Loop:
    """Functions of the values that are carried and of the constants of one loop."""

    def __init__(
        self, importer: Any, graphs: Sequence[Any], operands: list[Any], carried: int
    ) -> None:
        self._builder = importer.block_builder
        self._operands = operands
        self._carried = carried
        self._number = importer._branch_counter
        importer._branch_counter += 1
        asserts = getattr(importer, "_has_assert_async", lambda graph: False)  # from 0.27 on
        self._pure = not any(map(asserts, graphs))
        self.emit = self._builder.emit

    def function(self, name: str, body: Callable[[list[Any]], Any]) -> Any:
        """The global variable of a new function, given what it computes of its parameters."""
        parameters = self._parameters()
        name = f"while_{self._number}_{name}"
        with self._builder.function(name=name, params=parameters, pure=self._pure):
            self._builder.emit_func_output(body(parameters))
        return self._builder.get().get_global_var(name)

    def _parameters(self) -> list[Any]:
        """Parameters of the types of the operands, with symbolic dimensions of their own."""
        known: list[tuple[Any, Any]] = []

        def own(dim: Any) -> Any:
            if isinstance(dim, int):
                return dim
            for other, variable in known:
                if _compat.prim_equal(other, dim):
                    return variable
            known.append((dim, _compat.tir_var(f"size_{len(known)}")))
            return known[-1][1]

        return [
            relax.Var(
                f"operand_{place}",
                _compat.tensor_type(
                    [own(dim) for dim in _compat.shape_of(operand)], _compat.dtype_of(operand)
                ),
            )
            for place, operand in enumerate(self._operands)
        ]

    def parts(self, call: Any) -> list[Any]:
        """The values that a call returns: a tuple, or one tensor of a body with one result."""
        made = self.emit(call)
        if not _compat.is_tuple(made):
            return [made]
        return [self.emit(relax.TupleGetItem(made, place)) for place in range(self._carried)]

    def cast(self, made: list[Any], given: list[Any]) -> list[Any]:
        """The results of a step as tensors of the shapes that were given to it."""
        return [
            self._builder.match_cast(new, _compat.type_of(old))
            for new, old in zip(made, given, strict=False)
        ]


def scan(importer: Any, node: Any, previous: Any) -> Any:
    """The values that are carried, after the last step, and those of all steps, stacked."""
    body, carried, sources, constants = importer.retrieve_args(node)
    return _written_out(importer, node, body, list(carried), sources, constants)


def mapped(importer: Any, node: Any, previous: Any) -> Any:
    """The values of all steps, stacked."""
    body, sources, constants = importer.retrieve_args(node)
    return _written_out(importer, node, body, [], sources, constants)


def _written_out(
    importer: Any, node: Any, body: Any, carried: list[Any], sources: Any, constants: Any
) -> Any:
    _require_tensors(node, [*carried, *sources, *constants])
    results = len(next(n for n in body.graph.nodes if n.op == "output").args[0])
    steps = _compat.as_int(_compat.shape_of(sources[0])[0])
    if steps is None:
        raise _emit.refuse(
            node,
            "the number of its steps is a symbolic size",
            "Export it for a fixed number of steps, or keep the loop in Python and compile its "
            "body; torch.vmap maps a function over a symbolic size",
        )
    if steps * (len(sources) + results) > LARGEST:
        raise _emit.refuse(
            node,
            f"it has {steps} steps, of which more than {LARGEST} slices and results are written "
            "out",
            "Keep the loop in Python and compile its body",
        )
    kept: list[list[Any]] = [[] for _ in range(results - len(carried))]
    called = None
    for step in range(steps):
        place = relax.const(step, "int64")
        slices = [_emit.emit(importer, relax.op.take(x, place, axis=0)) for x in sources]
        given = [*carried, *slices, *constants]
        called = called or importer._import_branch_subgraph(body, given, "loop_body")
        made = _emit.emit(importer, relax.Call(called, given))
        parts = [made]
        if _compat.is_tuple(made):
            parts = [_emit.emit(importer, relax.TupleGetItem(made, at)) for at in range(results)]
        carried = parts[: len(carried)]
        for values, value in zip(kept, parts[len(carried) :], strict=True):
            values.append(value)
    stacked = [_emit.emit(importer, relax.op.stack(values, axis=0)) for values in kept]
    return _emit.emit(importer, relax.Tuple([*carried, *stacked]))


def _require_tensors(node: Any, operands: Sequence[Any]) -> None:
    if not all(map(_compat.has_shape, operands)):
        raise _emit.refuse(
            node,
            "an operand that is a number, a symbolic size or a tensor of unknown shape",
            "Give it as a tensor without dimensions: torch.tensor(0), torch.scalar_tensor(n)",
        )


FIX = Fix(
    id="loops",
    what="torch's while_loop, scan and map are refused",
    op="torch.while_loop, torch.scan, torch.map",
    affected="",
    converters={"while_loop": while_loop, "scan": scan, "map_impl": mapped},
    probe=_probe.lacks("while_loop", "scan", "map_impl"),
)
