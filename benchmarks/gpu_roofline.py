"""An ESTIMATE of the time of a GPU in each kernel of the model. No GPU is needed or used.

    python -m benchmarks.gpu_roofline [--seconds 1,4] [--gpu A100,H100] [--precision float32-fma]

Lowers the model for CUDA, reads from the TIR of every launch what it does (see
`benchmarks/roofline/kernel_work.py`) and bounds its time by published figures. It tells
which kernels weigh, how their work is shared among threads, and what bounds them; not how fast they
are.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence

import tvm

from benchmarks.roofline.estimate import GPUS, Estimate, Gpu, Launch, estimate, launches
from kokoro_pipeline.compiler.codegen.target import resolve_target
from kokoro_pipeline.compiler.exporting import export_component
from kokoro_pipeline.compiler.importing import import_program
from kokoro_pipeline.compiler.lowering.parameter_table import ParameterTable
from kokoro_pipeline.compiler.model.align import make_alignment
from kokoro_pipeline.compiler.model.components import Component, evaluate_dimension, make_components
from kokoro_pipeline.compiler.passes.merge_components import merge_components
from kokoro_pipeline.compiler.passes.pipeline import phases, run_phases
from kokoro_pipeline.compiler.weights import load_model, resolve
from kokoro_pipeline.errors import KokoroError

FRAMES_PER_TOKEN, FRAMES_PER_SECOND = 2.6, 40
HEAD = (
    *("kernel", "of", "launches", "threads", "blocks", "MFLOP", "MB asked for, of"),
    *("bound by", "µs", "share"),
)


def lower(
    precision: str, names: Sequence[str] | None = None
) -> tuple[tvm.IRModule, list[Component]]:
    """The kernels of the model for CUDA at the highest level, with bound threads.

    `names` are the functions to lower, by default all.
    """
    components = [*make_components(load_model(resolve("synthetic"))), make_alignment()]
    components = [c for c in components if names is None or c.name in names]
    parameters = ParameterTable()
    modules = [import_program(export_component(c), c.name, parameters) for c in components]
    target = resolve_target("cuda", precision=precision).tvm
    todo = phases(2, target, parameters, [c.name for c in components], precision)
    last = [phase.name for phase in todo].index("schedule")
    return run_phases(merge_components(modules), todo[: last + 1], target), components


def sizes_of(components: Iterable[Component], seconds: float) -> dict[str, list[list[int]]]:
    """Input sizes of every function for an utterance of approximately this many seconds."""
    frames = round(seconds * FRAMES_PER_SECOND)
    tokens = round(frames / FRAMES_PER_TOKEN)
    symbols = {"B": 1, "n": tokens, "t": frames, "m": 2 * frames}
    return {
        component.name: [
            [evaluate_dimension(extent, symbols) for extent in shape]
            for _, shape in component.signature.inputs.values()
        ]
        for component in components
    }


def table(found: Sequence[Launch], gpu: Gpu, rows: int) -> str:
    """Markdown tables of the distribution of the time, and of the most expensive kernels."""
    timed = [(launch, estimate(launch.work, gpu)) for launch in found]
    timed.sort(key=lambda pair: -pair[0].count * pair[1].seconds)
    total = sum(launch.count * each.seconds for launch, each in timed)
    by_kind: dict[str, float] = defaultdict(float)
    by_function: dict[str, float] = defaultdict(float)
    worst: dict[str, tuple[float, str]] = {}
    for launch, each in timed:
        share = launch.count * each.seconds / total
        by_kind[launch.work.kind] += share
        by_function[launch.function] += launch.count * each.seconds
        worst.setdefault(launch.work.kind, (share, launch.kernel))
    count = sum(launch.count for launch in found)
    lines = [
        f"{count} launches, {1e3 * total:.1f} ms estimated: "
        + ", ".join(
            f"{name.removesuffix('_forward')} {1e3 * seconds:.2f}"
            for name, seconds in by_function.items()
        ),
        "",
    ]
    lines += ["| work is shared by | share | the largest |", "|---|---:|---|"]
    lines += [
        f"| {WHAT[kind]} | {100 * share:.1f} % | `{worst[kind][1]}`, {100 * worst[kind][0]:.1f} % |"
        for kind, share in sorted(by_kind.items(), key=lambda item: -item[1])
    ]
    lines += ["", "| " + " | ".join(HEAD) + " |", "|---|---|" + "---:|" * (len(HEAD) - 2)]
    lines += [_row(launch, each, total) for launch, each in timed[:rows]]
    return "\n".join(lines)


WHAT = {
    "block": "a block of threads that meet",
    "element": "a thread an element",
    "thread sum": "a thread an element, with a loop over memory",
}


def _row(launch: Launch, each: Estimate, total: float) -> str:
    work = launch.work
    cells = (
        f"`{launch.kernel}`",
        launch.function.removesuffix("_forward"),
        launch.count,
        work.threads,
        work.blocks,
        f"{work.flops / 1e6:.1f}",
        f"{work.requested / 1e6:.2f}, {work.unique / 1e6:.2f}",
        each.bound,
        f"{1e6 * each.seconds:.1f}",
        f"{100 * launch.count * each.seconds / total:.1f} %",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", default="1,4", help="lengths of audio")
    parser.add_argument("--gpu", default=",".join(GPUS), help=f"of {', '.join(GPUS)}")
    parser.add_argument("--precision", default="float32", help="as `build --target cuda` takes it")
    parser.add_argument("--rows", type=int, default=12, help="kernels of a table")
    args = parser.parse_args()
    unknown = [name for name in args.gpu.split(",") if name not in GPUS]
    if unknown:
        parser.error(f"unknown GPU {', '.join(unknown)}: the known are {', '.join(GPUS)}")
    try:
        module, components = lower(args.precision)
        for seconds in map(float, args.seconds.split(",")):
            found = launches(module, sizes_of(components, seconds))
            for name in args.gpu.split(","):
                print(f"### {seconds:g} s of audio, {GPUS[name].name}, estimated\n")
                print(table(found, GPUS[name], args.rows), end="\n\n", flush=True)
    except KokoroError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
