"""Reject random tensors; stock stores a single draw in the program as a constant."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tvm_kokoro_ext import _compat, _emit, _importer, _probe, _replace
from tvm_kokoro_ext._fix import Fix


def refuse_random(importer: Any, node: Any, previous: Any) -> Any:
    raise _refused(node)


def _refused(node: Any) -> Exception:
    return _emit.refuse(
        node,
        "a compiled program has no random state, and one draw baked in as a constant would be "
        "the same numbers on every call",
        "Make the noise an input of the module and draw it outside",
    )


def refuse_nondeterministic(program: Any, custom: Collection[str]) -> None:
    """Reject the operators that torch marks as random, including those in branches.

    Those named in `custom` have a custom converter and are accepted.
    """
    import torch

    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            drawn = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
            if drawn and node.target.__name__ not in custom:
                _refuse_if_drawn(node)


def install() -> Callable[[], None]:
    """Check programs before they are decomposed.

    Decomposition loses the names of operators, and the dropout of an LSTM altogether.
    """
    _importer.importer_class()
    translator = sys.modules[_compat.IMPORTER_MODULE]

    def refusing(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def from_exported_program(exported_program: Any, *args: Any, **kwargs: Any) -> Any:
            refuse_nondeterministic(exported_program, kwargs.get("custom_convert_map") or ())
            return original(exported_program, *args, **kwargs)

        return from_exported_program

    return _replace.in_place({translator.from_exported_program: refusing})


def refuse_translated(program: Any, converters: Mapping[str, bool]) -> Any:
    """The same check if `from_exported_program` was imported before the extension."""
    refuse_nondeterministic(program, {name for name, custom in converters.items() if custom})
    return program


def _refuse_if_drawn(node: Any) -> None:
    name = node.target.__name__
    read = next((reads for start, reads in _SWITCHED.items() if name.startswith(start)), None)
    if read is None:
        raise _refused(node)
    given = {argument.name: argument.default_value for argument in node.target._schema.arguments}
    given |= dict(zip(given, node.args, strict=False)) | node.kwargs
    if read(given):
        raise refused_in_training(node)


def refused_in_training(node: Any) -> Exception:
    """The error for an operator that is only random in training mode."""
    return _emit.refuse(
        node,
        "in training mode it draws random numbers, and a compiled program has no random state",
        "Export the module in evaluation mode: module.eval(), or training=False in the call",
    )


def drops(probability: float, training: bool | None) -> bool:
    """Whether a dropout has an effect; `training` may be None for torch's native dropout."""
    return training is not False and probability != 0


# Operators that are random for some arguments only, by name prefix, and a check for that.
_SWITCHED: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "rrelu": lambda given: given["training"],
    "scaled_dot_product": lambda given: given["dropout_p"] != 0,
    "_scaled_dot_product": lambda given: given.get("dropout_p", 0) != 0,
    **dict.fromkeys(
        ("dropout", "native_dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"),
        lambda given: drops(given["p"], given["train"]),
    ),
    **dict.fromkeys(
        ("lstm", "gru", "rnn_"),
        lambda given: given["num_layers"] > 1 and drops(given["dropout"], given["train"]),
    ),
}
# Generators that result from decompositions, so they are not seen by `refuse_nondeterministic`.
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
    install=install,
    prepare=refuse_translated,
    probe=_still_wrong,
)
