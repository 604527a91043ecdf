"""Complex tensors inside a program, represented by two real tensors.

TVM has no complex dtype and stock no converters for it. Within a program, complex values can be
created (complex, view_as_complex, FFTs, zeros), used in computations, reshaped and read. Complex
parameters, buffers and constants are held as real tensors of pairs. What a caller passes or gets
cannot be complex.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._errors import UnsupportedOperatorError
from tvm_kokoro_ext._fix import Converter, Fix, needs_previous
from tvm_kokoro_ext._fixes._shared import decomposition, elementwise, graphs
from tvm_kokoro_ext._fixes.complex import _complex, _functions
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
        *operands, alpha = _emit.arguments(importer, node, "self", "other", "alpha", alpha=1)
        if not any(isinstance(value, Complex | complex) for value in operands):
            return previous(node)
        if node.target.__name__.startswith("rsub"):  # other - alpha * self
            operands.reverse()
        dtype = _PARTS[str(node.meta["val"].dtype)]
        lhs, rhs = (_complex.of(importer, value, dtype) for value in operands)
        if _compat.is_prim(alpha) or alpha != 1:
            rhs = _complex.multiply(importer, rhs, _complex.of(importer, alpha, dtype))
        return function(importer, lhs, rhs)

    return convert


def _unary(function: Callable[[Any, Complex], Any]) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x = importer.retrieve_args(node)[0]
        if isinstance(x, Complex):
            return function(importer, x)
        return x if previous is None else previous(node)

    return convert


def negative(importer: Any, node: Any, previous: Any) -> Any:
    """_neg_view, which torch's decomposition makes of the imaginary part of a conjugate."""
    x = importer.retrieve_args(node)[0]
    if isinstance(x, Complex):
        return _complex.negate(importer, x)
    return _emit.emit(importer, relax.op.negative(x))


@needs_previous
def to_copy(importer: Any, node: Any, previous: Any) -> Any:
    """Convert to complex, or from it, which drops the imaginary part."""
    x = importer.retrieve_args(node)[0]
    if not _is_complex(node):
        if not isinstance(x, Complex):
            return previous(node)
        dtype = _emit.torch_dtype(importer, node.meta["val"].dtype)
        if dtype != "bool":
            return _emit.astype(importer, x.real, dtype)
        parts = [_emit.astype(importer, part, dtype) for part in (x.real, x.imag)]
        return _emit.emit(importer, relax.op.logical_or(*parts))
    x = _complex.of(importer, x)
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
    result = _emit.result_dtype(importer, node) or _compat.dtype_of(x)
    dtype = "float32" if result == "bfloat16" else result  # isnan has no kernel for bfloat16
    x = _emit.astype(importer, x, dtype)
    zero, pi = relax.const(0.0, dtype), relax.const(math.pi, dtype)
    negative = _emit.emit(importer, relax.op.less(x, zero))
    turned = _emit.emit(importer, relax.op.where(negative, pi, zero))
    missing = _emit.emit(importer, relax.op.isnan(x))
    turned = _emit.emit(importer, relax.op.where(missing, x, turned))
    return _emit.astype(importer, turned, result)


@needs_previous
def _each_part(importer: Any, node: Any, previous: Any) -> Any:
    """Apply an operator that is the same for both parts, such as a rearrangement, to each."""
    operands = [n for n in node.all_input_nodes if isinstance(importer.env.get(n), Complex)]
    if not operands:
        return previous(node)
    real, imag = (_of_part(importer, node, previous, operands, p) for p in ("real", "imag"))
    if isinstance(node.meta.get("val"), list | tuple):
        return tuple(Complex(*pair) for pair in zip(real, imag, strict=True))
    return Complex(real, imag)


@needs_previous
def size(importer: Any, node: Any, previous: Any) -> Any:
    x = importer.retrieve_args(node)[0]
    if not isinstance(x, Complex):
        return previous(node)
    with _emit.standing_in(importer, node.args[0], x.real):
        return previous(node)


@contextmanager
def _recorded_as_real(node: Any) -> Iterator[None]:
    """Context in which the node records results of the dtype that its parts have."""
    kept = node.meta
    recorded = kept["val"]
    several = isinstance(recorded, list | tuple)
    real = [value.real for value in recorded] if several else recorded.real
    node.meta = {**kept, "val": real}
    try:
        yield
    finally:
        node.meta = kept


def _of_part(importer: Any, node: Any, previous: Any, operands: list[Any], part: str) -> Any:
    """The result of an operator on one part; a list if it has several."""
    dtype = node.kwargs.get("dtype")  # of the result, to which the operand is cast
    with ExitStack() as stack:
        stack.enter_context(_recorded_as_real(node))
        for operand in operands:
            value = getattr(importer.env[operand], part)
            if dtype is not None:
                value = _emit.astype(importer, value, _PARTS[str(dtype)])
            stack.enter_context(_emit.standing_in(importer, operand, value))
        shown = node
        if dtype is not None:
            rest = {name: value for name, value in node.kwargs.items() if name != "dtype"}
            shown = _emit.view(node, *node.args, **rest)
            shown.all_input_nodes = node.all_input_nodes
        result = previous(shown)
    count = len(node.meta["val"]) if isinstance(node.meta.get("val"), list | tuple) else None
    if count is None or isinstance(result, list | tuple):
        return result
    if _compat.is_tensor(result):  # the only part of a split
        return [result]
    return [_emit.emit(importer, relax.TupleGetItem(result, i)) for i in range(count)]


@needs_previous
def join(importer: Any, node: Any, previous: Any) -> Any:
    """cat and stack, of complex tensors and real ones."""
    values = [importer.env[item] for item in node.args[0]]
    if not any(isinstance(value, Complex) for value in values):
        return previous(node)
    dtype = _PARTS[str(node.meta["val"].dtype)]
    values = [_complex.of(importer, value, dtype) for value in values]
    parts = []
    for part in ("real", "imag"):
        alone = [getattr(value, part) for value in values]
        with _recorded_as_real(node):
            parts.append(previous(_emit.view(node, alone, *node.args[1:], **node.kwargs)))
    return Complex(*parts)


@needs_previous
def fill(importer: Any, node: Any, previous: Any) -> Any:
    """A tensor of one number, such as torch.zeros of a complex dtype."""
    if not _is_complex(node):
        example = node.args[0]
        if not (hasattr(example, "meta") and _is_complex(example)):
            return previous(node)
        with _emit.standing_in(importer, example, importer.env[example].real):
            return previous(node)
    value = node.args[0 if node.target.__name__ == "scalar_tensor.default" else 1]
    recorded = node.meta["val"]
    if not isinstance(value, int | float | complex):
        raise _emit.refuse(
            node, "a complex tensor of a symbolic number", "Multiply ones by the number"
        )
    number = complex(value)
    parts = [_emit.filled(importer, recorded.real, n) for n in (number.real, number.imag)]
    if any(part is None for part in parts):
        raise _emit.refuse(
            node, "a size that cannot be expressed", "Make the two parts and use torch.complex"
        )
    return Complex(*parts)


@needs_previous
def where(importer: Any, node: Any, previous: Any) -> Any:
    condition, *values = importer.retrieve_args(node)[:3]
    if not any(isinstance(value, Complex) for value in values):
        return previous(node)
    dtype = _PARTS[str(node.meta["val"].dtype)]
    lhs, rhs = (_complex.of(importer, value, dtype) for value in values)
    return Complex(
        *(
            _emit.emit(importer, relax.op.where(condition, x, y))
            for x, y in ((lhs.real, rhs.real), (lhs.imag, rhs.imag))
        )
    )


@needs_previous
def overwrite(importer: Any, node: Any, previous: Any) -> Any:
    """copy: the second operand with the sizes and the dtype of the first."""
    goal, source = importer.retrieve_args(node)[:2]
    if not isinstance(goal, Complex):
        return previous(node)
    source = _complex.of(importer, source, _compat.dtype_of(goal.real))
    shape = relax.ShapeExpr([_emit.int64(size) for size in _compat.shape_of(goal.real)])
    parts = (source.real, source.imag)
    return Complex(*(_emit.emit(importer, relax.op.broadcast_to(p, shape)) for p in parts))


@needs_previous
def addmm(importer: Any, node: Any, previous: Any) -> Any:
    operands = importer.retrieve_args(node)[:3]
    if not any(isinstance(value, Complex) for value in operands):
        return previous(node)
    dtype = _PARTS[str(node.meta["val"].dtype)]
    x, lhs, rhs = (_complex.of(importer, value, dtype) for value in operands)
    beta, alpha = (_complex.of(importer, node.kwargs.get(k, 1), dtype) for k in ("beta", "alpha"))
    product = _complex.matmul(importer, lhs, rhs)
    if node.kwargs.get("alpha", 1) != 1:
        product = _complex.multiply(importer, product, alpha)
    if node.kwargs.get("beta", 1) != 1:
        x = _complex.multiply(importer, x, beta)
    return _complex.add(importer, x, product)


@needs_previous
def pad(importer: Any, node: Any, previous: Any) -> Any:
    """Pad the real part with the real part of the value, and the imaginary one with the other."""
    x = importer.retrieve_args(node)[0]
    if not isinstance(x, Complex):
        return previous(node)
    names = [argument.name for argument in node.target._schema.arguments]
    given = dict(zip(names, node.args, strict=False)) | dict(node.kwargs)
    if given.get("mode", "constant") != "constant":
        return _each_part(importer, node, previous)
    value = complex(given.pop("value", 0) or 0)
    mode = ("constant",) if "mode" in names else ()
    parts = []
    for part, number in ((x.real, value.real), (x.imag, value.imag)):
        with _emit.standing_in(importer, node.args[0], part), _recorded_as_real(node):
            parts.append(previous(_emit.view(node, *node.args[:2], *mode, number)))
    return Complex(*parts)


def _unless_empty(converter: Converter) -> Converter:
    """A converter that is not asked for complex tensors without elements."""

    @functools.wraps(converter)
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        recorded = node.meta.get("val")
        several = isinstance(recorded, list | tuple)
        values = list(recorded) if several else [recorded]
        if not _is_complex(node) or not all(map(_is_empty_complex, values)):
            return converter(importer, node, previous)
        made = []
        for value in values:
            parts = [_emit.filled(importer, value.real, 0) for _ in range(2)]
            if None in parts:
                return converter(importer, node, previous)
            made.append(Complex(*parts))
        return tuple(made) if several else made[0]

    return convert


def _is_empty_complex(value: Any) -> bool:
    sizes = value.shape if value.dtype.is_complex else ()
    return any(isinstance(size, int) and size == 0 for size in sizes)


#: What is done to each part alone.
_LINEAR = (
    "alias.default as_strided.default as_strided_scatter.default broadcast_to.default "
    "chunk.default clone.default contiguous.default cumsum.default detach.default "
    "detach_.default "
    "diagonal.default diagonal_scatter.default "
    "embedding.default expand.default flatten.using_ints flip.default gather.default index.Tensor "
    "index_put.default index_select.default lift_fresh_copy.default masked_scatter.default "
    "mean.default mean.dim "
    "meshgrid.default meshgrid.indexing permute.default repeat.default reshape.default "
    "roll.default scatter.src scatter_add.default select.int select_scatter.default "
    "slice.Tensor slice_scatter.default "
    "split.Tensor split_with_sizes.default squeeze.default squeeze.dim squeeze.dims "
    "sum.default sum.dim_IntList "
    "tile.default transpose.int tril.default triu.default unbind.int unflatten.int unfold.default "
    "unsqueeze.default view.default _unsafe_view.default"
)

_KNOWN: dict[str, Converter] = {
    **dict.fromkeys(_LINEAR.split(), _each_part),
    **dict.fromkeys(("cat.default", "stack.default"), join),
    **dict.fromkeys(("full.default", "full_like.default", "scalar_tensor.default"), fill),
    **dict.fromkeys(("addmm.default", "baddbmm.default"), addmm),
    "copy.default": overwrite,
    **{f"where.{form}": where for form in ("self", "Scalar", "ScalarSelf", "ScalarOther")},
    "sym_size.int": size,
    "reciprocal.default": _unary(_complex.reciprocal),
    "constant_pad_nd.default": pad,
    "pad.default": pad,
    "_to_copy.default": to_copy,
    "to.dtype": to_copy,
    "type_as.default": to_copy,
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
    "_neg_view.default": negative,
    "_conj.default": _unary(_complex.conjugate),
    "conj.default": _unary(_complex.conjugate),
    "_conj_physical.default": _unary(_complex.conjugate),
    "conj_physical.default": _unary(_complex.conjugate),
    "resolve_conj.default": _unary(lambda importer, x: x),
    "resolve_neg.default": _unary(lambda importer, x: x),
    **dict.fromkeys(("add.Tensor", "add.Scalar"), _binary(_complex.add)),
    **dict.fromkeys(
        ("sub.Tensor", "sub.Scalar", "rsub.Tensor", "rsub.Scalar"), _binary(_complex.subtract)
    ),
    **dict.fromkeys(("mul.Tensor", "mul.Scalar"), _binary(_complex.multiply)),
    **dict.fromkeys(("div.Tensor", "div.Scalar"), _binary(_complex.divide)),
    "matmul.default": _binary(_complex.matmul),
    "mm.default": _binary(_complex.matmul),
    "bmm.default": _binary(_complex.matmul),
}
#: How deep functions of complex tensors use each other: pow uses log, which uses abs.
_ROUNDS = 4
CONVERTERS = {name: _unless_empty(converter) for name, converter in _KNOWN.items()}
_FFT = ("_fft_r2c.default", "_fft_c2r.default", "_fft_c2c.default")
#: What reads nothing of the elements, or picks one of several results.
_PLAIN = ("_assert_tensor_metadata.default", "getitem")


def prepare(program: Any, converters: Mapping[str, bool]) -> Any:
    """The program with its own complex tensors as real ones, and their functions written out.

    Raises
    ------
    UnsupportedOperatorError
        For a complex input or output, and operators that do not support complex tensors.
    """
    program = _with_real_constants(program)
    program = _with_functions(program, converters)
    _require_known(program, converters)
    return program


def _with_real_constants(program: Any) -> Any:
    """The program with pairs of real numbers in place of its complex parameters and constants."""
    import torch

    signature = program.graph_signature
    held = {s.arg.name: s.target for s in signature.input_specs if s.target is not None}
    state, constants = dict(program.state_dict), dict(program.constants)
    targets = {
        name: target
        for name, target in held.items()
        if getattr(state.get(target, constants.get(target)), "is_complex", bool)()
    }
    if not targets:
        return program
    graph = graphs.copied(program.graph)
    for node in list(graph.nodes):
        if node.op != "placeholder" or node.name not in targets:
            continue
        recorded, target = node.meta["val"], targets[node.name]
        with graph.inserting_after(node):
            made = graph.call_function(torch.ops.aten.view_as_complex.default, (node,))
        node.replace_all_uses_with(made, lambda user, made=made: user is not made)
        made.meta = dict(node.meta)
        node.meta = node.meta | {"val": torch.view_as_real(recorded.resolve_conj())}
        for tensors in (state, constants):
            if isinstance(tensors.get(target), torch.Tensor) and tensors[target].is_complex():
                pairs = torch.view_as_real(tensors[target].detach().resolve_conj())
                tensors[target] = pairs.contiguous()
    changed = copy.copy(program)
    changed._graph_module = torch.fx.GraphModule(program.graph_module, graph)
    changed._state_dict, changed._constants = state, constants
    return changed


def _with_functions(program: Any, converters: Mapping[str, bool]) -> Any:
    """The program with the functions of complex tensors that `_functions` writes by their parts.

    They may use each other. A converter of the caller's own comes first.
    """
    for _ in range(_ROUNDS):
        table = {
            node.target: _functions.DECOMPOSED[node.target.__name__]
            for node in program.graph.nodes
            if node.op == "call_function"
            and node.target.__name__ in _functions.DECOMPOSED
            and not converters.get(node.target.__name__)
            and any(map(_is_complex, [node, *node.all_input_nodes]))
            and (node.target.__name__ != "index.Tensor" or any(map(_is_mask, node.args[1])))
        }
        if not table:
            break
        program = decomposition.decomposed(program, table)
    return program


def _require_known(program: Any, converters: Collection[str]) -> None:
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
            known = (*CONVERTERS, *_FFT, *_PLAIN)
            if any(map(_is_complex, touches)) and node.target.__name__ not in known:
                raise _emit.refuse(
                    node,
                    "no converter of it knows complex tensors",
                    "Write it on the real and imaginary parts",
                )


def _is_complex(node: Any) -> bool:
    value = node.meta.get("val")
    value = value[0] if isinstance(value, list | tuple) and value else value
    return bool(getattr(getattr(value, "dtype", None), "is_complex", False))


def _is_mask(index: Any) -> bool:
    """Whether an index selects a number of elements that the two parts have to share."""
    return index is not None and not index.meta["val"].dtype.is_signed


FIX = Fix(
    id="complex",
    what="complex, angle, view_as_real, arithmetic and functions of complex tensors are missing",
    op="aten.complex, aten.angle, aten.view_as_real, …",
    affected="",
    converters=CONVERTERS,
    prepare=prepare,
    probe=_probe.lacks("complex.default"),
)
