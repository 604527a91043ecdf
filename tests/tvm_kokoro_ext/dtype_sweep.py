"""Operators in each dtype against eager torch and float64: the harness of the sweep.

PyTorch adds up the products and the terms of a half-precision operator in float32 (its `acc_type`)
and rounds once. A kernel that adds them up in half precision is wrong by 8 % in float16 and by
75 % in bfloat16 after 4,096 terms. A `Row` is an operator with inputs on which that shows: many
terms of one sign, or a mean far from zero.

A floating point result r is held to t, what torch computes in float64 from the very same (already
rounded) inputs and parameters, and to e, what eager torch computes in the row's dtype. Errors are
counted in units in the last place (ulp) of the result's dtype at |t|: the worst of r may be
`FACTOR` times the worst of e, or `ULPS` where that is more, and none where e is t in half
precision. float64 is held to a relative 1e-12, integers and bools to equality, and every result
has eager's dtype and shape.
"""

from __future__ import annotations

import copy
import enum
import functools
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import tvm
from frontend_cases import SIZES, Case, export, import_program, module_of
from packaging.specifiers import SpecifierSet
from tvm import relax

from tvm_kokoro_ext import UnsupportedOperatorError, _compat

HALVES = (torch.float16, torch.bfloat16)
FLOATS = (*HALVES, torch.float64)
WHOLES = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
#: How far a result may be off: times the error of eager torch, or so many ulp.
FACTOR, ULPS = 2.0, 2.0
#: The ulp of the wider dtypes: 1e-12 of float64, and what float32 loses over 12,288 terms.
WIDE_ULPS = {torch.float64: 1e-12 / torch.finfo(torch.float64).eps, torch.float32: 256.0}

Array = list[torch.Tensor]


@dataclass(frozen=True)
class Input:
    """What draws one input.

    Attributes
    ----------
    shape
        Numbers, and names for what grows with the size n = 6 or 9: "n" itself, "K" (4,096 and
        6,144) and "L" (8,192 and 12,288). Axes that grow are symbolic in the symbolic variants.
    draw
        From a shape to a tensor: in float64 for what is to take the row's dtype.
    """

    shape: tuple[int | str, ...]
    draw: Callable[[list[int]], torch.Tensor]

    def __call__(self, n: int) -> torch.Tensor:
        sizes: dict[int | str, int] = {"n": n, "K": 4096 * n // 6, "L": 8192 * n // 6}
        return self.draw([sizes.get(s, s) for s in self.shape])  # type: ignore[misc]

    @property
    def varies(self) -> bool:
        return any(isinstance(s, str) for s in self.shape)


@dataclass(frozen=True, eq=False)
class Row:
    """One operator, in each of some dtypes.

    Attributes
    ----------
    name
        The operator, and the form of its use.
    function
        What is exported: a function of tensors, or a module, whose parameters take the dtype too.
    inputs
        Makers of the inputs; what is floating point is rounded to the dtype.
    dtypes
        The dtypes in which it runs.
    exact
        What gives t from the same inputs in float64, where `function` itself names a dtype.
    floor
        Errors are counted at max(|t|, floor · the root mean square of t): more than zero only where
        terms cancel, so that a result near zero is a difference of larger ones.
    refused
        Where the extension refuses the operator by name: regular expressions, of which the whole of
        "<dtype>-<variant>" matches one, and on which versions of apache-tvm, as a specifier ("" is
        all).
    lacking
        Where torch has no kernel or cannot export: a regular expression as in `refused`.
    symbolic, decomposed
        Which variants are run.
    """

    name: str
    function: Callable[..., Any] | torch.nn.Module
    inputs: tuple[Input, ...]
    dtypes: Sequence[torch.dtype] = FLOATS
    exact: Callable[..., Any] | None = None
    floor: float = 0.0
    refused: Mapping[str, str] = field(default_factory=dict)
    lacking: str = ""
    symbolic: Sequence[bool] = (False, True)
    decomposed: Sequence[bool] = (True, False)


class Outcome(enum.Enum):
    """What became of one variant of a row."""

    RIGHT = "right"
    REFUSED = "refused by name"
    WRONG = "wrong"
    BARE = "bare error"
    NO_EAGER = "no kernel in torch"
    NO_EXPORT = "not exported"


@dataclass(frozen=True)
class Verdict:
    """An outcome, the worst errors of ours and of eager torch in ulp, and why it is no better."""

    outcome: Outcome
    ours: float = 0.0
    eager: float = 0.0
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Variant:
    """A row in one dtype, static or symbolic, decomposed or not."""

    row: Row
    dtype: torch.dtype
    case: Case
    symbolic: bool
    decomposed: bool

    @property
    def kind(self) -> str:
        """Such as "static-ep"."""
        return f"{'symbolic' if self.symbolic else 'static'}-{'ep' if self.decomposed else 'raw'}"

    @property
    def id(self) -> str:
        """The test's id."""
        return f"{self.row.name}-{self._place}"

    @property
    def _place(self) -> str:
        return f"{name_of(self.dtype)}-{self.kind}"

    def is_refused(self) -> bool:
        """Whether the row's table says that this version of apache-tvm cannot have it."""
        version = _compat.tvm_version()
        return any(
            re.fullmatch(pattern, self._place) and version in SpecifierSet(versions)
            for pattern, versions in self.row.refused.items()
        )

    def is_lacking(self) -> bool:
        """Whether the row's table says that torch itself may lack it."""
        return re.fullmatch(self.row.lacking, self._place) is not None


def name_of(dtype: torch.dtype) -> str:
    """Such as "float16"."""
    return str(dtype).removeprefix("torch.")


def variants(rows: Sequence[Row]) -> Iterator[Variant]:
    """All variants of the rows; those of one dtype share a case, and so an exported program."""
    for row in rows:
        symbolic = [s for s in row.symbolic if not s or any(i.varies for i in row.inputs)]
        for dtype in row.dtypes:
            case = _case(row, dtype)
            yield from (Variant(row, dtype, case, s, d) for s in symbolic for d in row.decomposed)


def _case(row: Row, dtype: torch.dtype) -> Case:
    def make(n: int) -> tuple[torch.Tensor, ...]:
        drawn = (draw(n) for draw in row.inputs)
        return tuple(t.to(dtype) if t.is_floating_point() else t for t in drawn)

    function = row.function
    if isinstance(function, torch.nn.Module) and dtype.is_floating_point:
        function = copy.deepcopy(function).to(dtype)
    return Case(row.name, function, make)


def judge(variant: Variant) -> Verdict:
    """Import, compile and run one variant at its sizes, and compare."""
    case, sizes = variant.case, SIZES if variant.symbolic else SIZES[:1]
    try:
        wanted = [expected(variant.row, case, size) for size in sizes]
    except RuntimeError as error:  # torch lacks it in this dtype
        return Verdict(Outcome.NO_EAGER, reason=_line(error))
    try:
        program = export(case, variant.symbolic)
    except Exception as error:  # noqa: BLE001 - whatever torch.export raises
        return Verdict(Outcome.NO_EXPORT, reason=_line(error))
    try:
        run = compile_module(import_program(program, variant.decomposed))
        results = [run(*case.inputs(size)) for size in sizes]
    except UnsupportedOperatorError as error:
        return Verdict(Outcome.REFUSED, reason=_line(error))
    except Exception as error:  # noqa: BLE001 - an error that names no operator is the defect
        return Verdict(Outcome.BARE, reason=_line(error))
    verdicts = [
        compare(mine, *both, floor=variant.row.floor)
        for mine, both in zip(results, wanted, strict=True)
    ]
    return max(verdicts, key=lambda verdict: (verdict.outcome is Outcome.WRONG, verdict.ours))


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def compile_module(module: Any) -> Callable[..., Array]:
    """A function of torch tensors (numpy has no bfloat16) that runs the module's `main`."""
    # Optimizing takes LLVM longer than all the rest of a test.
    executable = tvm.compile(module, tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    machine = relax.VirtualMachine(executable, tvm.cpu())

    def run(*tensors: torch.Tensor) -> Array:
        # A copy lies at a multiple of 64 bytes, as the kernels expect, and is contiguous.
        copies = [t.clone(memory_format=torch.contiguous_format) for t in tensors]
        result = machine["main"](*[tvm.runtime.from_dlpack(t) for t in copies])
        results = result if not hasattr(result, "numpy") else [result]
        return [torch.from_dlpack(t).clone() for t in results]

    return run


@functools.lru_cache(maxsize=len(SIZES))  # the variants of one case follow each other
def expected(row: Row, case: Case, size: int) -> tuple[Array, Array]:
    """What torch computes in the case's dtype, and in float64 from the same numbers."""
    inputs, module = case.inputs(size), module_of(case)
    eager = _results(module, inputs)
    if not any(t.is_floating_point() for t in inputs):
        return eager, eager
    wide = tuple(t.double() if t.is_floating_point() else t for t in inputs)
    return eager, _results(row.exact or copy.deepcopy(module).double(), wide)


def _results(module: Callable[..., Any], inputs: Sequence[torch.Tensor]) -> Array:
    # On CPUs with AVX512-FP16, oneDNN (torch 2.13) never ends to generate a depthwise convolution
    # in float16. Without it, torch computes there what it does on other CPUs.
    onednn = not any(t.dtype == torch.float16 for t in inputs)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.backends.mkldnn.flags(enabled=onednn):
            result = module(*[t.clone() for t in inputs])
    return [torch.as_tensor(t) for t in torch.utils._pytree.tree_leaves(result)]


def compare(got: Array, eager: Array, true: Array, floor: float = 0.0) -> Verdict:
    """Hold results to eager torch's number, dtypes, shapes and errors."""
    if len(got) != len(eager):
        return Verdict(Outcome.WRONG, reason=f"{len(got)} results instead of {len(eager)}")
    found = [_compare(*each, floor) for each in zip(got, eager, true, strict=True)]
    return max(found, key=lambda verdict: (verdict.outcome is Outcome.WRONG, verdict.ours))


def _compare(mine: torch.Tensor, eager: torch.Tensor, true: torch.Tensor, floor: float) -> Verdict:
    if (mine.dtype, mine.shape) != (eager.dtype, eager.shape):
        found, wanted = (f"{name_of(t.dtype)}{list(t.shape)}" for t in (mine, eager))
        return Verdict(Outcome.WRONG, reason=f"{found} instead of {wanted}")
    if not eager.is_floating_point():
        unequal = int((mine != eager).sum())
        outcome = Outcome.WRONG if unequal else Outcome.RIGHT
        return Verdict(outcome, reason=f"{unequal} of {eager.numel()} are unequal")
    ours, theirs = (error(t, eager, true, floor) for t in (mine, eager))
    if eager.dtype in HALVES:
        allowed = max(FACTOR * theirs, ULPS) if theirs else 0.0
    else:
        allowed = max(FACTOR * theirs, WIDE_ULPS[eager.dtype])
    outcome = Outcome.RIGHT if ours <= allowed else Outcome.WRONG
    return Verdict(outcome, ours, theirs, f"{ours:.3g} ulp where eager torch has {theirs:.3g}")


def error(found: torch.Tensor, eager: torch.Tensor, true: torch.Tensor, floor: float) -> float:
    """The worst error in ulp; infinite where a number is not finite that ought to be."""
    # What is not finite in eager torch is the same, or the right number that eager had not.
    rounded = true.to(found.dtype)
    same = (found == eager) | (found.isnan() & eager.isnan()) | (found == rounded)
    finite = eager.isfinite()
    if not bool((finite | same).all()):
        return math.inf
    found, true = found[finite].double(), true[finite].double()
    if not true.numel():
        return 0.0
    at = true.abs()
    if floor:
        at = at.clamp(min=floor * float(at.square().mean().sqrt()))
    info = torch.finfo(eager.dtype)
    exponent = torch.frexp(at.clamp(info.smallest_normal, info.max)).exponent - 1
    ulp = torch.ldexp(torch.full_like(at, info.eps), exponent)
    return float(((found - true).abs() / ulp).nan_to_num(math.inf, math.inf).max())
