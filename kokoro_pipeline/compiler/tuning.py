"""Choose the algorithms of convolutions by measuring them on this machine (`build --tune`).

For each shape, the candidates that the model of costs thinks best run in turns, one call each a
round, on one thread. Every call has other weights than those before it, more than the caches hold,
since in a model each convolution has its own. A candidate counts with the least of its CPU times,
added up over the dilations that occur. The one that the model would choose is kept unless another
is faster by more than `MARGIN`, which noise does not reach.

A candidate is compared with float64 before it is timed, and one that misses `LARGEST` or `RMS` is
none. The shapes that take most of the time come first; those for which the time does not suffice
keep what the model chooses.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import tvm
import tvm_ffi

from kokoro_pipeline.errors import CheckFailed

from ..runtime.engine.threads import configure_pool, forbid_binding
from .kernels.common.builder import i64
from .kernels.cpu.choose_conv1d import DILATIONS, Candidate, ConvShape, cost, ranked
from .kernels.cpu.conv1d import conv1d
from .kernels.cpu.core import Core
from .kernels.cpu.transform import SameConv1d, Scratch
from .kernels.cpu.transform_blocks import Blocks
from .kernels.cpu.vector import VectorTarget
from .lowering.find_convolutions import Found

LIMIT = 60.0
"""Seconds that all measurements together take at most."""

MOST_CANDIDATES = 5
WORST_COST = 1.6  # a candidate that the model thinks this much slower than the best is not measured
MARGIN = 0.03
ROUNDS = 5
COMPILE_SECONDS = 6.0  # what compiling a shape's candidates is taken to need before one was seen

# Errors over the standard deviation of the result: twice those of F(6, 3) with 256 channels.
LARGEST, RMS = 5e-5, 3e-6
CHECKED_ROWS = 24

MOST_COPIES = 64

Clock = Callable[[], float]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Choice:
    """The algorithm of a shape, and the seconds of each candidate that was measured for it.

    The seconds are those of all convolutions of the shape in one utterance.
    """

    candidate: Candidate
    seconds: Mapping[str, float] = field(default_factory=dict)


Call = Callable[[int], float]
"""Runs a candidate once with a dilation, and returns the seconds."""


class Bench(Protocol):
    """Where candidates run."""

    def calls(self, shape: ConvShape, candidates: Sequence[Candidate]) -> Mapping[Candidate, Call]:
        """The candidates, compiled; those that are not exact enough are missing."""


def modelled(target: VectorTarget, core: Core, found: Found) -> dict[ConvShape, Choice]:
    """What the model of costs chooses."""
    return {shape: Choice(ranked(target, core, shape)[0]) for shape in found}


def tune(
    target: VectorTarget,
    core: Core,
    found: Found,
    bench: Bench,
    progress: Progress = lambda _text: None,
    limit: float = LIMIT,
    clock: Clock = time.monotonic,
) -> dict[ConvShape, Choice]:
    """The choices for the shapes of a program, measured within `limit` seconds.

    Raises CheckFailed if no candidate of a shape is exact enough.
    """
    end = clock() + limit
    chosen = modelled(target, core, found)
    work = {shape: _cycles(target, core, shape, found[shape]) for shape in found}
    order = sorted(found, key=lambda shape: work[shape], reverse=True)
    compiling = COMPILE_SECONDS
    for number, shape in enumerate(order, start=1):
        rest = sum(work[later] for later in order[number - 1 :])
        left = end - clock()
        if left < 1.5 * compiling:
            progress(f"tune: {len(order) - number + 1} shapes keep the model's choice: time is up")
            break
        progress(f"tune {number}/{len(order)}: {shape}, {max(left, 0):.0f} s left")
        started = clock()
        calls = bench.calls(shape, shortlist(target, core, shape))
        compiling = max(clock() - started, compiling if number > 1 else 0.0)
        if not calls:
            raise CheckFailed(
                f"no way to compute the convolution {shape} is exact enough on this machine; "
                "build without --tune, and see with: kokoro-pipeline validate DIR"
            )
        share = max((end - clock()) * work[shape] / rest, 0.5)
        seconds = _measure(calls, found[shape], min(clock() + share, end), clock)
        chosen[shape] = Choice(_best(calls, seconds), {c.name: s for c, s in seconds.items()})
    return chosen


def shortlist(target: VectorTarget, core: Core, shape: ConvShape) -> list[Candidate]:
    """The candidates to measure, the model's own choice first.

    Of those that cut the typical number of rows into the same blocks only the first is one.
    """
    found: list[Candidate] = []
    seen = set()
    for candidate in ranked(target, core, shape):
        cycles = cost(target, core, shape, candidate).cycles
        if found and cycles > WORST_COST * cost(target, core, shape, found[0]).cycles:
            break
        plan = _plan(target, shape, candidate)
        if plan not in seen and len(found) < MOST_CANDIDATES:
            found.append(candidate)
        seen.add(plan)
    return found


def _plan(target: VectorTarget, shape: ConvShape, candidate: Candidate) -> tuple[object, ...]:
    if candidate.transform is None:
        return (None,)
    transform = candidate.transform
    same = SameConv1d(shape.in_channels, shape.out_channels, shape.taps)
    heights = Scratch.of(target, same, transform).products.heights
    plans = [
        Blocks.of(i64(shape.rows), i64(d), transform.outputs, candidate.tiles, heights)
        for d in sorted(set(DILATIONS))
    ]
    return transform, *((int(plan.blocks), int(plan.per_block)) for plan in plans)


def _cycles(
    target: VectorTarget, core: Core, shape: ConvShape, dilations: Mapping[int, int]
) -> float:
    best = ranked(target, core, shape)[0]
    return cost(target, core, shape, best).cycles * shape.rows * sum(dilations.values())


def _measure(
    calls: Mapping[Candidate, Call], dilations: Mapping[int, int], end: float, clock: Clock
) -> dict[Candidate, float]:
    """The least seconds of each candidate, added up over the dilations; at least one round."""
    least = {(c, d): float("inf") for c in calls for d in dilations}
    for number in range(ROUNDS):
        if number > 0 and clock() >= end:
            break
        for candidate, dilation in least:
            seconds = calls[candidate](dilation)
            least[candidate, dilation] = min(seconds, least[candidate, dilation])
    return {c: sum(n * least[c, d] for d, n in dilations.items()) for c in calls}


def _best(calls: Mapping[Candidate, Call], seconds: Mapping[Candidate, float]) -> Candidate:
    first = next(iter(calls))
    fastest = min(seconds, key=lambda candidate: seconds[candidate])
    return fastest if seconds[fastest] < (1 - MARGIN) * seconds[first] else first


class MachineBench:
    """Runs candidates on this machine, on a thread of its own with a pool of one.

    Use it as a context manager. Leaving it waits for the call that is under way.
    """

    def __init__(self, target: tvm.target.Target, core: Core) -> None:
        forbid_binding()  # read by the pool when it starts
        self._target = target
        self._vectors = VectorTarget.of(target)
        self._evicted = 2 * core.l3
        self._thread = ThreadPoolExecutor(1, "tune", configure_pool, (1, tvm_ffi))

    def __enter__(self) -> MachineBench:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)

    def calls(self, shape: ConvShape, candidates: Sequence[Candidate]) -> Mapping[Candidate, Call]:
        """Compile the candidates, and compare each with float64."""
        random = np.random.default_rng(0)
        ci, co, taps, rows = shape.in_channels, shape.out_channels, shape.taps, shape.rows
        weight = random.standard_normal((co, ci, taps), np.float32)
        x = random.standard_normal((1, rows, ci), np.float32)
        source = tvm.runtime.tensor(x)
        result = tvm.runtime.tensor(np.zeros((1, rows, co), np.float32))
        functions = {c: self._functions(shape, c) for c in candidates}
        every = {str(f.attrs["global_symbol"]): f for fs in functions.values() for f in fs.values()}
        with tvm.transform.PassContext(disabled_pass=["s_tir.CompactBufferAllocation"]):
            library = tvm.compile(tvm.IRModule(every), target=self._target)
        packed = {
            transform: self._copies(of.pack(self._vectors, weight))
            for transform, of in {
                candidate.transform: candidate for candidate in candidates
            }.items()
        }
        calls: dict[Candidate, Call] = {}
        for candidate in candidates:

            def call(dilation: int, of: Candidate = candidate) -> float:
                symbol = str(functions[of][dilation].attrs["global_symbol"])
                number = () if of.transform is None else (dilation,)
                arguments = (source, next(packed[of.transform]), *number, result)
                return self._thread.submit(_timed, library[symbol], arguments).result()

            exact = True
            for dilation in functions[candidate]:
                call(dilation)
                exact = exact and _is_exact(x[0], weight, dilation, result.numpy()[0])
            if exact:
                calls[candidate] = call
        return calls

    def _copies(self, weights: np.ndarray) -> Iterator[Any]:
        """Equal weights in turns, which together are more than the caches hold."""
        count = min(1 + self._evicted // weights.nbytes, MOST_COPIES)
        return itertools.cycle([tvm.runtime.tensor(weights) for _ in range(count)])

    def _functions(self, shape: ConvShape, candidate: Candidate) -> dict[int, tvm.tirx.PrimFunc]:
        """The kernels of a candidate by dilation; a transform has one for all."""
        if candidate.transform is None:
            return {d: conv1d(self._vectors, shape.conv(d)) for d in sorted(set(DILATIONS))}
        same = SameConv1d(shape.in_channels, shape.out_channels, shape.taps)
        return dict.fromkeys(set(DILATIONS), candidate.kernel(self._vectors, same))


def _timed(function: Callable[..., None], arguments: Sequence[object]) -> float:
    started = time.thread_time()
    function(*arguments)
    return time.thread_time() - started


def _is_exact(x: np.ndarray, weight: np.ndarray, dilation: int, result: np.ndarray) -> bool:
    """Whether some rows of a result, the first and the last among them, equal float64's."""
    rows, taps = len(x), weight.shape[2]
    chosen = np.unique(np.linspace(0, rows - 1, CHECKED_ROWS).astype(int))
    exact = np.zeros((len(chosen), weight.shape[0]))
    for tap in range(taps):
        source = chosen + dilation * (tap - taps // 2)
        inside = (source >= 0) & (source < rows)
        exact[inside] += x[source[inside]].astype(np.float64) @ weight[:, :, tap].T.astype(
            np.float64
        )
    error = np.abs(result[chosen] - exact) / exact.std()
    return bool(error.max() <= LARGEST and np.sqrt((error**2).mean()) <= RMS)
