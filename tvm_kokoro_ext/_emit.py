"""Building blocks of converters, which emit Relax into the importer's builder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tvm_kokoro_ext import _compat, _symbolic
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._errors import UnsupportedOperatorError, op_name

#: The attribute of an importer that holds its casts and the `env` in which they are visible.
_CASTS = "_tvm_kokoro_ext_casts"


@dataclass
class NodeView:
    """A node with different arguments, to be passed to the converter below.

    Arguments that are already expressions pass through `retrieve_args` unchanged. Converters that
    replace tensors (`detour`) find those of `all_input_nodes`.
    """

    target: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    all_input_nodes: Sequence[Any] = ()


def view(node: Any, *args: Any, **kwargs: Any) -> NodeView:
    """A view of `node` with these arguments and keyword arguments instead of its own."""
    return NodeView(node.target, args, kwargs, node.meta, node.name)


def arguments(importer: Any, node: Any, *names: str, **defaults: Any) -> list[Any]:
    """The arguments of a node in the order of `names`, by position, keyword or default.

    Nodes are replaced by Relax expressions. A parameter with neither value nor default is None.
    """
    given = list(importer.retrieve_args(node))
    values = []
    for position, name in enumerate(names):
        if position < len(given):
            values.append(given[position])
        elif name in node.kwargs:
            values.append(importer._retrieve_args(node.kwargs[name]))
        else:
            values.append(defaults.get(name))
    return values


def emit(importer: Any, expression: Any) -> Any:
    """Bind an expression to a variable in the function under construction."""
    return importer.block_builder.emit(expression)


def emit_te(
    importer: Any,
    function: Callable[..., Any],
    *args: Any,
    hint: str,
    attrs: dict[str, Any] | None = None,
) -> Any:
    """Emit a tensor expression of tensors, scalars and lists of scalars (such as a shape).

    TVM replaces the variables in the kernel, so `function` must not use symbolic expressions other
    than its parameters. `attrs` are attributes of the kernel.
    """
    builder = importer.block_builder
    return builder.emit_te(function, *args, primfunc_name_hint=hint, primfunc_attrs=attrs)


def astype(importer: Any, tensor: Any, dtype: str) -> Any:
    """Cast a tensor to a dtype, unless it already has it, or was cast to it before."""
    if _compat.dtype_of(tensor) == dtype:
        return tensor
    known = _casts(importer).get((tensor, dtype))
    if known is None:
        known = emit(importer, relax.op.astype(tensor, dtype))
        remember_cast(importer, tensor, known)
    return known


def remember_cast(importer: Any, tensor: Any, cast: Any) -> None:
    """Let `astype` give `cast` for later casts of `tensor` to its dtype.

    `tvm.compile` does not find equal expressions, and each cast is a kernel that reads a tensor
    and writes another.
    """
    if isinstance(tensor, relax.Var) and isinstance(cast, relax.Var):
        _casts(importer)[tensor, _compat.dtype_of(cast)] = cast


def _casts(importer: Any) -> dict[tuple[Any, str], Any]:
    """What `astype` has emitted, by tensor and dtype, in the function under construction.

    A branch of torch.cond is a function with an `env` of its own, from which the variables of the
    program cannot be seen.
    """
    scope, casts = getattr(importer, _CASTS, (None, {}))
    if scope is not importer.env:
        casts = {}
        setattr(importer, _CASTS, (importer.env, casts))
    return casts


def scalar(importer: Any, value: Any, dtype: str) -> Any:
    """A 0-d tensor of this dtype with the value of a Python number or symbolic scalar.

    An integer that the dtype cannot hold wraps around, as in torch.
    """
    if not _compat.is_prim(value):
        return relax.const(wrapped(value, dtype), dtype)
    value = _compat.prim(value)
    if isinstance(value, tirx.IntImm | tirx.FloatImm):
        return relax.const(wrapped(value.value, dtype), dtype)

    def compute(number: Any) -> Any:
        return te.compute((), lambda: tirx.Cast(dtype, number), name="symbolic_scalar")

    return emit_te(importer, compute, value, hint="symbolic_scalar")


def wrapped(value: Any, dtype: str) -> Any:
    """The value modulo the range of an integer dtype; anything but an integer is unchanged."""
    if not isinstance(value, int) or "int" not in dtype:
        return value
    bits = int(dtype.partition("int")[2])
    value %= 1 << bits
    return value - (1 << bits) if dtype.startswith("int") and value >> (bits - 1) else value


def filled(importer: Any, recorded: Any, number: float) -> Any:
    """A tensor filled with a number, with the shape and dtype that torch recorded for a result.

    None if a size cannot be expressed.
    """
    known = _symbolic.known_symbols(importer)
    shape = [_symbolic.to_prim(importer, size, known) for size in recorded.shape]
    if any(size is None for size in shape):
        return None
    dtype = torch_dtype(importer, recorded.dtype)
    sizes = relax.ShapeExpr([int64(size) for size in shape])
    return emit(importer, relax.op.full(sizes, relax.const(number, dtype), dtype))


def dimension(importer: Any, size: Any, name: str) -> Any:
    """A data-dependent size, given as a tensor [1] int64, as a symbolic variable."""
    shape = emit(importer, relax.op.tensor_to_shape(size))
    variable = _compat.tir_var(name)
    importer.block_builder.match_cast(shape, _compat.shape_type([variable]))
    return variable


def with_sizes(builder: Any, tensor: Any, sizes: Sequence[Any]) -> Any:
    """The tensor declared to have these sizes, which is checked when the function runs.

    TVM's pass `CanonicalizeBindings` reads a variable among the sizes as a definition, and puts the
    tensor's own size in its place everywhere. It does not return if that is an expression of the
    variable, such as `64 - max(0, 64 - n)`, and fails if the variable is defined twice. A sum with
    0 is no definition.
    """
    declared = [
        tirx.Add(size, tirx.IntImm("int64", 0))
        if _compat.is_var(size) and not _compat.same_object(size, own)
        else size
        for size, own in zip(sizes, _compat.shape_of(tensor), strict=True)
    ]
    return builder.match_cast(tensor, _compat.tensor_type(declared, _compat.dtype_of(tensor)))


def tensor_or_scalar(importer: Any, value: Any, dtype: str) -> Any:
    """A tensor cast to `dtype`, or a number or symbolic scalar as a 0-d tensor of that dtype."""
    if _compat.is_tensor(value):
        return astype(importer, value, dtype)
    return scalar(importer, value, dtype)


def torch_dtype(importer: Any, dtype: Any) -> str:
    """TVM's name for a torch dtype."""
    return str(importer._convert_data_type(dtype))


def result_dtype(importer: Any, node: Any) -> str | None:
    """The dtype of the node's result in torch, if the program records it."""
    value = node.meta.get("val")
    return torch_dtype(importer, value.dtype) if hasattr(value, "dtype") else None


def normalize_axis(axis: int, rank: int) -> int:
    """A nonnegative dimension index."""
    return axis + rank if axis < 0 else axis


def extent(dims: Sequence[Any]) -> Any:
    """The product of the dimensions."""
    product: Any = 1
    for dim in dims:
        product = product * dim
    return product


def int64(value: Any) -> Any:
    """A dimension as an int64 expression."""
    return tirx.IntImm("int64", value) if isinstance(value, int) else value


def refuse(node: Any, reason: str, way_around: str) -> UnsupportedOperatorError:
    """The error for a node that cannot be expressed."""
    return UnsupportedOperatorError(op_name(node), reason, way_around)


@contextmanager
def standing_in(importer: Any, node: Any, expression: Any) -> Iterator[None]:
    """Context in which the importer uses `expression` in place of `node`.

    This is for converters below that look up nodes in `importer.env` themselves.
    """
    before = importer.env[node]
    importer.env[node] = expression
    try:
        yield
    finally:
        importer.env[node] = before
