"""Try the series on a checkout of apache/tvm, and run the tests of the checkout."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from patch_proof.patch_file import Patch
from patch_proof.test_run import Outcomes, TestRunner
from patch_proof.wheel_tree import TreeError, WheelTree

# Upstream's tests for the code that the patches change.
TEST_FILES = (
    "tests/python/relax/test_frontend_from_exported_program.py",
    "tests/python/relax/test_frontend_from_fx.py",
    "tests/python/relax/test_frontend_dynamo.py",
    "tests/python/relax/test_frontend_onnx.py",
    "tests/python/relax/test_transform_legalize_ops_binary.py",
    "tests/python/relax/test_transform_legalize_ops_create_datatype.py",
    "tests/python/relax/test_transform_legalize_ops_manipulate.py",
    "tests/python/relax/test_transform_legalize_ops_nn.py",
    "tests/python/relax/test_transform_legalize_ops_search_statistical.py",
    "tests/python/relax/test_transform_legalize_ops_unary.py",
    "tests/python/relax/test_transform_legalize_ops_index_linear_algebra.py",
    "tests/python/relax/test_op_manipulate.py",
)
_TIMEOUT = 3600.0


@dataclass(frozen=True)
class CheckoutProof:
    """The number of patches that apply to the checkout, and its test results.

    `not_applied` is for information only, since a checkout may be older than the tree that the
    patches are made for. `problems` lists the tests that pass without the series and fail with it.
    """

    patches: int
    applied: int
    not_applied: tuple[str, ...]
    passed_before: int
    passed_after: int
    problems: tuple[str, ...]


def prove_checkout(source: Path, series: tuple[Patch, ...], directory: Path) -> CheckoutProof:
    """Apply the series to a copy of the checkout's files and run its tests on the wheel's tree.

    The checkout itself is only read. Its tests run with the Python tree of the wheel, which matches
    the library of the wheel; the Python code of the checkout would need its own library.
    """
    refused = _refused_by(source, series, directory / "checkout")
    root = directory / "upstream-tests"
    root.mkdir()
    tree = WheelTree(root)
    files = [name for name in TEST_FILES if (source / name).is_file()]
    if not files:
        raise TreeError(f"{source} has none of the test files {', '.join(TEST_FILES)}")

    def run(patches: list[Path]) -> Outcomes:
        tree.reset(patches)
        for name in files:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, root / name)
        outcomes = runner.run(root, tree.python, files, timeout=_TIMEOUT)
        if outcomes.crashed or not outcomes.passed:
            raise TreeError(f"upstream's tests cannot be run:\n{outcomes.output}")
        return outcomes

    with TestRunner() as runner:
        before = run([])
        after = run([patch.path for patch in series])
    expected = {name for patch in series for name in patch.fields.get("Changes-Expected", ())}
    broken = sorted(
        name for name in before.passed - after.passed if name.partition("[")[0] not in expected
    )
    return CheckoutProof(
        patches=len(series),
        applied=len(series) - len(refused),
        not_applied=tuple(refused),
        passed_before=len(before.passed),
        passed_after=len(after.passed),
        problems=tuple(f"passes without the series and fails with it: {name}" for name in broken),
    )


def _refused_by(source: Path, series: tuple[Patch, ...], root: Path) -> list[str]:
    """The patches that do not apply to the checkout after the preceding ones that do."""
    root.mkdir()
    shutil.copytree(source / "python", root / "python", symlinks=True)
    tree = WheelTree.of_files(root)
    refused = []
    for patch in series:
        try:
            tree.apply(patch.path)
        except TreeError:
            refused.append(patch.name)
    return refused
