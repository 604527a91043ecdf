"""Converters for the model's custom operators, passed to the importer as an argument.

Each operator becomes a call to a packed function of the same name. No such function exists: the
call is a placeholder that the pass `bind_operators` replaces with a kernel, plain or fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax, tirx

from ..kernels.common.harmonic_source import HarmonicSource, Transform

LSTM_RECURRENCE = "kokoro_pipeline.lstm_recurrence"
MASKED_ATTENTION = "kokoro_pipeline.masked_attention"
HARMONIC_SOURCE = "kokoro_pipeline.harmonic_source"
STANDARD_NORMALS = "kokoro_pipeline.standard_normals"


@dataclass(frozen=True)
class SourceCall:
    """A call of the harmonic source: its tensors, as in `model.operators`, and its constants."""

    f0: relax.Expr
    noise: relax.Expr
    weight: relax.Expr
    bias: relax.Expr
    basis: relax.Expr
    source: HarmonicSource
    transform: Transform

    @classmethod
    def of(cls, arguments: Sequence[relax.Expr]) -> SourceCall:
        """Read the arguments of the custom operator."""
        f0, noise, weight, bias, basis, *numbers = arguments
        rate, block, hop, amplitude, voiced, unvoiced, threshold = numbers
        source = HarmonicSource(
            harmonics=int(weight.ty.shape[1]),
            sample_rate=int(rate.value),
            block=int(block.value),
            amplitude=float(amplitude.value),
            voiced_noise=float(voiced.value),
            unvoiced_noise=float(unvoiced.value),
            voiced_threshold=float(threshold.value),
        )
        rows, _, taps = (int(extent) for extent in basis.ty.shape)
        transform = Transform(rows // 2, taps, int(hop.value))
        return cls(f0, noise, weight, bias, basis, source, transform)

    @property
    def blocks(self) -> tirx.Expr:
        """Number of values of F0."""
        return self.f0.ty.shape[1]

    @property
    def spectrum_shape(self) -> list[tirx.Expr | int]:
        """[1, 2 bins, columns]"""
        columns = self.blocks * (self.source.block // self.transform.hop)
        return [1, 2 * self.transform.bins, columns + tirx.const(1, "int64")]


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


def _convert_harmonic_source(node: Any, importer: Any) -> relax.Var:
    values = importer.retrieve_args(node)
    rates = [relax.prim_value(number) for number in values[5:8]]
    levels = [relax.prim_value(tirx.FloatImm("float64", level)) for level in values[8:]]
    arguments = [*values[:5], *rates, *levels]
    output = relax.TensorType(SourceCall.of(arguments).spectrum_shape, "float32")
    return importer.block_builder.emit(
        relax.call_dps_packed(HARMONIC_SOURCE, arguments, out_ty=output)
    )


def _convert_standard_normals(node: Any, importer: Any) -> relax.Var:
    frames, key, rows, columns = importer.retrieve_args(node)
    (length,) = importer.shape_of(frames)
    output = relax.TensorType([1, length * rows, columns], "float32")
    row = relax.ShapeExpr([rows, columns])
    return importer.block_builder.emit(
        relax.call_dps_packed(STANDARD_NORMALS, [frames, key, row], out_ty=output)
    )


def convert_map() -> dict[str, Callable[[Any, Any], relax.Var]]:
    """The converters, for `from_exported_program(custom_convert_map=…)`."""
    return {
        "lstm_recurrence.default": _convert_lstm_recurrence,
        "masked_attention.default": _convert_masked_attention,
        "harmonic_source.default": _convert_harmonic_source,
        "standard_normals.default": _convert_standard_normals,
    }


def custom_operator(call: relax.Call) -> str | None:
    """The name of the custom operator that a call stands for, or None."""
    if call.op == tvm.ir.Op.get("relax.call_dps_packed") and isinstance(
        call.args[0], relax.ExternFunc
    ):
        return str(call.args[0].global_symbol)
    return None


def operator_name(expression: relax.Expr) -> str | None:
    """The name of the operator, custom or of Relax, that an expression calls; else None."""
    if not isinstance(expression, relax.Call) or not isinstance(expression.op, tvm.ir.Op):
        return None
    return custom_operator(expression) or str(expression.op.name)
