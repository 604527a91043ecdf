"""Replace the calls that stand for the model's custom operators with plain code."""

from __future__ import annotations

import functools
from collections.abc import Callable

import tvm
from tvm import relax, te
from tvm.relax.expr_functor import PyExprMutator, mutator

from kokoro_pipeline.errors import InputError

from ..kernels.common.harmonic_source import HarmonicSource, Transform
from ..kernels.common.plain_lstm import plain_lstm_recurrence
from ..kernels.common.plain_source import plain_excitation, plain_increments, plain_spectrum
from ..lowering.custom_operators import (
    HARMONIC_SOURCE,
    LSTM_RECURRENCE,
    MASKED_ATTENTION,
    SourceCall,
    custom_operator,
)

BindLSTM = Callable[
    [relax.BlockBuilder, relax.Expr, relax.Expr, relax.Expr, relax.TensorType], relax.Expr
]
"""(builder, gates, recurrent, lengths, output type) -> the result of the recurrence."""


def _plain_lstm_recurrence(
    builder: relax.BlockBuilder,
    gates: relax.Expr,
    recurrent: relax.Expr,
    lengths: relax.Expr,
    output: relax.TensorType,
) -> relax.Expr:
    kernel = plain_lstm_recurrence(int(recurrent.ty.shape[2]))
    global_var = builder.add_func(kernel, "plain_lstm_recurrence")
    return relax.call_tir(global_var, [gates, recurrent, lengths], out_ty=output)


@mutator
class _OperatorBinder(PyExprMutator):
    def __init__(self, module: tvm.IRModule, bind_lstm: BindLSTM, has_float64: bool) -> None:
        super().__init__(module)
        self.bind_lstm = bind_lstm
        self.has_float64 = has_float64

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = super().visit_call_(call)
        operator = custom_operator(call)
        if operator == LSTM_RECURRENCE:
            gates, recurrent, lengths = call.args[1]
            return self.bind_lstm(self.builder_, gates, recurrent, lengths, call.ty_args[0])
        if operator == MASKED_ATTENTION:
            return self._masked_attention(*call.args[1])
        if operator == HARMONIC_SOURCE:
            return self._harmonic_source(SourceCall.of(list(call.args[1])))
        return call

    def _harmonic_source(self, call: SourceCall) -> relax.Expr:
        if not self.has_float64:
            raise InputError(
                f"no kernel fits {call.source} with {call.transform}, and this target has no "
                "float64 for plain code; build with --target llvm or --target cuda"
            )

        def emit(
            make: Callable[..., te.Tensor],
            constants: HarmonicSource | Transform,
            *tensors: relax.Expr,
        ) -> relax.Var:
            expression = functools.partial(make, constants)
            name = make.__name__
            return self.builder_.emit(
                self.builder_.call_te(expression, *tensors, primfunc_name_hint=name)
            )

        increments = emit(plain_increments, call.source, call.f0)
        sums = self.builder_.emit(relax.op.cumsum(increments, axis=1))
        mix = call.weight, call.bias
        wave = emit(plain_excitation, call.source, call.f0, call.noise, sums, *mix)
        return emit(plain_spectrum, call.transform, wave, call.basis)

    def _masked_attention(
        self,
        query: relax.Expr,
        key: relax.Expr,
        value: relax.Expr,
        lengths: relax.Expr,
        heads_shape: relax.ShapeExpr,
    ) -> relax.Expr:
        emit, op = self.builder_.emit, relax.op
        batch, steps, width = query.ty.shape
        heads = int(heads_shape.values[0])
        depth = int(width) // heads

        def split(x: relax.Expr, axes: list[int]) -> relax.Expr:
            return emit(op.permute_dims(emit(op.reshape(x, [batch, steps, heads, depth])), axes))

        scores = emit(op.matmul(split(query, [0, 2, 1, 3]), split(key, [0, 2, 3, 1])))
        scores = emit(op.multiply(scores, relax.const(depth**-0.5, "float32")))
        positions = emit(op.arange(0, steps, 1, "int64"))
        exists = emit(op.less(positions, emit(op.reshape(lengths, [batch, 1, 1, 1]))))
        # A finite score far below all others: its exp underflows to exactly 0, and unlike -inf it
        # cannot produce NaN.
        scores = emit(op.where(exists, scores, relax.const(-1e30, "float32")))
        mixed = emit(op.matmul(emit(op.nn.softmax(scores)), split(value, [0, 2, 1, 3])))
        return op.reshape(emit(op.permute_dims(mixed, [0, 2, 1, 3])), [batch, steps, width])


def bind_operators(
    module: tvm.IRModule, bind_lstm: BindLSTM = _plain_lstm_recurrence, has_float64: bool = True
) -> tvm.IRModule:
    """Replace calls to the model's custom operators in every Relax function of a module.

    The LSTM recurrence becomes the expression that `bind_lstm` returns, by default a call of a TIR
    loop. Masked attention becomes Relax operators, and the harmonic source tensor expressions.

    Raises InputError for a harmonic source on a target without float64.
    """
    binder = _OperatorBinder(module, bind_lstm, has_float64)
    for global_var, function in module.functions.items():
        if isinstance(function, relax.Function):
            binder.builder_.update_func(global_var, binder.visit_expr(function))
    return binder.builder_.get()
