"""Small programs through the PyTorch frontend, compared with eager torch: value, dtype and shape.

A `Case` holds a function and a function `make` that creates its inputs. If the inputs of `make(6)`
and `make(9)` differ in shape, the case is also compiled once with those axes symbolic and run at
both sizes.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
import torch._export.utils
import torch.export.exported_program
import tvm
from packaging.specifiers import SpecifierSet
from tvm import relax

import tvm_kokoro_ext
from tvm_kokoro_ext import State, _compat

SIZES = (6, 9)

# Torch asks its dispatcher for all operators, once a namespace, at every decomposition: a fifth of
# the time of a test. No test registers any.
if hasattr(torch._export.utils, "_materialize_cpp_cia_ops"):
    torch._export.utils._materialize_cpp_cia_ops = functools.cache(
        torch._export.utils._materialize_cpp_cia_ops
    )


def _prepared_once(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """Torch's preparation of composite operators for a decomposition, made once an operator.

    It enters 22 functions for each of 525 operators, a third of the time of a test. Only
    the decomposition among them depends on what is asked for.
    """
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    fake_rules = torch._subclasses.fake_impls.op_implementations_dict
    prepared: dict[Any, tuple[dict[Any, Any], Any]] = {}

    @contextlib.contextmanager
    def prepare_composites(decompositions: Mapping[Any, Any]) -> Iterator[None]:
        with prepare({op: f for op, f in decompositions.items() if op not in prepared}):
            for op in decompositions.keys() - prepared.keys():
                prepared[op] = (dict(op.py_kernels), fake_rules[op])
        before = {op: dict(op.py_kernels) for op in decompositions}
        for op, decomposition in decompositions.items():
            kernels, fake_rule = prepared[op]
            op.py_kernels.update(kernels | {composite: decomposition})
            op._dispatch_cache.clear()
            fake_rules.setdefault(op, fake_rule)
        try:
            yield
        finally:
            for op, kernels in before.items():
                op.py_kernels.clear()
                op.py_kernels.update(kernels)
                op._dispatch_cache.clear()
                fake_rules.pop(op, None)

    return prepare_composites


if hasattr(torch.export.exported_program, "_override_composite_implicit_decomp"):
    torch.export.exported_program._override_composite_implicit_decomp = _prepared_once(
        torch.export.exported_program._override_composite_implicit_decomp
    )


def _once_a_program(decompose: Callable[..., Any]) -> Callable[..., Any]:
    """`ExportedProgram.run_decompositions` that keeps what torch's own table makes of a program.

    Importers don't change a program, so stock and the extension may read the same one. Copies of a
    program that share its module become the same.
    """
    kept: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    @functools.wraps(decompose)
    def run_decompositions(program: Any, decomp_table: Any = None, **options: Any) -> Any:
        if decomp_table is not None or options:
            return decompose(program, decomp_table, **options)
        if program.graph_module not in kept:
            kept[program.graph_module] = decompose(program)
        return kept[program.graph_module]

    return run_decompositions


torch.export.ExportedProgram.run_decompositions = _once_a_program(
    torch.export.ExportedProgram.run_decompositions
)


def scheduled_for_gpu(module: Any, target: tvm.target.Target) -> Any:
    """An imported module, lowered to kernels with dlight's general schedule, from TVM 0.27 on."""
    dlight = importlib.import_module("tvm.s_tir.dlight")
    passes = [
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
        dlight.ApplyDefaultSchedule(dlight.gpu.Fallback()),
    ]
    with target:
        return tvm.ir.transform.Sequential(passes)(module)


@dataclass(frozen=True, eq=False)
class Case:
    """One program.

    Attributes
    ----------
    name
        The test's id.
    function
        What is exported: a function of tensors, or a module.
    make
        Inputs (a tuple of tensors) for a size n; drawn from torch's default generator, seeded.
    wrong
        On which versions of apache-tvm stock is wrong here, or fails, as a specifier ("" is all).
        None marks a case that must stay right.
    tolerance
        Largest absolute and relative difference for floating point results.
    reference64
        Compare with eager torch in float64: where torch float32 is no better than what is tested.
    symbolic, decomposed
        Which variants are run.
    """

    name: str
    function: Callable[..., Any] | torch.nn.Module
    make: Callable[[int], tuple[torch.Tensor, ...]]
    wrong: str | None = ""
    tolerance: float = 1e-5
    reference64: bool = False
    symbolic: Sequence[bool] = (False, True)
    decomposed: Sequence[bool] = (True, False)

    def inputs(self, size: int) -> tuple[torch.Tensor, ...]:
        torch.manual_seed(size)
        return self.make(size)

    def varies(self) -> bool:
        """Whether the inputs' shapes depend on the size."""
        first, second = (self.inputs(size) for size in SIZES)
        return any(a.shape != b.shape for a, b in zip(first, second, strict=True))

    def variants(self) -> list[tuple[bool, bool]]:
        """(symbolic, decomposed) pairs to run."""
        symbolic = [s for s in self.symbolic if not s or self.varies()]
        return [(s, d) for s in symbolic for d in self.decomposed]


class _Wrapped(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def module_of(case: Case) -> torch.nn.Module:
    """The case's program as a module in evaluation mode."""
    if isinstance(case.function, torch.nn.Module):
        return case.function.eval()
    return _Wrapped(case.function).eval()


@functools.lru_cache(maxsize=256)  # the cases of one file
def export(case: Case, symbolic: bool) -> torch.export.ExportedProgram:
    """The case's exported program, with the axes that vary symbolic on request. Read only."""
    first, second = (case.inputs(size) for size in SIZES)
    shapes: Any = None
    if symbolic:
        marks = tuple(
            {
                axis: torch.export.Dim.AUTO
                for axis, sizes in enumerate(zip(a.shape, b.shape, strict=True))
                if sizes[0] != sizes[1]
            }
            for a, b in zip(first, second, strict=True)
        )
        shapes = marks if isinstance(case.function, torch.nn.Module) else (marks,)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        program = torch.export.export(module_of(case), first, dynamic_shapes=shapes)
    assert not symbolic or program.range_constraints, f"{case.name} was exported without symbols"
    return program


def import_program(program: torch.export.ExportedProgram, decomposed: bool, **options: Any) -> Any:
    """The imported IRModule."""
    from tvm.relax.frontend.torch import from_exported_program

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        return from_exported_program(program, run_ep_decomposition=decomposed, **options)


def compile_module(module: Any) -> Callable[..., list[np.ndarray]]:
    """A function of numpy arrays that runs the module's `main`."""
    # Optimizing takes LLVM longer than all the rest of a test.
    executable = tvm.compile(module, tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    machine = relax.VirtualMachine(executable, tvm.cpu())

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        result = machine["main"](*[tvm.runtime.tensor(a) for a in arrays])
        return [t.numpy() for t in (result if not hasattr(result, "numpy") else [result])]

    return run


def eager(case: Case, size: int) -> list[np.ndarray]:
    """What torch computes: a flat list of arrays."""
    module, inputs = module_of(case), case.inputs(size)
    if case.reference64:
        module = module.double()
        inputs = tuple(t.double() if t.is_floating_point() else t for t in inputs)
    with torch.no_grad():
        result = module(*[t.clone() for t in inputs])
    if case.reference64:
        module.float()
    arrays = [t.numpy() for t in torch.utils._pytree.tree_leaves(result)]
    if case.reference64:
        arrays = [a.astype("float32") if a.dtype == np.float64 else a for a in arrays]
    return arrays


def check(case: Case, symbolic: bool, decomposed: bool) -> None:
    """Import, compile and run the case; raises AssertionError where torch disagrees."""
    run = compile_module(import_program(export(case, symbolic), decomposed))
    for size in SIZES if symbolic else SIZES[:1]:
        got = run(*[t.numpy() for t in case.inputs(size)])
        compare(case, got, eager(case, size))


def compare(case: Case, got: list[np.ndarray], want: list[np.ndarray]) -> None:
    """Same number of results, and of each the dtype, the shape and the values."""
    assert len(got) == len(want)
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        if np.issubdtype(theirs.dtype, np.inexact):
            tolerance = {"rtol": case.tolerance, "atol": case.tolerance}
            np.testing.assert_allclose(mine, theirs, equal_nan=True, **tolerance)
        else:
            np.testing.assert_array_equal(mine, theirs)


def _tier(number: int) -> list[pytest.MarkDecorator]:
    """The mark of every third test of a kind, and that of the others."""
    return [pytest.mark.sweep if number % 3 else pytest.mark.variants]


def state_of(fix_id: str) -> State:
    """Where a fix stands now."""
    return next(record.state for record in tvm_kokoro_ext.fixes if record.id == fix_id)


def variants(cases: Sequence[Case]) -> list[Any]:
    """Parameters (case, symbolic, decomposed), with ids.

    One variant of a case is of the standard tier, a third of the others of the tier `variants`, and
    the rest of the tier `sweep`. Which ones is another from case to case, so that the cases of a
    fix together have all of them.
    """
    return [
        pytest.param(
            case,
            s,
            d,
            id=f"{case.name}-{'symbolic' if s else 'static'}-{'ep' if d else 'raw'}",
            marks=[]
            if number == index % len(case.variants())
            else _tier(index // len(case.variants()) + number),
        )
        for index, case in enumerate(cases)
        for number, (s, d) in enumerate(case.variants())
    ]


def fix_tests(fix_id: str, cases: Sequence[Case]) -> tuple[Callable[..., None], ...]:
    """The two tests of a fix's table: right with it, and stock wrong where it says so."""

    @pytest.mark.parametrize(("case", "symbolic", "decomposed"), variants(cases))
    def test_equals_torch(case: Case, symbolic: bool, decomposed: bool) -> None:
        assert state_of(fix_id) in (State.APPLIED, State.NOT_NEEDED)
        check(case, symbolic, decomposed)

    @pytest.mark.parametrize(
        "case",
        [
            pytest.param(case, id=case.name, marks=_tier(index))
            for index, case in enumerate(case for case in cases if case.wrong is not None)
        ],
    )
    def test_stock_is_wrong(case: Case) -> None:
        version = _compat.tvm_version()
        if state_of(fix_id) is State.NOT_NEEDED or version not in SpecifierSet(case.wrong or ""):
            pytest.skip("this TVM has no such defect")
        with tvm_kokoro_ext.disabled("all"):
            right = all(_is_right(case, s, d) for s, d in case.variants())
        assert not right, "right without the fix: is it needed for this case?"

    return test_equals_torch, test_stock_is_wrong


def _is_right(case: Case, symbolic: bool, decomposed: bool) -> bool:
    program = export(case, symbolic)
    try:
        run = compile_module(import_program(program, decomposed))
        for size in SIZES if symbolic else SIZES[:1]:
            compare(case, run(*[t.numpy() for t in case.inputs(size)]), eager(case, size))
    except Exception:  # noqa: BLE001 - stock's way of being wrong may be any error
        return False
    return True
