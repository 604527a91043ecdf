"""Running sums and products of float32 numbers whose steps are not rounded, as a kernel of CPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _emit
from tvm_kokoro_ext._compat import IRBuilder, T, te, tirx


def running(
    data: Any, axis: int | None, neutral: int, step: Callable[[Any, Any], Any], exclusive: bool
) -> Any:
    """Scan a float32 TE tensor along `axis`, or all its elements in a row where that is None.

    `step` takes and gives float64 numbers, of which the first is `neutral`; an `exclusive` scan
    leaves the element of its own place out. The result is a float32 tensor of the same shape, or
    one-dimensional where `axis` is None.
    """
    shape = list(data.shape) if axis is not None else [_emit.extent(list(data.shape))]
    place = axis or 0
    length = shape[place]
    before, behind = _emit.extent(shape[:place]), _emit.extent(shape[place + 1 :])

    def body(inputs: Any, outputs: Any) -> Any:
        source, target = T.buffer_proxy(inputs[0]), T.buffer_proxy(outputs[0])
        with IRBuilder() as ib:
            with T.parallel(0, before * behind) as row:
                # One number for each row: a float64 tensor beside the result would be one more
                # pass, and TVM does not build it before or behind symbolic dimensions.
                total = T.buffer_proxy(T.alloc_buffer((1,), "float64", scope="local"))
                total[0] = tirx.const(neutral, "float64")
                with T.serial(0, length) as number:
                    at = (row // behind * length + number) * behind + row % behind
                    if exclusive:
                        target[at] = tirx.Cast("float32", total[0])
                    total[0] = step(total[0], tirx.Cast("float64", source[at]))
                    if not exclusive:
                        target[at] = tirx.Cast("float32", total[0])
            return ib.get()

    return te.extern([tuple(shape)], [data], body, dtype=["float32"], name="running_in_float64")
