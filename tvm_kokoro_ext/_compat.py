"""All differences between versions of TVM, and nothing else.

No other module of this package may depend on the installed version of TVM. The functions below hide
names that have changed (`struct_info` → `ty`, `PrimValue` → `prim_value`, `tvm.arith` → `tvm.sym`,
…). `tvm`, `relax`, `te`, `tirx`, `s_tir` and `topi` are re-exported, so that TVM is imported in one
place, after checking the (apache-tvm, apache-tvm-ffi) pair.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

IMPORTER_MODULE = "tvm.relax.frontend.torch.exported_program_translator"

# Versions whose behaviour was measured. For newer versions, probes decide.
KNOWN_TVM = SpecifierSet(">=0.25,<0.28", prereleases=True)


@dataclass(frozen=True)
class Pair:
    """The versions of apache-tvm-ffi that work with versions of apache-tvm, and a tested pair."""

    tvm: SpecifierSet
    ffi: SpecifierSet
    tested: tuple[str, str]


PAIRS = (
    Pair(SpecifierSet("==0.25.*"), SpecifierSet("<=0.1.12"), ("0.25.0", "0.1.12")),
    Pair(SpecifierSet("==0.26.*"), SpecifierSet(">=0.1.13"), ("0.26.0", "0.1.15.post2")),
    Pair(SpecifierSet("==0.27.*"), SpecifierSet(">=0.1.13"), ("0.27.0.post1", "0.1.15.post2")),
)


class BrokenPairError(ImportError):
    """The installed apache-tvm and apache-tvm-ffi do not work together, or do not load."""


def installed_version(distribution: str) -> str | None:
    """The version of an installed distribution, or None if it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def pair_for(tvm_version: str) -> Pair | None:
    """The pair for this version of TVM; None if the version is unknown."""
    try:
        version = Version(tvm_version)
    except InvalidVersion:
        return None
    return next((pair for pair in PAIRS if pair.tvm.contains(version, prereleases=True)), None)


def pair_problem(tvm_version: str | None, ffi_version: str | None) -> str | None:
    """The problem of a (tvm, tvm-ffi) pair, with a pair that works, or None if there is none.

    Pairs with unknown versions are accepted here, and may then fail to load.
    """
    if tvm_version is None or ffi_version is None:
        return None
    pair = pair_for(tvm_version)
    if pair is None or pair.ffi.contains(Version(ffi_version), prereleases=True):
        return None
    tvm_ok, ffi_ok = pair.tested
    return (
        f"apache-tvm {tvm_version} does not work with apache-tvm-ffi {ffi_version}. "
        f"The pair apache-tvm {tvm_ok} and apache-tvm-ffi {ffi_ok} works: "
        f"pip install 'apache-tvm=={tvm_ok}' 'apache-tvm-ffi=={ffi_ok}'"
    )


def _load_tvm() -> ModuleType:
    """Import TVM, or raise BrokenPairError with a message that names a pair that works."""
    if "tvm" in sys.modules and hasattr(sys.modules["tvm"], "__version__"):
        return sys.modules["tvm"]  # already loaded, regardless of the metadata
    tvm_version = installed_version("apache-tvm")
    ffi_version = installed_version("apache-tvm-ffi")
    problem = pair_problem(tvm_version, ffi_version)
    if problem is not None:
        raise BrokenPairError(problem)
    try:
        return importlib.import_module("tvm")
    except ModuleNotFoundError as error:
        if error.name == "tvm":
            raise ModuleNotFoundError(
                "tvm_kokoro_ext needs Apache TVM: pip install "
                f"apache-tvm=={PAIRS[-1].tested[0]} apache-tvm-ffi=={PAIRS[-1].tested[1]}",
                name="tvm",
            ) from error
        raise
    except (ImportError, OSError, AttributeError, RuntimeError, ValueError, TypeError) as error:
        pair = pair_for(tvm_version) if tvm_version else None
        tvm_ok, ffi_ok = (pair or PAIRS[-1]).tested
        raise BrokenPairError(
            f"apache-tvm {tvm_version} with apache-tvm-ffi {ffi_version} cannot be loaded "
            f"({type(error).__name__}: {error}). The pair apache-tvm {tvm_ok} and "
            f"apache-tvm-ffi {ffi_ok} works: "
            f"pip install 'apache-tvm=={tvm_ok}' 'apache-tvm-ffi=={ffi_ok}'"
        ) from error


tvm: Any = _load_tvm()
relax: Any = importlib.import_module("tvm.relax")
te: Any = importlib.import_module("tvm.te")
tirx: Any = importlib.import_module("tvm.tirx")
s_tir: Any = importlib.import_module("tvm.s_tir")
#: The statement that gives the axes of a block their values.
SBlockRealize: Any = (s_tir if hasattr(s_tir, "SBlockRealize") else tirx).SBlockRealize
topi: Any = importlib.import_module("tvm.topi")

IRBuilder: Any = importlib.import_module("tvm.script.ir_builder").IRBuilder
T: Any = importlib.import_module("tvm.script.ir_builder.tirx")

_STRUCT_INFO = hasattr(relax, "TensorStructInfo")  # until 0.25
_TensorType: Any = relax.TensorStructInfo if _STRUCT_INFO else relax.TensorType
_TupleType: Any = relax.TupleStructInfo if _STRUCT_INFO else relax.TupleType


@functools.cache
def fills_exactly() -> bool:
    """Whether `full_like` and `masked_fill` hold their number in the tensor's dtype.

    Older frontends hold it in float32 or int32.
    """
    return tvm_version() >= Version("0.27")


@functools.cache
def counts_roi_samples() -> bool:
    """Whether a kernel of roi_align can be built whose boxes say how many samples a bin has."""
    return tvm_version() >= Version("0.27")


def tvm_version() -> Version:
    """The version of the loaded TVM."""
    return Version(installed_version("apache-tvm") or tvm.__version__)


def is_known_version(version: Version) -> bool:
    """Whether the behaviour of this TVM was measured when this package was written."""
    return KNOWN_TVM.contains(version, prereleases=True)


def has_torch() -> bool:
    """Whether PyTorch can be imported, without importing it."""
    if sys.modules.get("torch") is not None:
        return True
    try:
        return importlib.util.find_spec("torch") is not None
    except ValueError:  # a half-initialised or blocked module
        return False


# --- types and shapes --------------------------------------------------------------------


def tensor_type(shape: Any, dtype: str) -> Any:
    """The type of a tensor with this shape (ints and symbolic expressions) and dtype."""
    return _TensorType(list(shape), dtype)


def call_of_scalar(function: str, argument: Any, dtype: str) -> Any:
    """A call of a pure packed function whose result is a scalar of this dtype."""
    if _STRUCT_INFO:
        kind = relax.PrimStructInfo(dtype)
        return relax.op.call_pure_packed(function, argument, sinfo_args=kind)
    return relax.op.call_pure_packed(function, argument, ty_args=tvm.ir.PrimType(dtype))


def shape_type(dims: Any) -> Any:
    """The type of a shape value with these dimensions."""
    return (relax.ShapeStructInfo if _STRUCT_INFO else relax.ShapeType)(list(dims))


def type_of(value: Any) -> Any:
    """The Relax type of an expression, or None."""
    return getattr(value, "struct_info" if _STRUCT_INFO else "ty", None)


def is_tensor(value: Any) -> bool:
    """Whether a value is a Relax expression of tensor type."""
    return isinstance(value, relax.Expr) and isinstance(type_of(value), _TensorType)


def has_shape(value: Any) -> bool:
    """Whether a value is a Relax expression of tensor type whose sizes are known as expressions."""
    return is_tensor(value) and type_of(value).shape is not None


def is_tuple(value: Any) -> bool:
    """Whether a value is a Relax expression of tuple type."""
    return isinstance(value, relax.Expr) and isinstance(type_of(value), _TupleType)


def dtype_of(tensor: Any) -> str:
    """The dtype of a tensor expression as a plain string, such as "float32"."""
    return str(type_of(tensor).dtype)


def rank_of(tensor: Any) -> int:
    """Number of dimensions of a tensor expression; -1 when unknown."""
    return int(type_of(tensor).ndim)


def shape_of(tensor: Any) -> list[Any]:
    """The dimensions of a tensor expression: ints if constant, else symbolic expressions.

    Raises
    ------
    ValueError
        If the shape is unknown to the importer.
    """
    shape = type_of(tensor).shape
    if shape is None:
        raise ValueError(f"the shape of {tensor} is not known at import")
    return [as_int(dim) if as_int(dim) is not None else dim for dim in shape]


def is_prim(value: Any) -> bool:
    """Whether a value is a scalar expression of the shape language (SymInt, SymFloat, SymBool)."""
    if _STRUCT_INFO:
        return isinstance(value, tvm.ir.PrimExpr | relax.PrimValue)
    return isinstance(value, tvm.ir.Expr) and bool(tvm.ir.is_prim_expr(value))


def prim(value: Any) -> Any:
    """The plain scalar expression of a value; Python numbers are returned unchanged."""
    if _STRUCT_INFO and isinstance(value, relax.PrimValue):
        return value.value
    return value


def prim_dtype(value: Any) -> str:
    """The dtype of a scalar expression as a plain string, such as "int64"."""
    return str(value.dtype) if _STRUCT_INFO else str(value.ty.dtype)


def prim_value(value: Any) -> Any:
    """Wrap a scalar expression as an argument of a Relax operator."""
    return relax.PrimValue(value) if _STRUCT_INFO else relax.prim_value(value)


def returns_constants() -> bool:
    """Whether a program can return a constant of any dtype; in 0.25 it must be an integer."""
    return not _STRUCT_INFO


def as_int(value: Any) -> int | None:
    """The value of an int or of a constant integer expression; None for anything else."""
    value = prim(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, tirx.IntImm):
        return int(value.value)
    return None


def is_var(value: Any) -> bool:
    """Whether a scalar expression is a plain symbolic variable."""
    if _STRUCT_INFO:
        return isinstance(value, tirx.Var)
    return isinstance(value, tvm.ir.Var) and is_prim(value)


def tir_var(name: str) -> Any:
    """A new symbolic variable of int64, of the kind that the importer creates for dimensions."""
    return tirx.SizeVar(name, "int64") if _STRUCT_INFO else tirx.Var(name, "int64")


def variables_of(value: Any) -> list[Any]:
    """The symbolic variables of a scalar expression, without duplicates."""
    return list(tirx.analysis.undefined_vars(value))


def linear_form(value: Any, variable: Any) -> tuple[int, int] | None:
    """(a, b) if the expression is a·variable + b with constant integers, else None."""
    module = tvm.sym if hasattr(tvm, "sym") else tvm.arith
    found = module.detect_linear_equation(value, [variable])
    numbers = [as_int(number) for number in found] if found else []
    if len(numbers) != 2 or None in numbers:
        return None
    return numbers[0], numbers[1]  # type: ignore[return-value]


def is_buffer(parameter: Any) -> bool:
    """Whether a parameter of a PrimFunc is a buffer, and not a number."""
    kind = getattr(parameter, "ty", None)
    if kind is None:  # 0.25
        return bool(parameter.dtype == "handle")
    return not isinstance(kind, tvm.ir.PrimType)


def name_of(variable: Any) -> str:
    """The name of a Relax variable."""
    return str(variable.name if hasattr(variable, "name") else variable.name_hint)


def prim_equal(lhs: Any, rhs: Any) -> bool:
    """Whether two dimensions can be proved to be equal."""
    if as_int(lhs) is not None and as_int(rhs) is not None:
        return as_int(lhs) == as_int(rhs)
    module = tvm.sym if hasattr(tvm, "sym") else tvm.arith
    return bool(module.Analyzer().can_prove_equal(lhs, rhs))


def analyzer_of_sizes(*values: Any, least: Callable[[Any], int] = lambda variable: 0) -> Any:
    """An analyzer that takes every variable of these expressions for a size below 2^31.

    `least` gives the smallest value of a variable.
    """
    analyzer = (tvm.sym if hasattr(tvm, "sym") else tvm.arith).Analyzer()
    for value in values:
        for variable in variables_of(value):
            analyzer.bind(variable, tvm.ir.Range(least(variable), 1 << 31))
    return analyzer


def evaluated(value: Any, variable: Any, number: int) -> int | None:
    """The value of an integer expression where its variable has this value; None if unknown."""
    analyzer = (tvm.sym if hasattr(tvm, "sym") else tvm.arith).Analyzer()
    analyzer.bind(variable, tirx.IntImm("int64", number))
    return as_int(analyzer.simplify(value))


def constant_value(value: Any) -> Any:
    """The numpy array of a constant tensor expression; None for anything else."""
    if _STRUCT_INFO or hasattr(relax, "Constant"):
        return value.data.numpy() if isinstance(value, relax.Constant) else None
    return value.value.numpy() if isinstance(value, tvm.ir.GenericConst) else None


# --- operator attributes -----------------------------------------------------------------


def get_legalization(op_name: str) -> Any:
    """The registered FLegalize of a Relax operator, or None."""
    return tvm.ir.Op.get(op_name).get_attr("FLegalize")


def set_legalization(op_name: str, function: Any, level: int) -> None:
    """Register FLegalize, replacing any previous registration.

    In TVM, registering at the level of an existing entry is an error, hence the reset.
    """
    op = tvm.ir.Op.get(op_name)
    op.reset_attr("FLegalize")
    if function is not None:
        op.set_attr("FLegalize", function, level)


def packed(function: Any) -> Any:
    """Convert a Python function to a TVM object, which is then the same object at every use."""
    return importlib.import_module("tvm_ffi").convert(function)


def same_object(lhs: Any, rhs: Any) -> bool:
    """Whether two references are the same TVM object."""
    if lhs is None or rhs is None:
        return lhs is rhs
    return bool(lhs.same_as(rhs)) if hasattr(lhs, "same_as") else lhs is rhs
