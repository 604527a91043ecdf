"""The one table of rules: which kernels the operators of a program become, on every backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .convolution_rules import conv1d, conv1d_transpose, instance_norm, polar
from .custom_operators import (
    HARMONIC_SOURCE,
    LSTM_RECURRENCE,
    MASKED_ATTENTION,
    STANDARD_NORMALS,
)
from .layout_rules import (
    ELEMENTWISE,
    concat,
    elementwise,
    permute_dims,
    repeat,
    strided_slice,
    take,
)
from .program_lowering import Rule
from .row_rules import (
    attention,
    harmonic_source,
    layer_norm,
    linear,
    lstm_recurrence,
    standard_normals,
)

RULES: Mapping[str, Sequence[Rule]] = {
    **{f"relax.{name}": (elementwise,) for name in ELEMENTWISE},
    "relax.concat": (polar, concat),
    "relax.matmul": (linear,),
    "relax.nn.conv1d": (conv1d,),
    "relax.nn.conv1d_transpose": (conv1d_transpose,),
    "relax.nn.instance_norm": (instance_norm,),
    "relax.nn.layer_norm": (layer_norm,),
    "relax.permute_dims": (permute_dims,),
    "relax.repeat": (repeat,),
    "relax.strided_slice": (strided_slice,),
    "relax.take": (take,),
    HARMONIC_SOURCE: (harmonic_source,),
    LSTM_RECURRENCE: (lstm_recurrence,),
    MASKED_ATTENTION: (attention,),
    STANDARD_NORMALS: (standard_normals,),
}
"""By the name of an operator; the first rule that gives a value wins."""

NOISE_RULES: Mapping[str, Sequence[Rule]] = {STANDARD_NORMALS: RULES[STANDARD_NORMALS]}
"""For level 0: noise has the same values on every level."""

METAL_RULES: Mapping[str, Sequence[Rule]] = {
    **NOISE_RULES,
    HARMONIC_SOURCE: RULES[HARMONIC_SOURCE],
}
"""For level 0 on Metal, which cannot compute the harmonic source in any other way."""
