"""Run TVM's own frontend and legalization tests with tvm_kokoro_ext active and without.

    git clone --depth 1 --branch v0.26.0 https://github.com/apache/tvm
    python tests/upstream_tests.py --tvm-source tvm [--files PATTERN] [-- pytest arguments]

The checkout must be of the installed version of TVM. Prints every test whose outcome differs, and
the reason if it is known. The exit code is 0 if every difference is known, 1 if one is not, and 3
if the checkout does not contain these tests.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = Path("tests", "python", "relax")
FILES = (
    "test_frontend_from_exported_program.py",
    "test_frontend_from_fx.py",
    "test_transform_legalize_ops*.py",
)
OUTCOME = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED) (\S+?::[^\s\[]+(?:\[.*?\])?)(?: - .*)?$")

#: Tests that assert a defect of TVM, by name (parameters left out), and what they assert.
_NAN = "a kernel that drops NaN"
KNOWN: Mapping[str, str] = {
    "test_extended_unary_ops": "selu without its scale, dropout in training mode as the identity",
    "test_binary1": "float remainder and floor division that round the quotient",
    "test_binary_dtype_promotion": "float remainder that rounds the quotient",
    "test_div_mode": "float floor division that rounds the quotient",
    "test_take": "indices that are not counted from the end where they are negative",
    "test_grid_sample": "indices that are not counted from the end where they are negative",
    **dict.fromkeys(
        ("test_logaddexp", "test_softplus"),
        "log1p as log(1 + x), which loses the digits of a small x",
    ),
    "test_batchnorm2d": "batch normalization in training mode, whose statistics are lost",
    "test_interpolate_antialiased": "pixels of weight 0 that are read: infinity spreads as NaN",
    "test_linspace": "an integer times a float computed in integers",
    "test_as_strided": "that strides which the extension supports are refused",
    "test_randn": "one draw as a constant",
    "test_randn_like": "one draw as a constant",
    "test_exponential": "zeros for random numbers",
    **dict.fromkeys(
        ("test_sort", "test_argsort", "test_topk", "test_median", "test_max_dim"),
        "sorting of floats by <, which is no order beside NaN, or int32 indices (0.25, 0.26)",
    ),
    "test_masked_select": "a program that does not build (0.25)",
    "test_bucketize": "a program that does not build (0.25)",
    **dict.fromkeys(
        ("test_group_norm", "test_group_norm_fp16", "test_group_norm_symbolic"),
        "the variance in one pass",
    ),
    **dict.fromkeys(
        [
            f"test_{name}"
            for op in ("max", "min", "argmax", "argmin", "maximum", "minimum", "not_equal", "relu")
            for name in (op, f"{op}_symbolic")
        ],
        _NAN,
    ),
    **dict.fromkeys(
        [f"test_{op}_with_arg{i}_constant_scalar" for op in ("maximum", "minimum") for i in (0, 1)],
        _NAN,
    ),
    "test_cond_shape_predicate": "a comparison of sizes that is always true",
    **{
        f"test_dynamic_shape_with_{kind}_constraints": "an input whose size depends on another's, "
        "as if it did not"
        for kind in ("addition", "subtraction", "multiplication")
    },
    "test_unary_ops": _NAN,  # clip
    "test_max_pool2d": _NAN,
    "test_max_pool2d_NCHW16c": _NAN,
    "test_max_pool2d_ceil_mode": _NAN,
}


def outcomes(report: str) -> dict[str, str]:
    """Outcome by test, from the output of `pytest -rA`."""
    found = (OUTCOME.match(line) for line in report.splitlines())
    return {match[2]: match[1] for match in found if match}


def differences(without: Mapping[str, str], active: Mapping[str, str]) -> list[str]:
    """Tests whose outcome is not the same in both runs, in order."""
    return sorted(test for test in {*without, *active} if without.get(test) != active.get(test))


def known_reason(test: str) -> str | None:
    """The known reason for a difference; None for a test that should not differ."""
    return KNOWN.get(test.split("::")[1].split("[")[0])


def run(folder: Path, file: str, active: bool, arguments: Sequence[str]) -> dict[str, str]:
    """Outcomes of one file of tests, run in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=no", "-p", "no:cacheprovider"]
    command += ["-p", "tvm_kokoro_ext"] if active else []
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    result = subprocess.run(
        [*command, "--show-capture=no", file, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    found = outcomes(result.stdout)
    return found or {f"{file}::(collection)": f"exit code {result.returncode}"}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tvm-source", type=Path, required=True, help="a checkout of apache/tvm")
    parser.add_argument("--files", action="append", help="pattern below tests/python/relax")
    parser.add_argument("arguments", nargs="*", help="passed to pytest")
    given = parser.parse_args(argv)
    source = given.tvm_source / FOLDER
    files = sorted({f for pattern in given.files or FILES for f in source.glob(pattern)})
    if not files:
        print(f"{source} has none of {', '.join(given.files or FILES)}", file=sys.stderr)
        return 3
    unknown = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in files:
            shutil.copy(file, folder)
            runs = [run(folder, file.name, active, given.arguments) for active in (False, True)]
            differing = differences(*runs)
            for test in differing:
                reason = known_reason(test)
                unknown += reason is None
                before, after = (outcome.get(test, "absent") for outcome in runs)
                print(f"{test}: {before} without, {after} with: {reason or 'NOT KNOWN'}")
            print(
                f"{file.name}: {len(runs[0])} tests, {len(differences(*runs))} differ", flush=True
            )
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
