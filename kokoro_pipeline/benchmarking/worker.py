"""The program of a contender's process: one role, with calls on stdin and answers on stdout.

Each message is a line of JSON. The first one names the role; the next ones are calls of its public
methods, whose arguments and results must be JSON values.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Mapping
from typing import Any, TextIO

from ..errors import InputError, KokoroError
from ..json_values import plain
from .checkout import checkout

ROLES: Mapping[str, str] = {
    "ours": ".ours:OurRole",
    "kernels": ".kernels:KernelRole",
}
"""Module and class of our roles, which are constructed with `(role, threads, **options)`."""


def main() -> None:
    """Serve until stdin ends."""
    answers = _take_stdout()
    role: Any = None
    for line in sys.stdin:
        message = json.loads(line)
        try:
            if role is None:
                role = _make(message)
                result = None
            else:
                result = _call(role, message["call"], message["with"])
            answer = {"result": plain(result)}
        except KokoroError as error:
            answer = {"fault": type(error).__name__, "message": str(error)}
        except Exception as error:  # noqa: BLE001 -- answered, and raised where the call was made
            traceback.print_exc()
            first = next(iter(str(error).strip().splitlines()), "no message")
            answer = {"fault": type(error).__name__, "message": first}
        print(json.dumps(answer), file=answers, flush=True)


def _make(message: Mapping[str, Any]) -> Any:
    module, _, name = (message.get("kind") or ROLES[message["role"]]).partition(":")
    if not module.startswith("."):
        sys.path.append(str(checkout()))
    kind = getattr(importlib.import_module(module, __package__), name)
    return kind(message["role"], message["threads"], **message["options"])


def _call(role: Any, method: str, arguments: Mapping[str, Any]) -> Any:
    if method.startswith("_") or not callable(getattr(role, method, None)):
        raise InputError(f"{type(role).__name__} has no method {method!r}")
    return getattr(role, method)(**arguments)


def _take_stdout() -> TextIO:
    """Return the original stdout, and redirect all other output to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers
