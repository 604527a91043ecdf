"""Linear layers, Y[M, N] = X[M, K] W[N, K]^T + bias, with the tile of the direct convolution.

The errors of sums are kept small on purpose: a register adds up 8 terms only, or 16 where there are
few registers, and float64 the rest. That is a third of the error of chunks of 256, for a quarter
more time; the rule that chooses this kernel says where it pays.
"""

from __future__ import annotations

import numpy as np
from tvm import tirx

from ..common.builder import Buffer, Expr, Parameter, T, bind, build_kernel, i64
from .direct import Panels, Window, emit_panel, emit_store, emit_tasks
from .sums import CHUNK
from .vector import VectorTarget

CHAINS = 3  # divides the rows of every tile
CHAIN_TERMS = 8


def pack_linear(
    target: VectorTarget, weight: np.ndarray, bias: np.ndarray | None = None
) -> np.ndarray:
    """Pack PyTorch's weight [N, K] and bias [N] into float32 [panels, (1 + K) * width].

    The layout is that of `pack_conv1d`.
    """
    return Panels.of(target, weight.shape[0]).pack(np.asarray(weight, np.float32), bias)


def linear(target: VectorTarget, in_features: int, out_features: int) -> tirx.PrimFunc:
    """Y[M, N] = X[M, K] W[N, K]^T + bias.

    Arguments of the kernel, all float32: X [M, K]; W as packed by `pack_linear`; Y [M, N]. M is at
    least 1; a single row is a matrix-vector product, which reads each weight once.
    """
    panels = Panels.of(target, out_features)
    window = Window(1, in_features, in_features, in_features)
    rows_all = tirx.Var("M", "int64")
    block = 4 * panels.tile.rows  # whose totals in float64 leave room in the L1 cache
    chunk, chains = _chunk_of(target)

    def body(x: Buffer, w: Buffer, y: Buffer) -> None:
        def task(b: Expr, first: Expr, rows: Expr, panel_from: Expr, panel_to: Expr) -> None:
            total = T.alloc_buffer((block * panels.width,), "float64")
            with T.serial(i64(0), panel_to - panel_from) as i:
                panel = bind(panel_from + i)
                x_base, y_base = bind(first * in_features), bind(first * out_features)
                emit_panel(target, panels, window, x, x_base, w, panel, total, rows, chunk, chains)
                emit_store(target, panels, panel, total, rows, y, y_base)

        emit_tasks(panels, window, i64(1), rows_all, block, task)

    return build_kernel(
        f"linear_k{in_features}_n{out_features}_v{target.lanes}r{target.registers}",
        [
            Parameter("x", (rows_all, in_features)),
            Parameter("w", panels.shape(window.terms)),
            Parameter("y", (rows_all, out_features)),
        ],
        body,
    )


def _chunk_of(target: VectorTarget) -> tuple[int, int]:
    """The terms of a chunk and the registers that add them up.

    With 16 registers, three for each sum would leave tiles of so few rows that loading takes
    longer than multiplying.
    """
    return (CHAINS * CHAIN_TERMS, CHAINS) if target.registers >= 32 else (CHUNK, 1)
