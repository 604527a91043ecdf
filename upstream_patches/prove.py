#!/usr/bin/env python3
"""Prove the patches of this folder against the installed apache-tvm wheel.

For each patch of `series`, on a git repository created from the Python tree of the wheel: apply the
patches it depends on with `git am`; run its own tests, which must fail; apply the patch; and run
the tests again, which must pass. Tests with "unchanged" in their names protect correct behaviour,
and must pass both times.

Then apply the whole series and compare the modules of imported programs that no patch may change.
Also check that on this tree exactly the fixes of tvm_kokoro_ext that the README lists as retired
are off.

With --new, the patches that proved.json says to have been proved as they are now, with these
versions of TVM and torch, are not proved again. With --record, what this run proves is added there.

With --tvm-source DIR, a checkout of apache/tvm, also report which patches apply to it, and run its
own test files for the changed code on the tree of the wheel without and with the series: no test
that passed may fail.

With --cpp as well, prove the patches of `cpp/series` instead: on a clone of DIR at the tag of the
installed wheel, compile the files that a patch changes into a library, load it over that of the
wheel, run the tests of the patch without and with it, and measure the improvement.

Exit status: 0 if everything holds, 1 if something does not, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from patch_proof.checkout import CheckoutProof, prove_checkout
from patch_proof.cpp_proof import Workshop, judge_measurement
from patch_proof.patch_file import Patch, PatchError, read_series, requirements
from patch_proof.records import read_records, record, unproved
from patch_proof.retired import (
    Balance,
    balance,
    committed_balance,
    contradictions,
    read_claims,
    states,
)
from patch_proof.test_run import Outcomes, TestRunner, environment
from patch_proof.wheel_tree import TreeError, WheelTree, installed_version

HERE = Path(__file__).resolve().parent
TIMEOUT = 600.0  # seconds for the tests of one patch; an idle machine needs ten


@dataclass(frozen=True)
class PatchProof:
    """The result for one patch, with numbers of tests; `problems` is empty if it is proved.

    `measured` is the output of the patch's own measuring programs, for C++ patches.
    """

    name: str
    applies: bool
    fails_before: int
    passes_after: int
    unchanged: int
    seconds: float
    problems: tuple[str, ...]
    measured: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SeriesProof:
    """The result for the whole series: whether it applies, changed programs, retired fixes."""

    applies: bool
    programs: int
    retired: tuple[str, ...]
    problems: tuple[str, ...]
    balance: Balance | None = None


def prove_patch(
    tree: WheelTree,
    runner: TestRunner,
    patch: Patch,
    series: tuple[Patch, ...],
    build: Callable[[Patch], tuple[Path, ...]] = lambda patch: (),
) -> PatchProof:
    """Prove one patch on a tree in any state.

    `build` builds the libraries of a patch that is applied; its tests run with them loaded.
    """
    started = time.monotonic()

    def proof(applies: bool, before: Outcomes, after: Outcomes, problems: list[str]) -> PatchProof:
        guards = {name for name in after.passed if _is_guard(name)}
        return PatchProof(
            name=patch.name,
            applies=applies,
            fails_before=len(
                (before.failed | (after.passed if before.crashed else set())) - guards
            ),
            passes_after=len(after.passed),
            unchanged=len(guards),
            seconds=round(time.monotonic() - started, 1),
            problems=tuple(problems),
        )

    nothing = Outcomes(frozenset(), frozenset(), False, "")
    try:
        tree.reset([required.path for required in requirements(patch, series)])
        without = tree.git("rev-parse", "HEAD").strip()
        tree.apply(patch.path)
    except TreeError as error:
        return proof(False, nothing, nothing, [str(error)])
    try:
        libraries = build(patch)
    except TreeError as error:
        return proof(True, nothing, nothing, [str(error)])
    within = tree.git("rev-parse", "HEAD").strip()
    tree.git("checkout", "-q", without)
    tree.show(patch.tests, within)
    before = runner.run(tree.root, tree.python, patch.tests, timeout=TIMEOUT)
    tree.git("checkout", "-q", "--force", within)
    after = runner.run(tree.root, tree.python, patch.tests, timeout=TIMEOUT, libraries=libraries)
    return proof(True, before, after, judge(before, after))


def _is_guard(name: str) -> bool:
    return "unchanged" in name


def judge(before: Outcomes, after: Outcomes) -> list[str]:
    """The problems of a patch with these test outcomes; empty if it is proved."""
    problems = []
    if after.crashed or after.failed or not after.passed:
        problems.append(f"with the patch, its tests do not pass:\n{after.output}")
    if not before.crashed:
        idle = sorted(name for name in before.passed if not _is_guard(name))
        if idle:
            problems.append(f"without the patch these tests pass too: {', '.join(idle)}")
        broken = sorted(name for name in before.failed if _is_guard(name))
        if broken:
            problems.append(f"not right before, so not unchanged: {', '.join(broken)}")
        if not before.failed:
            problems.append(f"without the patch, none of its tests fails:\n{before.output}")
    return problems


def imported_modules(tree: WheelTree) -> dict[str, str]:
    """The modules of the programs of `patch_proof/programs.py`, imported by the tree."""
    done = subprocess.run(
        [sys.executable, str(HERE / "patch_proof" / "programs.py")],
        env=environment(tree.python),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )
    if done.returncode != 0:
        raise TreeError(f"the programs cannot be imported:\n{done.stderr[-4000:]}")
    modules: dict[str, str] = json.loads(done.stdout)
    return modules


def prove_series(tree: WheelTree, series: tuple[Patch, ...]) -> SeriesProof:
    """Apply all patches and compare what must not change."""
    try:
        tree.reset()
        stock, needed = imported_modules(tree), states(tree.python)
        tree.reset([patch.path for patch in series])
        patched, still_needed = imported_modules(tree), states(tree.python)
    except TreeError as error:
        return SeriesProof(False, 0, (), (str(error),))
    changed = [f"changed: {name}" for name in stock if stock[name] != patched.get(name)]
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    claims = read_claims(readme, cpp=False)
    problems = [*changed, *contradictions(claims, needed, still_needed)]
    found, held = balance(readme, needed), committed_balance()
    if found != held:
        problems.append(f"balance.json says that {held}; but {found}")
    return SeriesProof(True, len(stock), tuple(sorted(claims.whole)), tuple(problems), found)


def prove(
    patches: Sequence[Patch], series: tuple[Patch, ...], directory: Path, jobs: int, whole: bool
) -> tuple[list[PatchProof], SeriesProof | None]:
    """Prove the patches, and with `whole` the series, on `jobs` trees in `directory`."""
    places: SimpleQueue[tuple[WheelTree, TestRunner]] = SimpleQueue()

    def on_a_tree(patch: Patch | None) -> PatchProof | SeriesProof:
        tree, runner = places.get()
        try:
            if patch is None:
                return prove_series(tree, series)
            return prove_patch(tree, runner, patch, series)
        finally:
            places.put((tree, runner))

    proofs: list[PatchProof] = []
    with ExitStack() as stack:
        for number in range(jobs):
            root = directory / f"tree{number}"
            root.mkdir()
            places.put((WheelTree(root), stack.enter_context(TestRunner())))
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        all_together = pool.submit(on_a_tree, None) if whole else None
        for proof in pool.map(on_a_tree, patches):
            assert isinstance(proof, PatchProof)
            print(_line(proof), file=sys.stderr, flush=True)
            proofs.append(proof)
        result = all_together.result() if all_together else None
    assert result is None or isinstance(result, SeriesProof)
    return proofs, result


def prove_cpp(
    source: Path, patches: Sequence[Patch], series: tuple[Patch, ...], directory: Path, jobs: int
) -> tuple[list[PatchProof], CheckoutProof | None]:
    """Prove C++ patches one after the other, compiling `jobs` units at once.

    Upstream's complete test files run as well if all patches are selected and proved.
    """
    workshop = Workshop(source, series, directory, jobs)
    proofs = []
    with TestRunner() as runner:
        for patch in patches:
            proof = prove_patch(workshop.tree, runner, patch, series, workshop.build)
            if not proof.problems:
                measured = workshop.measure(patch)
                problems = tuple(judge_measurement(measured))
                proof = replace(proof, measured=measured, problems=problems)
            print(_line(proof), file=sys.stderr, flush=True)
            proofs.append(proof)
    whole = len(patches) == len(series) and not any(proof.problems for proof in proofs)
    return proofs, workshop.prove_files(series) if whole else None


def _line(proof: PatchProof) -> str:
    verdict = "FAILED" if proof.problems else "proved"
    return f"{verdict}  {proof.name} ({proof.seconds} s)"


def table(
    proofs: Sequence[PatchProof], series: SeriesProof | None, checkout: CheckoutProof | None
) -> str:
    """The result as text: one row per patch, followed by all problems."""
    width = max((len(proof.name) for proof in proofs), default=5)
    lines = [f"{'patch':{width}}  git am  fails before  passes after  unchanged  seconds"]
    lines += [
        f"{proof.name:{width}}  {'yes' if proof.applies else 'NO':6}  {proof.fails_before:12}  "
        f"{proof.passes_after:12}  {proof.unchanged:9}  {proof.seconds:7}"
        for proof in proofs
    ]
    lines += [
        f"measured: {name}: {values['wrong_before']} of {values['elements']} wrong before, "
        f"{values['wrong_after']} after; {values['time_ratio']} times the time"
        for proof in proofs
        for name, values in proof.measured.items()
    ]
    if series is not None:
        same = series.programs - sum(p.startswith("changed: ") for p in series.problems)
        lines.append(f"all together: {same} of {series.programs} programs imported as before")
        lines.append(f"retired fixes: {', '.join(series.retired)}")
        lines.append(f"with the C++ patches, {series.balance}")
    if checkout is not None:
        lines.append(
            f"checkout: {checkout.applied} of {checkout.patches} patches apply; its own tests: "
            f"{checkout.passed_before} pass without the series, {checkout.passed_after} with it"
        )
    for proof in proofs:
        lines += [f"\n{proof.name}: {problem}" for problem in proof.problems]
    for other in (series, checkout):
        lines += [f"\n{problem}" for problem in (other.problems if other else ())]
    return "\n".join(lines)


def _check_target(series: tuple[Patch, ...], target: str) -> None:
    misplaced = [patch.name for patch in series if patch.fields["Applies-To"] != (target,)]
    if misplaced:
        raise PatchError(f"made for another tree than the {target}: {', '.join(misplaced)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        help="only patches with NAME in their file name; may be repeated",
    )
    parser.add_argument(
        "--new",
        action="store_true",
        help="not those that proved.json says to be proved already",
    )
    parser.add_argument(
        "--record", action="store_true", help="add what is proved to proved.json (not with --cpp)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--tvm-source", metavar="DIR", type=Path, help="a checkout of apache/tvm to try as well"
    )
    parser.add_argument(
        "--cpp",
        action="store_true",
        help="prove the C++ patches of cpp/series, with --tvm-source and a C++ compiler",
    )
    parser.add_argument(
        "--jobs", type=int, default=min(2, os.cpu_count() or 1), help="patches at once (default 2)"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.cpp and options.tvm_source is None:
        parser.error(
            "--cpp needs --tvm-source DIR, a git clone of apache/tvm: the wheel has headers of the "
            "runtime alone, and a C++ patch includes those of the compiler"
        )
    if options.cpp and (options.new or options.record):
        parser.error("proved.json is for the Python patches: leave --new and --record out")
    jobs = max(1, options.jobs)
    together = checkout = None
    try:
        series = read_series(HERE / "cpp" if options.cpp else HERE)
        asked = options.only or [""]
        patches = [p for p in series if any(name in p.name for name in asked)]
        for name in asked:
            if not any(name in patch.name for patch in series):
                parser.error(f"no patch has {name} in its name")
        with tempfile.TemporaryDirectory(prefix="tvm-patches-") as directory:
            root = Path(directory)
            if options.cpp:
                target = series[0].fields["Applies-To"][0]
                proofs, checkout = prove_cpp(options.tvm_source, patches, series, root, jobs)
            else:
                target = f"apache-tvm {installed_version()} wheel tree"
                _check_target(series, target)
                if options.tvm_source and not (options.tvm_source / "python" / "tvm").is_dir():
                    parser.error(f"not a checkout of apache/tvm: {options.tvm_source}")
                if options.new:
                    left = unproved(patches, series, read_records())
                    count = len(patches) - len(left)
                    print(f"{count} patches are proved by proved.json", file=sys.stderr)
                    patches = left
                proofs, together = prove(patches, series, root, jobs, options.only is None)
                if options.record:
                    held = {proof.name for proof in proofs if not proof.problems}
                    record([patch for patch in patches if patch.name in held], series)
                if options.tvm_source is not None:
                    checkout = prove_checkout(options.tvm_source, series, root)
    except (PatchError, TreeError) as error:
        print(f"prove.py: {error}", file=sys.stderr)
        return 1
    problems = [problem for proof in proofs for problem in proof.problems]
    problems += [p for other in (together, checkout) if other for p in other.problems]
    if options.json:
        result = {
            "tree": target,
            "patches": [asdict(proof) for proof in proofs],
            "series": asdict(together) if together else None,
            "checkout": asdict(checkout) if checkout else None,
            "ok": not problems,
        }
        print(json.dumps(result, indent=2))
    else:
        print(table(proofs, together, checkout))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
