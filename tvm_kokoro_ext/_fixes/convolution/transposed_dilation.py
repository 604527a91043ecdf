"""Transposed convolutions with a dilation, for which 0.25 has no kernel."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, topi
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared.legalization import overriding

_ATTRIBUTES = "strides padding output_padding groups data_layout kernel_layout out_layout out_dtype"
_OPERATORS = {
    "relax.nn.conv1d_transpose": relax.op.nn.conv1d_transpose,
    "relax.nn.conv2d_transpose": relax.op.nn.conv2d_transpose,
}


def legalize(below: Any, builder: Any, call: Any) -> Any:
    """Replace a dilated kernel by one with zeros between its elements."""
    dilation = [int(d) for d in call.attrs.dilation]
    if all(d == 1 for d in dilation) or str(call.attrs.kernel_layout)[:2] != "IO":
        return below(builder, call)
    x, kernel = call.args

    def dilate(data: Any) -> Any:
        return topi.nn.dilate(data, [1, 1, *dilation])

    wide = builder.emit(builder.call_te(dilate, kernel, primfunc_name_hint="dilate_kernel"))
    attributes = {key: getattr(call.attrs, key) for key in _ATTRIBUTES.split()}
    plain = _OPERATORS[call.op.name](x, wide, **attributes)
    return below(builder, builder.normalize(plain))


def _still_wrong() -> bool:
    """Whether the operator remains after legalization."""
    x = relax.Var("x", _compat.tensor_type([1, 1, 4], "float32"))
    kernel = relax.Var("kernel", _compat.tensor_type([1, 1, 2], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, kernel]):
        made = relax.op.nn.conv1d_transpose(x, kernel, dilation=2)
        builder.emit_func_output(builder.emit(made))
    module = relax.transform.LegalizeOps()(builder.get())
    return "nn.conv1d_transpose" in str(module["main"])


FIX = Fix(
    id="transposed_dilation",
    what="transposed convolutions with a dilation do not build",
    op="relax.nn.conv1d_transpose, relax.nn.conv2d_transpose",
    affected="<0.26",
    install=overriding(dict.fromkeys(_OPERATORS, legalize)),
    probe=_still_wrong,
    needs_torch=False,
)
