"""Operators of ONNX on float16 and bfloat16 compute in float32 and round their results once.

So does ONNX Runtime on CPUs, which has no kernels of half precision for most operators. Stock
computes every step in the operands' dtype: a softmax of 5,000 elements is off by a fifth, a sum of
8,192 ones stops growing at 2,048, and Softplus of 12 is infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.onnx import _converters, _frontend
from tvm_kokoro_ext._fixes.onnx._converters import Node
from tvm_kokoro_ext._fixes.onnx._known import Known

Previous = Callable[[Node], Any]

HALF = ("float16", "bfloat16")
_OPERATORS = """
    Acos Acosh Asin Asinh Atan Atanh AveragePool BatchNormalization Conv ConvTranspose Cosh
    CumProd CumSum Einsum Elu Gelu Gemm GlobalAveragePool GlobalLpPool GridSample
    GroupNormalization GRU HardSigmoid HardSwish InstanceNormalization LayerNormalization
    LogSoftmax LpNormalization LpPool LRN LSTM Mean MeanVarianceNormalization Mish Pow ReduceL1
    ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd ReduceSum ReduceSumSquare Resize
    RMSNormalization RNN RoiAlign Selu Sigmoid Sinh Softmax Softplus Softsign Sum Tan
    ThresholdedRelu Upsample
"""
"""ONNX's operators of several steps, and functions that LLVM does not have for float16."""
_OF_MICROSOFT = """
    Attention BiasGelu FastGelu FusedConv FusedGemm FusedMatMul FusedMatMulActivation Gelu
    MatMulNBits MultiHeadAttention QuickGelu RotaryEmbedding SkipLayerNormalization TransposeMatMul
"""
_LIKE = {
    "BatchNormalization": (0, 3, 4),
    "LayerNormalization": (0, None, None),
    "SkipLayerNormalization": (0, None, None, 0),
}
"""The inputs whose dtypes the results have, where that is not the first for all.

The mean and the deviation of LayerNormalization are float32 (`stash_type`).
"""


def product(node: Node, previous: Previous) -> Any:
    """MatMul: the operands stay as they are, and products are added up in float32."""
    a, b = node.tensor(0), node.tensor(1)
    dtype = _compat.dtype_of(a)
    if dtype not in HALF or _compat.dtype_of(b) != dtype:
        return previous(node)
    made = node.emit(relax.op.matmul(a, b, out_dtype="float32"))
    return relax.op.astype(made, dtype)


def in_float32(node: Node, previous: Previous) -> Any:
    """Convert a node as if its tensors of half precision were float32, and narrow its results."""
    if _dtype(node.given(0)) not in HALF:
        return previous(node)
    made = previous(node.with_inputs(*(_widened(node, at) for at in range(len(node.inputs)))))
    like = _LIKE.get(node.operator, ())

    def narrowed(value: Any, at: int) -> Any:
        source = like[at] if at < len(like) else 0
        wanted = None if source is None else _dtype(node.given(source))
        if not _compat.is_tensor(value) or _compat.dtype_of(value) != "float32":
            return value
        return node.emit(relax.op.astype(value, wanted)) if wanted in HALF else value

    if isinstance(made, relax.Tuple):
        return relax.Tuple([narrowed(value, at) for at, value in enumerate(made.fields)])
    return narrowed(node.emit(made), 0)


def _dtype(value: Any) -> str | None:
    if isinstance(value, Known):
        return value.dtype
    return _compat.dtype_of(value) if _compat.is_tensor(value) else None


def _widened(node: Node, at: int) -> Any:
    """An input in float32 if it has half precision; a constant stays one."""
    value = node.given(at)
    if _dtype(value) not in HALF:
        return value
    array = None if isinstance(value, Known) else _compat.constant_value(value)
    if array is not None:
        return relax.const(np.asarray(array).astype("float32"), "float32")
    return node.emit(relax.op.astype(node.tensor(at), "float32"))


FIX = Fix(
    id="onnx_half_precision",
    what="ONNX operators on float16 and bfloat16 add up and compute every step in half precision",
    op="ONNX MatMul, Conv, Softmax, ReduceMean, InstanceNormalization and other float operators",
    affected=">=0.27",
    install=lambda: _converters.laid_over(
        dict.fromkeys(_OPERATORS.split(), in_float32)
        | {f"com.microsoft.{name}": in_float32 for name in _OF_MICROSOFT.split()}
        | {"MatMul": product}
    ),
    probe=lambda: _frontend.holds_expressions()
    and not (
        '"float32"' in _frontend.converter("MatMul") and "_half_precision" in _frontend.text()
    ),
    needs_torch=False,
)
