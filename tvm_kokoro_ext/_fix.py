"""The definition of a fix: a record with its version guard, its effect and how to undo it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

#: (importer, node, previous) -> the conversion of the node. `previous(node)` calls the converter
#: below this one (stock, or of another fix); None if TVM has no converter of that name.
Converter = Callable[[Any, Any, "Callable[[Any], Any] | None"], Any]


def needs_previous(converter: Converter) -> Converter:
    """Mark a converter that extends the one below, and is not used if there is none."""
    converter.needs_previous = True  # type: ignore[attr-defined]
    return converter


class State(str, Enum):
    """The state of a fix in this process."""

    APPLIED = "applied"
    NOT_NEEDED = "not_needed"
    UNKNOWN_VERSION = "unknown_version"
    DISABLED = "disabled"
    FAILED = "failed"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Fix:
    """A defect of TVM and its repair.

    Attributes
    ----------
    id
        Lower-case name, for `disabled(...)` and `TVM_KOKORO_EXT_DISABLE`.
    what
        The defect in one line.
    op
        The operator or the part of TVM that is wrong.
    affected
        Versions of apache-tvm that have the defect, as a PEP 440 specifier; "" means every version,
        and "<0" none (a complaint that was checked and is wrong for every supported version).
    upstream
        Pull request of apache/tvm, "not sent", or "not needed" where stock TVM is right.
    converters
        Frontend converters by the name the importer looks up, such as "clamp.default".
    around
        A converter laid around every converter below it, whatever its name.
    prepare
        Rewrites the exported program before it is translated: (program, names of all converters,
        each with whether it is from the caller's own map) -> program.
    install
        Applies an effect other than a converter; returns the function that undoes it.
    probe
        A cheap check of whether this TVM has the defect; None if there is no cheap one.
    needs_torch
        Whether the fix affects the PyTorch frontend, and thus waits if torch is missing.
    needs_symbols
        Whether the fix does nothing for a program without symbolic sizes; its probe waits for one
        that has them.
    """

    id: str
    what: str
    op: str
    affected: str
    upstream: str = "not sent"
    converters: Mapping[str, Converter] = field(default_factory=dict)
    around: Converter | None = None
    prepare: Callable[[Any, Mapping[str, bool]], Any] | None = None
    install: Callable[[], Callable[[], None]] | None = None
    probe: Callable[[], bool] | None = None
    needs_torch: bool = True
    needs_symbols: bool = False

    def affects(self, version: Version) -> bool:
        """Whether the version guard includes this version of apache-tvm."""
        return SpecifierSet(self.affected).contains(version, prereleases=True)


@dataclass(frozen=True)
class FixStatus:
    """One row of `status()`."""

    id: str
    what: str
    op: str
    affected: str
    state: State
    why: str
    upstream: str


class FixRecord:
    """A fix and its current state; an element of `tvm_kokoro_ext.fixes`."""

    def __init__(self, fix: Fix) -> None:
        self.fix = fix
        #: The state at present, which may rest on a probe that has yet to run.
        self.current = State.DISABLED
        self._why = "not activated yet"
        #: Runs the probes that have yet to run; set when the record is registered.
        self.settle: Callable[[], None] = lambda: None

    @property
    def id(self) -> str:
        return self.fix.id

    @property
    def what(self) -> str:
        return self.fix.what

    @property
    def op(self) -> str:
        return self.fix.op

    @property
    def affected(self) -> str:
        return self.fix.affected

    @property
    def upstream(self) -> str:
        return self.fix.upstream

    @property
    def state(self) -> State:
        """The state; reading it runs the probes that importing the package has put off."""
        self.settle()
        return self.current

    @state.setter
    def state(self, state: State) -> None:
        self.current = state

    @property
    def why(self) -> str:
        """The reason for the state, which reading it settles as well."""
        self.settle()
        return self._why

    def set(self, state: State, why: str) -> None:
        self.current, self._why = state, why

    def status(self) -> FixStatus:
        """An immutable copy of the current state."""
        return FixStatus(
            self.id, self.what, self.op, self.affected, self.state, self.why, self.upstream
        )

    def __repr__(self) -> str:
        return f"FixRecord(id={self.id!r}, state={self.state.value!r})"
