"""Which versions of TVM and tvm-ffi work together, and the message for other pairs."""

from __future__ import annotations

import pytest

from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.runtime.engine import library
from kokoro_pipeline.runtime.engine.ffi_compatibility import (
    RECOMMENDED,
    RULES,
    installed_pair,
    judge_pair,
)
from tvm_kokoro_ext import _compat


@pytest.mark.parametrize(
    ("tvm", "ffi", "verdict"),
    [
        ("0.27.0.post1", "0.1.15.post2", "works"),
        ("0.27.0.post1", "0.1.14.post1", "works"),
        ("0.27.0.post1", "0.1.12", "broken"),
        ("0.27.0.post1", "0.1.16", "untested"),
        ("0.27.1", "0.1.15.post2", "untested"),
        ("0.26.0", "0.1.13.post3", "works"),
        ("0.26.0", "0.1.12", "broken"),
        ("0.25.0", "0.1.12", "works"),
        ("0.25.0", "0.1.15.post2", "broken"),
        ("0.25.0.post1", "0.1.15.post2", "untested"),
        ("not a version", "0.1.15", "untested"),
        (None, "0.1.15", "missing"),
        ("0.27.0.post1", None, "missing"),
    ],
)
def test_verdicts(tvm, ffi, verdict):
    assert judge_pair(tvm, ffi).verdict == verdict


def test_the_remedy_of_a_broken_pair_keeps_its_tvm():
    remedy = judge_pair("0.25.0", "0.1.15.post2").remedy
    assert remedy == "pip install 'apache-tvm==0.25.0' 'apache-tvm-ffi==0.1.12'"
    assert judge_pair(*RECOMMENDED).remedy == ""


def test_the_tests_run_on_a_pair_that_is_not_known_to_be_broken():
    pair = installed_pair()
    assert pair.supported
    assert pair.verdict in ("works", "untested")


@pytest.mark.parametrize(
    ("tvm", "ffi", "reason"),
    [
        ("0.27.0.post1", "0.1.12", "known not to load"),
        ("0.25.0", "0.1.12", "runs on apache-tvm 0.27"),
        (None, None, "not installed"),
    ],
)
def test_loading_names_both_versions_and_the_pair_that_works(tvm, ffi, reason, monkeypatch):
    monkeypatch.setattr(library, "installed_pair", lambda: judge_pair(tvm, ffi))
    library._load_runtime.cache_clear()
    with pytest.raises(EnvironmentFault, match=reason) as caught:
        library.load_runtime()
    message = str(caught.value)
    assert f"apache-tvm {tvm or 'absent'} with apache-tvm-ffi {ffi or 'absent'}" in message
    assert "pip install 'apache-tvm==0.27.0.post1' 'apache-tvm-ffi==0.1.15.post2'" in message


def test_an_undefined_symbol_is_a_pair_that_does_not_fit(toy_artifact, tmp_path, run_fresh):
    """A libtvm_runtime that does not load, as one built for another tvm-ffi does not."""
    name = library.find_runtime_library().name
    (tmp_path / name).write_bytes(b"no library at all")
    said = run_fresh(
        """
        import os, sys
        os.environ["TVM_LIBRARY_PATH"] = sys.argv[2]
        import kokoro_pipeline
        try:
            kokoro_pipeline.load(sys.argv[1])
        except kokoro_pipeline.EnvironmentFault as error:
            print(error)
        """,
        toy_artifact,
        tmp_path,
    )
    assert f"{name} fails to load" in said
    assert "The pair that works is 0.27.0.post1 with 0.1.15.post2: pip install" in said


def test_a_missing_runtime_library_says_where_it_was_searched(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "_library_folders", lambda: iter([tmp_path]))
    with pytest.raises(EnvironmentFault, match=r"is not there .*pip install") as caught:
        library.find_runtime_library()
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.tvm))
def test_the_extension_judges_alike(rule):
    """The extension has a table of its own, as it knows nothing of this package."""
    (tvm,) = (spec.version for spec in rule.tvm)
    assert _compat.pair_problem(tvm, rule.partner) is None
    for ffi in ("0.1.10", "0.1.12", "0.1.13", "0.1.14", "0.1.15.post2"):
        if rule.broken.contains(ffi):
            assert _compat.pair_problem(tvm, ffi) is not None, ffi
        if rule.works.contains(ffi):
            assert _compat.pair_problem(tvm, ffi) is None, ffi
