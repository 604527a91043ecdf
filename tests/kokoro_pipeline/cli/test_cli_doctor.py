"""`doctor`: every part is a finding with its remedy, and only what is required makes it fail."""

from __future__ import annotations

import json
import re
from importlib import metadata
from types import SimpleNamespace

import pytest
from packaging.specifiers import SpecifierSet

import kokoro_pipeline
from kokoro_pipeline.artifact import amx, cpu
from kokoro_pipeline.cli import doctor, doctor_checks
from kokoro_pipeline.cli.finding import Finding
from kokoro_pipeline.cli.isolated import NoAnswerError, ask
from kokoro_pipeline.errors import ArtifactError, EnvironmentFault
from kokoro_pipeline.runtime.engine import ffi_compatibility

FINE = Finding("tvm", "ok", "0.27")
ABSENT = Finding("torch", "absent", "not installed", "pip install torch")
DOUBTFUL = Finding("pair", "warning", "untested", "pip install another")
BROKEN = Finding("runtime", "broken", "does not load", "pip install again")


@pytest.fixture
def finds(monkeypatch):
    def install(*findings: Finding) -> None:
        monkeypatch.setattr(doctor, "PROBES", (lambda: list(findings),))

    return install


@pytest.mark.parametrize(
    ("findings", "code"),
    [([FINE], 0), ([FINE, ABSENT, DOUBTFUL], 0), ([FINE, BROKEN, ABSENT], 1)],
    ids=["fine", "incomplete", "broken"],
)
def test_only_what_is_required_makes_it_fail(run_cli, finds, findings, code):
    finds(*findings)
    ended = run_cli("doctor")
    assert ended.code == code
    for finding in findings:
        assert finding.detail in ended.out
    assert re.findall(r"-> (.*)", ended.out) == [f.remedy for f in findings if f.remedy]
    told = json.loads(run_cli("doctor", "--json").out)
    assert told["healthy"] == (code == 0)
    assert [found["state"] for found in told["findings"]] == [f.state for f in findings]


def test_a_probe_that_fails_is_a_finding_and_the_rest_still_show(run_cli, monkeypatch):
    def linker() -> list[Finding]:
        raise ZeroDivisionError("zero")

    monkeypatch.setattr(doctor, "PROBES", (linker, lambda: [FINE]))
    ended = run_cli("doctor")
    assert ended.code == 1
    assert "linker  asking failed: ZeroDivisionError: zero" in ended.out
    assert "0.27" in ended.out


@pytest.mark.parametrize(
    ("version", "state"),
    [
        ("3.9.1", "broken"),
        ("3.10.0", "ok"),
        ("3.12.9", "ok"),
        ("3.13.0", "warning"),
        ("3.14.1", "warning"),
    ],
)
def test_python(monkeypatch, version, state):
    monkeypatch.setattr(doctor_checks.platform, "python_version", lambda: version)
    (finding,) = doctor_checks.python()
    assert finding.state == state


@pytest.mark.parametrize(
    ("tvm", "ffi", "state", "remedy"),
    [
        ("0.27.0.post1", "0.1.15.post2", "ok", ""),
        ("0.27.0.post1", "0.1.12", "broken", "apache-tvm-ffi==0.1.15.post2"),
        ("0.27.0.post1", "0.1.99", "warning", "apache-tvm-ffi==0.1.15.post2"),
        ("0.25.0", "0.1.12", "broken", "apache-tvm==0.27.0.post1"),
        (None, None, "broken", "apache-tvm==0.27.0.post1"),
    ],
)
def test_the_pair(monkeypatch, tvm, ffi, state, remedy):
    monkeypatch.setattr(
        ffi_compatibility, "installed_pair", lambda: ffi_compatibility.judge_pair(tvm, ffi)
    )
    (finding,) = doctor_checks.tvm_pair()
    assert finding.state == state
    assert remedy in finding.remedy
    assert str(tvm or "absent") in finding.detail


def test_a_runtime_that_does_not_load_says_why(monkeypatch):
    def fails(_code: str, *, timeout: float):
        raise NoAnswerError("undefined symbol: Stringify")

    monkeypatch.setattr(doctor_checks, "ask", fails)
    for probe in (doctor_checks.runtime, doctor_checks.compiler_and_fixes):
        (finding,) = probe()
        assert finding.state == "broken"
        assert "undefined symbol: Stringify" in finding.detail
        assert "apache-tvm-ffi==" in finding.remedy


def test_the_runtime_of_this_environment_loads():
    (finding,) = doctor_checks.runtime()
    assert finding.state == "ok", finding.detail


def test_fixes_are_shown_by_state_and_the_unwell_with_their_reason(monkeypatch):
    rows = [
        {"id": "clamp", "state": "applied", "why": "the probe finds the defect here"},
        {"id": "expand", "state": "applied", "why": ""},
        {"id": "atan2", "state": "not_needed", "why": "right"},
        {"id": "lstm", "state": "failed", "why": "AttributeError: gone"},
        {"id": "cat", "state": "disabled", "why": "the environment names it"},
    ]
    monkeypatch.setattr(doctor_checks, "ask", lambda *_, **__: rows)
    found = {finding.part: finding for finding in doctor_checks.compiler_and_fixes()}
    assert found["fixes applied"].detail == "2: clamp, expand"
    assert found["fixes failed"].state == "broken"
    assert "lstm (AttributeError: gone)" in found["fixes failed"].detail
    assert found["fixes disabled"].state == "warning"
    assert "TVM_KOKORO_EXT_DISABLE" in found["fixes disabled"].remedy
    assert found["tvm compiler"].state == "ok"


@pytest.mark.parametrize(
    ("version", "state"), [("2.13.0+cpu", "ok"), ("2.14.0", "warning"), (None, "absent")]
)
def test_a_package_is_compared_with_the_versions_known_to_work(monkeypatch, version, state):
    def installed(_name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError
        return version

    monkeypatch.setattr(
        doctor_checks,
        "metadata",
        SimpleNamespace(version=installed, PackageNotFoundError=metadata.PackageNotFoundError),
    )
    finding = doctor_checks._package(
        "torch", "torch", SpecifierSet(">=2.9,<2.14"), "pip install it"
    )
    assert finding.state == state
    assert finding.remedy == ("" if state == "ok" else "pip install it")


def test_no_linker_is_absent_because_running_needs_none(stand_in):
    def find_linker():
        raise EnvironmentFault("no linker found")

    stand_in("kokoro_pipeline.compiler.codegen.linking", find_linker=find_linker)
    (finding,) = doctor_checks.linker()
    assert (finding.state, finding.detail) == ("absent", "no linker found")
    assert "ziglang" in finding.remedy


def test_an_extra_that_lacks_a_package_is_absent_and_the_others_are_not(monkeypatch):
    monkeypatch.setattr(
        doctor_checks, "find_spec", lambda name: None if name == "fastapi_offline" else object()
    )
    found = {finding.part: finding for finding in doctor_checks.extras()}
    assert found["extra serve"].state == "absent"
    assert found["extra serve"].detail.endswith("not installed: fastapi_offline")
    assert "tvm-kokoro[serve]" in found["extra serve"].remedy
    assert {found[f"extra {name}"].state for name in ("batch", "ray", "ja", "zh")} == {"ok"}


@pytest.mark.parametrize("dies", [False, True])
def test_no_loudspeaker_is_absent_with_the_reason(monkeypatch, dies):
    def silent(_code: str, *, timeout: float):
        if dies:
            raise NoAnswerError("killed by signal 11")
        return "there is no loudspeaker"

    monkeypatch.setattr(doctor_checks, "ask", silent)
    found = {finding.part: finding for finding in doctor_checks.audio_packages()}
    assert found["loudspeaker"].state == "absent"
    reason = "killed by signal 11" if dies else "there is no loudspeaker"
    assert found["loudspeaker"].detail == f"`say --play` does not work: {reason}"


def test_text_names_what_is_missing(monkeypatch):
    monkeypatch.setattr(
        doctor_checks, "find_spec", lambda name: None if name == "misaki" else object()
    )
    (finding,) = doctor_checks.text()
    assert finding.state == "absent"
    assert "not installed: misaki;" in finding.detail
    assert "tvm-kokoro[text]" in finding.remedy


def test_the_hub_is_not_asked_offline_and_its_silence_is_no_fault(monkeypatch):
    asked: list[str] = []

    def unreachable(code: str, *, timeout: float):
        asked.append(code)
        raise NoAnswerError("Name or service not known")

    monkeypatch.setattr(doctor_checks, "find_spec", lambda _name: object())
    monkeypatch.setattr(doctor_checks, "ask", unreachable)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (finding,) = doctor_checks.hub()
    assert (finding.state, asked) == ("absent", [])
    monkeypatch.delenv("HF_HUB_OFFLINE")
    (finding,) = doctor_checks.hub()
    assert finding.state == "absent"
    assert "Name or service not known" in finding.detail
    assert len(asked) == 1


def test_cached_artifacts_are_counted_and_damaged_ones_named(make_artifact, monkeypatch, tmp_path):
    monkeypatch.setenv("KOKORO_PIPELINE_CACHE", str(tmp_path))
    (finding,) = doctor_checks.cached_artifacts()
    assert finding.state == "absent"
    make_artifact(tmp_path / "artifacts" / "one")
    (finding,) = doctor_checks.cached_artifacts()
    assert finding.state == "ok"
    assert finding.detail.startswith("1 cached")
    (make_artifact(tmp_path / "artifacts" / "two") / "model.so").unlink()
    (finding,) = doctor_checks.cached_artifacts()
    assert finding.state == "warning"
    assert "two" in finding.detail


@pytest.mark.parametrize("permitted", (True, False))
def test_a_cpu_with_amx_says_whether_it_may_be_used(monkeypatch, permitted):
    def permit_tiles(where: str) -> str:
        if not permitted:
            raise ArtifactError(f"{where}: arch_prctl fails: EPERM")
        return "the kernel permits AMX tiles"

    monkeypatch.setattr(cpu, "host_features", lambda: frozenset(amx.FEATURES))
    monkeypatch.setattr(amx, "permit_tiles", permit_tiles)
    (finding,) = doctor_checks.cpu()
    assert finding.state == ("ok" if permitted else "warning")
    assert ("permits AMX tiles" in finding.detail) == permitted
    assert ("leave AMX out" in finding.detail and "EPERM" in finding.detail) != permitted


def test_a_cpu_that_cannot_be_read_is_broken(monkeypatch):
    def unknown() -> frozenset[str]:
        raise EnvironmentFault("/proc is not mounted")

    monkeypatch.setattr(cpu, "host_features", unknown)
    (finding,) = doctor_checks.cpu()
    assert (finding.state, finding.detail) == ("broken", "/proc is not mounted")


def test_ask_returns_the_answer_whatever_else_is_printed():
    assert ask("print('noise'); answer({'a': [1, 'é']}); print('more')", timeout=30) == {
        "a": [1, "é"]
    }


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise ValueError('bad')", "ValueError: bad"),
        ("import os; os._exit(7)", "status 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
        ("pass", "status 0"),
    ],
)
def test_ask_says_how_a_process_ended_without_an_answer(code, said):
    with pytest.raises(NoAnswerError, match=said):
        ask(code, timeout=30)


def test_ask_finds_this_package_and_nothing_of_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "kokoro_pipeline.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    found = ask("import kokoro_pipeline; answer(kokoro_pipeline.__file__)", timeout=30)
    assert found == kokoro_pipeline.__file__


@pytest.mark.timeout(60)
def test_ask_does_not_wait_for_ever():
    with pytest.raises(NoAnswerError, match=r"no answer within 0\.5 s"):
        ask("import time; time.sleep(3600)", timeout=0.5)
