"""Random tensors are refused: stock bakes ONE draw into the program as a constant."""

from __future__ import annotations

from collections.abc import Collection
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


def refuse_nondeterministic(program: Any, converters: Collection[str]) -> Any:
    """Refuse the operators that torch itself marks as drawn from a generator.

    Before anything is decomposed: some draw through operators that TVM would take for others.
    Dropout stays: what is compiled is inference.
    """
    import torch

    for node in program.graph.nodes:
        tags = getattr(node.target, "tags", ())
        name = getattr(node.target, "__name__", "")
        if torch.Tag.nondeterministic_seeded in tags and not _harmless(name, node):
            refuse_random(None, node, None)
    return program


def _harmless(name: str, node: Any) -> bool:
    """Dropout; attention and recurrences, whose own converters judge theirs; rrelu in eval."""
    if name.startswith("rrelu"):
        return not node.kwargs.get("training", any(a is True for a in node.args))
    origin = f"{name} {node.meta.get('original_aten')} {node.meta.get('torch_fn')}"
    return "dropout" in origin or name.startswith(_JUDGED)


_JUDGED = ("scaled_dot_product", "_scaled_dot_product", "lstm", "gru", "rnn_")
# Generators that reach the importer by a decomposition, so behind `refuse_nondeterministic`.
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
    "exponential.default",
    "exponential_.default",
    "cauchy.default",
    "geometric.default",
    "log_normal.default",
    "poisson.default",
    "random.default",
)


@_probe.wrong
def _still_wrong() -> bool:
    drawn = _probe.convert("randn_like.default", _probe.Input((4,)), out=((4,), "float32"))
    return drawn.ops == ()


FIX = Fix(
    id="randn",
    what="randn becomes one constant drawn at import, exponential zeros; refused",
    op="aten.randn, aten.randn_like, aten.rand, …",
    affected="",
    converters=dict.fromkeys(_NAMES, refuse_random),
    prepare=refuse_nondeterministic,
    probe=_still_wrong,
)
