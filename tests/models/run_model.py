"""Export one model, import it into TVM, compile it for a CPU, and compare it with eager PyTorch.

    python tests/models/run_model.py bert [--dtype bfloat16] [--by extension] [--variant dynamic]

Prints one line of JSON, an `Outcome`, for each of the variants static and dynamic, imported with
the extension and by stock. A dynamic program is run at two batches and two sizes.

With `--measure` it compares nothing and prints the CPU time of one import, the first of the
process, and of a call of the program compiled as TVM does by default, a `Times`.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import statistics
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tvm
from torch import Tensor, nn
from tvm import relax

import tvm_kokoro_ext
from tvm_kokoro_ext import UnsupportedOperatorError, _symbolic

sys.path.insert(0, str(Path(__file__).resolve().parent))

from catalogue import (
    BY_NAME,
    Model,
    declare_torchvision_operators,
)

#: How much a result may differ, as a share of its largest value, beyond twice the error of eager
#: PyTorch in the same dtype: in float32 from float64, and in half precision from float32.
FLOAT32, HALF = 1e-4, 2e-2
#: How much the results of two inputs must differ, as a share of the largest value.
DEPENDS = 1e-3


@dataclasses.dataclass
class Outcome:
    """What came of one model in one variant.

    `result` is `right`, `wrong`, `refused` (by name), `failed` (any other error) or `not exported`.
    """

    model: str
    dtype: str
    variant: str
    by: str
    result: str
    detail: str = ""
    import_seconds: float = 0.0
    run_seconds: float = 0.0


@dataclasses.dataclass
class Times:
    """CPU time in seconds: of the first import, of compiling, and the median of the calls."""

    import_seconds: float
    compile_seconds: float
    run_seconds: float


def prepared(model: Model) -> nn.Module:
    """The model with random weights so large that what it gives depends on what it gets."""
    torch.manual_seed(0)
    module = model.make().eval()
    generator = torch.Generator().manual_seed(1)

    def drawn(tensor: Tensor) -> Tensor:
        return torch.randn(tensor.shape, generator=generator)

    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "weight_g" in name or "original0" in name:  # the length of a normalized weight
                continue
            if parameter.dim() >= 2:
                parameter.copy_(drawn(parameter) * (model.gain / parameter[0].numel() ** 0.5))
            elif name.endswith("weight") or ("norm" in name and "bias" not in name):
                parameter.copy_(1 + 0.1 * drawn(parameter))
            elif name.endswith("bias"):
                parameter.copy_(0.1 * drawn(parameter))
        for name, buffer in module.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(0.1 * drawn(buffer))
            elif name.endswith("running_var"):
                buffer.copy_(1 + 0.2 * drawn(buffer).abs())
    return module.requires_grad_(False)


def inputs_of(model: Model, batch: int, size: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    torch.manual_seed(size * 17 + batch)
    drawn = model.inputs(batch, size)
    return _cast(drawn, dtype)


def _cast(tensors: Sequence[Tensor], dtype: torch.dtype) -> tuple[Tensor, ...]:
    return tuple(t.to(dtype) if t.is_floating_point() else t for t in tensors)


def exported(model: Model, module: nn.Module, dtype: torch.dtype, dynamic: bool) -> Any:
    example = inputs_of(model, model.batches[0], model.sizes[0], dtype)
    shapes: Any = None
    if dynamic:
        other = inputs_of(model, model.batches[1], model.sizes[1], dtype)
        marks = tuple(
            {
                axis: torch.export.Dim.AUTO
                for axis, sizes in enumerate(zip(a.shape, b.shape, strict=True))
                if sizes[0] != sizes[1]
            }
            for a, b in zip(example, other, strict=True)
        )
        shapes = (marks,) if hasattr(module, "names") else marks
    with torch.no_grad():
        program = torch.export.export(module, example, dynamic_shapes=shapes)
    if dynamic:
        _require_symbols(program, example, other)
        with torch.no_grad():
            program.module()(*other)  # raises where a guard holds for the example only
    return program


def _require_symbols(program: Any, example: Sequence[Tensor], other: Sequence[Tensor]) -> None:
    """Raise ValueError if torch has fixed a size that was asked to be dynamic."""
    taken = [
        n.meta["val"] for n in program.graph.nodes if n.name in program.graph_signature.user_inputs
    ]
    for number, (a, b, recorded) in enumerate(zip(example, other, taken, strict=True)):
        for axis, (mine, theirs) in enumerate(zip(a.shape, b.shape, strict=True)):
            # What torch has fixed may still be a SymInt, of a constant.
            if mine != theirs and _symbolic.is_number(recorded.shape[axis]):
                raise ValueError(
                    f"torch.export has fixed dimension {axis} of input {number} at {mine}"
                )


def array(tensor: Tensor) -> Any:
    """The tensor for TVM, without a copy of its own where numpy has no such dtype."""
    return tvm.runtime.from_dlpack(tensor.contiguous())


def flat(result: Any) -> list[np.ndarray]:
    leaves = torch.utils._pytree.tree_leaves(result)
    return [t.detach().double().numpy() for t in leaves if isinstance(t, Tensor)]


def from_machine(result: Any) -> list[np.ndarray]:
    parts = [result] if hasattr(result, "numpy") else list(result)
    return [torch.from_dlpack(part).double().numpy() for part in parts]


def difference(got: np.ndarray, want: np.ndarray) -> float:
    """The largest difference, as a share of the largest value."""
    if got.shape != want.shape:
        return float("inf")
    peak = float(np.abs(want).max(initial=0.0)) or 1.0
    return float(np.abs(got - want).max(initial=0.0)) / peak


def _in_wider(
    wide: torch.dtype,
    module: nn.Module,
    inputs: Sequence[Tensor],
    eager: Sequence[np.ndarray],
    beyond: float,
) -> tuple[list[np.ndarray], list[float]]:
    """The module's results in a wider dtype, and how far from them others may be."""
    dtype = next(module.parameters()).dtype
    with torch.no_grad():
        reference = flat(module.to(wide)(*_cast(inputs, wide)))
    module.to(dtype)
    errors = [difference(e, r) for e, r in zip(eager, reference, strict=True)]
    return reference, [2 * error + beyond for error in errors]


def _differs(
    got: Sequence[np.ndarray], reference: Sequence[np.ndarray], allowed: Sequence[float]
) -> str:
    """Which result is further from its reference than allowed, and how far; empty for none."""
    for number, (mine, theirs, limit) in enumerate(zip(got, reference, allowed, strict=True)):
        found = difference(mine, theirs)
        if not found <= limit:
            return f"result {number} differs by {found:.1e}"
    return ""


def checked(
    model: Model, module: nn.Module, run: Any, dtype: torch.dtype, dynamic: bool
) -> tuple[str, float]:
    """What is wrong, or an empty text, and the seconds of the fastest call."""
    points = [(model.batches[0], model.sizes[0])]
    if dynamic:
        points += [(model.batches[1], model.sizes[1])]
    seconds, earlier = float("inf"), None
    for batch, size in points:
        inputs = inputs_of(model, batch, size, dtype)
        with torch.no_grad():
            eager = flat(module(*[t.clone() for t in inputs]))
        reference, allowed = eager, [FLOAT32] * len(eager)
        if dtype is not torch.float32:
            reference, allowed = _in_wider(torch.float32, module, inputs, eager, HALF)
        for _ in range(2):
            started = time.perf_counter()
            result = run(*map(array, inputs))
            seconds = min(seconds, time.perf_counter() - started)
        got = from_machine(result)
        if len(got) != len(eager):
            return f"{len(got)} results for {len(eager)}", seconds
        differs = _differs(got, reference, allowed)
        if differs and dtype is torch.float32:
            # Eager PyTorch may be as far from float64; not every model is one in that.
            reference, allowed = _in_wider(torch.float64, module, inputs, eager, FLOAT32)
            differs = _differs(got, reference, allowed)
        if differs:
            return f"{differs} at {batch} x {size}", seconds
        earlier = reference
    inputs = inputs_of(model, *points[-1], dtype)
    moved = tuple(
        t if t.dim() == 0 else t.flip(0).roll(1, -1) * (0.5 if t.is_floating_point() else 1)
        for t in inputs
    )
    with torch.no_grad():
        other = flat(module(*moved))
    if max(difference(a, b) for a, b in zip(other, earlier or other, strict=True)) < DEPENDS:
        return "the results hardly depend on the inputs: the case proves nothing", seconds
    return "", seconds


def tried(
    model: Model, dtype_name: str, variant: str, programs: Sequence[str]
) -> Iterator[Outcome]:
    """The outcome of each of `programs` (`extension`, `stock`), from one exported program."""
    dtype = getattr(torch, dtype_name)
    module = prepared(model).to(dtype)
    dynamic = variant == "dynamic"
    try:
        program = exported(model, module, dtype, dynamic)
    except Exception as error:  # noqa: BLE001 - torch's own refusals are of many types
        for by in programs:
            yield Outcome(model.name, dtype_name, variant, by, "not exported", said(error))
        return
    for by in programs:
        outcome = Outcome(model.name, dtype_name, variant, by, "right")
        with tvm_kokoro_ext.disabled(*(("all",) if by == "stock" else ())):
            try:
                _try(outcome, model, module, program, dtype, dynamic)
            except UnsupportedOperatorError as error:
                outcome.result, outcome.detail = "refused", said(error)
            except Exception as error:  # noqa: BLE001 - whatever is raised is the outcome
                outcome.result, outcome.detail = "failed", said(error)
        yield outcome


def _try(
    outcome: Outcome,
    model: Model,
    module: nn.Module,
    program: Any,
    dtype: torch.dtype,
    dynamic: bool,
) -> None:
    from tvm.relax.frontend.torch import from_exported_program

    with torch.no_grad():
        started = time.perf_counter()
        imported = from_exported_program(program)
        outcome.import_seconds = time.perf_counter() - started
    # Optimizing takes LLVM longer than all the rest.
    executable = tvm.compile(imported, tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    machine = relax.VirtualMachine(executable, tvm.cpu())
    found, outcome.run_seconds = checked(model, module, machine["main"], dtype, dynamic)
    if found:
        outcome.result, outcome.detail = "wrong", found


#: How long a program is called to measure its time, and how often at most.
CALLING, CALLS = 5.0, 300


def measured(model: Model, dtype_name: str, variant: str, by: str) -> Times:
    """The times of one model in this process, which should have imported nothing before."""
    from tvm.relax.frontend.torch import from_exported_program

    dtype = getattr(torch, dtype_name)
    program = exported(model, prepared(model).to(dtype), dtype, variant == "dynamic")
    if by == "stock":
        tvm_kokoro_ext.deactivate()
    started = time.process_time()
    with torch.no_grad():
        imported = from_exported_program(program)
    between = time.process_time()
    executable = tvm.compile(imported, tvm.target.Target({"kind": "llvm"}))
    compiled = time.process_time()
    run = relax.VirtualMachine(executable, tvm.cpu())["main"]
    arguments = [array(t) for t in inputs_of(model, model.batches[0], model.sizes[0], dtype)]
    run(*arguments)
    calls: list[float] = []
    while len(calls) < 3 or (sum(calls) < CALLING and len(calls) < CALLS):
        before = time.process_time()
        run(*arguments)
        calls.append(time.process_time() - before)
    return Times(between - started, compiled - between, statistics.median(calls))


def said(error: Exception) -> str:
    """The type and the beginning of the message, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=sorted(BY_NAME))
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--by", choices=("extension", "stock"), action="append")
    parser.add_argument("--variant", choices=("static", "dynamic"), action="append")
    parser.add_argument("--measure", action="store_true", help="of one variant, by one")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if importlib.util.find_spec("torchvision") is not None:
        declare_torchvision_operators()
    programs = options.by or ("extension", "stock")
    if options.measure:
        (variant,), (by,) = options.variant, options.by
        times = measured(BY_NAME[options.model], options.dtype, variant, by)
        print(json.dumps(dataclasses.asdict(times)), flush=True)
        return
    for variant in options.variant or ("static", "dynamic"):
        for outcome in tried(BY_NAME[options.model], options.dtype, variant, programs):
            print(json.dumps(dataclasses.asdict(outcome)), flush=True)


if __name__ == "__main__":
    main()
