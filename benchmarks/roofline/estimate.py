"""Estimate the time of a GPU in every kernel from the work of the kernel and published figures.

The estimate is a lower bound: the maximum of the times that each resource of the GPU would take
alone. It shows which kernels are expensive and why, but not how long they take. No GPU is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relax, tirx

from kokoro_pipeline.errors import InputError

from .kernel_work import WARP, KernelWork, count_work


@dataclass(frozen=True)
class Gpu:
    """Figures of the vendor's data sheet, except for the last three, which are assumptions.

    `tensor` is what `mma.sync` reaches of the data sheet's figure: all of it on Ampere, and on
    Hopper about 0.63 (Luo et al. 2025, "Dissecting the NVIDIA Hopper architecture").
    """

    name: str
    multiprocessors: int
    clock: float
    """Boost clock in Hz."""
    lanes: int
    """float32 multiply-adds per multiprocessor and cycle."""
    tensor: int
    """Multiply-adds of half precision on tensor cores per multiprocessor and cycle."""
    bandwidth: float
    """Memory bandwidth in bytes per second."""
    threads: int = 2048
    """Maximum number of threads per multiprocessor."""
    registers: int = 65536
    shared_bytes: int = 160 << 10
    cache_bytes: int = 64
    """Bytes per cycle from the L2 cache to a multiprocessor."""
    latency: int = 300
    """Latency of the L2 cache in cycles."""
    launch: float = 2e-6
    """Time of a launch within a CUDA graph in seconds."""


GPUS: Mapping[str, Gpu] = {
    "A100": Gpu("A100 SXM 80 GB", 108, 1.41e9, 64, 1024, 2.039e12),
    "H100": Gpu("H100 SXM", 132, 1.98e9, 128, 1290, 3.35e12, shared_bytes=224 << 10),
}
_BARRIER = 30
"""Cycles per barrier."""
_OTHER_REGISTERS = 24
"""Registers of a thread beside its arrays."""


@dataclass(frozen=True)
class Launch:
    """A kernel with its sizes, launched `count` times per utterance."""

    kernel: str
    function: str
    """The function of the artifact."""
    work: KernelWork
    count: int = 1


@dataclass(frozen=True)
class Estimate:
    """The time of one launch in seconds: the maximum of the parts."""

    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return max(self.parts.values())

    @property
    def bound(self) -> str:
        """The name of the largest part."""
        return max(self.parts, key=lambda name: self.parts[name])


def estimate(work: KernelWork, gpu: Gpu) -> Estimate:
    """The time that each resource would take alone for one launch."""
    of_one = -(-work.blocks // gpu.multiprocessors)  # blocks of the busiest multiprocessor
    warps = -(-work.threads // WARP)
    resident = max(1, min(gpu.threads // (warps * WARP), 32))
    held = warps * WARP * (work.registers + _OTHER_REGISTERS)
    resident = max(1, min(resident, gpu.registers // held))
    if work.shared_bytes:
        resident = max(1, min(resident, gpu.shared_bytes // work.shared_bytes))
    waves = -(-of_one // resident)
    issue = of_one * work.instructions * WARP / gpu.lanes
    cached = of_one * work.requested / work.blocks / gpu.cache_bytes
    products = work.tensor / gpu.tensor
    alone = work.serial + work.waits * gpu.latency + work.barriers * _BARRIER + products
    return Estimate(
        {
            "launch": gpu.launch,
            "memory": work.unique / gpu.bandwidth,
            "instructions": issue / gpu.clock,
            "cache": cached / gpu.clock,
            "shared": of_one * work.shared / gpu.clock,
            "tensor cores": of_one * products / gpu.clock,
            "latency": waves * alone / gpu.clock,
        }
    )


def launches(module: tvm.IRModule, inputs: Mapping[str, Sequence[Sequence[int]]]) -> list[Launch]:
    """All launches of Relax functions with `call_tir`, for given sizes of their inputs.

    A remaining reshape is not a launch, since it becomes a view. Raises InputError for a shape that
    does not follow from the inputs.
    """
    found: dict[tuple[str, str, Any], int] = {}
    counted: dict[Any, list[KernelWork]] = {}
    for name, shapes_in in inputs.items():
        for kernel, shapes in _calls(module[name], shapes_in):
            if kernel.startswith("reshape"):
                continue
            key = (name, kernel, shapes)
            found[key] = found.get(key, 0) + 1
            if key[1:] not in counted:
                counted[key[1:]] = count_work(module[kernel], shapes)
    return [
        Launch(kernel if index == 0 else f"{kernel} ({index + 1})", name, work, count)
        for (name, kernel, shapes), count in found.items()
        for index, work in enumerate(counted[kernel, shapes])
    ]


def _calls(
    function: relax.Function, inputs: Sequence[Sequence[int]]
) -> Iterable[tuple[str, tuple[tuple[int, ...] | int, ...]]]:
    """(kernel, sizes of its arguments) for each `call_tir`."""
    analyzer = tvm.sym.Analyzer()
    bound: set[tirx.Var] = set()
    for parameter, sizes in zip(function.params, inputs, strict=False):
        for extent, size in zip(parameter.ty.shape, sizes, strict=True):
            if isinstance(extent, tirx.Var) and extent not in bound:
                analyzer.bind(extent, tirx.const(size, "int64"))
                bound.add(extent)

    def number(expression: Any) -> int:
        simplified = analyzer.simplify(expression)
        if not isinstance(simplified, tirx.IntImm):
            raise InputError(f"the size {expression} does not follow from the inputs' sizes")
        return int(simplified.value)

    def shape(ty: Any) -> tuple[int, ...]:
        return tuple(number(extent) for extent in ty.shape)

    for block in function.body.blocks:
        for binding in block.bindings:
            call = binding.value
            if not isinstance(call, relax.Call) or getattr(call.op, "name", "") != "relax.call_tir":
                continue
            arguments: list[tuple[int, ...] | int] = []
            for argument in call.args[1]:
                ty = argument.ty
                arguments.append(shape(ty) if hasattr(ty, "shape") else number(argument))
            outputs = call.ty_args[0]
            fields: Sequence[Any] = (
                outputs.fields if isinstance(outputs, relax.TupleType) else [outputs]
            )
            arguments += [shape(ty) for ty in fields]
            yield call.args[0].name_hint, tuple(arguments)
