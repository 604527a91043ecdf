"""Errors and warnings of the extension."""

from __future__ import annotations

import re
import sys
from typing import Any


class UnsupportedOperatorError(NotImplementedError):
    """An operator, or a use of one, that TVM cannot express; importing it would be wrong."""

    def __init__(self, op: str, reason: str, way_around: str) -> None:
        super().__init__(f"cannot import {op}: {reason}. {way_around}")
        self.op = op
        self.reason = reason
        self.way_around = way_around


class LateImportWarning(UserWarning):
    """tvm_kokoro_ext was imported after the importer had already translated a program."""


def op_name(node: Any) -> str:
    """The name of a node's operator in messages, such as `aten.clamp.default`."""
    return str(node.target) if not isinstance(node.target, str) else node.target


def source_line(node: Any) -> str:
    """Where a node comes from, to be added to a reason: " (model.py, line 12: y = x.view(3))".

    The innermost line outside of torch; empty if the program does not record it.
    """
    trace = getattr(node, "meta", {}).get("stack_trace") or ""
    frames = re.findall(r'File "([^"]+)", line (\d+), in .*\n\s*(.*)', trace)
    inside = getattr(sys.modules.get("torch"), "__path__", ["?"])[0]
    own = [frame for frame in frames if not frame[0].startswith(inside)]
    if not own:
        return ""
    file, line, code = own[-1]
    return f" ({file}, line {line}: {code.strip()[:200]})"


def explained(node: Any, error: Exception) -> UnsupportedOperatorError:
    """The error for a node whose converter has raised `error`."""
    found = " ".join(str(error).split()) or "no message"
    return UnsupportedOperatorError(
        op_name(node),
        f"its converter failed with {type(error).__name__}: {found[:500]}{source_line(node)}",
        "Write it with other operators, or pass a converter of your own in custom_convert_map; "
        f"`python -m tvm_kokoro_ext --op {op_name(node)}` names the fix that converts it",
    )
