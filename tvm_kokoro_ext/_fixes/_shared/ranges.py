"""Whether TVM's ranges of floats are as exact as torch's."""

from __future__ import annotations

import functools

from tvm_kokoro_ext import _compat, _probe
from tvm_kokoro_ext._compat import relax


@functools.cache
def rounds_steps() -> bool:
    """Whether TVM's arange of float32 is off at its end, because it has rounded the first step."""
    module = _probe.legalized(lambda: relax.op.arange(1000.0, 1100.0, 0.37, dtype="float32"))
    (binding,) = module["main"].body.blocks[0].bindings
    values = _compat.constant_value(binding.value)
    return values is None or abs(float(values[-1]) - (1000 + 270 * 0.37)) > 1e-4
