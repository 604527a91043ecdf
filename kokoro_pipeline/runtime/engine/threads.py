"""The number of threads that the kernels use, and the configuration of TVM's pool.

TVM's pool and its size are thread-local: configuring it on one thread does not affect kernels that
are called from another. Therefore `configure_pool` must run on the thread that makes the calls.
"""

from __future__ import annotations

import operator
import os
from typing import Any

from kokoro_pipeline.errors import EnvironmentFault, InputError

MAX_THREADS = 1024
ENVIRONMENT_VARIABLE = "TVM_NUM_THREADS"

_FAST_CORES = 1  # ThreadGroup::kBig; without binding it only selects the count
_CONFIGURE = "runtime.config_threadpool"
_COUNT = "runtime.NumThreads"


def resolve_threads(threads: int | None = None) -> int:
    """The number of threads to use.

    This is `threads`, else $TVM_NUM_THREADS, else the number of CPUs that this process may run on.

    Raises InputError for `threads` outside 1..1024, and EnvironmentFault for such a value of the
    variable.
    """
    if threads is not None:
        return _checked(threads)
    value = os.environ.get(ENVIRONMENT_VARIABLE)
    if value:  # an empty value is no value, as for OMP_NUM_THREADS
        if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= MAX_THREADS:
            raise EnvironmentFault(
                f"{ENVIRONMENT_VARIABLE} is {value!r}, expected a whole number from 1 to "
                f"{MAX_THREADS}; unset it or pass threads="
            )
        return int(value)
    return min(available_cpus(), MAX_THREADS)


def share_of_threads(processes: int) -> int:
    """The threads of each of several processes, among which the usual number is divided."""
    return max(1, resolve_threads() // processes)


def available_cpus() -> int:
    """The number of CPUs in the affinity mask of this process, or in the machine without masks."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def forbid_binding() -> None:
    """Keep TVM from pinning worker i to core i, which would make two pools share cores.

    The pool reads this setting when it starts, so call this before the first kernel. A value set by
    the user is kept.
    """
    os.environ.setdefault("TVM_BIND_THREADS", "0")


def configure_pool(threads: int, tvm_ffi: Any) -> None:
    """Start the pool of the calling thread with exactly `threads` threads, including the caller.

    Raises EnvironmentFault if this TVM does not support it, or the pool has another size.
    """
    configure = tvm_ffi.get_global_func(_CONFIGURE, allow_missing=True)
    count = tvm_ffi.get_global_func(_COUNT, allow_missing=True)
    if configure is None or count is None:
        raise EnvironmentFault(
            f"libtvm_runtime has no {_CONFIGURE} or no {_COUNT}: this build of TVM cannot be told "
            "how many threads to use; install apache-tvm 0.27 from PyPI"
        )
    # The length of the list, not its content, sets the limit of the pool. Without the list, the
    # limit is half the CPUs of the machine, or the value of OMP_NUM_THREADS.
    configure(_FAST_CORES, threads, [str(index) for index in range(threads)])
    if count() != threads:
        raise EnvironmentFault(
            f"TVM's thread pool has {count()} threads where {threads} were asked for; "
            f"pass threads={count()} or set {ENVIRONMENT_VARIABLE}={count()}"
        )


def _checked(threads: Any) -> int:
    try:
        number = operator.index(threads)
    except TypeError:
        number = 0
    if isinstance(threads, bool) or not 1 <= number <= MAX_THREADS:
        raise InputError(f"threads is {threads!r}, expected a whole number from 1 to {MAX_THREADS}")
    return number
