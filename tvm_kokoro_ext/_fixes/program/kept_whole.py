"""Operators excluded from torch's decomposition, which would be wrong or unsupported here."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from tvm_kokoro_ext import _compat, _importer, _probe, _replace
from tvm_kokoro_ext._compat import tvm
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import decomposition
from tvm_kokoro_ext._fixes.pooling import adaptive_maximum
from tvm_kokoro_ext._fixes.resizing import upsample

#: Recurrent layers over sequences of one length.
RECURRENT = ("lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input")
#: Evenly spaced numbers between bounds that are numbers or tensors.
LINSPACE = tuple(
    f"linspace.{overload}"
    for overload in ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")
)


def is_one_loop(node: Any) -> bool:
    """Whether a recurrent layer is converted as it is, which makes one loop over time of it.

    Not with projections, nor while a GPU's target is current, where one thread would run the loop.
    """
    target = tvm.target.Target.current(allow_none=True)
    weights, biases, layers, both = (node.args[place] for place in (2, 3, 4, 7))
    plain = (4 if biases else 2) * layers * (2 if both else 1)
    return len(weights) == plain and (target is None or target.kind.name in ("llvm", "c"))


def _is_symbolic(node: Any) -> bool:
    return not all(isinstance(size, int) for size in node.args[0].meta["val"].shape)


def _cuts_bounds(node: Any) -> bool:
    """Whether integers lie between floats, whose fractions torch's kernel drops beforehand."""
    bounds = (getattr(bound, "meta", {}).get("val", bound) for bound in node.args[:2])
    fractions = any(
        bound.is_floating_point() if hasattr(bound, "dtype") else isinstance(bound, float)
        for bound in bounds
    )
    return fractions and not node.meta["val"].is_floating_point()


def is_among_floats(node: Any) -> bool:
    """Whether the tests of `isin` are floats, of which some may be NaN."""
    return node.args[1].meta["val"].is_floating_point()


def _searches_among_floats(node: Any) -> bool:
    """Whether torch's decomposition of `isin` searches among floats, where a NaN misleads it.

    It compares with every test instead where they are few beside the elements, by torch's bound.
    """
    elements, tests = (getattr(arg, "meta", {}).get("val", arg) for arg in node.args[:2])
    count, beside = tests.numel(), elements.numel() if hasattr(elements, "numel") else 1
    constant = isinstance(count, int) and isinstance(beside, int)
    return is_among_floats(node) and not (constant and count < 10.0 * beside**0.145)


# By name, whether a node is excluded.
_KEPT: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(adaptive_maximum.NAMES, adaptive_maximum.is_symbolic),
    **dict.fromkeys(upsample.SMOOTH, lambda node: True),
    # Torch unrolls them, which takes it 40 ms a step, and rounds each step of half precision.
    **dict.fromkeys(RECURRENT, is_one_loop),
    # Torch's decomposition loses NaN and fails for one pixel; ours do not.
    "grid_sampler_2d.default": lambda node: True,
    "affine_grid_generator.default": lambda node: 1 in node.args[1][2:],
    **dict.fromkeys(LINSPACE, _cuts_bounds),
    "take.default": lambda node: True,  # reads the value of a 0-d index
    # Torch's decomposition takes no 0-d index.
    **dict.fromkeys(
        ("index_add.default", "index_add_.default"),
        lambda node: node.args[2].meta["val"].dim() == 0,
    ),
    "roll.default": _is_symbolic,  # divides by a size that may be 0
    "logsumexp.default": _is_symbolic,  # asks whether there are elements
    "multilabel_margin_loss.default": lambda node: True,  # adds terms behind the first -1
    **dict.fromkeys(("isin.Tensor_Tensor", "isin.Scalar_Tensor"), _searches_among_floats),
}


def install() -> Callable[[], None]:
    """Make programs with such operators be decomposed without them."""
    _importer.importer_class()
    translator = sys.modules[_compat.IMPORTER_MODULE]

    def keeping(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def from_exported_program(exported_program: Any, *args: Any, **kwargs: Any) -> Any:
            kept = _operators(exported_program) if kwargs.get("run_ep_decomposition", True) else ()
            if kept:
                import torch

                table = torch.export.default_decompositions()
                for operator in kept:
                    table.pop(operator, None)
                exported_program = decomposition.decomposed(exported_program, table)
                kwargs["run_ep_decomposition"] = False
            return original(exported_program, *args, **kwargs)

        return from_exported_program

    return _replace.in_place({translator.from_exported_program: keeping})


def _operators(program: Any) -> set[Any]:
    import torch

    kept = set()
    for node in program.graph.nodes:
        name = getattr(node.target, "__name__", "")
        question = _KEPT.get(name)
        if question is not None and question(node):
            # Before it decomposes, torch replaces an operator in place by that of the new value.
            packet, _, overload = name.partition(".")
            kept.add(getattr(getattr(torch.ops.aten, packet.rstrip("_")), overload))
    return kept


# Operators that are kept are converted by this package; stock would need converters for them.
_STOCK_LACKS = _probe.lacks("adaptive_max_pool2d.default", "upsample_trilinear3d.vec")


FIX = Fix(
    id="keep",
    what="adaptive_max_pool decomposes for the example's size, resizing by another rule",
    op="aten.adaptive_max_pool2d, aten.upsample_trilinear3d, …",
    affected="",
    install=install,
    probe=_STOCK_LACKS,
)
