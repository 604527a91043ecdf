"""Helpers for GPU kernels: grids, blocks, shared memory, 32-bit indices and block sums.

CUDA and Metal run the same kernels: a warp (SIMD-group) has 32 threads on both, and a block has at
most 1024 threads and 32 KiB of shared memory, the limits that Metal guarantees. Kernels only
synchronize whole blocks and do not rely on the threads of a warp running in lockstep.

Indices are int32, since GPUs emulate 64-bit arithmetic, so a tensor must have less than 2^31
elements. The largest tensor of the model has 128 * 120 t elements, so t is limited to 139,810
frames, 58 minutes of audio in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import tvm
from tvm import tirx
from tvm.tirx.script.builder import ir as T  # noqa: N812

from kokoro_pipeline.errors import InputError

from ..common import builder
from ..common.builder import Buffer, Expr, Number, Parameter

__all__ = ["Buffer", "Expr", "Number", "Parameter", "T"]

WARP = 32
MAX_THREADS = 1024
MAX_SHARED_BYTES = 32 << 10
CUDA_SHARED_BYTES = 48 << 10  # for kernels that only CUDA has
ENOUGH_BLOCKS = 128
"""Blocks of a launch that keep a large GPU busy: it has about as many multiprocessors."""
GROUP = 16  # number of neighbouring threads whose values `block_sum` adds first


_RESIDENT = "tirx.launch_bounds_min_blocks_per_sm"


def i32(value: Expr | int) -> Expr:
    """Convert a number or an expression to int32."""
    if isinstance(value, int):
        return tirx.const(value, "int32")
    return value if str(value.ty) == "int32" else tirx.Cast("int32", value)


def u32(value: int) -> Expr:
    """A constant of 32 bits without a sign."""
    return tirx.const(value, "uint32")


def const(value: float, dtype: str = "float32") -> Expr:
    """A constant of the given dtype."""
    return tirx.const(float(value) if dtype.startswith("float") else int(value), dtype)


def div(a: Expr, b: Expr | int) -> Expr:
    """Quotient of two nonnegative int32 (no sign correction is emitted)."""
    return tirx.truncdiv(a, i32(b))


def mod(a: Expr, b: Expr | int) -> Expr:
    """Remainder of two nonnegative int32."""
    return tirx.truncmod(a, i32(b))


def ceil_div(a: Expr, b: int) -> Expr:
    return div(a + i32(b - 1), b)


def bind(value: Expr) -> Expr:
    """Bind a value to a variable, so that it is computed once; before a launch, on the host."""
    return T.bind(value)


@contextmanager
def launch(
    grid: Sequence[Expr | int], threads: Sequence[int], resident: int | None = None
) -> Iterator[tuple[list[Expr], list[Expr]]]:
    """Launch blocks of threads; yields the int32 block and thread indices, x first.

    A grid must have at least one block, so a kernel whose outputs may be empty has to handle that
    case itself. `resident` is the number of blocks that should fit on a CUDA multiprocessor at a
    time; without it, ptxas may spill registers to make room for more.

    Raises InputError for more than `MAX_THREADS` threads per block.
    """
    count = 1
    for extent in threads:
        count *= extent
    if count > MAX_THREADS:
        raise InputError(f"{count} threads in a block; GPUs have at most {MAX_THREADS}")
    with ExitStack() as stack:

        def index(tag: str, extent: Expr | int) -> Expr:
            return stack.enter_context(T.launch_thread(tag, i32(extent)))

        blocks = [index(f"blockIdx.{axis}", e) for axis, e in zip("xyz", grid, strict=False)]
        lanes = [index(f"threadIdx.{axis}", e) for axis, e in zip("xyz", threads, strict=False)]
        if resident is not None:
            stack.enter_context(T.attr({_RESIDENT: i32(resident)}))
        yield blocks, lanes


@contextmanager
def where(condition: Expr | None) -> Iterator[None]:
    """Context under a condition; None is always true, and emits none."""
    if condition is None:
        yield
    else:
        with T.If(condition), T.Then():
            yield


def shared(size: int, dtype: str = "float32", limit: int = MAX_SHARED_BYTES) -> Buffer:
    """An array shared by the threads of a block. Raises InputError if it is too large."""
    if size * tvm.DataType(dtype).bits // 8 > limit:
        raise InputError(f"{size} x {dtype} are more than a block's {limit} bytes")
    return T.alloc_buffer((size,), dtype, scope="shared")


def registers(size: int, dtype: str = "float32") -> Buffer:
    """An array that is private to a thread."""
    return T.alloc_buffer((size,), dtype, scope="local")


def hold(value: Expr, dtype: str = "float32") -> Expr:
    """Bind a value through a register, which hides its definition from TVM's simplifier.

    The simplifier looks through a binding at every use, which takes exponential time for long
    chains of bindings. It does not look through a register.
    """
    register = registers(1, dtype)
    T.buffer_store(register, value, [i32(0)])
    return register[i32(0)]


def synchronize() -> None:
    """Wait for all threads of the block, and make their writes to shared memory visible."""
    T.evaluate(tirx.call_intrin("int32", "tirx.tvm_storage_sync", "shared"))


def store(buffer: Buffer, index: Expr | int, value: Expr) -> None:
    T.buffer_store(buffer, value, [i32(index)])


def add_to(buffer: Buffer, index: Expr | int, value: Expr) -> None:
    """buffer[index] += value."""
    at = i32(index)
    T.buffer_store(buffer, buffer[at] + value, [at])


def block_sum(partial: Sequence[Expr], thread: Expr, threads: int) -> list[Expr]:
    """Sum each of the float32 values `partial` over the threads of a block; all get the sums.

    The order of additions is fixed: first within each group of neighbours, then over the groups,
    which every thread does for itself. This takes two barriers, while a reduction tree would take
    one per level.

    Raises InputError if `threads` is not a multiple of `GROUP`.
    """
    if threads % GROUP:
        raise InputError(f"a sum over {threads} threads: not a multiple of {GROUP}")
    groups = threads // GROUP
    # Each sum has its own arrays: TVM cannot distinguish the accesses of threads within one array.
    parts = [shared(threads, "float32") for _ in partial]
    totals = [shared(groups, "float32") for _ in partial]
    sums = registers(len(partial), "float32")
    for part, value in zip(parts, partial, strict=True):
        store(part, thread, value)
    synchronize()
    with T.If(thread < groups), T.Then():
        for i, (part, total) in enumerate(zip(parts, totals, strict=True)):
            store(sums, i, const(0, "float32"))
            with T.serial(i32(0), i32(GROUP)) as j:
                add_to(sums, i, part[thread * GROUP + j])
            store(total, thread, sums[i32(i)])
    synchronize()
    for i, total in enumerate(totals):
        store(sums, i, const(0, "float32"))
        with T.serial(i32(0), i32(groups)) as j:
            add_to(sums, i, total[j])
    return [sums[i32(i)] for i in range(len(partial))]


def build_kernel(
    name: str, parameters: Sequence[Parameter | Number], body: Callable[..., None]
) -> tirx.PrimFunc:
    """`kernels.common.builder.build_kernel` with int32 indices and numbers."""

    def over_views(*views: Buffer | Expr) -> None:
        body(
            *(
                bind(view) if isinstance(parameter, Number) else view
                for view, parameter in zip(views, parameters, strict=True)
            )
        )

    return builder.build_kernel(name, parameters, over_views, index=i32)
