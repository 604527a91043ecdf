"""Complex tensors inside a program, represented by two real tensors.

TVM has no complex dtype and stock no converters for it. Within a program, complex values can be
created (complex, view_as_complex, FFTs), used in computations, reshaped and read, but they cannot
be inputs or outputs of the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._errors import UnsupportedOperatorError
from tvm_kokoro_ext._fix import Converter, Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import elementwise
from tvm_kokoro_ext._fixes.complex import _complex
from tvm_kokoro_ext._fixes.complex._complex import Complex


def make(importer: Any, node: Any, previous: Any) -> Any:
    real, imag = importer.retrieve_args(node)[:2]
    shape = elementwise.broadcast(real, imag)
    parts = [_emit.emit(importer, relax.op.broadcast_to(part, shape)) for part in (real, imag)]
    return Complex(*parts)


def polar(importer: Any, node: Any, previous: Any) -> Any:
    size, phase = importer.retrieve_args(node)[:2]
    return Complex(
        *(
            _emit.emit(importer, relax.op.multiply(size, _emit.emit(importer, function(phase))))
            for function in (relax.op.cos, relax.op.sin)
        )
    )


def view_as_real(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    return _emit.emit(importer, relax.op.stack([x.real, x.imag], axis=-1))


def view_as_complex(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    axis = _compat.rank_of(x) - 1
    parts = _emit.emit(importer, relax.op.split(x, 2, axis))
    halves = [_emit.emit(importer, relax.TupleGetItem(parts, i)) for i in range(2)]
    return Complex(*(_emit.emit(importer, relax.op.squeeze(half, [axis])) for half in halves))


def _part(name: str) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x = importer.retrieve_args(node)[0]
        if isinstance(x, Complex):
            return getattr(x, name)
        return x if name == "real" else _emit.emit(importer, relax.op.zeros_like(x))

    return convert


def _binary(function: Callable[[Any, Complex, Complex], Complex]) -> Converter:
    @needs_previous
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        operands = importer.retrieve_args(node)[:2]
        if not any(isinstance(value, Complex | complex) for value in operands):
            return previous(node)
        return function(importer, *(_complex.of(importer, value) for value in operands))

    return convert


def _unary(function: Callable[[Any, Complex], Any]) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x = importer.retrieve_args(node)[0]
        if isinstance(x, Complex):
            return function(importer, x)
        return x if previous is None else previous(node)

    return convert


@needs_previous
def to_copy(importer: Any, node: Any, previous: Any) -> Any:
    """Convert a real tensor to complex; a complex one is unchanged."""
    if not _is_complex(node):
        return previous(node)
    x = _complex.of(importer, importer.retrieve_args(node)[0])
    dtype = _PARTS[str(node.meta["val"].dtype)]
    return Complex(*(_emit.astype(importer, part, dtype) for part in (x.real, x.imag)))


_PARTS = {
    "torch.complex32": "float16",
    "torch.complex64": "float32",
    "torch.complex128": "float64",
}


def angle(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    if isinstance(x, Complex):
        return _complex.angle(importer, x)
    dtype = _emit.result_dtype(importer, node) or _compat.dtype_of(x)
    x = _emit.astype(importer, x, dtype)
    zero, pi = relax.const(0.0, dtype), relax.const(math.pi, dtype)
    negative = _emit.emit(importer, relax.op.less(x, zero))
    turned = _emit.emit(importer, relax.op.where(negative, pi, zero))
    missing = _emit.emit(importer, relax.op.isnan(x))
    return _emit.emit(importer, relax.op.where(missing, x, turned))


@needs_previous
def _each_part(importer: Any, node: Any, previous: Any) -> Any:
    """Apply a rearrangement to both parts."""
    x = node.args[0]
    if isinstance(x, list | tuple):
        if not any(isinstance(importer.env[item], Complex) for item in x):
            return previous(node)
        values = [_complex.of(importer, importer.env[item]) for item in x]
        axis = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
        join = relax.op.concat if node.target.__name__ == "cat.default" else relax.op.stack
        return Complex(
            *(
                _emit.emit(importer, join([getattr(v, part) for v in values], axis))
                for part in ("real", "imag")
            )
        )
    value = importer.env[x]
    if not isinstance(value, Complex):
        return previous(node)
    parts = []
    for part in (value.real, value.imag):
        with _emit.standing_in(importer, x, part):
            parts.append(previous(node))
    return Complex(*parts)


@needs_previous
def pad(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    if isinstance(x, Complex) and any(a for a in node.args[2:] if not isinstance(a, str)):
        raise _emit.refuse(node, "complex tensors are padded with zeros only", "Use torch.cat")
    return _each_part(importer, node, previous)


def _reduction(reduce: Callable[..., Any]) -> Converter:
    @needs_previous
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x, dim, keep = _emit.arguments(importer, node, "self", "dim", "keepdim", keepdim=False)
        if not isinstance(x, Complex):
            return previous(node)
        axes = list(dim) if dim else None
        parts = (reduce(part, axes, bool(keep)) for part in (x.real, x.imag))
        return Complex(*(_emit.emit(importer, part) for part in parts))

    return convert


_REARRANGEMENTS = (
    "alias.default cat.default clone.default contiguous.default detach.default expand.default "
    "flip.default permute.default reshape.default select.int slice.Tensor squeeze.default "
    "squeeze.dim squeeze.dims stack.default transpose.int unsqueeze.default view.default "
    "_unsafe_view.default index.Tensor"
)

CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(_REARRANGEMENTS.split(), _each_part),
    "constant_pad_nd.default": pad,
    "pad.default": pad,
    "_to_copy.default": to_copy,
    "to.dtype": to_copy,
    "complex.default": make,
    "polar.default": polar,
    "view_as_real.default": view_as_real,
    "view_as_complex.default": view_as_complex,
    "real.default": _part("real"),
    "imag.default": _part("imag"),
    "angle.default": angle,
    "abs.default": _unary(_complex.magnitude),
    "exp.default": _unary(_complex.exponential),
    "neg.default": _unary(_complex.negate),
    "_conj.default": _unary(_complex.conjugate),
    "conj.default": _unary(_complex.conjugate),
    "_conj_physical.default": _unary(_complex.conjugate),
    "conj_physical.default": _unary(_complex.conjugate),
    "resolve_conj.default": _unary(lambda importer, x: x),
    "resolve_neg.default": _unary(lambda importer, x: x),
    "add.Tensor": _binary(_complex.add),
    "sub.Tensor": _binary(_complex.subtract),
    "mul.Tensor": _binary(_complex.multiply),
    "div.Tensor": _binary(_complex.divide),
    "matmul.default": _binary(_complex.matmul),
    **dict.fromkeys(("sum.default", "sum.dim_IntList"), _reduction(relax.op.sum)),
    **dict.fromkeys(("mean.default", "mean.dim"), _reduction(relax.op.mean)),
    "mm.default": _binary(_complex.matmul),
    "bmm.default": _binary(_complex.matmul),
}
_FFT = ("_fft_r2c.default", "_fft_c2r.default", "_fft_c2c.default")


def check_complex(program: Any, converters: Collection[str]) -> Any:
    """Reject complex inputs and outputs, and operators that do not support complex tensors."""
    for node in program.graph.nodes:
        if node.op == "output":
            reads = [a for a in node.all_input_nodes if _is_complex(a)]
            if reads:
                raise UnsupportedOperatorError(
                    "a complex output", "TVM has no complex dtype", "Return torch.view_as_real(x)"
                )
        elif node.op == "placeholder" and _is_complex(node):
            raise UnsupportedOperatorError(
                "a complex input",
                "TVM has no complex dtype",
                "Pass torch.view_as_real(x) and use torch.view_as_complex inside",
            )
        elif node.op == "call_function" and node.target.__name__ in converters:
            touches = [node, *node.all_input_nodes]
            known = (*CONVERTERS, *_FFT)
            if any(map(_is_complex, touches)) and node.target.__name__ not in known:
                raise _emit.refuse(
                    node,
                    "no converter of it knows complex tensors",
                    "Write it on the real and imaginary parts",
                )
    return program


def _is_complex(node: Any) -> bool:
    value = node.meta.get("val")
    return bool(getattr(getattr(value, "dtype", None), "is_complex", False))


FIX = Fix(
    id="complex",
    what="complex, angle, view_as_real and arithmetic on complex tensors are missing",
    op="aten.complex, aten.angle, aten.view_as_real, …",
    affected="",
    converters=CONVERTERS,
    prepare=check_complex,
    probe=_probe.lacks("complex.default"),
)
