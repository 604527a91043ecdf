"""Compare instance_norm and group_norm of two libraries for data with a large mean.

    norm_kernels.py build OUT.so              compile both operators as TVM legalizes them now
    norm_kernels.py measure STOCK.so PATCHED.so   print what each computes and takes, as JSON

An element is wrong that is farther than 0.1 from float64, or NaN; the normalized elements have
a deviation of 1. The kernels are not scheduled, so they run on one thread.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

import numpy as np
import tvm
from tvm import relax

SHAPE, GROUPS = (1, 64, 8192), 8
MEAN, DEVIATION = 1000.0, 0.5
ROUNDS = 15


def build(output: str) -> None:
    builder = relax.BlockBuilder()
    for name in ("instance_norm", "group_norm"):
        x = relax.Var("x", relax.TensorType(SHAPE, "float32"))
        weights = [relax.Var(w, relax.TensorType(SHAPE[1:2], "float32")) for w in ("w", "b")]
        if name == "instance_norm":
            call = relax.op.nn.instance_norm(x, *weights, channel_axis=1, axes=[2])
        else:
            call = relax.op.nn.group_norm(x, *weights, num_groups=GROUPS, channel_axis=1, axes=[2])
        with builder.function(name, [x, *weights]):
            builder.emit_func_output(builder.emit(call))
    relax.build(builder.get(), tvm.target.Target("llvm")).export_library(output)


def measure(*libraries: str) -> dict[str, dict[str, Any]]:
    machines = [
        relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu()) for path in libraries
    ]
    x = np.random.default_rng(0).normal(MEAN, DEVIATION, SHAPE).astype("float32")
    weights = np.ones(SHAPE[1], "float32"), np.zeros(SHAPE[1], "float32")
    arguments = [tvm.runtime.tensor(array) for array in (x, *weights)]
    result = {}
    for name, groups in (("instance_norm", SHAPE[1]), ("group_norm", GROUPS)):
        before, after = (machine[name] for machine in machines)
        wrong_before, _ = _wrong(before(*arguments).numpy(), x, groups)
        wrong_after, error = _wrong(after(*arguments).numpy(), x, groups)
        result[name] = {
            "elements": x.size,
            "wrong_before": wrong_before,
            "wrong_after": wrong_after,
            "error_after": error,
            "time_ratio": _time_ratio(before, after, arguments),
        }
    return result


def _wrong(output: np.ndarray, x: np.ndarray, groups: int) -> tuple[int, float]:
    """The number of wrong elements, and the largest error among the finite ones."""
    exact = x.astype("float64").reshape(SHAPE[0], groups, -1)
    scale = np.sqrt(exact.var(-1, keepdims=True) + 1e-5)
    exact = ((exact - exact.mean(-1, keepdims=True)) / scale).reshape(SHAPE)
    error = np.abs(output - exact)
    return int((~(error <= 0.1)).sum()), float(np.nanmax(error, initial=0.0))


def _time_ratio(before: Any, after: Any, arguments: list[Any]) -> float:
    """The ratio of the times of `after` and `before`: medians of alternating runs."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for run, taken in zip((before, after), times, strict=True):
            started = time.perf_counter()
            run(*arguments)
            taken.append(time.perf_counter() - started)
    first, second = (statistics.median(taken) for taken in times)
    return round(second / first, 3)


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(sys.argv[2])
    else:
        json.dump(measure(*sys.argv[2:]), sys.stdout)
