"""Recurrences as kernels with a serial time loop."""

from __future__ import annotations

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
