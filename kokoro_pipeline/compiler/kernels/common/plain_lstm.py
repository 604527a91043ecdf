"""The bidirectional LSTM recurrence as plain loops: the slow reference used by `--opt 0`."""

from __future__ import annotations

from tvm import tirx
from tvm.script import tirx as T  # noqa: N812


def plain_lstm_recurrence(H: int) -> tirx.PrimFunc:
    """The kernel (gates, recurrent, lengths) -> output.

    gates float32 [B, n, 8H], recurrent float32 [2, 4H, H], lengths int64 [B], output float32
    [B, n, 2H]. Each direction has PyTorch's gate order i, f, g, o. Steps from `lengths[b]` on are
    not read; the output there is 0.
    """

    @T.prim_func(private=True, s_tir=True)
    def plain_lstm(
        gates_handle: T.handle,
        recurrent_handle: T.handle,
        lengths_handle: T.handle,
        output_handle: T.handle,
    ) -> None:
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True, "op_pattern": 8})
        B = T.int64()
        n = T.int64()
        gates = T.match_buffer(gates_handle, (B, n, 8 * H), "float32")
        recurrent = T.match_buffer(recurrent_handle, (2, 4 * H, H), "float32")
        lengths = T.match_buffer(lengths_handle, (B,), "int64")
        output = T.match_buffer(output_handle, (B, n, 2 * H), "float32")
        sums = T.sblock_alloc_buffer((4 * H,), "float32")
        h = T.sblock_alloc_buffer((H,), "float32")
        c = T.sblock_alloc_buffer((H,), "float32")
        with T.sblock("recurrence"):
            T.reads(gates[0:B, 0:n, 0 : 8 * H], recurrent[0:2, 0 : 4 * H, 0:H], lengths[0:B])
            T.writes(output[0:B, 0:n, 0 : 2 * H])
            for b in T.serial(B):
                for d in T.serial(2):
                    for j in T.serial(H):
                        h[j] = T.float32(0)
                        c[j] = T.float32(0)
                    for step in T.serial(lengths[b]):
                        for j in T.serial(4 * H):
                            sums[j] = gates[
                                b, step * (1 - d) + (lengths[b] - 1 - step) * d, d * (4 * H) + j
                            ]
                            for k in T.serial(H):
                                sums[j] = sums[j] + recurrent[d, j, k] * h[k]
                        for j in T.serial(H):
                            c[j] = T.sigmoid(sums[H + j]) * c[j] + T.sigmoid(sums[j]) * T.tanh(
                                sums[2 * H + j]
                            )
                            h[j] = T.sigmoid(sums[3 * H + j]) * T.tanh(c[j])
                            output[b, step * (1 - d) + (lengths[b] - 1 - step) * d, d * H + j] = h[
                                j
                            ]
                for step in T.serial(n - lengths[b]):
                    for j in T.serial(2 * H):
                        output[b, lengths[b] + step, j] = T.float32(0)

    return plain_lstm
