"""Activation and deactivation of fixes, tested by comparing the registered objects of TVM."""

import dataclasses
import functools
import importlib
import json
import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
import tvm
from packaging.specifiers import SpecifierSet

import tvm_kokoro_ext
from tvm_kokoro_ext import State, _compat, _decision, _fixes

ATTRIBUTES = ("FLegalize", "metal.FLowerIntrinsic")


@pytest.fixture(autouse=True)
def _active_before_and_afterwards():
    """Each test begins with every probe asked, whether or not another test ran before it."""
    tvm_kokoro_ext.activate()
    yield
    tvm_kokoro_ext.activate()


def registered():
    """Every function and method of TVM's modules with its code, and how operators are lowered."""
    table = {}
    for key, module in list(sys.modules.items()):
        if module is not None and (key == "tvm" or key.startswith("tvm.")):
            for name, value in list(vars(module).items()):
                table[key, name] = value
                if isinstance(value, type) and value.__module__ == key:
                    table |= {(key, name, member): v for member, v in vars(value).items()}
    table = {key: value for key, value in table.items() if callable(value)}
    codes = {(*key, "__code__"): getattr(value, "__code__", None) for key, value in table.items()}
    table |= {key: code for key, code in codes.items() if code is not None}
    operators = {
        (name, attribute): tvm.ir.Op.get(name).get_attr(attribute)
        for name in map(str, tvm.ir.Op.list_op_names())
        for attribute in ATTRIBUTES
    }
    return table, operators


def same(first, second):
    return not changed(first, second)


def changed(first, second):
    """The names that are not the same object; TVM's modules may gain names at run time."""
    python = [key for key in first[0].keys() & second[0] if first[0][key] is not second[0][key]]
    operators = [key for key in first[1] if not _compat.same_object(first[1][key], second[1][key])]
    return sorted(map(str, python + operators))


def _ours(state):
    """The functions of TVM that come from this package."""
    return [key for key, value in state[0].items() if "tvm_kokoro_ext" in _origin(value)]


def _origin(value):
    """Where a function says it comes from, or what it wraps."""
    own = str(getattr(value, "__module__", "")) + getattr(value, "__qualname__", "")
    return own + str(getattr(value, "__code__", "")) + str(getattr(value, "__wrapped__", ""))


def python(program, **environment):
    """Run a program in a fresh interpreter; its stdout. The environment adds to this one's."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)} | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_deactivating_restores_the_very_objects_and_activating_brings_ours_back():
    active = registered()
    tvm_kokoro_ext.deactivate()
    stock = registered()
    replaced = " ".join(changed(active, stock))
    for name in ("create_convert_map", "add_func", "relax.slice_scatter", "relax.nn.relu"):
        assert name in replaced
    assert _ours(active)
    assert _ours(stock) == []
    tvm_kokoro_ext.deactivate()
    assert changed(registered(), stock) == []
    tvm_kokoro_ext.activate()
    tvm_kokoro_ext.deactivate()
    assert changed(registered(), stock) == []
    assert {row.state for row in tvm_kokoro_ext.status()} == {State.DISABLED}


def test_activating_twice_wraps_once():
    active = registered()
    tvm_kokoro_ext.activate()
    assert same(registered(), active)


def test_reloading_changes_nothing():
    active = registered()
    importlib.reload(tvm_kokoro_ext)
    assert same(registered(), active)


@pytest.mark.slow
def test_a_second_copy_of_the_package_replaces_the_first():
    """Modules dropped and imported anew: what the first copy left is undone before."""
    output = python(
        """
        import sys, warnings
        warnings.simplefilter("ignore")
        import tvm_kokoro_ext
        from tvm_kokoro_ext import _compat
        cls = tvm_kokoro_ext._importer.importer_class()
        for name in [n for n in sys.modules if n.split(".")[0] == "tvm_kokoro_ext"]:
            del sys.modules[name]
        import tvm_kokoro_ext as second
        second.deactivate()
        print(hasattr(cls.create_convert_map, "__tvm_kokoro_ext_original__"))
        print("tvm_kokoro_ext" in str(cls.from_exported_program.__module__))
        """
    )
    assert output.split() == ["False", "False"]


def test_every_state_is_explained_and_none_failed():
    for row in tvm_kokoro_ext.status():
        assert row.state in (State.APPLIED, State.NOT_NEEDED), row
        assert row.why
        assert row.what
        assert row.upstream
        assert row.id == row.id.lower()
    assert len({row.id for row in tvm_kokoro_ext.status()}) == len(tvm_kokoro_ext.fixes)


def test_the_fixes_are_a_tuple_of_records_with_guards_and_the_names_of_operators():
    assert isinstance(tvm_kokoro_ext.fixes, tuple)
    for record in tvm_kokoro_ext.fixes:
        assert record.affected == str(record.fix.affected)
        SpecifierSet(record.affected)
    ids = {record.id for record in tvm_kokoro_ext.fixes}
    assert ids >= {"expand", "atan2", "clamp", "index_put", "floordiv", "sym_float"}
    assert ids >= {"slice_scatter", "scalar_tensor", "leaky_relu", "cat"}


def test_disabled_is_a_block_and_knows_its_ids():
    def state(fix_id):
        return next(f.state for f in tvm_kokoro_ext.fixes if f.id == fix_id)

    with tvm_kokoro_ext.disabled("clamp"):
        assert state("clamp") is State.DISABLED
        assert state("alpha") is State.APPLIED
        with tvm_kokoro_ext.disabled("alpha"):
            assert state("alpha") is State.DISABLED
        assert state("alpha") is State.APPLIED
    assert state("clamp") is State.APPLIED
    with (
        pytest.raises(ValueError, match="no fix is called nonsense"),
        tvm_kokoro_ext.disabled("nonsense"),
    ):
        pass


@pytest.mark.parametrize("ids", [("keep",), ("randn", "function_name"), ("keep", "randn")])
def test_effects_over_one_another_come_and_go_in_any_order(ids):
    """randn, keep and function_name each wrap the same function."""
    from tvm.relax.frontend import torch as frontend

    def depth():
        function = getattr(frontend.from_exported_program, "__wrapped__", None)
        found = 0
        while hasattr(function, "__wrapped__"):
            function, found = function.__wrapped__, found + 1
        return found

    whole = depth()
    for _ in range(2):
        with tvm_kokoro_ext.disabled(*ids):
            assert depth() == whole - len(ids)
        assert depth() == whole
    with tvm_kokoro_ext.disabled("all"):
        assert depth() == 0


def test_all_disabled_is_stock():
    tvm_kokoro_ext.deactivate()
    stock = registered()
    tvm_kokoro_ext.activate()
    with tvm_kokoro_ext.disabled("all"):
        assert same(registered(), stock)


@pytest.mark.slow
def test_environment_disables():
    program = """
        import json, tvm_kokoro_ext
        print(json.dumps({f.id: f.state for f in tvm_kokoro_ext.fixes}))
    """
    some = json.loads(python(program, TVM_KOKORO_EXT_DISABLE="clamp, alpha"))
    assert (some["clamp"], some["alpha"], some["squeeze"]) == ("disabled", "disabled", "applied")
    everything = json.loads(python(program, TVM_KOKORO_EXT_DISABLE="all"))
    assert set(everything.values()) == {"disabled"}


def test_an_unknown_id_in_the_environment_is_warned_of(monkeypatch):
    """The others that it names are off: a typing error must not turn them on."""
    tvm_kokoro_ext.deactivate()
    monkeypatch.setenv("TVM_KOKORO_EXT_DISABLE", "clmap,alpha")
    with pytest.warns(UserWarning, match="TVM_KOKORO_EXT_DISABLE: no fix is called clmap; see"):
        tvm_kokoro_ext.activate()
    states = {record.id: record.state for record in tvm_kokoro_ext.fixes}
    assert (states["alpha"], states["clamp"]) == (State.DISABLED, State.APPLIED)
    monkeypatch.undo()
    tvm_kokoro_ext.deactivate()


def test_the_table_is_printed_and_is_json_on_request(capsys):
    from tvm_kokoro_ext.__main__ import main

    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["id", "state", "what", "why", "upstream"]
    assert len(lines) == 1 + len(tvm_kokoro_ext.fixes)
    assert main(["--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"id", "what", "state", "why", "upstream"} <= set(rows[0])
    assert len(rows) == len(tvm_kokoro_ext.fixes)
    assert set(rows[0]["state"]) <= set("abcdefghijklmnopqrstuvwxyz_")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", [[], ["--json"]], ids=str)
def test_an_output_that_takes_nothing_is_no_traceback(words):
    command = [sys.executable, "-m", "tvm_kokoro_ext", *words]
    every = ",".join(record.id for record in tvm_kokoro_ext.fixes)
    run = functools.partial(
        subprocess.run,
        command,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | {_decision.ENVIRONMENT: every},  # what is disabled is not probed
    )
    with Path("/dev/full").open("w") as full:
        done = run(stdout=full)
    assert done.returncode == 3
    assert done.stderr == "cannot write to standard output: No space left on device\n"
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = run(stdout=closed)
    assert (done.returncode, done.stderr) == (141, "")


def test_the_exit_code_tells_a_failed_fix(capsys, monkeypatch):
    from tvm_kokoro_ext.__main__ import main

    record = tvm_kokoro_ext.fixes[0]
    monkeypatch.setattr(record, "state", State.FAILED)
    assert main([]) == 1
    assert "failed" in capsys.readouterr().out


@pytest.mark.slow
def test_the_converters_wait_where_torch_is_missing():
    """torch blocked: import works, legalizations are in place, the frontend is fixed once torch is
    there."""
    output = python(
        """
        import sys
        sys.modules["torch"] = None
        import tvm_kokoro_ext
        from tvm_kokoro_ext import _compat
        states = {f.id: f for f in tvm_kokoro_ext.fixes}
        print(states["clamp"].state, "waits for torch" in states["clamp"].why)
        print(states["instance_norm"].state, _compat.IMPORTER_MODULE in sys.modules)
        del sys.modules["torch"]
        import torch
        from tvm.relax.frontend.torch import from_exported_program
        from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter
        print(hasattr(ExportedProgramImporter.create_convert_map, "__tvm_kokoro_ext_original__"))
        print("waits" in states["clamp"].why, len(sys.meta_path))
        tvm_kokoro_ext.deactivate()
        print(hasattr(ExportedProgramImporter.create_convert_map, "__tvm_kokoro_ext_original__"))
        """
    )
    lines = [line.split() for line in output.splitlines()]
    assert lines[0] == ["applied", "True"]
    assert lines[1] == ["applied", "False"]
    assert lines[2] == ["True"]
    assert lines[3][0] == "False"
    assert lines[4] == ["False"]


IMPORT_ONE = """
    import warnings, torch
    from tvm.relax.frontend.torch import from_exported_program
    class Module(torch.nn.Module):
        def forward(self, x):
            return x + 1
    def use():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.export.export(Module(), (torch.ones(2),))
            from_exported_program(program)
"""
SEE_WARNING = """
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        import tvm_kokoro_ext
    print([w.category.__name__ for w in seen if "tvm_kokoro_ext" in str(w.message)])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 11), reason="CPython 3.10 keeps no trace of use")
def test_a_late_import_warns():
    assert "LateImportWarning" in python(IMPORT_ONE + "    use()\n" + SEE_WARNING)


@pytest.mark.slow
def test_an_import_in_time_does_not_warn():
    assert python(IMPORT_ONE + SEE_WARNING).strip() == "[]"


def test_convert_map_has_the_converters_without_global_effect():
    import torch
    from frontend_cases import Case, check, compile_module, eager, export, import_program

    case = Case("clamp", lambda x: x.clamp(min=2), lambda n: (torch.arange(2 * n),))
    tvm_kokoro_ext.deactivate()
    stock = registered()
    with pytest.raises((AssertionError, RuntimeError)):
        check(case, symbolic=False, decomposed=True)
    module = import_program(
        export(case, symbolic=False), True, custom_convert_map=tvm_kokoro_ext.convert_map()
    )
    run = compile_module(module)
    assert (run(*[t.numpy() for t in case.inputs(6)])[0] == eager(case, 6)[0]).all()
    assert same(registered(), stock)


def test_convert_map_has_every_converter_that_is_needed_and_none_that_is_off():
    """The names for `custom_convert_map` are those of the fixes that this TVM needs."""
    importer = tvm_kokoro_ext._importer.stock()
    off = ("lstm", "upsample", "half_precision", "equal_sizes")
    with tvm_kokoro_ext.disabled(*off):
        names = set(tvm_kokoro_ext.convert_map())
    wanted = {
        name
        for record in tvm_kokoro_ext.fixes
        if record.state is State.APPLIED and record.id not in off
        for name, converter in record.fix.converters.items()
        if name in importer.convert_map or not getattr(converter, "needs_previous", False)
    }
    assert "upsample_nearest1d.vec" not in names
    assert names == wanted


def test_convert_map_has_stock_converters_too_where_a_fix_surrounds_all():
    """Half precision and equal sizes concern operators that only TVM has converters of."""
    stock = set(tvm_kokoro_ext._importer.stock().convert_map)
    assert stock <= set(tvm_kokoro_ext.convert_map())
    with tvm_kokoro_ext.disabled("half_precision", "equal_sizes"):
        assert not stock <= set(tvm_kokoro_ext.convert_map())


@pytest.mark.parametrize(
    ("tvm", "ffi", "works"),
    [
        ("0.25.0", "0.1.12", None),
        ("0.25.0", "0.1.15.post2", "apache-tvm-ffi 0.1.12"),
        ("0.26.0", "0.1.15.post2", None),
        ("0.26.0", "0.1.12", "apache-tvm-ffi 0.1.15.post2"),
        ("0.27.0.post1", "0.1.15.post2", None),
        ("0.99.0", "0.9", None),
        (None, None, None),
    ],
)
def test_a_broken_pair_is_named_with_the_one_that_works(tvm, ffi, works):
    problem = _compat.pair_problem(tvm, ffi)
    if works is None:
        assert problem is None
    else:
        assert tvm in problem
        assert ffi in problem
        assert works in problem


def test_a_tvm_that_does_not_load_is_one_clear_error(tmp_path):
    """A stand-in for the undefined symbol of 0.25.0 with tvm-ffi 0.1.15."""
    package = tmp_path / "tvm"
    package.mkdir()
    (package / "__init__.py").write_text("raise OSError('undefined symbol: Stringify')")
    for name, version in (("apache-tvm", "0.27.0"), ("apache-tvm-ffi", "0.1.15.post2")):
        information = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
    output = python(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        try:
            import tvm_kokoro_ext
        except ImportError as error:
            print(type(error).__name__, error)
        """
    )
    assert "BrokenPairError" in output
    assert "undefined symbol: Stringify" in output
    assert "pip install 'apache-tvm==0.27.0.post1' 'apache-tvm-ffi==0.1.15.post2'" in output


def test_guards_on_an_unknown_version(monkeypatch):
    """Newer than any known TVM: probes decide, and the state says so.

    What no probe can decide stays off, and is told apart by whether the newest known TVM has it.
    """
    from packaging.version import Version

    known = {row.id: row.state for row in tvm_kokoro_ext.status()}
    installed = _compat.tvm_version()
    tvm_kokoro_ext.deactivate()
    monkeypatch.setattr(_compat, "tvm_version", lambda: Version("9.9"))
    clamp = next(f for f in tvm_kokoro_ext.fixes if f.id == "clamp")
    unsure = next(f for f in tvm_kokoro_ext.fixes if f.id == "alpha")
    monkeypatch.setattr(unsure, "fix", dataclasses.replace(unsure.fix, probe=None))
    tvm_kokoro_ext.activate()
    assert clamp.why == "apache-tvm 9.9 is unknown; the probe finds the defect here"
    assert unsure.why.startswith("apache-tvm 9.9 is unknown and no probe can decide; the newest")
    assert unsure.why.endswith("has the defect")
    for fix in tvm_kokoro_ext.fixes:
        if fix.fix.probe is not None:
            # equal_sizes is off on 0.25 and 0.26, which have the defect, by its guard alone.
            if SpecifierSet(fix.affected).contains(installed, prereleases=True):
                assert fix.state is known[fix.id], fix
        else:
            assert fix.state is State.UNKNOWN_VERSION, fix
            assert fix is unsure or fix.why.endswith("is right")
    monkeypatch.undo()
    tvm_kokoro_ext.deactivate()
    tvm_kokoro_ext.activate()


def test_a_fix_that_cannot_be_applied_is_failed_and_the_others_go_on(monkeypatch):
    record = next(f for f in tvm_kokoro_ext.fixes if f.id == "instance_norm")

    def broken():
        raise RuntimeError("no such operator")

    tvm_kokoro_ext.deactivate()
    monkeypatch.setattr(record, "fix", dataclasses.replace(record.fix, install=broken))
    tvm_kokoro_ext.activate()
    assert record.state is State.FAILED
    assert "no such operator" in record.why
    assert next(f for f in tvm_kokoro_ext.fixes if f.id == "group_norm").state is State.APPLIED
    tvm_kokoro_ext.deactivate()


def test_nothing_of_the_pipeline_is_imported():
    output = python(
        """
        import sys, tvm_kokoro_ext
        print([n for n in sys.modules if n.startswith("kokoro")])
        """
    )
    assert output.strip() == "[]"


def test_importing_says_nothing_even_from_native_code():
    """Probes make TVM fail on purpose, and the resulting logs of its C++ code must not be shown."""
    assert python("import os; os.dup2(1, 2); import tvm_kokoro_ext").strip() == ""


@pytest.mark.slow
def test_a_probe_gives_standard_error_back():
    program = """
        import os, sys
        os.dup2(1, 2)
        from tvm_kokoro_ext import _probe
        try:
            with _probe.native_stderr_dropped():
                os.write(2, b"dropped")
                raise ValueError
        except ValueError:
            os.write(2, b"kept")
    """
    assert python(program).strip() == "kept"


def test_every_module_imports_without_warnings():
    import pkgutil

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for module in pkgutil.walk_packages(tvm_kokoro_ext.__path__, "tvm_kokoro_ext."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


@pytest.mark.parametrize(
    ("operator", "fix", "file"),
    [
        ("aten.cat", "where", "dtypes/where.py"),
        ("torch.ops.aten.conv1d.default", "convolution", "convolution/convolution.py"),
        ("relax.full", "full", "nan/full.py"),
        ("squeeze", "squeeze", "shapes/squeeze.py"),
    ],
)
def test_the_file_of_an_operator_is_found(operator, fix, file, capsys):
    from tvm_kokoro_ext.__main__ import main

    assert main(["--op", operator, "--json"]) == 0
    found = {row["id"]: row["file"] for row in json.loads(capsys.readouterr().out)}
    assert Path(found[fix]).parts[-2:] == tuple(file.split("/"))
    assert Path(found[fix]).is_file()


def test_an_operator_that_no_fix_touches_is_said_so(capsys):
    from tvm_kokoro_ext.__main__ import main

    assert main(["--op", "aten.no_such_operator"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "aten.no_such_operator" in printed.err


def test_every_fix_is_defined_in_a_file_of_its_subject():
    from tvm_kokoro_ext.__main__ import file_of

    subjects = {file_of(record).parent.name for record in tvm_kokoro_ext.fixes}
    assert subjects == {
        path.parent.name
        for path in Path(_fixes.__file__).parent.glob("*/__init__.py")
        if path.parent.name != "_shared"
    }
