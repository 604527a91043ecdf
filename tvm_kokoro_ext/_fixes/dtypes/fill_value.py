"""A number that fills a tensor becomes one of the tensor's dtype first, as in torch.

A negative one wraps around in an unsigned dtype (-1 of uint8 is 255), for which stock raises, and
any but zero is true in bool, for which stock's padding does not build or is false (0.5). Before
0.27 stock holds the numbers of float64 and int64 in 32 bits. What a tensor is filled with may also
be computed from a symbolic size: `torch.full((n,), 1 / n)`.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe, _program_probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous

#: The name of the number in the schemas of the operators below.
_NAMES = ("fill_value", "value", "s")


@needs_previous
def held(importer: Any, node: Any, previous: Any) -> Any:
    """Convert the node with its number as the dtype of the result holds it."""
    dtype = _emit.result_dtype(importer, node)
    names = [argument.name for argument in node.target._schema.arguments]
    position = next(place for place, name in enumerate(names) if name in _NAMES)
    name = names[position]
    given = node.args[position] if position < len(node.args) else node.kwargs.get(name)
    if dtype is None or given is None:
        return previous(node)
    if not isinstance(given, int | float):
        number = importer.env.get(given)
        if name != "fill_value" or not _compat.is_prim(number):
            return previous(node)
        first = importer.retrieve_args(node)[0]
        shape = _compat.shape_of(first) if _compat.is_tensor(first) else first
        filler = _emit.scalar(importer, number, dtype)
        return _emit.emit(importer, relax.op.full(relax.ShapeExpr(shape), filler, dtype))
    value = bool(given) if dtype == "bool" else _emit.wrapped(given, dtype)
    if (exact := _exactly(importer, node, value, dtype)) is not None:
        return exact
    if value is given:
        return previous(node)
    if position < len(node.args):
        args = (*node.args[:position], value, *node.args[position + 1 :])
        return previous(_emit.view(node, *args, **node.kwargs))
    return previous(_emit.view(node, *node.args, **{**node.kwargs, name: value}))


def _exactly(importer: Any, node: Any, value: Any, dtype: str) -> Any:
    """A node of `full_like`, `fill` or `masked_fill` with its number as a 64-bit constant.

    None for other nodes, and where TVM does so itself.
    """
    operator = str(node.target).split(".")[1].rstrip("_")
    wide = dtype in ("float64", "int64") and operator in ("full_like", "fill", "masked_fill")
    if not wide or _compat.fills_exactly():
        return None
    x, *others = importer.retrieve_args(node)
    number = _emit.scalar(importer, value, dtype)
    if operator == "masked_fill":
        return _emit.emit(importer, relax.op.where(others[0], number, x))
    return _emit.emit(importer, relax.op.full(relax.ShapeExpr(_compat.shape_of(x)), number, dtype))


@_probe.wrong
def _still_wrong() -> bool:
    """Whether a half pads bools with false, as the constant that stock gives the kernel."""
    import torch

    def write(graph: Any, x: Any) -> list[Any]:
        padded = graph.call_function(torch.ops.aten.constant_pad_nd.default, (x, [1, 1], 0.5))
        padded.meta["val"] = torch.empty(6, dtype=torch.bool, device="meta")
        return [padded]

    module = _program_probe.graph_module(write, [_probe.Input((4,), "bool")])
    return "0.5" in str(_program_probe.imported(module)["main"])


FIX = Fix(
    id="fill_value",
    what="uint8 filled with -1 fails; bool padded with a number is false, or does not build; "
    "before 0.27 numbers that fill float64 and int64 are rounded to 32 bits",
    op="aten.full, aten.fill, aten.masked_fill, aten.constant_pad_nd, aten.scatter.value, …",
    affected="",
    converters=dict.fromkeys(
        (
            "constant_pad_nd.default",
            "fill.Scalar",
            "fill_.Scalar",
            "full.default",
            "full_like.default",
            "masked_fill.Scalar",
            "masked_fill_.Scalar",
            "pad.default",
            "scalar_tensor.default",
            "scatter.value",
        ),
        held,
    ),
    probe=_still_wrong,
)
