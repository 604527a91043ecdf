"""Importing the extension runs no probe and compiles nothing; the first use of TVM does.

Importing a program runs the probes that matter to every import, and those of the program's
operators; compiling runs those of legalizations and the like; reading a state runs all.

The first use of a process comes once. What only a process of its own can show is shown there; the
rest makes the present process forget the answers of the probes.
"""

import dataclasses
import signal
import threading
import types

import pytest
import torch
import tvm
from packaging.version import Version
from test_activation import python
from tvm.relax.frontend import torch as frontend

import tvm_kokoro_ext
from tvm_kokoro_ext import State, _activation, _compat, _probing

PROGRAM = """
    import torch, tvm.relax.frontend.torch
    class Clamped(torch.nn.Module):
        def forward(self, x):
            return x.clamp(min=2)
    program = torch.export.export(Clamped(), (torch.arange(4),))
    from tvm.relax.frontend.torch import from_exported_program
"""


@pytest.mark.slow
def test_importing_the_extension_runs_no_probe_no_pass_and_makes_no_kernel():
    """The first import of a program runs probes, also by a function bound before."""
    program = """
        import tvm, tvm.ir.transform
        counts = {}
        def counting(owner, name):
            original = getattr(owner, name)
            def call(*args, **kwargs):
                counts[name] = counts.get(name, 0) + 1
                return original(*args, **kwargs)
            setattr(owner, name, call)
        counting(tvm.ir.transform.Pass, "__call__")
        counting(tvm.te, "create_prim_func")
        counting(tvm.relax.BlockBuilder, "__init__")
        import tvm_kokoro_ext
        from tvm_kokoro_ext import _probing
        print(counts, len(_probing._answers))
        from_exported_program(program)
        print(sorted(counts), {"clamp", "views"} <= set(_probing._answers), len(_probing._answers))
        tvm.relax.transform.LegalizeOps()
        print(sorted(counts), {"nan_pool", "llvm_math"} <= set(_probing._answers))
        before = len(_probing._answers)
        tvm_kokoro_ext.status()
        print(before < 90 < len(_probing._answers))
    """
    found = python(PROGRAM + program.replace("\n    ", "\n")).splitlines()
    assert found[0] == "{} 0"
    assert found[1].startswith("['__call__', '__init__'] True ")
    assert int(found[1].split()[-1]) < 25
    assert found[2:] == ["['__call__', '__init__', 'create_prim_func'] True", "True"]


@pytest.mark.slow
def test_programs_ask_only_about_operators_that_none_before_had():
    program = """
        import tvm_kokoro_ext
        from tvm_kokoro_ext import _probing
        def added():
            before = set(_probing._answers)
            from_exported_program(program)
            return sorted(set(_probing._answers) - before)
        print("clamp" in added(), added())
        class Sorted(torch.nn.Module):
            def forward(self, x):
                return torch.cond(x.sum() > 0, lambda x: x.sort()[0], lambda x: x + 1, (x,))
        program = torch.export.export(Sorted(), (torch.ones(4),))
        print("nan_order" in added(), added())
    """
    found = python(PROGRAM + program.replace("\n    ", "\n")).splitlines()
    assert found == ["True []", "True []"]


@pytest.mark.slow
def test_the_callers_state_does_not_reach_the_probes():
    """A current target, a pass context whose instruments skip passes, modes of torch."""
    states = "    print([(row.id, row.state.value) for row in tvm_kokoro_ext.status()])\n"
    program = """
    import tvm, torch, tvm_kokoro_ext
    @tvm.instrument.pass_instrument
    class Skipping:
        def should_run(self, module, info):
            return False
    with (
        torch.inference_mode(),
        torch.device("meta"),
        tvm.transform.PassContext(opt_level=0, instruments=[Skipping()]),
        tvm.target.Target({"kind": "cuda", "arch": "sm_80"}),
    ):
        tvm.relax.transform.LegalizeOps()
    """
    found = python(program.rstrip(" ") + states)
    assert found == str([(row.id, row.state.value) for row in tvm_kokoro_ext.status()]) + "\n"


# --- in a process that has forgotten -----------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """The extension as after its import: no answers. The list grows by the fixes that are asked."""
    asked = []

    def ask(fixes):
        asked.extend(fixes)
        assert not _activation._undos, "a probe examines stock TVM"
        assert not hasattr(tvm.compile, "__wrapped__")
        for fix in fixes:
            _probing._answers[fix.id] = fix.affects(installed)

    installed = _compat.tvm_version()
    tvm_kokoro_ext.deactivate()
    known = dict(_probing._answers)
    _probing._answers.clear()
    monkeypatch.setattr(_probing, "ask", ask)
    monkeypatch.setattr(_activation, "_warn_if_late", lambda: None)
    _activation.activate_on_import()
    assert asked == []
    yield asked
    tvm_kokoro_ext.deactivate()
    _probing._answers.clear()
    _probing._answers.update(known)
    monkeypatch.undo()
    tvm_kokoro_ext.activate()


def relu():
    """A module that no importer has made."""
    builder = tvm.relax.BlockBuilder()
    x = tvm.relax.Var("x", _compat.tensor_type([4], "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(tvm.relax.op.nn.relu(x)))
    return builder.get()


def keeps_nan():
    made = tvm.relax.transform.LegalizeOps()(relu())
    return "isnan" in str(made) or "T.max" not in str(made)


LLVM = {"kind": "llvm"}


def clamped(sizes=None):
    """A program of one operator, of which there is a fix."""

    class Clamped(torch.nn.Module):
        def forward(self, x):
            return x.clamp(min=2)

    return torch.export.export(Clamped(), (torch.arange(4),), dynamic_shapes=sizes)


def every(fix):
    return True


def imports_symbols(fix):
    """What matters to importing `clamped(sizes)`."""
    surrounds = fix.prepare or fix.around or (fix.install and fix.needs_torch)
    return bool(surrounds) or "clamp.default" in fix.converters


def imports(fix):
    """What matters to importing `clamped()`."""
    return imports_symbols(fix) and not fix.needs_symbols


def builds(fix):
    return fix.install is not None


USES = {
    "importing": (lambda: frontend.from_exported_program(clamped()), imports),
    "importing symbolic sizes": (
        lambda: frontend.from_exported_program(clamped(({0: torch.export.Dim("n")},))),
        imports_symbols,
    ),
    "legalizing": (lambda: tvm.relax.transform.LegalizeOps(), builds),
    "the default pipeline": (lambda: tvm.relax.get_pipeline("zero")(relu()), builds),
    "compiling": (lambda: tvm.compile(relu(), tvm.target.Target(LLVM)), builds),
    "building": (lambda: tvm.relax.build(relu(), tvm.target.Target(LLVM)), builds),
    "lowering intrinsics": (lambda: tvm.tirx.transform.LowerIntrin(), builds),
    "status()": (lambda: tvm_kokoro_ext.status(), every),
    "a state": (lambda: tvm_kokoro_ext.fixes[0].state, every),
    "a reason": (lambda: tvm_kokoro_ext.fixes[0].why, every),
    "a representation": (lambda: repr(tvm_kokoro_ext.fixes[0]), every),
    "activate()": (lambda: tvm_kokoro_ext.activate(), every),
    "convert_map()": (lambda: tvm_kokoro_ext.convert_map(), every),
}
"""Whatever uses a fix, or shows its state, and the fixes that matter to it."""


@pytest.mark.parametrize(("use", "matters"), USES.values(), ids=USES)
def test_the_first_use_runs_the_probes_that_matter_and_the_second_none(use, matters, asked):
    use()
    installed = _compat.tvm_version()
    probed = [r.fix for r in tvm_kokoro_ext.fixes if r.fix.probe and r.fix.affects(installed)]
    expected = {fix.id for fix in probed if matters(fix)}
    assert {fix.id for fix in asked} == expected
    use()
    assert len(asked) == len(expected)
    assert {record.state for record in tvm_kokoro_ext.fixes} == {State.APPLIED, State.NOT_NEEDED}
    assert {fix.id for fix in asked} == {fix.id for fix in probed}
    assert len(asked) == len(probed)


def test_a_program_is_imported_without_the_fix_that_its_probe_finds_not_needed(asked, monkeypatch):
    """The importer has been given the converter on faith."""

    def ask(fixes):
        _probing._answers.update({fix.id: fix.id != "clamp" for fix in fixes})

    def never(importer, node, previous):
        raise AssertionError("the converter of a fix that is off")

    record = next(r for r in tvm_kokoro_ext.fixes if r.id == "clamp")
    converters = dict.fromkeys(record.fix.converters, never)
    monkeypatch.setattr(record, "fix", dataclasses.replace(record.fix, converters=converters))
    with pytest.raises(tvm_kokoro_ext.UnsupportedOperatorError, match="AssertionError"):
        frontend.from_exported_program(clamped())
    tvm_kokoro_ext.deactivate()
    _probing._answers.clear()
    monkeypatch.setattr(_probing, "ask", ask)
    _activation.activate_on_import()
    imported = str(frontend.from_exported_program(clamped()))
    assert record.current is State.NOT_NEEDED
    with tvm_kokoro_ext.disabled("clamp"):
        assert imported == str(frontend.from_exported_program(clamped()))


def test_a_module_that_no_importer_made_is_legalized_right(asked):
    assert keeps_nan()
    with tvm_kokoro_ext.disabled("all"):
        assert not keeps_nan()


def test_a_legalization_that_is_read_by_itself_is_the_fixed_one(asked):
    """On a measured version the effects are there from the import on."""
    waiting = _compat.get_legalization("relax.nn.relu")
    tvm_kokoro_ext.deactivate()
    assert not _compat.same_object(waiting, _compat.get_legalization("relax.nn.relu"))
    assert asked == []


def test_nothing_is_presumed_of_a_version_that_was_not_measured(asked, monkeypatch):
    tvm_kokoro_ext.deactivate()
    monkeypatch.setattr(_compat, "tvm_version", lambda: Version("9.9"))
    _activation.activate_on_import()
    assert not _activation._undos
    assert asked == []
    assert keeps_nan()
    assert len(asked) == sum(record.fix.probe is not None for record in tvm_kokoro_ext.fixes)


def test_what_the_probe_finds_right_is_off_in_the_first_use(asked, monkeypatch):
    """An effect is there on faith until the first use, and not in the first use itself."""
    record = next(r for r in tvm_kokoro_ext.fixes if r.id == "compile_target")
    assert record.current is State.APPLIED
    answers = dict.fromkeys((r.id for r in tvm_kokoro_ext.fixes), True) | {record.id: False}
    monkeypatch.setattr(_probing, "ask", lambda fixes: _probing._answers.update(answers))
    with pytest.raises(TypeError):
        tvm.relax.build(tvm.IRModule({}), {"kind": "llvm"})
    assert record.state is State.NOT_NEEDED


@pytest.mark.parametrize("ids", [(), ("all",), ("clamp",)])
def test_turning_off_before_the_first_use_asks_nothing_and_leaves_nothing(ids, asked):
    with tvm_kokoro_ext.disabled(*ids):
        pass
    kept = tvm.compile
    assert hasattr(kept, "__wrapped__")
    tvm_kokoro_ext.deactivate()
    for function in (tvm.compile, tvm.build, tvm.relax.build, tvm.tirx.build):
        assert not hasattr(function, "__wrapped__")
    assert kept(relu(), tvm.target.Target(LLVM)) is not None
    assert asked == []


def test_the_environment_is_obeyed_before_and_after_the_first_use(asked, monkeypatch):
    tvm_kokoro_ext.deactivate()
    monkeypatch.setenv("TVM_KOKORO_EXT_DISABLE", "all")
    _activation.activate_on_import()
    assert not _activation._undos
    assert not keeps_nan()
    assert asked == []
    assert {record.state for record in tvm_kokoro_ext.fixes} == {State.DISABLED}


# --- the thread of the probes ------------------------------------------------------------


def _fix(fix_id, probe):
    return dataclasses.replace(tvm_kokoro_ext.fixes[0].fix, id=fix_id, probe=probe)


@pytest.fixture
def _no_answers(monkeypatch):
    monkeypatch.setattr(_probing, "_answers", {})


@pytest.mark.usefixtures("_no_answers")
def test_a_probe_that_raises_does_not_stop_the_others():
    def broken():
        raise RuntimeError("no such operator")

    _probing.ask([_fix("broken", broken), _fix("right", lambda: False)])
    assert _probing.answer(_fix("right", None)) is False
    with pytest.raises(RuntimeError, match="no such operator"):
        _probing.answer(_fix("broken", None))


@pytest.mark.usefixtures("_no_answers")
def test_an_interrupt_waits_for_the_probe_that_runs_and_for_no_other(monkeypatch):
    events = []

    class Recorded(threading.Event):
        def __init__(self):
            super().__init__()
            events.append(self)

    monkeypatch.setattr(
        _probing,
        "threading",
        types.SimpleNamespace(
            Event=Recorded, Thread=threading.Thread, current_thread=threading.current_thread
        ),
    )

    def interrupting():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return any(event.wait(30) for event in events[:1])  # until the caller knows of it

    # The suite may run as a shell's background job, whose SIGINT starts out ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            _probing.ask([_fix("first", interrupting), _fix("second", lambda: True)])
    finally:
        signal.signal(signal.SIGINT, before)
    assert _probing._answers == {"first": True}


def test_an_interrupted_first_use_waits_for_the_next(asked, monkeypatch):
    ask = _probing.ask

    def interrupted(fixes):
        raise KeyboardInterrupt

    monkeypatch.setattr(_probing, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tvm.relax.transform.LegalizeOps()
    monkeypatch.setattr(_probing, "ask", ask)
    assert keeps_nan()
    assert asked
