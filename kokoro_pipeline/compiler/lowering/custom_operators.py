"""Converters for the model's two custom operators, passed to the importer as an argument.

Each operator becomes a call to a packed function of the same name. No such function exists: the
call is a placeholder that the pass `bind_operators` replaces with a kernel, plain or fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax

LSTM_RECURRENCE = "kokoro_pipeline.lstm_recurrence"
MASKED_ATTENTION = "kokoro_pipeline.masked_attention"


def _convert_lstm_recurrence(node: Any, importer: Any) -> relax.Var:
    gates, recurrent, lengths = importer.retrieve_args(node)
    batch, steps, _ = importer.shape_of(gates)
    hidden = int(importer.shape_of(recurrent)[2])
    output = relax.TensorType([batch, steps, 2 * hidden], "float32")
    return importer.block_builder.emit(
        relax.call_dps_packed(LSTM_RECURRENCE, [gates, recurrent, lengths], out_ty=output)
    )


def _convert_masked_attention(node: Any, importer: Any) -> relax.Var:
    query, key, value, lengths, heads = importer.retrieve_args(node)
    # The head count is static. It is passed as a shape, since a packed call takes no attributes.
    return importer.block_builder.emit(
        relax.call_dps_packed(
            MASKED_ATTENTION,
            [query, key, value, lengths, relax.ShapeExpr([heads])],
            out_ty=query.ty,
        )
    )


def convert_map() -> dict[str, Callable[[Any, Any], relax.Var]]:
    """The converters, for `from_exported_program(custom_convert_map=…)`."""
    return {
        "lstm_recurrence.default": _convert_lstm_recurrence,
        "masked_attention.default": _convert_masked_attention,
    }


def custom_operator(call: relax.Call) -> str | None:
    """The name of the custom operator that a call stands for, or None."""
    if call.op == tvm.ir.Op.get("relax.call_dps_packed") and isinstance(
        call.args[0], relax.ExternFunc
    ):
        return str(call.args[0].global_symbol)
    return None
