"""Keep constants apart that the executable of stock takes for one.

It keeps equal constants once, and takes some that differ for equal, such as -1 and 3 of int64, and
-1 and 1 of int32. Here each constant is first tried in an executable of its own, and one that would
be mistaken gets another shape, by leading axes of one element, and a reshape where it is used.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax, tvm
from tvm_kokoro_ext._errors import UnsupportedOperatorError
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import compiler_pass

_MOST_AXES = 8  # that are added before a constant is given up


class _Pool:
    """The constants of an executable, by the places that stock gives them."""

    def __init__(self) -> None:
        self._builder = relax.ExecBuilder()
        self._seen: dict[str, bytes] = {}

    def holds(self, array: np.ndarray) -> bool:
        """Add a constant; false if it is taken for another one."""
        place = str(self._builder.convert_constant(tvm.runtime.tensor(array)))
        kind = f"{array.dtype} {array.shape} ".encode()
        digest = hashlib.sha256(kind + array.tobytes()).digest()
        return self._seen.setdefault(place, digest) == digest

    def added_axes(self, array: np.ndarray) -> int:
        """How many leading axes of one element keep the constant apart from the others."""
        for count in range(_MOST_AXES):
            if self.holds(array.reshape((1,) * count + array.shape)):
                return count
        raise UnsupportedOperatorError(
            f"a constant of shape {list(array.shape)}",
            "TVM 0.25 takes it for another one",
            "Use apache-tvm 0.26 or newer",
        )


def _kept_apart(stock: Any, module: Any) -> Any:
    from tvm.relax.expr_functor import PyExprMutator, mutator

    pool = _Pool()

    @mutator
    class Reshaping(PyExprMutator):
        def visit_constant_(self, constant: Any) -> Any:
            array = constant.data.numpy()
            axes = pool.added_axes(array)
            if not axes:
                return constant
            shape = [*(1,) * axes, *array.shape]
            wider = relax.const(array.reshape(shape), _compat.dtype_of(constant))
            return self.builder_.emit(relax.op.reshape(wider, array.shape))

    result = module.clone()
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function):
            result[variable] = Reshaping(result).visit_expr(function)
    return stock(result)


def _still_wrong() -> bool:
    """Whether -1 is taken for 3."""
    pool = _Pool()
    return not all(pool.holds(np.array(number, "int64")) for number in (3, -1))


FIX = Fix(
    id="constant_pool",
    what="a small constant is taken for another one: of int64 -1 for 3, of int32 -1 for 1",
    op="constants of an executable",
    affected="<0.26",
    install=compiler_pass.replacing(relax.transform, "CallTIRRewrite", _kept_apart),
    probe=_probe.wrong(_still_wrong),
    needs_torch=False,
)
