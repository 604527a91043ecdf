"""Use torch's decompositions for operators that TVM does not support.

Stock rejects programs with `x.T`, `new_full` or `addcmul`, although torch can express them by
operators that TVM supports.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

from tvm_kokoro_ext import _compat, _probe, _program_probe
from tvm_kokoro_ext._errors import UnsupportedOperatorError, op_name
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import decomposition, effects, ranges
from tvm_kokoro_ext._fixes.program import kept_whole
from tvm_kokoro_ext._fixes.program._decompositions import reduces_nothing
from tvm_kokoro_ext._fixes.program.assertion import without_unknown_conditions

_ROUNDS = 8  # decompositions may be nested, but less deep than this


def decompose_unsupported(program: Any, converters: Collection[str]) -> Any:
    """Decompose all operators without a converter, as far as torch can.

    Torch's decomposition of an operator may be the operator itself, such as `sym_storage_offset`,
    so that a round changes nothing; no other is needed then.

    The branches of torch.cond and the bodies of loops are decomposed with the program. What they
    write in place would be lost; without a table torch writes it as what is computed anew.
    """
    program = effects.with_plain_checks(program)
    before: Counter[Any] = Counter()
    traced = False
    for _ in range(_ROUNDS):
        called = list(_called(program))
        present = Counter(node.target for node in called)
        unsupported = {
            node.target
            for node in called
            if node.target.__name__ not in converters or _misread(node)
        }
        table = _decompositions(unsupported) if present != before else {}
        inside = not traced and _is_traced_again(program)
        if not table and not inside:
            break
        traced = True
        program, before = decomposition.decomposed(program, table), present
    _refuse_unknown(program, converters)
    return program


def _called(program: Any) -> Iterator[Any]:
    """The calls of functions of a program, its branches and the bodies of its loops."""
    import torch

    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            yield from (node for node in module.graph.nodes if node.op == "call_function")


def _is_traced_again(program: Any) -> bool:
    """Whether a graph inside of the program writes in place."""
    own = set(program.graph.nodes)
    return any(
        node not in own and getattr(getattr(node.target, "_schema", None), "is_mutable", False)
        for node in _called(program)
    )


def _refuse_unknown(program: Any, converters: Collection[str]) -> None:
    """Raise one error that lists all operators supported by neither TVM nor decompositions."""
    program = without_unknown_conditions(program, converters)
    unknown = [
        node
        for node in program.graph.nodes
        if node.op == "call_function" and node.target.__name__ not in converters
    ]
    if unknown:
        raise UnsupportedOperatorError(
            ", ".join(dict.fromkeys(map(op_name, unknown))),
            "TVM has no converter of it and torch no decomposition",
            "Write it with other operators, or pass a converter of your own in custom_convert_map",
        )


def _misread(node: Any) -> bool:
    """Whether stock's converter is wrong or fails for this node, unlike for its decomposition."""
    question = _MISREAD.get(node.target.__name__)
    return question is not None and question(node)


def _given(node: Any, name: str) -> Any:
    """The argument of this name in the operator's schema, or its default."""
    for position, argument in enumerate(node.target._schema.arguments):
        if argument.name == name:
            default = node.kwargs.get(name, argument.default_value)
            return node.args[position] if position < len(node.args) else default
    raise ValueError(f"{node.target} has no argument {name}")


def _value(argument: Any) -> Any:
    return argument.meta.get("val") if hasattr(argument, "meta") else None


def _symbolic(node: Any) -> bool:
    """Whether the node's first argument has a symbolic dimension."""
    return not all(isinstance(size, int) for size in _value(node.args[0]).shape)


def _parts_symbolic(node: Any) -> bool:
    """Whether a symbolic dimension is split into parts."""
    return not isinstance(_value(node.args[0]).shape[_given(node, "dim")], int)


def _chunked_otherwise(node: Any) -> bool:
    """Chunks of a symbolic size, or fewer than were asked for: stock reads behind the last one."""
    return _parts_symbolic(node) or len(_value(node)) != _given(node, "chunks")


def _attends_otherwise(node: Any) -> bool:
    """Attention with a bool mask, a scale, shared heads, or operands of other ranks or batches.

    Of two dimensions stock attends along the channels; it broadcasts no batches, heads, nor a mask
    along the keys, and does not build where a size is computed, as that of a cache and a new key.
    """
    mask = node.args[3] if len(node.args) > 3 else node.kwargs.get("attn_mask")
    masked = mask is not None and (
        not _value(mask).is_floating_point()
        or _value(mask).dim() != 4
        or str(_value(mask).shape[-1]) != str(_value(node.args[1]).shape[-2])
    )
    scaled = node.kwargs.get("scale") is not None
    shared = bool(node.kwargs.get("enable_gqa"))
    leading = {str(_value(operand).shape[:-2]) for operand in node.args[:3]}
    unlike = len(leading) > 1 or _value(node.args[0]).dim() != 4
    computed = any(
        not isinstance(size, int) and not size.node.expr.is_symbol
        for operand in node.args[:3]
        for size in _value(operand).shape
    )
    return masked or scaled or shared or unlike or computed


def _infinite_or_symbolic(number: Any) -> bool:
    return hasattr(number, "meta") or number in (math.inf, -math.inf)


def _with_symbolic(*names: str) -> Callable[[Any], bool]:
    """Whether one of these arguments is a number that is computed of symbolic sizes."""
    return lambda node: any(hasattr(_given(node, name), "meta") for name in names)


def _drops_a_term(node: Any) -> bool:
    """addmm or baddbmm with a factor that is 0 or symbolic, or over no elements."""
    factors = _given(node, "alpha"), _given(node, "beta")
    symbolic = any(hasattr(factor, "meta") for factor in factors)
    return symbolic or 0 in factors or _is_zero(_value(node.args[1]).shape[-1])


def _is_zero(size: Any) -> bool:
    """Whether a size is 0; to ask whether a symbolic one is would add a guard, or raise."""
    return isinstance(size, int) and size == 0


def _is_float64(node: Any) -> bool:
    """Whether the first operand is float64, for which stock's kernel is missing or in float32."""
    return str(_value(node.args[0]).dtype) == "torch.float64"


def _normalizes_otherwise(node: Any) -> bool:
    """Layer normalization in float64, or over a symbolic size or nothing, which stock cannot."""
    sizes = _given(node, "normalized_shape")
    plain = all(isinstance(size, int) and size > 0 for size in sizes)
    return _is_float64(node) or not plain


def _celu_not_one(node: Any) -> bool:
    """celu with an alpha other than 1: stock divides after the exponential."""
    alpha = node.args[1] if len(node.args) > 1 else node.kwargs.get("alpha", 1.0)
    return bool(alpha != 1)


def _of_numbers(node: Any) -> bool:
    """meshgrid with a 0-d tensor, which stock keeps 0-d."""
    return any(_value(tensor).dim() == 0 for tensor in node.args[0])


def _pads_otherwise(node: Any) -> bool:
    """Padding by symbolic amounts that is not constant, and circular padding that also crops.

    Stock knows no symbolic amounts, and wraps around the tensor before cropping.
    """
    mode = _given(node, "mode")
    symbolic = any(hasattr(amount, "meta") for amount in node.args[1])
    if mode == "circular":
        return symbolic or min(node.args[1], default=0) < 0
    return symbolic and mode not in (None, "constant")


def _sums_otherwise(node: Any) -> bool:
    """An einsum of complex tensors, or one that sums over `...`, which stock cannot build."""
    operands, arrow, result = node.args[0].partition("->")
    is_complex = any(_value(tensor).is_complex() for tensor in node.args[1])
    return is_complex or (bool(arrow) and "..." in operands and "..." not in result)


# Stock's converters that are wrong or fail for some nodes, which are decomposed as well.
_MISREAD: dict[str, Callable[[Any], bool]] = {
    "batch_norm.default": lambda node: True,  # reads eps from the position of momentum
    "layer_norm.default": _normalizes_otherwise,
    "native_layer_norm.default": _normalizes_otherwise,
    # instance_norm of a symbolic batch, which becomes a part of the channels
    "_native_batch_norm_legit.no_stats": lambda node: (
        not isinstance(_value(node.args[0]).shape[1], int)
    ),
    "baddbmm.default": _drops_a_term,
    "narrow.default": lambda node: True,  # interprets the length as the end
    "celu.default": _celu_not_one,
    "cross_entropy_loss.default": lambda node: True,  # ignores most of its arguments
    **dict.fromkeys(kept_whole.RECURRENT[1:], lambda node: not kept_whole.is_one_loop(node)),
    "eye.default": lambda node: "dtype" not in node.kwargs,
    "eye.m": lambda node: "dtype" not in node.kwargs,
    "masked_fill.Scalar": lambda node: (
        _infinite_or_symbolic(node.args[2]) or str(_value(node).dtype) == "torch.bool"
    ),
    "scaled_dot_product_attention.default": _attends_otherwise,
    "roll.default": lambda node: (
        _symbolic(node) or any(hasattr(shift, "meta") for shift in node.args[1])
    ),
    "chunk.default": _chunked_otherwise,
    "split.Tensor": _parts_symbolic,
    # Stock makes a constant of the number, which may be complex beside a real tensor.
    **dict.fromkeys(
        ("where.Scalar", "where.ScalarSelf", "where.ScalarOther"),
        lambda node: _value(node).is_complex(),
    ),
    "addmm.default": _drops_a_term,
    "meshgrid.default": _of_numbers,
    "meshgrid.indexing": lambda node: _of_numbers(node) or _given(node, "indexing") == "xy",
    # Stock adds up steps that are rounded in the result's dtype, and knows no symbolic bounds.
    "linspace.default": lambda node: True,
    "leaky_relu.default": _with_symbolic("negative_slope"),
    "elu.default": _with_symbolic("alpha", "scale", "input_scale"),
    "softplus.default": _with_symbolic("beta", "threshold"),
    "hardtanh.default": _with_symbolic("min_val", "max_val"),
    "scatter.value": _with_symbolic("value"),
    "var.correction": _with_symbolic("correction"),
    "std.correction": _with_symbolic("correction"),
    "tril.default": lambda node: hasattr(_given(node, "diagonal"), "meta"),
    "triu.default": lambda node: hasattr(_given(node, "diagonal"), "meta"),
    "take.default": lambda node: True,
    "view.dtype": lambda node: _value(node.args[0]).dtype.itemsize != node.args[1].itemsize,
    "unflatten.int": lambda node: not all(isinstance(size, int) for size in node.args[2]),
    "linalg_vector_norm.default": lambda node: (  # computes in the dtype of the input
        hasattr(_given(node, "ord"), "meta")
        or _given(node, "ord") == 0
        or reduces_nothing(_value(node.args[0]), _given(node, "dim"))
        or _given(node, "dtype") is not None
    ),
    "isin.Tensor_Tensor": lambda node: _given(node, "invert") or kept_whole.is_among_floats(node),
    "_cdist_forward.default": lambda node: (
        node.args[2] in (0, math.inf) or _is_zero(_value(node.args[0]).shape[-1])
    ),
    "einsum.default": _sums_otherwise,
    "broadcast_to.default": lambda node: -1 in node.args[1],
    "pad.default": _pads_otherwise,
    "lstm.input": lambda node: not kept_whole.is_one_loop(node) and not _symbolic(node),
    "conv1d.default": lambda node: _value(node.args[0]).dim() != 3,
    "conv2d.default": lambda node: _value(node.args[0]).dim() != 4,
    "conv3d.default": lambda node: _value(node.args[0]).dim() != 5,
    "conv_transpose1d.default": lambda node: _value(node.args[0]).dim() != 3,
    "conv_transpose2d.input": lambda node: _value(node.args[0]).dim() != 4,
    "conv_transpose3d.input": lambda node: _value(node.args[0]).dim() != 5,
    "prelu.default": lambda node: True,  # does not legalize with one slope
    "softmax.int": lambda node: len(node.args) > 2 or node.kwargs.get("dtype") is not None,
    "log_softmax.int": lambda node: len(node.args) > 2 or node.kwargs.get("dtype") is not None,
    "pixel_shuffle.default": lambda node: True,
    # 0.25 knows only aligned corners, and stock neither an axis of one pixel nor volumes.
    "affine_grid_generator.default": lambda node: (
        not node.args[2] or 1 in node.args[1][2:] or len(node.args[1]) != 4
    ),
    "grid_sampler_2d.default": lambda node: True,  # expects another layout of the grid
}


# Torch decomposes these into in-place writes, which an exported program must not contain.
_NOT_FUNCTIONAL = ("diagonal_scatter.default",)


def _decompositions(operators: set[Any]) -> dict[Any, Any]:
    """Torch's decompositions by operator, without operators that have none."""
    if not operators:
        return {}
    import torch
    from torch._decomp import decomposition_table

    from tvm_kokoro_ext._fixes.program import _quantized
    from tvm_kokoro_ext._fixes.program._decompositions import OWN

    key = torch._C.DispatchKey.CompositeImplicitAutograd
    default = torch.export.default_decompositions().materialize()
    table = {}
    for operator in operators:
        if not isinstance(operator, torch._ops.OpOverload) or operator.__name__ in _NOT_FUNCTIONAL:
            continue
        known = _quantized.OWN.get(str(operator)) or OWN.get(operator.__name__)
        known = known or default.get(operator) or decomposition_table.get(operator)
        if known is None and torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), key):
            # Call the kernel directly; `operator.decompose` would recursively use this table.
            known = partial(operator._op_dk, key)
        if known is not None:
            table[operator] = known
    return table


@_probe.wrong
def _still_wrong() -> bool:
    """Whether stock rejects a program because of an operator that torch decomposes."""
    import torch

    def write(graph: Any, x: Any) -> list[Any]:
        return [graph.call_function(torch.ops.aten.addcmul.default, (x, x, x))]

    def parts(graph: Any, x: Any) -> list[Any]:
        product = graph.call_function(torch.ops.aten.mul.Tensor, (x, x))
        return [graph.call_function(torch.ops.aten.add.Tensor, (x, product))]

    _imported(write, parts)
    return False


@_probe.wrong
def _misreads() -> bool:
    """Whether the celu of stock divides behind the exponential."""
    import torch

    def write(graph: Any, x: Any) -> list[Any]:
        return [graph.call_function(torch.ops.aten.celu.default, (x, 0.5))]

    def parts(graph: Any, x: Any) -> list[Any]:
        return [graph.call_function(torch.ops.aten.elu.default, (x, 0.5, 1.0, 2.0))]

    made = _probe.operators_of(_imported(write, parts)["main"])
    divisions = [place for place, name in enumerate(made) if name == "relax.divide"]
    return "relax.exp" in made and any(place > made.index("relax.exp") for place in divisions)


def _decomposes_less() -> bool:
    """Whether views of other sizes, sums of half precision or quantized programs are left out."""
    if importlib.util.find_spec("tvm.relax.frontend.torch._decompose") is None:
        return True
    own = importlib.import_module("tvm.relax.frontend.torch._decompose")
    return not all(hasattr(own, name) for name in ("_view", "_wide", "_quantized"))


@_probe.wrong
def _rounds_or_divides_less() -> bool:
    """Whether steps of linspace are rounded, or 15 elements in at most 7 chunks are not 5 of 3."""
    chunks = _probe.convert("chunk.default", _probe.Input((2, 15)), 7, 1)
    return ranges.rounds_steps() or len(_compat.type_of(chunks.value).fields) != 5


def _imported(write: Callable[..., list[Any]], parts: Callable[..., list[Any]]) -> Any:
    given = [_probe.Input((4,))]
    return _program_probe.imported(
        _program_probe.graph_module(write, given),
        decomposed=_program_probe.graph_module(parts, given),
    )


FIX = Fix(
    id="decompose",
    what="operators that torch can decompose into known ones are refused",
    op="aten operators without a converter",
    affected="",
    probe=_probe.any_of(_still_wrong, _misreads, _decomposes_less, _rounds_or_divides_less),
    prepare=decompose_unsupported,
)
