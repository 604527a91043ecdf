"""The passes of a build, from the imported module to the operations of the virtual machine.

Every pass is a named `tvm.transform.Pass`, so TVM's instruments work on a build::

    with tvm.transform.PassContext(instruments=[tvm.instrument.PassTimingInstrument()]):
        kokoro_pipeline.build(...)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tvm
from tvm import relax
from tvm_ffi import register_error

from kokoro_pipeline.errors import EnvironmentFault, InputError

from ..kernels.common.bfloat16_parts import Parts
from ..kernels.common.operand_precision import Precision
from ..kernels.cpu.choose_conv1d import Candidate, ConvShape
from ..kernels.cpu.vector import VectorTarget
from ..lowering.backend import Backend
from ..lowering.cpu_backend import CpuBackend
from ..lowering.gpu_backend import GpuBackend
from ..lowering.lower_to_kernels import lower_to_kernels
from ..lowering.parameter_table import ParameterTable
from ..lowering.rules import METAL_RULES, NOISE_RULES
from .bind_operators import bind_operators
from .bind_threads import bind_threads
from .clip_takes import clip_takes
from .drop_parameters import drop_parameters
from .drop_upper_bounds import drop_upper_bounds
from .elementary_functions import ELEMENTARY_FUNCTIONS, METAL_FUNCTIONS
from .exact_constants import exact_constants
from .gpu_operators import GPU_OPERATORS, gpu_lstm_recurrence
from .schedule_loops import schedule_loops
from .workspace import Workspace, count_workspace

# A pass is called by TVM, which hands on an error of a kind that it does not know as RuntimeError.
for _kind in (InputError, EnvironmentFault):
    register_error(_kind)

OPT_LEVELS: dict[int, str] = {
    0: "plain legalization: slow, the reference for bisecting",
    1: "direct convolution and matrix kernels, channels last, vectorized",
    2: "fast convolutions (real FFT, Winograd, AMX tiles) with norm, activation, residual fused",
}
"""The values of `--opt` with their descriptions. The default is the highest."""

REDUCED = frozenset({"decoder_forward"})
"""The functions that `precision` applies to.

The functions before them make decisions (durations) and accumulate phases, where rounding would
change what is said and not just add noise.
"""


TILED: Mapping[str, Parts] = {
    "bert_forward": Parts.THREE,
    "duration_forward": Parts.THREE,
    "f0n_forward": Parts.THREE,
    "text_encoder_forward": Parts.TWO,
    "decoder_forward": Parts.TWO,
}
"""The functions that multiply on the tiles of a CPU, and the parts of their operands there.

With two parts, products have an error of about 4e-6 of the result's deviation. What decides
durations and accumulates phases has three, whose error is that of float32 or less: more would
change what is said.
"""


@dataclass(frozen=True)
class Phase:
    """A group of passes; `--debug-dump` writes the module after each phase."""

    name: str
    passes: Sequence[tvm.transform.Pass]


@dataclass(frozen=True)
class PlannedMemory:
    """Where the planned memory of functions is recorded.

    `lengths` gives, for each function, the (input, axis) of its number of tokens or frames; the
    build fills `found`.
    """

    lengths: Mapping[str, tuple[int, int]]
    found: dict[str, Workspace] = field(default_factory=dict)

    def record(self, module: tvm.IRModule) -> tvm.IRModule:
        """Read the sizes from a module right after memory planning, and leave it as it is."""
        for name, (index, axis) in self.lengths.items():
            self.found[name] = count_workspace(module[name], index, axis)
        return module


def gpu_operands(kind: str, precision: str) -> Precision:
    """What the operands of large products become on a GPU of this kind, in the functions `REDUCED`.

    `precision` is one of `PRECISIONS`. Metal's kernels take float32 as it is.
    """
    if precision == "float32":
        return Precision.BFLOAT16X3 if kind == "cuda" else Precision.FLOAT32
    return Precision.FLOAT32 if precision == "float32-fma" else Precision(precision)


def named(name: str, function: Callable[[tvm.IRModule], tvm.IRModule]) -> tvm.transform.Pass:
    """A function of modules as a pass of TVM."""

    @tvm.transform.module_pass(opt_level=0, name=name)
    def transform(module: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        return function(module)

    return transform


def cpu_backend(
    opt_level: int,
    target: tvm.target.Target,
    precision: str = "float32",
    choices: Mapping[ConvShape, Candidate] | None = None,
) -> CpuBackend:
    """The kernels of a level and a precision for a CPU; see `phases`."""
    reduced = dict.fromkeys(REDUCED, Parts.ONE) if precision == "bfloat16" else {}
    return CpuBackend.of(target, opt_level >= 2, {**TILED, **reduced}, choices)


def _runtime_phases(memory: PlannedMemory | None) -> list[Phase]:
    """From calls of kernels to operations of the virtual machine, whatever the target is."""
    record = [] if memory is None else [named("RecordWorkspace", memory.record)]
    return [
        Phase(
            "lower_dataflow",
            [
                relax.transform.RewriteDataflowReshape(),
                relax.transform.ToNonDataflow(),
                relax.transform.RemovePurityChecking(),
                relax.transform.CallTIRRewrite(),
            ],
        ),
        Phase(
            "lower_runtime",
            [
                relax.transform.StaticPlanBlockMemory(),
                *record,
                relax.transform.LowerAllocTensor(),
                relax.transform.KillAfterLastUse(),
                relax.transform.LowerRuntimeBuiltin(),
                relax.transform.ComputePrimValue(),
                relax.transform.VMShapeLower(),
                relax.transform.AttachGlobalSymbol(),
            ],
        ),
    ]


def phases(
    opt_level: int,
    target: tvm.target.Target,
    parameters: ParameterTable,
    entry: Sequence[str],
    precision: str = "float32",
    memory: PlannedMemory | None = None,
    choices: Mapping[ConvShape, Candidate] | None = None,
) -> list[Phase]:
    """The phases of a build for a CPU, CUDA or Metal. Of the Relax functions, `entry` are kept.

    The levels are those of `OPT_LEVELS`. On level 0, only noise is a kernel, and on Metal, which
    has no float64, the harmonic source. On a GPU, level 0 runs one thread per element, level 1 uses
    the explicit kernels, level 2 also fuses norms, activations and residuals into the convolutions.

    Running the phases adds the packed weights to `parameters`. `precision`, one of `PRECISIONS`, is
    that of the products of the functions in `REDUCED`, on levels 1 and 2 of a GPU, and on level 2
    of a CPU with AMX. There "float32" means the parts of `TILED`, and for CUDA those of
    `gpu_operands`. `choices` are the algorithms of convolutions on a CPU that are not left to the
    model of costs.
    """
    on_cpu, on_metal = target.kind.name == "llvm", target.kind.name == "metal"
    backend: Backend
    if on_cpu:
        backend = cpu_backend(opt_level, target, precision, choices)
    else:
        operands = gpu_operands(target.kind.name, precision)
        backend = GpuBackend.of(target, opt_level >= 2, operands, REDUCED)

    def to_kernels(module: tvm.IRModule) -> tvm.IRModule:
        return lower_to_kernels(module, parameters, backend)

    def bind_rest(module: tvm.IRModule) -> tvm.IRModule:
        if on_cpu:
            return bind_operators(module)
        return bind_operators(module, gpu_lstm_recurrence, has_float64=not on_metal)

    def without_choice(module: tvm.IRModule) -> tvm.IRModule:
        rules = METAL_RULES if on_metal else NOISE_RULES
        return lower_to_kernels(module, parameters, backend, rules)

    def vectorize(module: tvm.IRModule) -> tvm.IRModule:
        return schedule_loops(module, VectorTarget.of(target).lanes)

    if on_cpu:
        legalizations = dict(ELEMENTARY_FUNCTIONS) if opt_level > 0 else {}
        sort = [relax.backend.DispatchSortScan()]
        schedule = [named("ScheduleLoops", vectorize)]
    else:
        legalizations = {**GPU_OPERATORS, **(METAL_FUNCTIONS if on_metal else {})}
        sort, schedule = [], [named("BindThreads", bind_threads)]
    legalize = [*sort, relax.transform.LegalizeOps(legalizations or None)]
    dead_code = relax.transform.DeadCodeElimination(list(entry))
    clean = [
        named("BindOperators", bind_rest),
        relax.transform.CanonicalizeBindings(),
        relax.transform.EliminateCommonSubexpr(),
        dead_code,
        named("DropParameters", drop_parameters),
    ]
    exact = Phase("exact_constants", [named("ExactConstants", exact_constants)])
    clip = named("ClipTakes", clip_takes)
    if opt_level == 0:
        only = named("LowerWithoutChoice", without_choice)
        middle = [
            Phase("bind_operators", [clip, only, *clean]),
            Phase("legalize", legalize),
            *([] if on_cpu else [Phase("schedule", schedule)]),
        ]
    else:
        fold = [relax.transform.AnnotateTIROpPattern(), relax.transform.FoldConstant()]
        middle = [
            Phase("lower_to_kernels", [clip, named("LowerToKernels", to_kernels), *clean]),
            Phase("legalize", [*legalize, *fold]),
            Phase("fuse", [relax.transform.FuseOps(), relax.transform.FuseTIR()]),
            Phase("schedule", [dead_code, *schedule]),
        ]
    return [
        Phase("drop_upper_bounds", [named("DropUpperBounds", drop_upper_bounds)]),
        *middle,
        *([exact] if on_metal else []),
        *_runtime_phases(memory),
    ]


def run_phases(
    module: tvm.IRModule,
    todo: Sequence[Phase],
    target: tvm.target.Target,
    debug_dump: Path | None = None,
) -> tvm.IRModule:
    """Run the phases in order; after each, `NN_name.py` is written to `debug_dump`, if given.

    The dumps do not contain the weights.
    """
    dump(module, debug_dump, 0, "imported")
    with target:
        for number, phase in enumerate(todo, start=1):
            for transform in phase.passes:
                module = transform(module)
            dump(module, debug_dump, number, phase.name)
    return module


def dump(module: tvm.IRModule, folder: Path | None, number: int, name: str) -> None:
    """Write a module as TVMScript into a folder; do nothing if the folder is None."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        text = module.script(show_meta=False)
        (folder / f"{number:02d}_{name}.py").write_text(text, encoding="utf-8")


def generate_code(module: tvm.IRModule, target: tvm.target.Target) -> tvm.runtime.Executable:
    """Generate machine code for a module after all phases."""
    # The kernels allocate exactly what they use, and this pass would take most of the compile time.
    with tvm.transform.PassContext(disabled_pass=["s_tir.CompactBufferAllocation"]):
        return relax.build(module, target=target, relax_pipeline=None)
