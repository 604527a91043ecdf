"""Build C++ patches against the wheel that was released from their tag, and measure them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from patch_proof.checkout import CheckoutProof
from patch_proof.cpp_build import build_library
from patch_proof.cpp_source import (
    check_ffi,
    check_version,
    commit_of,
    find_compiler,
    installed_wheel,
    target_version,
    tree_of,
)
from patch_proof.patch_file import Patch
from patch_proof.retired import contradictions, read_claims, states
from patch_proof.test_run import TestRunner, environment, loading
from patch_proof.wheel_tree import TreeError, WheelTree

# Upstream's tests for the code that the patches change.
TEST_FILES = (
    "tests/python/arith/test_arith_const_int_bound.py",
    "tests/python/arith/test_arith_iter_affine_map.py",
    "tests/python/relax/test_transform_legalize_ops_nn.py",
    "tests/python/relax/test_backend_transform_shape_lower.py",
    "tests/python/relax/test_transform_rewrite_dataflow_reshape.py",
    "tests/python/relax/test_vm_build.py",
    "tests/python/te/test_te_create_primfunc.py",
)
_README = Path(__file__).resolve().parents[1] / "README.md"
_TIMEOUT = 1800.0


class Workshop:
    """A clone of a checkout at the tag of the installed wheel, and the libraries built from it."""

    def __init__(self, source: Path, series: tuple[Patch, ...], directory: Path, jobs: int) -> None:
        """Prepare the clone. Raises TreeError if checkout and wheel do not match."""
        wheel = installed_wheel()
        wanted = target_version(series)
        check_version(wanted, wheel)
        commit = commit_of(source, wanted)
        check_ffi(source, commit, wheel)
        self.compiler = find_compiler()
        self.wheel, self.directory, self.jobs = wheel, directory, jobs
        self.tree: WheelTree = tree_of(source, commit, directory / "checkout", wheel)
        self._built: dict[str, Path] = {}

    def build(self, patch: Patch) -> tuple[Path, ...]:
        """The libraries to load for a patch that is applied to the tree, the wheel's first."""
        library = self.directory / f"{patch.name[:4]}.so"
        build_library(
            self.compiler,
            self.tree.root,
            self.wheel,
            patch.fields["Translation-Unit"],
            patch.fields.get("Linked-With", ()),
            library,
            jobs=self.jobs,
        )
        self._built[patch.name] = library
        return self._loaded([library])

    def _loaded(self, libraries: Sequence[Path]) -> tuple[Path, ...]:
        return (*self.wheel.libraries, *libraries)

    def measure(self, patch: Patch) -> dict[str, Any]:
        """Run the programs of Measured-By with the library of the wheel and of the patch."""
        measured: dict[str, Any] = {}
        for name in patch.fields.get("Measured-By", ()):
            script = Path(__file__).with_name(f"{name}.py")
            outputs = []
            for kind, libraries in (("stock", []), ("patched", [self._built[patch.name]])):
                outputs.append(str(self.directory / f"{patch.name[:4]}-{name}-{kind}.so"))
                self._run(script, "build", outputs[-1], libraries=self._loaded(libraries))
            measured |= json.loads(self._run(script, "measure", *outputs, libraries=()))
        return measured

    def _run(self, script: Path, *arguments: str, libraries: Sequence[Path]) -> str:
        run = f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
        program = loading(libraries) + run
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env=environment(self.tree.python),
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT,
        )
        if done.returncode != 0:
            raise TreeError(f"{script.name} {arguments[0]} failed:\n{done.stderr[-4000:]}")
        return done.stdout

    def prove_files(self, series: tuple[Patch, ...]) -> CheckoutProof:
        """Run upstream's complete test files on the wheel, and with all patches and libraries.

        Also checks that exactly the fixes that the README lists as retired are off in
        tvm_kokoro_ext.
        """
        root, python = self.tree.root, self.tree.python
        libraries = self._loaded([self._built[patch.name] for patch in series])
        with TestRunner() as runner:
            self.tree.reset()
            needed = states(python)
            before = runner.run(root, python, TEST_FILES, timeout=_TIMEOUT)
            self.tree.reset([patch.path for patch in series])
            still_needed = states(python, libraries)
            after = runner.run(root, python, TEST_FILES, timeout=_TIMEOUT, libraries=libraries)
        for outcomes in (before, after):
            if outcomes.crashed or not outcomes.passed:
                raise TreeError(f"upstream's tests cannot be run:\n{outcomes.output}")
        broken = sorted(before.passed - after.passed)
        return CheckoutProof(
            patches=len(series),
            applied=len(series),
            not_applied=(),
            passed_before=len(before.passed),
            passed_after=len(after.passed),
            problems=(
                *(f"passes without the series and fails with it: {n}" for n in broken),
                *contradictions(read_claims(_README.read_text(), cpp=True), needed, still_needed),
            ),
        )


def judge_measurement(measured: dict[str, Any]) -> list[str]:
    """The problems of a measurement; its time is reported but not judged."""
    problems = []
    for name, values in measured.items():
        if not values["wrong_before"]:
            problems.append(f"measured: {name} has nothing wrong without the patch")
        if values["wrong_after"]:
            problems.append(f"measured: {name} still has {values['wrong_after']} wrong elements")
    return problems
