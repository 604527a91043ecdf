"""Turn fixes on and off, restoring TVM exactly when they are off.

Converters are applied to every import, including `torch.cond` branches, by a single wrapper around
`ExportedProgramImporter.create_convert_map`. It gets the stock table from TVM and layers the
converters of the active fixes over it, each of which can call the one below. Effects outside of the
table (legalizations, methods) are applied by the `install` function of a fix, which returns the
function that undoes it.

Importing this package runs no probe. On a known version the effects of the fixes that are known to
be needed are applied at once, on faith; on an unknown version none is. The probes run when somebody
uses what they decide about: at the first call of an entry point of TVM (`_entry_points`), or when
the state of a fix is read. Only those run whose answer matters there: importing a program asks
about what every import goes through and about the program's operators, and compiling asks about
what is not of the frontend.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

from tvm_kokoro_ext import (
    _agreement,
    _collection,
    _compat,
    _decision,
    _entry_points,
    _importer,
    _probing,
)
from tvm_kokoro_ext._decision import Circumstances
from tvm_kokoro_ext._errors import LateImportWarning, UnsupportedOperatorError, explained
from tvm_kokoro_ext._fix import Converter, Fix, FixRecord, FixStatus, State

_UNDO = "_tvm_kokoro_ext_undo"  # attribute of the tvm module, which survives reloading this module

_lock = threading.RLock()
_records: tuple[FixRecord, ...] = ()
_scoped_out: list[frozenset[str]] = []  # ids of the active `disabled(...)` contexts
_undos: dict[str, Callable[[], None]] = {}  # undo functions of installed effects, by fix id
_active = False
_lazy = False  # whether probes wait for the first use
_presumed: tuple[Fix, ...] = ()  # the fixes whose states rest on probes that have yet to run
_waits_for_frontend = False  # whether fixes may be presumed once the frontend is loaded
_unwatch: Callable[[], None] | None = None  # while the first use is awaited
_hook: _ImporterHook | None = None
_chains: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()


def register(records: tuple[FixRecord, ...]) -> None:
    """Register the fixes of this package; called once, before activation."""
    global _records
    _records = records
    for record in records:
        record.settle = confirm


# --- the public calls --------------------------------------------------------------------


def activate() -> tuple[FixStatus, ...]:
    """Apply every fix that this TVM needs; calling it again has no effect.

    Returns the status rows. A fix that cannot be applied gets the state `failed` with the reason,
    and the other fixes are still applied.
    """
    with _lock:
        _activate(lazy=False)
        return status()


def activate_on_import() -> None:
    """Like `activate()`, but leave the probes for the first use.

    Warns if programs have already been imported without the fixes.
    """
    with _lock:
        if not _active:
            if getattr(_compat.tvm, _UNDO, None) is None:
                _warn_if_late()
            _activate(lazy=True)


def _activate(*, lazy: bool) -> None:
    global _active, _lazy
    if not _active:
        _undo_earlier_incarnation()
        _active = True
        setattr(_compat.tvm, _UNDO, deactivate)
    _lazy = lazy
    _settle(presume=lazy)


def deactivate() -> None:
    """Undo all effects and restore TVM's own objects."""
    global _active
    with _lock:
        if not _active:
            return
        _active = False
        _settle(presume=True)
        if getattr(_compat.tvm, _UNDO, None) is deactivate:
            delattr(_compat.tvm, _UNDO)


def status() -> tuple[FixStatus, ...]:
    """One immutable row per fix, in the order in which they are layered over TVM.

    The first call runs the probes, unless TVM has been used before.
    """
    with _lock:
        return tuple(record.status() for record in _records)


def confirm(concerns: Callable[[Fix], bool] = lambda fix: True) -> None:
    """Run the probes that have yet to run, and bring every fix to the state that they decide.

    `concerns` chooses the fixes that matter now. On an unknown version all do, because no fix is
    applied there before its probe has run.
    """
    if not _rests_on(concerns) or _probing.probing():
        return
    with _lock:
        if _rests_on(concerns):
            known = _compat.is_known_version(_compat.tvm_version())
            _settle(presume=False, concerns=concerns if known else lambda fix: True)


def _rests_on(concerns: Callable[[Fix], bool]) -> bool:
    """Whether states of these fixes are presumed, or may be."""
    return _waits_for_frontend or any(map(concerns, _presumed))


def _surrounds_imports(fix: Fix) -> bool:
    """Whether a fix matters to the import of every program."""
    everywhere = fix.prepare is not None or fix.around is not None
    return not fix.needs_symbols and (everywhere or (fix.needs_torch and fix.install is not None))


def _concerns_building(fix: Fix) -> bool:
    """Whether a fix matters to what becomes of an imported program."""
    return fix.install is not None


@contextmanager
def disabled(*ids: str) -> Iterator[None]:
    """Context in which the named fixes are off, for the whole process; "all" means all fixes.

    Raises
    ------
    ValueError
        For an unknown id.
    """
    chosen = _decision.chosen_ids(ids, _ids(), "disabled()")
    with _lock:
        _scoped_out.append(chosen)
        _settle(presume=_lazy)
    try:
        yield
    finally:
        with _lock:
            _scoped_out.remove(chosen)
            _settle(presume=_lazy)


def convert_map() -> dict[str, Callable[[Any, Any], Any]]:
    """The converters of the fixes, for `from_exported_program(custom_convert_map=…)`.

    To avoid global effects, call `deactivate()` and pass this map. It only contains converters and
    not legalizations, and TVM does not pass custom converters to `torch.cond` branches.
    """
    with _lock:
        confirm()
        circumstances = _circumstances(load=True)
        _ask(circumstances)
        wanted = [
            r for r in _records if _decision.decided(r.fix, circumstances)[0] is State.APPLIED
        ]
    example = _importer.stock()
    made = _layered(example, _importer.stock_table(example), wanted)
    names = {name for record in wanted for name in record.fix.converters if name in made}
    if any(record.fix.around is not None for record in wanted):
        names = set(made)

    def call(name: str, node: Any, importer: Any) -> Any:
        chain = _chains.get(importer)
        if chain is None:
            chain = _layered(importer, _importer.stock_table(importer), wanted)
            _chains[importer] = chain
        return chain[name](node)

    return {name: partial(call, name) for name in sorted(names)}


# --- decisions ---------------------------------------------------------------------------


def _circumstances(*, load: bool) -> Circumstances:
    """The present circumstances; with `load`, the frontend is loaded if torch is installed.

    Without, it is loaded if torch is in the process already, which takes milliseconds.
    """
    version = _compat.tvm_version()
    return Circumstances(
        version,
        _compat.is_known_version(version),
        _importer.load() if load or "torch" in sys.modules else _importer.loaded(),
        _decision.disabled_by_environment(_ids()),
        frozenset().union(*_scoped_out),
    )


def _ids() -> frozenset[str]:
    return frozenset(record.id for record in _records)


def _unanswered(circumstances: Circumstances) -> list[FixRecord]:
    """The fixes whose probe has to decide, and has not run."""
    return [
        record
        for record in _records
        if _decision.without_probe(record.fix, circumstances) is None
        and not _probing.answered(record.fix)
    ]


def _ask(circumstances: Circumstances, concerns: Callable[[Fix], bool] = lambda fix: True) -> None:
    """Run the probes that have to decide, matter and have not run, on stock TVM."""
    waiting = [record.fix for record in _unanswered(circumstances) if concerns(record.fix)]
    if waiting:
        _withdraw()
        _probing.ask(waiting)


def _withdraw() -> None:
    """Undo every effect, for a moment, from the outermost inwards."""
    _stop_watching()
    for record in reversed(_records):
        if record.id in _undos:
            _undos.pop(record.id)()
    if _importer.loaded():
        _wrap_methods(())


def _from_first_change(wanted: Mapping[str, tuple[State, str]]) -> tuple[FixRecord, ...]:
    """The records from the first one on whose effect has to be installed or undone.

    Effects may be layered, so they can only be undone from the top.
    """
    for position, record in enumerate(_records):
        comes_or_stays = wanted[record.id][0] is State.APPLIED and record.fix.install is not None
        if comes_or_stays != (record.id in _undos):
            return _records[position:]
    return ()


def _settle(*, presume: bool, concerns: Callable[[Fix], bool] = lambda fix: True) -> None:
    """Bring every fix to the state it should have now, undoing effects before installing others.

    With `presume`, no probe is run, and otherwise those of the fixes that `concerns` chooses. What
    only a probe can decide that has not run is presumed, and the next use of TVM is awaited.
    """
    with _collection.put_off():
        _remove_hook()
        circumstances = _circumstances(load=_active and not presume)
        if _active and not presume:
            try:
                _ask(circumstances, concerns)
            except BaseException:
                _settle(presume=True)
                raise
        _stop_watching()
        _apply(circumstances)


def _apply(circumstances: Circumstances) -> None:
    """Undo and install what has changed, and set the states."""
    unanswered = {r.id: r.fix for r in _unanswered(circumstances)} if _active else {}
    wanted = {
        record.id: (State.DISABLED, "the extension is not active")
        if not _active
        else _decision.presumed(circumstances)
        if record.id in unanswered
        else _decision.decided(record.fix, circumstances)
        for record in _records
    }
    for record in reversed(_from_first_change(wanted)):
        if record.id in _undos:
            _undos.pop(record.id)()
    for record in _records:
        state, why = wanted[record.id]
        if state is State.APPLIED and record.fix.install is not None:
            waits = record.fix.needs_torch and not circumstances.frontend
            if record.id not in _undos and not waits:
                try:
                    _undos[record.id] = record.fix.install()
                except Exception as error:  # noqa: BLE001 - reported as the fix's state
                    state, why = State.FAILED, f"{type(error).__name__}: {error}"
        record.set(state, why)
    _settle_importer(circumstances)
    _await_next_use(list(unanswered.values()))


def _await_next_use(unanswered: Sequence[Fix]) -> None:
    """Watch the entry points that these fixes matter to.

    All of them are watched if states may be presumed once the frontend is loaded.
    """
    global _presumed, _waits_for_frontend, _unwatch
    _presumed = tuple(unanswered)
    _waits_for_frontend = _lazy and _hook is not None
    watched = {
        concerns: partial(confirm, concerns)
        for concerns in (_surrounds_imports, _concerns_building)
        if _rests_on(concerns)
    }
    if watched:
        _unwatch = _entry_points.watch(
            importing=watched.get(_surrounds_imports), building=watched.get(_concerns_building)
        )


def _stop_watching() -> None:
    global _unwatch
    if _unwatch is not None:
        _unwatch()
        _unwatch = None


# --- the importer's table ----------------------------------------------------------------


def _layered(
    importer: Any, table: Mapping[str, Any], records: Sequence[FixRecord]
) -> dict[str, Any]:
    """The table with the converters of the records layered over it, later records outermost."""
    layered = dict(table)
    for record in records:
        for name, converter in record.fix.converters.items():
            below = layered.get(name)
            if below is not None or not getattr(converter, "needs_previous", False):
                layered[name] = partial(_converted, converter, importer, below)
        if record.fix.around is not None:
            around = partial(_converted, record.fix.around, importer)
            layered = {name: partial(around, below) for name, below in layered.items()}
    return {name: partial(_checked, importer, below) for name, below in layered.items()}


def _checked(importer: Any, converter: Callable[[Any], Any], node: Any) -> Any:
    """The conversion of a node, whose result is checked against the record of torch.

    Errors name the operator and a workaround.
    """
    try:
        empty = _agreement.without_elements(importer, node)
        if empty is not None:
            return empty
        return _agreement.agreeing(importer, node, converter(node))
    except UnsupportedOperatorError:
        raise
    except Exception as error:
        raise explained(node, error) from error


def _converted(converter: Converter, importer: Any, previous: Any, node: Any) -> Any:
    return converter(importer, node, previous)


def _settle_importer(circumstances: Circumstances) -> None:
    """Wrap or unwrap the methods of the importer, or wait for the frontend to be loaded."""
    global _hook
    applied = [r.fix for r in _records if _active and r.current is State.APPLIED]
    if circumstances.frontend:
        _wrap_methods(applied)
    elif any(fix.needs_torch for fix in applied) or (_active and not circumstances.known):
        _hook = _ImporterHook()
        sys.meta_path.insert(0, _hook)


def _remove_hook() -> None:
    global _hook
    if _hook in sys.meta_path:
        sys.meta_path.remove(_hook)
    _hook = None


def _wrap_methods(applied: Sequence[Fix]) -> None:
    """Wrap the methods of the importer that these fixes need, and restore the others."""
    converts = any(fix.converters or fix.around for fix in applied)
    _importer.wrap_method("create_convert_map", _with_fixes, converts)
    _importer.wrap_method("from_exported_program", _prepared, any(fix.prepare for fix in applied))


def _applied() -> list[FixRecord]:
    """The fixes for the import of a program, those of single operators as far as presumed."""
    confirm(_surrounds_imports)
    with _lock:
        return [record for record in _records if record.current is State.APPLIED]


def _with_fixes(original: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    def create_convert_map(self: Any) -> dict[str, Any]:
        return _layered(self, original(self), _applied())

    return create_convert_map


def _prepared(original: Callable[..., Any]) -> Callable[..., Any]:
    @_collection.put_off()
    def from_exported_program(self: Any, exported_program: Any, *args: Any, **kwargs: Any) -> Any:
        custom = kwargs.get("custom_convert_map") or (args[3] if len(args) > 3 else None) or {}
        applied: list[FixRecord] | None = None
        while applied != (now := _applied()):
            if applied is not None:  # a probe has found stock right
                self.convert_map = self.create_convert_map()
            applied = now
            names = dict.fromkeys(self.convert_map, False) | dict.fromkeys(custom, True)
            prepared = exported_program
            for record in applied:
                if record.fix.prepare is not None:
                    prepared = record.fix.prepare(prepared, names)
            operators = _operators(exported_program) | _operators(prepared)
            confirm(partial(_matters_to, operators, bool(prepared.range_constraints)))
        return original(self, prepared, *args, **kwargs)

    return from_exported_program


def _matters_to(operators: set[str], symbols: bool, fix: Fix) -> bool:
    """Whether a fix matters to a program of these operators, with or without symbolic sizes."""
    return (symbols and fix.needs_symbols) or not operators.isdisjoint(fix.converters)


def _operators(program: Any) -> set[str]:
    """The names of all operators of a program and its branches."""
    return {
        getattr(node.target, "__name__", "")
        for module in program.graph_module.modules()
        for node in getattr(getattr(module, "graph", None), "nodes", ())
    }


class _ImporterHook(importlib.abc.MetaPathFinder):
    """Applies the waiting fixes right after the PyTorch frontend has been imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _compat.IMPORTER_MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            with _lock:
                _settle(presume=_lazy)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


# --- reloading and late imports ----------------------------------------------------------


def _undo_earlier_incarnation() -> None:
    """Undo the effects of an earlier copy of this package that was replaced by reloading."""
    earlier = getattr(_compat.tvm, _UNDO, None)
    if earlier is not None and earlier is not deactivate:
        earlier()


def _warn_if_late() -> None:
    if _importer.loaded() and _importer.was_used(_importer.importer_class()):
        warnings.warn(
            "tvm_kokoro_ext was imported after TVM's PyTorch importer had already been used; "
            "programs imported before this line were imported without the fixes. "
            "Import tvm_kokoro_ext first.",
            LateImportWarning,
            stacklevel=4,
        )
