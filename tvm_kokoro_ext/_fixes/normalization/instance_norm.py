"""instance_norm with a two-pass variance (see `_shared/two_pass.py`)."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _emit
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared.two_pass import affine, override, reduces_in_one_pass, two_pass


def legalize_instance_norm(builder: Any, call: Any) -> Any:
    """relax.nn.instance_norm: one kernel, statistics over `axes` for each channel."""
    channel_axis = int(call.attrs.channel_axis)
    axes = [int(axis) for axis in call.attrs.axes]
    epsilon = float(call.attrs.epsilon)

    def instance_norm(x: Any, gamma: Any, beta: Any) -> Any:
        rank = len(x.shape)
        own = _emit.normalize_axis(channel_axis, rank)
        normalized = two_pass(x, [_emit.normalize_axis(a, rank) for a in axes], epsilon)
        return affine(normalized, gamma, beta, lambda *at: at[own])

    return builder.call_te(instance_norm, *call.args, primfunc_name_hint="instance_norm")


def _still_wrong() -> bool:
    return reduces_in_one_pass(
        lambda x, weight, bias: relax.op.nn.instance_norm(x, weight, bias, 1, [2])
    )


FIX = Fix(
    id="instance_norm",
    what="instance_norm computes its variance in one pass (NaN for a mean of 1000)",
    op="relax.nn.instance_norm",
    affected="",
    install=override("relax.nn.instance_norm", legalize_instance_norm),
    probe=_still_wrong,
    needs_torch=False,
)
