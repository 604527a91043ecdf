"""Torch's type promotion for binary operators."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit

#: Converters of binary operators whose first two arguments are the operands.
ARITHMETIC = (
    "add.Tensor",
    "add.Scalar",
    "add_.Tensor",
    "add_.Scalar",
    "sub.Tensor",
    "sub.Scalar",
    "sub_.Tensor",
    "rsub.Tensor",
    "rsub.Scalar",
    "mul.Tensor",
    "mul.Scalar",
    "mul_.Tensor",
    "pow.Tensor_Scalar",
    "pow.Tensor_Tensor",
    "pow.Scalar",
    "remainder.Tensor",
    "remainder.Scalar",
    "fmod.Tensor",
    "fmod.Scalar",
    "floor_divide.default",
    "floor_divide.Scalar",
    "maximum.default",
    "minimum.default",
    "max.other",
    "min.other",
    "bitwise_and.Tensor",
    "bitwise_and.Scalar",
    "bitwise_or.Tensor",
    "bitwise_or.Scalar",
    "bitwise_xor.Tensor",
    "bitwise_xor.Scalar",
)
#: Operators that compute in floating point for integer operands.
TRUE_DIVISION = ("div.Tensor", "div.Scalar", "div_.Tensor", "atan2.default")
COMPARISON = tuple(
    f"{op}.{kind}" for op in ("eq", "ne", "lt", "le", "gt", "ge") for kind in ("Tensor", "Scalar")
)
BINARY = (*ARITHMETIC, *TRUE_DIVISION, *COMPARISON)


def common_dtype(importer: Any, name: str, lhs: Any, rhs: Any) -> str:
    """The dtype in which torch computes `name` for these operands."""
    import torch

    result = torch.result_type(_stand_in(lhs), _stand_in(rhs))
    if name in TRUE_DIVISION and not result.is_floating_point and not result.is_complex:
        result = torch.get_default_dtype()
    return _emit.torch_dtype(importer, result)


def _stand_in(value: Any) -> Any:
    """A value that torch's promotion treats like the operand; dtype and being 0-d matter."""
    import torch

    if _compat.is_tensor(value):
        shape = () if _compat.rank_of(value) == 0 else (1,)
        return torch.empty(shape, dtype=getattr(torch, _compat.dtype_of(value)), device="meta")
    if _compat.is_prim(value):
        dtype = _compat.prim_dtype(_compat.prim(value))
        return 1.0 if "float" in dtype else dtype == "bool" or 1
    return value
