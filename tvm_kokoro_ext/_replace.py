"""Give functions of TVM another body, in place.

A program may have bound a function of TVM to a name of its own before this package is imported, as
every file does whose imports are sorted. So the function stays the same object and its code is
exchanged for a call of the replacement; what it did before lives on in a copy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

Wrap = Callable[[Any], Any]


@dataclass
class _Replaced:
    """A function of TVM as it was, and what is wrapped around it, the outermost last."""

    own: FunctionType
    wraps: list[Wrap] = field(default_factory=list)


_replaced: dict[FunctionType, _Replaced] = {}


def in_place(wraps: Mapping[Any, Wrap]) -> Callable[[], None]:
    """Make each of these functions do what `wrap(original)` does, under every reference to it.

    `wraps` has a wrap for each function. A function may be replaced more than once; the later
    replacement is the outer one. Returns the function that undoes this call, in any order.
    """
    for function, wrap in wraps.items():
        _replaced.setdefault(function, _Replaced(_copy(function))).wraps.append(wrap)
        _settle(function)

    def restore() -> None:
        for function, wrap in wraps.items():
            _replaced[function].wraps.remove(wrap)
            _settle(function)

    return restore


def _copy(function: FunctionType) -> FunctionType:
    copied = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(copied, function)
    del copied.__wrapped__  # type: ignore[attr-defined]
    return copied


def _call(*args: Any, _replacement: Any, **kwargs: Any) -> Any:
    return _replacement(*args, **kwargs)


def _settle(function: FunctionType) -> None:
    """Let the function do what its wraps say, or what it did of its own if there are none.

    The defaults are there whenever the code that needs them is: other threads may be calling.
    """
    own, wraps = _replaced[function].own, _replaced[function].wraps
    if not wraps:
        del _replaced[function]
        function.__code__ = own.__code__
        function.__kwdefaults__ = own.__kwdefaults__
        function.__dict__.pop("__wrapped__", None)
        return
    replacement: Any = own
    for wrap in wraps:
        replacement = wrap(replacement)
    function.__kwdefaults__ = (own.__kwdefaults__ or {}) | {"_replacement": replacement}
    function.__dict__["__wrapped__"] = replacement
    function.__code__ = _call.__code__
