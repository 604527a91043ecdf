"""group_norm with a two-pass variance (see `_shared/two_pass.py`)."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _emit
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared.two_pass import affine, override, reduces_in_one_pass, two_pass


def legalize_group_norm(builder: Any, call: Any) -> Any:
    """relax.nn.group_norm: channels in groups, statistics over a group's channels and `axes`."""
    groups = int(call.attrs.num_groups)
    epsilon = float(call.attrs.epsilon)

    def group_norm(x: Any, gamma: Any, beta: Any) -> Any:
        rank = len(x.shape)
        channel = _emit.normalize_axis(int(call.attrs.channel_axis), rank)
        axes = [_emit.normalize_axis(int(a), rank) for a in call.attrs.axes]
        size = tirx.floordiv(x.shape[channel], groups)
        split = [*x.shape[:channel], groups, size, *x.shape[channel + 1 :]]
        grouped = te.compute(
            tuple(split),
            lambda *at: x(*at[:channel], at[channel] * size + at[channel + 1], *at[channel + 2 :]),
            name="grouped",
        )
        inner = sorted({channel + 1, *(a if a < channel else a + 1 for a in axes if a != channel)})
        normalized = two_pass(grouped, inner, epsilon)
        joined = te.compute(
            x.shape,
            lambda *at: normalized(
                *at[:channel],
                tirx.floordiv(at[channel], size),
                tirx.floormod(at[channel], size),
                *at[channel + 1 :],
            ),
            name="joined",
        )
        return affine(joined, gamma, beta, lambda *at: at[channel])

    return builder.call_te(group_norm, *call.args, primfunc_name_hint="group_norm")


def _still_wrong() -> bool:
    return reduces_in_one_pass(
        lambda x, weight, bias: relax.op.nn.group_norm(x, weight, bias, 1, 1, [2])
    )


FIX = Fix(
    id="group_norm",
    what="group_norm computes its variance in one pass (NaN for a mean of 1000)",
    op="relax.nn.group_norm",
    affected="",
    install=override("relax.nn.group_norm", legalize_group_norm),
    probe=_still_wrong,
    needs_torch=False,
)
