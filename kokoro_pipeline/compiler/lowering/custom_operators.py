"""Converters for the two custom operators of the model, given to the importer by its scoped hook.

Each becomes a call to a packed function of the operator's own name. No such function exists: the
call is a named hole that the pass `bind_operators` fills with a kernel, plain or fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    # The head count is static; a shape carries it, for a packed call takes no attributes.
    return importer.block_builder.emit(
        relax.call_dps_packed(
            MASKED_ATTENTION,
            [query, key, value, lengths, relax.ShapeExpr([heads])],
            out_ty=query.ty,
        )
    )


def convert_map() -> dict[str, Callable[[Any, Any], relax.Var]]:
    """For `from_exported_program(custom_convert_map=…)`."""
    return {
        "lstm_recurrence.default": _convert_lstm_recurrence,
        "masked_attention.default": _convert_masked_attention,
    }
