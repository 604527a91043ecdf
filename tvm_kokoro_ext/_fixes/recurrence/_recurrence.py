"""Recurrences as kernels with a serial time loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm_kokoro_ext._compat import IRBuilder, T, te, tirx


def lstm(
    gates: Any, weight: Any, h0: Any, c0: Any, *, reverse: bool, lengths: Any = None
) -> list[Any]:
    """The LSTM recurrence over projected inputs.

    Parameters
    ----------
    gates
        x·W_ihᵀ + biases, [time, batch, 4·hidden] in blocks i, f, g, o.
    weight
        W_hh, [4·hidden, hidden].
    h0, c0
        The initial state, [batch, hidden].
    reverse
        Process the steps from the last to the first.
    lengths
        [batch], int64: how many steps of a row are valid. Its other outputs are 0, and the state
        does not change there. None means all.

    Returns
    -------
    outputs [time, batch, hidden] in the order of the input, the last h and c, and scratch
    [batch, 4·hidden].
    """
    time, batch, _ = gates.shape
    hidden = weight.shape[1]
    rows = 4 * hidden
    dtype = str(gates.dtype)

    def body(inputs: Any, outputs: Any) -> Any:
        projected, w, h_first, c_first, *valid = (T.buffer_proxy(buffer) for buffer in inputs)
        out, h, c, work = (T.buffer_proxy(buffer) for buffer in outputs)

        def advance(b: Any, step: Any) -> None:
            """One step of one row: all of h is read before any of it is changed."""
            with T.serial(0, rows) as j:
                work[b * rows + j] = projected[(step * batch + b) * rows + j]
                with T.serial(0, hidden) as k:
                    work[b * rows + j] += w[j * hidden + k] * h[b * hidden + k]
            with T.serial(0, hidden) as j:
                at, gate = b * hidden + j, b * rows + j
                c[at] = tirx.sigmoid(work[gate + hidden]) * c[at] + tirx.sigmoid(
                    work[gate]
                ) * tirx.tanh(work[gate + 2 * hidden])
                h[at] = tirx.sigmoid(work[gate + 3 * hidden]) * tirx.tanh(c[at])
                out[(step * batch + b) * hidden + j] = h[at]

        with IRBuilder() as ib:
            with T.seq_scope():
                with T.serial(0, batch * hidden) as i:
                    h[i] = h_first[i]
                    c[i] = c_first[i]
                with T.serial(0, time) as t:
                    step = time - 1 - t if reverse else t
                    with T.serial(0, batch) as b:
                        if valid:
                            with T.If(tirx.LT(step, valid[0][b])):
                                with T.Then():
                                    advance(b, step)
                                with T.Else(), T.serial(0, hidden) as j:
                                    out[(step * batch + b) * hidden + j] = tirx.const(0.0, dtype)
                        else:
                            advance(b, step)
            return ib.get()

    shapes = [(time, batch, hidden), (batch, hidden), (batch, hidden), (batch, rows)]
    given = [gates, weight, h0, c0] + ([] if lengths is None else [lengths])
    results = te.extern(shapes, given, body, dtype=[dtype] * 4, name="lstm")
    return list(results)


def gru(
    gates: Any,
    weight: Any,
    bias: Any,
    h0: Any,
    *,
    resets_product: bool,
    reverse: bool,
    lengths: Any = None,
) -> list[Any]:
    """The GRU recurrence over projected inputs, in blocks z, r, h.

    Parameters
    ----------
    gates
        x·Wᵀ + biases, [time, batch, 3·hidden].
    weight
        R, [3·hidden, hidden].
    bias
        [hidden], which is reset with the product of h and the state where `resets_product` says so.
    h0, reverse, lengths
        As of `lstm`.
    resets_product
        Reset the product with the state instead of the state.

    Returns
    -------
    outputs [time, batch, hidden], the last h, and scratch [batch, 4·hidden].
    """
    hidden = weight.shape[1]

    def advance(at: _Step, w: Any, b: Any) -> None:
        with T.serial(0, (3 if resets_product else 2) * hidden) as j:
            at.work[at.scratch + j] = tirx.const(0.0, str(gates.dtype))
            with T.serial(0, hidden) as k:
                at.work[at.scratch + j] += w[j * hidden + k] * at.h[at.state + k]
        with T.serial(0, 2 * hidden) as j:
            at.work[at.scratch + j] = tirx.sigmoid(
                at.work[at.scratch + j] + at.projected[at.gate + j]
            )
        with T.serial(0, hidden) as j:
            place, reset = at.scratch + 2 * hidden + j, at.work[at.scratch + hidden + j]
            if resets_product:
                at.work[place + hidden] = (at.work[place] + b[j]) * reset
            else:
                at.work[place] = reset * at.h[at.state + j]
        if not resets_product:
            with T.serial(0, hidden) as j:
                place = at.scratch + 3 * hidden + j
                at.work[place] = tirx.const(0.0, str(gates.dtype))
                with T.serial(0, hidden) as k:
                    at.work[place] += (
                        w[(2 * hidden + j) * hidden + k] * at.work[at.scratch + 2 * hidden + k]
                    )
        with T.serial(0, hidden) as j:
            keep = at.work[at.scratch + j]
            new = tirx.tanh(
                at.projected[at.gate + 2 * hidden + j] + at.work[at.scratch + 3 * hidden + j]
            )
            at.h[at.state + j] = (1 - keep) * new + keep * at.h[at.state + j]

    return _scan(gates, h0, [weight, bias], advance, 4 * hidden, reverse, lengths)


def rnn(
    gates: Any, weight: Any, h0: Any, *, activation: Any, reverse: bool, lengths: Any = None
) -> list[Any]:
    """h = activation(gates + R·h): outputs, the last h, and scratch [batch, hidden]."""
    hidden, zero = weight.shape[1], tirx.const(0.0, str(gates.dtype))

    def advance(at: _Step, w: Any) -> None:
        with T.serial(0, hidden) as j:
            at.work[at.scratch + j] = at.projected[at.gate + j]
            with T.serial(0, hidden) as k:
                at.work[at.scratch + j] += w[j * hidden + k] * at.h[at.state + k]
        with T.serial(0, hidden) as j:
            at.h[at.state + j] = activation(at.work[at.scratch + j], zero)

    return _scan(gates, h0, [weight], advance, hidden, reverse, lengths)


@dataclass(frozen=True)
class _Step:
    """One step of one row: buffers, and where in them the row begins."""

    projected: Any
    gate: Any
    h: Any
    state: Any
    work: Any
    scratch: Any


def _scan(
    gates: Any,
    h0: Any,
    constants: list[Any],
    advance: Callable[..., None],
    scratch: Any,
    reverse: bool,
    lengths: Any,
) -> list[Any]:
    """`advance(step, *constants)` at every valid step of every row, which changes h."""
    time, batch, rows = gates.shape
    hidden, dtype = h0.shape[1], str(gates.dtype)

    def body(inputs: Any, outputs: Any) -> Any:
        projected, h_first, *others = (T.buffer_proxy(buffer) for buffer in inputs)
        given, valid = others[: len(constants)], others[len(constants) :]
        out, h, work = (T.buffer_proxy(buffer) for buffer in outputs)

        def write(b: Any, step: Any, value: Callable[[Any], Any]) -> None:
            with T.serial(0, hidden) as j:
                out[(step * batch + b) * hidden + j] = value(j)

        def taken(b: Any, step: Any) -> None:
            gate = (step * batch + b) * rows
            advance(_Step(projected, gate, h, b * hidden, work, b * scratch), *given)
            write(b, step, lambda j: h[b * hidden + j])

        with IRBuilder() as ib:
            with T.seq_scope():
                with T.serial(0, batch * hidden) as i:
                    h[i] = h_first[i]
                with T.serial(0, time) as t:
                    step = time - 1 - t if reverse else t
                    with T.serial(0, batch) as b:
                        if valid:
                            with T.If(tirx.LT(step, valid[0][b])):
                                with T.Then():
                                    taken(b, step)
                                with T.Else():
                                    write(b, step, lambda j: tirx.const(0.0, dtype))
                        else:
                            taken(b, step)
            return ib.get()

    shapes = [(time, batch, hidden), (batch, hidden), (batch, scratch)]
    given = [gates, h0, *constants] + ([] if lengths is None else [lengths])
    return list(te.extern(shapes, given, body, dtype=[dtype] * 3, name="scan"))
