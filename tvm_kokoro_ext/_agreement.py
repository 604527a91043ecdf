"""Check that the result of a converter has the dtype and the shape recorded by torch.

An exported program records the result of every node. If a converter ignores an argument, often the
dtype or the shape is wrong. Such a result is cast if only the width of the dtype differs, and
otherwise rejected.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _checks, _compat, _emit, _symbolic
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._errors import source_line

_KINDS = (
    frozenset({"float16", "bfloat16", "float32", "float64"}),
    frozenset({"int8", "int16", "int32", "int64"}),
)

_NEED_SHAPES = frozenset(
    f"relax.{name}"
    for name in (
        *("add", "subtract", "multiply", "divide", "floor_divide", "mod", "floor_mod", "power"),
        *("maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater"),
        *("greater_equal", "logical_and", "logical_or", "logical_xor", "where", "concat"),
    )
)


#: Operators that expand a tensor. TOPI ends the build where it cannot prove that the sizes fit.
SPREAD = frozenset({"expand.default", "broadcast_to.default"})


def without_elements(importer: Any, node: Any) -> Any:
    """The result of a node without elements, according to torch's record: an empty tensor.

    With several results, all must be empty. None if there are elements. No kernel is needed for
    such nodes, and many of TVM's kernels divide by the number of elements.
    """
    wanted: Any = getattr(node, "meta", {}).get("val")
    if not isinstance(wanted, list | tuple):
        return _emit.filled(importer, wanted, 0) if _is_empty(wanted) else None
    if not wanted or not all(map(_is_empty, wanted)):
        return None
    parts = [_emit.filled(importer, value, 0) for value in wanted]
    return None if any(part is None for part in parts) else _emit.emit(importer, relax.Tuple(parts))


def _is_empty(wanted: Any) -> bool:
    """Whether this is the record of a dense real tensor without elements."""
    if not hasattr(wanted, "shape") or wanted.is_sparse or wanted.is_complex():
        return False
    return any(isinstance(size, int) and size == 0 for size in wanted.shape)


def agreeing(importer: Any, node: Any, result: Any) -> Any:
    """The result of a converter in torch's dtype.

    Results that are not read, are not tensors, or whose type is unknown to torch or TVM, are
    returned unchanged.

    Raises
    ------
    UnsupportedOperatorError
        If dtype or shape differ from those of torch.
    """
    wanted: Any = getattr(node, "meta", {}).get("val")
    if _compat.is_prim(result):
        return _simpler(importer, node, result)
    if not hasattr(wanted, "dtype") or not hasattr(wanted, "shape"):
        return result
    if not getattr(node, "users", True):
        return result
    if isinstance(result, relax.Call):  # not emitted by the converter, so it has no type yet
        result = importer.block_builder.normalize(result)
    if wanted.is_sparse or not _compat.is_tensor(result):
        return result
    _require_shape(importer, node, result, wanted)
    result = _with_proved_sizes(importer, result, wanted)
    if wanted.is_complex():
        raise _disagreement(node, "a real tensor where torch has a complex one")
    dtype, found = _emit.torch_dtype(importer, wanted.dtype), _compat.dtype_of(result)
    if dtype == found:
        return result
    if any(dtype in kind and found in kind for kind in _KINDS):
        return _emit.astype(importer, result, dtype)
    raise _disagreement(node, f"{found} where torch has {dtype}")


def _require_shape(importer: Any, node: Any, result: Any, wanted: Any) -> None:
    if _compat.type_of(result).shape is None:
        # LegalizeOps leaves such calls to the VM, which has no kernel.
        if getattr(getattr(_call_of(importer, result), "op", None), "name", "") in _NEED_SHAPES:
            raise _unproved(importer, node)
        return
    spread = getattr(node.target, "__name__", "") in SPREAD
    if spread and not _fits(_call_of(importer, result)):
        raise _unproved(importer, node)
    found = _compat.shape_of(result)
    same = len(found) == len(wanted.shape) and all(
        mine == theirs
        for mine, theirs in zip(found, wanted.shape, strict=True)
        if isinstance(mine, int) and isinstance(theirs, int)
    )
    if not same:
        raise _disagreement(node, f"shape {tuple(found)} where torch has {tuple(wanted.shape)}")


def _call_of(importer: Any, result: Any) -> Any:
    """The call whose result this is, or the result itself if it is no variable."""
    is_variable = isinstance(result, relax.Var)
    return importer.block_builder.lookup_binding(result) if is_variable else result


def _fits(call: Any) -> bool:
    """Whether the sizes of broadcast_to's operand can be proved to be 1 or those of its result."""
    if getattr(getattr(call, "op", None), "name", "") != "relax.broadcast_to":
        return True
    x, shape = call.args
    if _compat.type_of(x).shape is None or not isinstance(shape, relax.ShapeExpr):
        return True
    given = _compat.shape_of(x)
    asked = list(shape.values)[len(shape.values) - len(given) :]
    return all(
        _compat.as_int(size) == 1 or _compat.prim_equal(_compat.prim(size), due)
        for size, due in zip(given, asked, strict=True)
    )


def _unproved(importer: Any, node: Any) -> Exception:
    return _emit.refuse(
        node,
        "it cannot be proved that the symbolic sizes of its operands fit: "
        f"{_sizes(importer, node)}{source_line(node)}",
        "Bring one to the sizes of the other before, y.reshape(x.shape)",
    )


def _sizes(importer: Any, node: Any) -> str:
    """The operands of a node with their sizes, as TVM has them."""
    operands = [(n, importer.env.get(n)) for n in getattr(node, "all_input_nodes", ())]
    return ", ".join(
        f"{name} {_listed(value)}" for name, value in operands if _compat.is_tensor(value)
    )


def _listed(tensor: Any) -> str:
    if _compat.type_of(tensor).shape is None:
        return "of unknown sizes"
    return "[" + ", ".join(map(str, _compat.shape_of(tensor))) + "]"


def _with_proved_sizes(importer: Any, result: Any, wanted: Any) -> Any:
    """The result with the constant sizes that torch has proved instead of expressions.

    Otherwise TVM could not prove that two such expressions are equal.
    """
    if _compat.type_of(result).shape is None:
        return result
    found = _compat.shape_of(result)
    sizes = [
        mine if isinstance(mine, int) else _proved(importer, mine, theirs)
        for mine, theirs in zip(found, wanted.shape, strict=True)
    ]
    if all(mine is size for mine, size in zip(found, sizes, strict=True)):
        return result
    return _emit.with_sizes(importer.block_builder, result, sizes)


def _simpler(importer: Any, node: Any, result: Any) -> Any:
    """The integer that a node computes, as simple as torch's record of it can be made.

    Variables of which torch knows more than TVM, such as the number of elements that a mask
    selects, stay what they are, and so does what torch takes for a constant because the program
    asserts it of an element of a tensor: the assertion is made of the element.
    """
    import torch

    wanted: Any = getattr(node, "meta", {}).get("val")
    if not isinstance(wanted, torch.SymInt) or _compat.is_var(_compat.prim(result)):
        return result
    if _compat.prim_dtype(result) != "int64":
        return result
    divisors: list[Any] = []
    result = _symbolic.divided(wanted, result, divisors)
    if divisors and _symbolic.is_read_from_data(wanted):
        _checks.require(importer, *(divisor != 0 for divisor in divisors))
    proved = _symbolic.to_prim(importer, wanted)
    if isinstance(proved, int):
        return result if _symbolic.is_read_by(node) else _emit.int64(proved)
    if proved is None or len(str(proved)) >= len(str(result)):
        return result
    given = _compat.variables_of(_compat.prim(result))
    known = all(any(v.same_as(g) for g in given) for v in _compat.variables_of(proved))
    return proved if known else result


def _proved(importer: Any, mine: Any, theirs: Any) -> Any:
    """The size of a result: TVM's expression, or what torch has found it to be.

    That is a number, or an expression of other variables: a program that adds as many numbers as a
    mask selects to n numbers requires that the mask selects n.
    """
    number = _symbolic.known_value(theirs)
    if number is not None:
        return number
    proved = _symbolic.to_prim(importer, theirs)
    if proved is None or isinstance(proved, int):
        return mine
    own, other = _compat.variables_of(mine), _compat.variables_of(proved)
    if all(any(v.same_as(o) for o in other) for v in own):
        return mine
    return mine if _compat.prim_equal(mine, proved) else proved


def _disagreement(node: Any, what: str) -> Exception:
    return _emit.refuse(
        node,
        f"its converter gives {what}",
        "Write it with other operators, or pass a converter of your own in custom_convert_map",
    )
