"""Replace functions under all names that they have in TVM's modules, and restore them.

TVM has hundreds of modules, so that looking for the names takes milliseconds. Where many functions
are restored and replaced again at one time, they are looked for once.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

Wrap = Callable[[Any], Any]

#: A name of a function: the namespace of a module, and the name in it.
Place = tuple[dict[str, Any], str]

_waiting: dict[int, Any] | None = None  # the originals by what `restored_together` restores


class _Search:
    """The places of functions in a package by their identity, as long as no module is loaded."""

    def __init__(self, package: str, places: dict[int, list[Place]]) -> None:
        self.of_what = (package, len(sys.modules))
        self.places = defaultdict(list, places)

    def found(self, package: str, identities: Mapping[int, Any]) -> dict[int, list[Place]] | None:
        """The places of these functions; None if one has not been looked for."""
        same = self.of_what == (package, len(sys.modules))
        if not same or not identities.keys() <= self.places.keys():
            return None
        return {identity: self.places[identity] for identity in identities}


_search: _Search | None = None  # within `found_once`


def everywhere(package: str, wraps: Mapping[Any, Wrap]) -> Callable[[], None]:
    """Bind `wrap(original)` wherever a loaded module of `package` binds `original`.

    `wraps` has a wrap for each original. Returns the function that restores the originals, also
    under names that were given to the replacements later, as by an import in a module of `package`.
    """
    replacements = [(original, wrap(original)) for original, wrap in wraps.items()]
    _rebind(package, {id(original): replacement for original, replacement in replacements})

    def restore() -> None:
        back = {id(replacement): original for original, replacement in replacements}
        if _waiting is None:
            _rebind(package, back)
        else:
            _waiting.update(back)

    return restore


@contextmanager
def restored_together(package: str) -> Iterator[None]:
    """Context in which functions of `package` are restored at the end, after one search.

    What has been replaced more than once becomes its first original.
    """
    global _waiting
    _waiting = {}
    try:
        yield
    finally:
        back, _waiting = _waiting, None
        _rebind(package, {identity: _first_original(identity, back) for identity in back})


def _first_original(identity: int, back: Mapping[int, Any]) -> Any:
    original = back[identity]
    while id(original) in back:
        original = back[id(original)]
    return original


@contextmanager
def found_once() -> Iterator[None]:
    """Context in which nobody else gives names to functions, so that each is looked for once."""
    global _search
    _search = _Search("", {})
    try:
        yield
    finally:
        _search = None


def _rebind(package: str, by_identity: Mapping[int, Any]) -> None:
    """Bind the given objects instead of those with these identities, in all modules."""
    global _search
    places = _search.found(package, by_identity) if _search is not None else None
    if places is None:
        wanted = by_identity.keys() | {id(replacement) for replacement in by_identity.values()}
        places = _places(package, wanted)
        if _search is not None:
            _search = _Search(package, places)
    for identity, replacement in by_identity.items():
        for names, name in places[identity]:
            names[name] = replacement
        if _search is not None:
            _search.places[id(replacement)] += _search.places.pop(identity)


def _places(package: str, identities: set[int]) -> dict[int, list[Place]]:
    """Every name of the objects with these identities in the loaded modules of `package`."""
    places: dict[int, list[Place]] = {identity: [] for identity in identities}
    prefix = f"{package}."
    for key, module in list(sys.modules.items()):
        if (key == package or key.startswith(prefix)) and isinstance(module, ModuleType):
            names = vars(module)
            if not identities.isdisjoint(map(id, names.values())):
                for name, value in list(names.items()):
                    if id(value) in identities:
                        places[id(value)].append((names, name))
    return places
