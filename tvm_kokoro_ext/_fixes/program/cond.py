"""Custom converters in `torch.cond` branches.

Stock calls a custom converter with (node, importer) in the program but with (node) in a branch,
which raises a TypeError. With this fix, it always gets both arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from tvm_kokoro_ext import _importer, _probe, _program_probe
from tvm_kokoro_ext._fix import Fix


def install() -> Callable[[], None]:
    """Wrap `update_convert_map`, which adds custom converters to the table."""
    cls = _importer.importer_class()
    owner = next(c for c in cls.__mro__ if "update_convert_map" in c.__dict__)
    original = owner.__dict__["update_convert_map"]

    @functools.wraps(original)
    def update_convert_map(self: Any, custom_convert_map: Mapping[str, Any]) -> None:
        original(self, {name: _either(self, f) for name, f in custom_convert_map.items()})

    owner.update_convert_map = update_convert_map

    def restore() -> None:
        owner.update_convert_map = original

    return restore


def _either(importer: Any, converter: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Make the converter callable with and without the importer."""

    @functools.wraps(converter)
    def convert(node: Any, given: Any = None) -> Any:
        return converter(node, importer if given is None else given)

    return convert


@_probe.wrong
def _still_wrong() -> bool:
    """Whether a converter that needs the importer fails in a branch."""
    import torch

    def convert(node: Any, importer: Any) -> Any:
        return importer.env[node.args[0]]

    def apply(graph: Any, x: Any) -> list[Any]:
        return [graph.call_function(torch.ops.aten.relu.default, (x,))]

    def choose(graph: Any, chosen: Any, x: Any) -> list[Any]:
        branches = [graph.get_attr(name) for name in ("first", "second")]
        return [graph.call_function(torch.ops.higher_order.cond, (chosen, *branches, (x,)))]

    x = _probe.Input((4,))
    parts = {name: _program_probe.graph_module(apply, [x]) for name in ("first", "second")}
    program = _program_probe.graph_module(choose, [_probe.Input((), "bool"), x], parts)
    _program_probe.imported(program, {"relu.default": convert})
    return False


FIX = Fix(
    id="cond",
    what="a custom converter inside a torch.cond branch is called without the importer",
    op="torch.cond",
    affected="",
    install=install,
    probe=_still_wrong,
)
