"""Kernels that TVM generates for CUDA and Metal, run and checked on a CPU.

    from tvm_gpu_emulator import emulate

    executable = emulate(module, tvm.target.Target({"kind": "cuda", "arch": "sm_90"}), check=True)
    executable["main"](*arrays)   # as tvm.compile's or the Relax VM's function
    executable.launches           # per kernel: count, grid, block, shared bytes
    executable.source             # the generated text
    executable.reports            # faults; without on_fault="collect" the call raises them

TVM lowers the module for the GPU and generates CUDA or Metal source code; g++ compiles it with
headers that replace those of the device; TVM's own host code launches the kernels. A thread of the
GPU is a fiber, and a barrier is a point where fibers wait for each other. With `check=True`, every
memory access is checked.

A run verifies: the lowering; grid, block and shared memory of every launch; the binding of
arguments (including the packed bytes on Metal); indices, tails and predicates for the lengths that
were run; the data flow through shared memory, barriers and shuffles; and launches against the
target's limits on threads and shared memory. Shared memory is filled with NaN when a block starts.

A checked run reports the following, with the kernel, the lines of the generated text, threads,
block and element: races within a block (by barrier interval and, within a warp, by __syncwarp) and
between the blocks of a launch; accesses outside of a global buffer as declared by the host, of a
shared array, or of a local array that is indexed directly; shared elements that are read before a
thread of the block has written them; and misaligned vector accesses. Divergent barriers and
shuffles and impossible launches are found without `check` too. Only the actual accesses of a run
are checked: faults that occur for other lengths are not found.

A run does not verify: that the compiler of NVIDIA or Apple accepts the text (`msl_check` checks the
syntax of Metal), the accuracy of the device's exp, sin etc. (here those of the C library are used),
limits on registers, memory or time, and speed. Multiplications and additions are fused wherever g++
does so; the device may differ. Warps have 32 lanes. Lanes run one after the other between two
synchronization points, so code that relies on lockstep execution is a race here, as on devices
since Volta.

Supported types are 8 to 64 bit integers, float32, float64, float16 (needs g++ 12 and x86-64 or
aarch64) and bfloat16. Inline PTX is supported with one instruction per statement: mma.sync m16n8
with tf32, bf16 or f16 operands and float32 sums, the conversions to these types, cp.async with its
groups, and relaxed loads and stores of 32 bits (`ld.relaxed.gpu`, `st.relaxed.gpu`). Products are
exact, and their sums are cut toward zero, like those of devices but with no bits to spare, so the
last bits of the device may differ. An asynchronous copy happens when its thread waits for its
group; until then the destination holds NaN. The blocks of a kernel with relaxed loads run side by
side, so that they can wait for each other's stores; a launch in which all wait is reported. The
following are rejected, with the line: all other PTX (ldmatrix, wgmma, mbarrier), wmma and simdgroup
matrices, atomics, cooperative groups, launch parameters other than grid, block and dynamic shared
memory, and all names that are missing in the headers. Needs g++ (`apt-get install g++`).
"""

from .executable import Executable, Launches, emulate
from .faults import KINDS, EmulationFault, Report, UnsupportedKernel

__all__ = [
    "KINDS",
    "EmulationFault",
    "Executable",
    "Launches",
    "Report",
    "UnsupportedKernel",
    "emulate",
]
