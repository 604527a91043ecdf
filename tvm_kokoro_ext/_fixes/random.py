"""Random tensors are refused: stock bakes ONE draw into the program as a constant."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _emit, _probe
from tvm_kokoro_ext._fix import Fix


def refuse_random(importer: Any, node: Any, previous: Any) -> Any:
    raise _emit.refuse(
        node,
        "a compiled program has no random state, and one draw baked in as a constant would be "
        "the same numbers on every call",
        "Make the noise an input of the module and draw it outside",
    )


_NAMES = (
    "randn.default",
    "randn.generator",
    "randn_like.default",
    "rand.default",
    "rand.generator",
    "rand_like.default",
    "randint.default",
    "randint.low",
    "randint_like.default",
    "randint_like.low_dtype",
    "randperm.default",
    "normal.Tensor_Tensor",
    "normal.float_Tensor",
    "normal.Tensor_float",
    "normal_functional.default",
    "normal_.default",
    "uniform.default",
    "uniform_.default",
    "bernoulli.default",
    "bernoulli_.float",
    "multinomial.default",
    "exponential_.default",
)


@_probe.wrong
def _still_wrong() -> bool:
    drawn = _probe.convert("randn_like.default", _probe.Input((4,)), out=((4,), "float32"))
    return drawn.ops == ()


FIX = Fix(
    id="randn",
    what="randn and randn_like become one constant drawn at import; refused",
    op="aten.randn, aten.randn_like, aten.rand, …",
    affected="",
    converters=dict.fromkeys(_NAMES, refuse_random),
    probe=_still_wrong,
)
