"""Recurrences as kernels with a serial time loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import IRBuilder, T, te, tirx, topi

_GROUP = 4  # products that are added before a sum is stored again


def projection(x: Any, weight: Any) -> Any:
    """x·weightᵀ: [time, batch, gates] of [time, batch, input] and [gates, input].

    TVM's own product, without a schedule, takes ten times as long on a CPU.
    """
    time, batch, inputs = x.shape
    columns = weight.shape[0]

    def body(given: Any, outputs: Any) -> Any:
        rows, matrix, out = (T.buffer_proxy(buffer) for buffer in (*given, *outputs))
        with IRBuilder() as ib:
            with T.serial(0, time * batch) as row:
                with T.serial(0, columns) as j:
                    out[row * columns + j] = tirx.const(0.0, str(x.dtype))
                product = _Weight(matrix, inputs, columns)
                product.times(rows, row * inputs, out, row * columns)
            return ib.get()

    shape = (time, batch, columns)
    given = [x, topi.transpose(weight)]
    return te.extern([shape], given, body, dtype=[str(x.dtype)], name="projection")


#: Of a scalar expression.
Activation = Callable[[Any], Any]

_OF_LSTM: tuple[Activation, ...] = (tirx.sigmoid, tirx.tanh, tirx.tanh)


def lstm(
    gates: Any,
    weight: Any,
    h0: Any,
    c0: Any,
    *,
    activations: tuple[Activation, ...] = _OF_LSTM,
    reverse: bool,
    lengths: Any = None,
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
    activations
        Of the gates i, f and o, of g, and of c where it becomes h.
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
    hidden = weight.shape[1]
    rows = 4 * hidden

    def advance(at: _Step, w: _Weight) -> None:
        with T.serial(0, rows) as j:
            at.work[at.scratch + j] = at.projected[at.gate + j]
        w.times(at.states[0], at.state, at.work, at.scratch)
        _lstm_gates(at, hidden, activations)

    return _scan("lstm", gates, [h0, c0], [weight], advance, rows, reverse, lengths)


def quantized_lstm(
    gates: Any, weight: Any, scale: Any, h0: Any, c0: Any, *, reverse: bool, lengths: Any = None
) -> list[Any]:
    """The LSTM recurrence with the state of each row quantized to uint8 over its range and 0.

    Parameters
    ----------
    gates, h0, c0, reverse, lengths
        As of `lstm`.
    weight
        The integers of W_hh, less their zero points, as reals, [4·hidden, hidden].
    scale
        The scales of its rows, [4·hidden].

    Returns
    -------
    outputs [time, batch, hidden], the last h and c, and scratch [batch, 5·hidden + 2].
    """
    hidden, dtype = weight.shape[1], str(gates.dtype)
    rows = 4 * hidden
    zero, one, most = (tirx.const(number, dtype) for number in (0.0, 1.0, 255.0))

    def advance(at: _Step, w: _Weight, steps: Any) -> None:
        h, least = at.states[0], at.scratch + 5 * hidden
        at.work[least] = zero
        at.work[least + 1] = zero
        with T.serial(0, hidden) as k:
            at.work[least] = tirx.min(at.work[least], h[at.state + k])
            at.work[least + 1] = tirx.max(at.work[least + 1], h[at.state + k])
        at.work[least + 1] = (at.work[least + 1] - at.work[least]) / most
        at.work[least + 1] = tirx.Select(tirx.EQ(at.work[least + 1], zero), one, at.work[least + 1])
        place = zero - at.work[least] / at.work[least + 1]
        at.work[least] = tirx.nearbyint(tirx.min(tirx.max(place, zero), most))
        with T.serial(0, hidden) as k:
            level = tirx.nearbyint(h[at.state + k] / at.work[least + 1]) + at.work[least]
            at.work[at.scratch + rows + k] = tirx.min(tirx.max(level, zero), most) - at.work[least]
        with T.serial(0, rows) as j:
            at.work[at.scratch + j] = zero
        w.times(at.work, at.scratch + rows, at.work, at.scratch)
        with T.serial(0, rows) as j:
            at.work[at.scratch + j] = (
                at.work[at.scratch + j] * (at.work[least + 1] * steps[j])
                + at.projected[at.gate + j]
            )
        _lstm_gates(at, hidden)

    constants, scratch = [weight, scale], 5 * hidden + 2
    return _scan("lstm", gates, [h0, c0], constants, advance, scratch, reverse, lengths)


def _lstm_gates(at: _Step, hidden: Any, activations: tuple[Activation, ...] = _OF_LSTM) -> None:
    """The next h and c of the gates i, f, g, o, which are in the scratch."""
    h, c = at.states
    gated, new, out = activations
    with T.serial(0, hidden) as j:
        place, gate = at.state + j, at.scratch + j
        c[place] = gated(at.work[gate + hidden]) * c[place] + gated(at.work[gate]) * new(
            at.work[gate + 2 * hidden]
        )
        h[place] = gated(at.work[gate + 3 * hidden]) * out(c[place])


def gru(
    gates: Any,
    weight: Any,
    bias: Any,
    h0: Any,
    *,
    activations: tuple[Activation, ...] = (tirx.sigmoid, tirx.tanh),
    resets_product: bool,
    update: int,
    reverse: bool,
    lengths: Any = None,
) -> list[Any]:
    """The GRU recurrence over projected inputs.

    Parameters
    ----------
    gates
        x·Wᵀ + biases, [time, batch, 3·hidden], in blocks of the update and reset gates and of h.
    weight
        R, [3·hidden, hidden], in the same blocks.
    bias
        [hidden], which is reset with the product of h and the state where `resets_product` says so.
    h0, reverse, lengths
        As of `lstm`.
    activations
        Of z and r, and of h.
    resets_product
        Reset the product with the state instead of the state.
    update
        The place of the block of the update gate, 0 or 1; the other is that of the reset gate.

    Returns
    -------
    outputs [time, batch, hidden], the last h, and scratch [batch, 4·hidden].
    """
    hidden = weight.shape[1]
    gated, made = activations

    def advance(at: _Step, w: _Weight, b: Any) -> None:
        (h,) = at.states
        with T.serial(0, 3 * hidden) as j:
            at.work[at.scratch + j] = tirx.const(0.0, str(gates.dtype))
        together = 3 if resets_product else 2
        w.times(h, at.state, at.work, at.scratch, columns=together * hidden)
        with T.serial(0, 2 * hidden) as j:
            at.work[at.scratch + j] = gated(at.work[at.scratch + j] + at.projected[at.gate + j])
        with T.serial(0, hidden) as j:
            place, reset = (
                at.scratch + 2 * hidden + j,
                at.work[at.scratch + (1 - update) * hidden + j],
            )
            if resets_product:
                at.work[place + hidden] = (at.work[place] + b[j]) * reset
            else:
                at.work[place] = reset * h[at.state + j]
        if not resets_product:
            with T.serial(0, hidden) as j:
                at.work[at.scratch + 3 * hidden + j] = tirx.const(0.0, str(gates.dtype))
            left, product = at.scratch + 2 * hidden, at.scratch + 3 * hidden
            w.times(at.work, left, at.work, product, begin=2 * hidden, columns=hidden)
        with T.serial(0, hidden) as j:
            keep = at.work[at.scratch + update * hidden + j]
            new = made(
                at.projected[at.gate + 2 * hidden + j] + at.work[at.scratch + 3 * hidden + j]
            )
            h[at.state + j] = (1 - keep) * new + keep * h[at.state + j]

    return _scan("gru", gates, [h0], [weight, bias], advance, 4 * hidden, reverse, lengths)


def rnn(
    gates: Any, weight: Any, h0: Any, *, activation: Any, reverse: bool, lengths: Any = None
) -> list[Any]:
    """h = activation(gates + R·h): outputs, the last h, and scratch [batch, hidden]."""
    hidden = weight.shape[1]

    def advance(at: _Step, w: _Weight) -> None:
        (h,) = at.states
        with T.serial(0, hidden) as j:
            at.work[at.scratch + j] = at.projected[at.gate + j]
        w.times(h, at.state, at.work, at.scratch)
        with T.serial(0, hidden) as j:
            h[at.state + j] = activation(at.work[at.scratch + j])

    return _scan("rnn", gates, [h0], [weight], advance, hidden, reverse, lengths)


@dataclass(frozen=True)
class _Weight:
    """A transposed matrix [rows, columns], whose products have loops along its columns.

    A processor computes neighbouring sums at a time, and a sum only one product after another.
    """

    data: Any
    rows: Any
    columns: Any

    def times(
        self, vector: Any, place: Any, sums: Any, first: Any, *, begin: Any = 0, columns: Any = None
    ) -> None:
        """sums[first + j] += Σ_k data[k, begin + j] · vector[place + k], in order of k."""
        rows = _compat.as_int(self.rows)
        group = _GROUP if rows is not None and rows % _GROUP == 0 else 1
        count = self.columns if columns is None else columns
        with T.serial(0, self.rows // group) as block, T.serial(0, count) as j:
            total = sums[first + j]
            for k in (block * group + step for step in range(group)):
                total = total + self.data[k * self.columns + begin + j] * vector[place + k]
            sums[first + j] = total


@dataclass(frozen=True)
class _Step:
    """One step of one row: buffers, and where in them the row begins."""

    projected: Any
    gate: Any
    states: list[Any]
    state: Any
    work: Any
    scratch: Any


def _scan(
    name: str,
    gates: Any,
    first: list[Any],
    constants: list[Any],
    advance: Callable[..., None],
    scratch: Any,
    reverse: bool,
    lengths: Any,
) -> list[Any]:
    """`advance(step, *constants)` at every valid step of every row, which changes the states.

    The first constant, a weight [gates, hidden], is passed as a `_Weight`. A step reads all of a
    state before it changes any of it. The first state is the output.
    """
    time, batch, rows = gates.shape
    hidden, dtype = first[0].shape[1], str(gates.dtype)
    count = len(first)
    weight = topi.transpose(constants[0])
    constants = [weight, *constants[1:]]

    def body(inputs: Any, outputs: Any) -> Any:
        projected, *others = (T.buffer_proxy(buffer) for buffer in inputs)
        initial, others = others[:count], others[count:]
        given, valid = others[: len(constants)], others[len(constants) :]
        matrix = _Weight(given[0], *weight.shape)
        out, *states, work = (T.buffer_proxy(buffer) for buffer in outputs)

        def write(b: Any, step: Any, value: Callable[[Any], Any]) -> None:
            with T.serial(0, hidden) as j:
                out[(step * batch + b) * hidden + j] = value(j)

        def taken(b: Any, step: Any) -> None:
            gate = (step * batch + b) * rows
            advance(
                _Step(projected, gate, states, b * hidden, work, b * scratch), matrix, *given[1:]
            )
            write(b, step, lambda j: states[0][b * hidden + j])

        with IRBuilder() as ib:
            with T.seq_scope():
                with T.serial(0, batch * hidden) as i:
                    for state, value in zip(states, initial, strict=True):
                        state[i] = value[i]
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

    shapes = [(time, batch, hidden), *[(batch, hidden)] * count, (batch, scratch)]
    arguments = [gates, *first, *constants, *([] if lengths is None else [lengths])]
    return list(te.extern(shapes, arguments, body, dtype=[dtype] * len(shapes), name=name))
