"""Kernels that TVM generates for CUDA and Metal, run and checked on a CPU.

    from tvm_gpu_emulator import emulate

    executable = emulate(module, tvm.target.Target({"kind": "cuda", "arch": "sm_90"}), check=True)
    executable["main"](*arrays)   # as tvm.compile's or the Relax VM's function
    executable.launches           # per kernel: count, grid, block, shared bytes
    executable.source             # the generated text
    executable.reports            # faults; without on_fault="collect" the call raises them

TVM lowers the module for the GPU and writes its CUDA or Metal text; g++ compiles this text with
headers that stand for the device's; TVM's own host code launches the kernels. A thread of the GPU
is a fiber, a barrier a meeting of fibers. With `check=True` every access is watched.

What a run proves: the lowering; grid, block and shared memory of every launch; the binding of
arguments (on Metal the packed bytes too); indices, tails and predicates for the lengths that were
run; the data flow through shared memory, barriers and shuffles; launches against the target's
limits on threads and shared memory. Shared memory holds NaN when a block starts.

What a checked run names, with the kernel, the lines of the generated text, threads, block and
element: races within a block (by barrier interval and, in a warp, by __syncwarp) and between the
blocks of a launch; accesses out of a global buffer as the host declares it, out of a shared
array, or out of a local array where the index is the array's own; shared elements read before a
thread of the block wrote them; misaligned vector accesses. Divergent barriers and shuffles and
impossible launches are found without `check` too. Only what the run's threads do is seen: a fault
of another length stays unseen.

What it does not prove: that NVIDIA's or Apple's compiler takes the text (`msl_check` looks at
Metal's syntax), the accuracy of the device's exp, sin and others (here the C library's), limits
on registers, memory or time, speed. Multiply and add are fused wherever g++ likes; the device may
choose otherwise. Warps have 32 lanes; lanes run one after the other between two meetings, so that
code that relies on lockstep is a race here, as it is on devices since Volta.

Types: 8 to 64 bit integers, float32, float64, float16 (needs g++ 12 and x86-64 or aarch64) and
bfloat16. Of inline PTX, one instruction a statement: mma.sync m16n8 with tf32, bf16 or f16 operands
and float32 sums, and the conversions to them. Its products are exact and its sums float32 in the
order of k; the device has its own order and rounds its sums its own way. Refused, with the line:
all other PTX (cp.async, ldmatrix, wgmma), wmma and simdgroup matrices, atomics, cooperative groups,
launch parameters beyond grid, block and dynamic shared memory, every name that the headers do not
have. Needs g++ (`apt-get install g++`).
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
