"""Check that the result of a converter has the dtype and the shape recorded by torch.

An exported program records the result of every node. If a converter ignores an argument, often the
dtype or the shape is wrong. Such a result is cast if only the width of the dtype differs, and
otherwise rejected.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _symbolic
from tvm_kokoro_ext._compat import relax

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
        call = (
            importer.block_builder.lookup_binding(result)
            if isinstance(result, relax.Var)
            else result
        )
        name = getattr(getattr(call, "op", None), "name", "")
        if name in _NEED_SHAPES:  # LegalizeOps leaves such calls to the VM, which has no kernel
            raise _emit.refuse(
                node,
                "it cannot be proved that the symbolic sizes of its operands fit",
                "Give equal sizes one name with torch.export.Dim, or export constant sizes",
            )
        return
    found = _compat.shape_of(result)
    same = len(found) == len(wanted.shape) and all(
        mine == theirs
        for mine, theirs in zip(found, wanted.shape, strict=True)
        if isinstance(mine, int) and isinstance(theirs, int)
    )
    if not same:
        raise _disagreement(node, f"shape {tuple(found)} where torch has {tuple(wanted.shape)}")


def _with_proved_sizes(importer: Any, result: Any, wanted: Any) -> Any:
    """The result with the constant sizes that torch has proved instead of expressions.

    Otherwise TVM could not prove that two such expressions are equal.
    """
    if _compat.type_of(result).shape is None:
        return result
    found = _compat.shape_of(result)
    sizes = [
        int(theirs) if _symbolic.is_number(theirs) and not isinstance(mine, int) else mine
        for mine, theirs in zip(found, wanted.shape, strict=True)
    ]
    if all(mine is size for mine, size in zip(found, sizes, strict=True)):
        return result
    kind = _compat.tensor_type(sizes, _compat.dtype_of(result))
    return importer.block_builder.match_cast(result, kind)


def _disagreement(node: Any, what: str) -> Exception:
    return _emit.refuse(
        node,
        f"its converter gives {what}",
        "Write it with other operators, or pass a converter of your own in custom_convert_map",
    )
