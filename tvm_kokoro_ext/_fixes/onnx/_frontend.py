"""Reach TVM's ONNX frontend, which needs the package `onnx`, without importing it for nothing."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tvm_kokoro_ext import _replace
from tvm_kokoro_ext._compat import tvm
from tvm_kokoro_ext._errors import UnsupportedOperatorError

PACKAGE = "tvm.relax.frontend.onnx"
_MODULE = f"{PACKAGE}.onnx_frontend"


@functools.cache
def text() -> str:
    """The source of the frontend; "" if TVM has none. Importing it would need `onnx`."""
    path = Path(tvm.__file__).parent / "relax" / "frontend" / "onnx" / "onnx_frontend.py"
    return path.read_text("utf-8") if path.is_file() else ""


@functools.cache
def converter(name: str) -> str:
    """The source of the class of a converter; "" if there is none."""
    return text().partition(f"\nclass {name}(")[2].partition("\nclass ")[0]


@functools.cache
def listed() -> frozenset[str]:
    """The operators of the frontend's table, by its text."""
    table = text().partition("def _get_convert_map")[2]
    return frozenset(re.findall(r'^\s+"(\w+)":', table, re.MULTILINE))


def holds_expressions() -> bool:
    """Whether the frontend holds sizes as expressions and constants as it does since 0.27."""
    return "is_prim_expr" in text() and "GenericConst" in text()


def refusal(operator: str, reason: str, way_around: str) -> UnsupportedOperatorError:
    """The error to raise for a node of this operator that cannot be imported."""
    return UnsupportedOperatorError(f"the ONNX operator {operator}", reason, way_around)


def nodes(graph: Any) -> Iterator[Any]:
    """The nodes of a graph and of the graphs within it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for branch in (attribute.g, *attribute.graphs):
                yield from nodes(branch)


def module() -> ModuleType:
    """The frontend, which is loaded."""
    return sys.modules[_MODULE]


def with_operators(classes: Callable[[Any], dict[str, Any]]) -> Callable[[], None]:
    """Add converters to the table; `classes(frontend)` gives them by operator. Returns the undo."""

    def apply() -> Callable[[], None]:
        frontend = sys.modules[_MODULE]
        own = classes(frontend)

        def extended(original: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
            @functools.wraps(original)
            def get_convert_map() -> dict[str, Any]:
                return original() | own

            return get_convert_map

        return _replace.in_place({frontend._get_convert_map: extended})

    return when_imported(apply)


def rewriting(rewrite: Callable[[Any], Any]) -> Callable[[], None]:
    """Let `from_onnx` import `rewrite(model)` in place of the model. Returns the undo."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def from_onnx(model: Any, *args: Any, **kwargs: Any) -> Any:
            return original(rewrite(model), *args, **kwargs)

        return from_onnx

    return when_imported(lambda: _replace.in_place({sys.modules[_MODULE].from_onnx: wrap}))


def both(*undo: Callable[[], None]) -> Callable[[], None]:
    """The undo of several effects, in the order in which they were applied."""

    def restore() -> None:
        for one in reversed(undo):
            one()

    return restore


def when_imported(apply: Callable[[], Callable[[], None]]) -> Callable[[], None]:
    """Call `apply()` now if the frontend is loaded, or else right after it has been.

    Returns the function that undoes it.
    """
    if PACKAGE in sys.modules:
        return apply()
    hook = _Hook(apply)
    sys.meta_path.insert(0, hook)
    return hook.undo


class _Hook(importlib.abc.MetaPathFinder):
    def __init__(self, apply: Callable[[], Callable[[], None]]) -> None:
        self.apply = apply
        self.undo_applied: Callable[[], None] | None = None
        self.busy = False

    def undo(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if self.undo_applied is not None:
            self.undo_applied()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != PACKAGE or self.busy:
            return None
        self.busy = True
        try:  # the other fixes' hooks too lay themselves around the loader
            spec = importlib.util.find_spec(fullname)
        finally:
            self.busy = False
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            sys.meta_path.remove(self)
            self.undo_applied = self.apply()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
