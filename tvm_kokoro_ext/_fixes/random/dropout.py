"""Dropout: the identity in evaluation mode, rejected in training mode, which stock ignores."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes.random import random_tensors


def _kept(importer: Any, node: Any) -> Any:
    names = ("input", "p", "train")
    x, probability, training = _emit.arguments(importer, node, *names, p=0.5)
    if random_tensors.drops(probability, training):
        raise random_tensors.refused_in_training(node)
    return x


def dropout(importer: Any, node: Any, previous: Any) -> Any:
    return _kept(importer, node)


def native_dropout(importer: Any, node: Any, previous: Any) -> Any:
    """The input, and a mask that keeps everything."""
    x = _kept(importer, node)
    shape = relax.ShapeExpr(_compat.shape_of(x))
    mask = _emit.emit(importer, relax.op.ones(shape, "bool"))
    return _emit.emit(importer, relax.Tuple([x, mask]))


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((4,))
    return _probe.convert("dropout.default", x, 0.5, True, out=((4,), "float32")).ops == ()


FIX = Fix(
    id="dropout",
    what="dropout in training mode becomes the identity; refused",
    op="aten.dropout, aten.dropout_, aten.native_dropout, aten.alpha_dropout, …",
    affected="",
    converters={
        "native_dropout.default": native_dropout,
        **dict.fromkeys(
            [
                f"{name}{written}.default"
                for name in ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")
                for written in ("", "_")
            ],
            dropout,
        ),
    },
    probe=_still_wrong,
)
