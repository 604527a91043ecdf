"""Comparing outcomes of TVM's own tests with and without the extension; the tests are not run."""

from __future__ import annotations

from pathlib import Path

import pytest

# A script beside this file, which is no package: pytest runs in importlib mode. The folder does not
# stay on the path, where tests/tvm_kokoro_ext would be found as the package.
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(Path(__file__).parent))
    import upstream_tests

WITHOUT = """
PASSED test_nn.py::test_group_norm
PASSED test_nn.py::test_binary1[op1-R.add(x, y)]
PASSED test_nn.py::test_same
FAILED test_nn.py::test_one_hot - AssertionError: StructuralEqual check failed
SKIPPED [1] test_nn.py:12: no torchvision
3 passed, 1 failed, 1 skipped in 0.10s
"""
WITH = """
PASSED test_nn.py::test_same
FAILED test_nn.py::test_group_norm - AssertionError
FAILED test_nn.py::test_binary1[op1-R.add(x, y)] - AssertionError: no - or
FAILED test_nn.py::test_one_hot - AssertionError: another message
"""


def test_only_outcomes_that_differ_are_reported():
    runs = [upstream_tests.outcomes(text) for text in (WITHOUT, WITH)]
    assert upstream_tests.differences(*runs) == [
        "test_nn.py::test_binary1[op1-R.add(x, y)]",
        "test_nn.py::test_group_norm",
    ]
    assert upstream_tests.differences(runs[0], {}) == sorted(runs[0])


@pytest.mark.parametrize(
    ("test", "known"),
    [
        ("test_nn.py::test_binary1[op1-R.add(x, y)]", True),
        ("test_nn.py::test_binary10", False),
        ("test_nn.py::(collection)", False),
    ],
)
def test_a_difference_is_known_by_the_name_of_the_test(test, known):
    assert (upstream_tests.known_reason(test) is not None) is known


def test_a_folder_without_such_tests_is_refused(tmp_path, capsys):
    assert upstream_tests.main(["--tvm-source", str(tmp_path)]) == 3
    assert "test_transform_legalize_ops" in capsys.readouterr().err


def test_an_unknown_difference_fails_the_command(tmp_path, capsys, monkeypatch):
    folder = tmp_path / upstream_tests.FOLDER
    folder.mkdir(parents=True)
    (folder / "test_transform_legalize_ops_nn.py").touch()

    def run(folder, file, active, arguments):
        return {f"{file}::{name}": "FAILED" if active else "PASSED" for name in names}

    monkeypatch.setattr(upstream_tests, "run", run)
    names = ["test_take"]
    assert upstream_tests.main(["--tvm-source", str(tmp_path)]) == 0
    names = ["test_take", "test_gelu"]
    assert upstream_tests.main(["--tvm-source", str(tmp_path)]) == 1
    assert "NOT KNOWN" in capsys.readouterr().out
