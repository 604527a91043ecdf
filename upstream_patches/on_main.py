#!/usr/bin/env python3
"""Say of each patch of `series` whether it applies on a revision of apache/tvm.

    python upstream_patches/on_main.py CLONE [--revision main] [--write]

CLONE is a git clone of apache/tvm, which is only read. The patches are tried in order, each after
those before it that apply. Where one conflicts, its rebased copy in `main/` is tried instead. So is
the copy of a patch in `main/lacking.tsv`, which applies, but relies on code that main lacks. The
result is a Markdown table; with `--write` it replaces the one in the README.

Exit status: 0, or 1 if a rebased copy does not apply, or a copy or a line of `lacking.tsv` is not
needed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from patch_proof.patch_file import Patch, PatchError, read_series
from patch_proof.wheel_tree import TreeError, WheelTree

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
REBASED = HERE / "main"
LACKING = "lacking.tsv"
BEGIN, END = "<!-- on_main.py -->\n", "<!-- end of on_main.py -->\n"

APPLIES = "applies"
REBASED_COPY = "conflicts; [rebased copy](main/{name})"
ADAPTED_COPY = "applies, but {reason}; [rebased copy](main/{name})"
FIXED = "already fixed there"
MISSING = "conflicts, and has no rebased copy"
DOES_NOT_APPLY = "the rebased copy does not apply"


@dataclass(frozen=True)
class Lack:
    """Code that main lacks and a patch relies on, although it applies.

    `text` is in the Python sources of every revision that has the code; `reason` says what is wrong
    without it.
    """

    text: str
    reason: str


def unpacked(clone: Path, revision: str, root: Path) -> WheelTree:
    """The Python sources and tests of a revision, in a repository of their own."""
    archive = subprocess.run(
        ["git", "-C", str(clone), "archive", revision, "python", "tests/python", "docs"],
        capture_output=True,
        check=False,
    )
    if archive.returncode != 0:
        raise TreeError(f"{clone} has no {revision}: {archive.stderr.decode().strip()}")
    subprocess.run(["tar", "-x", "-C", str(root)], input=archive.stdout, check=True)
    return WheelTree.of_files(root)


def commit_of(clone: Path, revision: str) -> tuple[str, str]:
    """The commit of a revision, and its date."""
    form = ["git", "-C", str(clone), "log", "-1", "--format=%H %cs", revision]
    done = subprocess.run(form, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TreeError(f"{clone} has no {revision}: {done.stderr.strip()}")
    commit, date = done.stdout.split()
    return commit, date


def read_lacking(directory: Path) -> dict[str, Lack]:
    """What main lacks, by the number of the patch. Raises PatchError for a line of another form."""
    path = directory / LACKING
    lacking: dict[str, Lack] = {}
    if not path.exists():
        return lacking
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 3 or not all(fields) or fields[0] in lacking:
            raise PatchError(f"{LACKING}: not one patch, a text and a reason: {line}")
        lacking[fields[0]] = Lack(*fields[1:])
    return lacking


def standing(
    tree: WheelTree, patch: Patch, lacking: Mapping[str, Lack] | None = None
) -> tuple[str, str | None]:
    """What becomes of a patch on the tree, which it changes, and a problem of its rebased copy."""
    copy = REBASED / patch.name
    lack = (lacking or {}).get(patch.name[:4])
    lacks = lack is not None and not _has(tree, lack.text)
    before = tree.git("rev-parse", "HEAD").strip()
    applies = _applied(tree, patch.path)
    if applies and lack is not None and lacks:
        tree.git("reset", "-q", "--hard", before)
        state = ADAPTED_COPY.format(reason=lack.reason, name=patch.name)
        return state, None if _applied(tree, copy) else f"{copy.name}: {DOES_NOT_APPLY}"
    unneeded = None if lack is None else f"{LACKING}: the line of {patch.name[:4]} is not needed"
    if applies:
        return APPLIES, f"{copy.name}: the copy is not needed" if copy.exists() else unneeded
    if copy.exists():
        problem = unneeded if _applied(tree, copy) else f"{copy.name}: {DOES_NOT_APPLY}"
        return REBASED_COPY.format(name=patch.name), problem
    try:
        tree.git("apply", "--reverse", "--check", str(patch.path))
    except TreeError:
        return MISSING, unneeded
    return FIXED, unneeded


def _has(tree: WheelTree, text: str) -> bool:
    try:
        tree.git("grep", "-qF", "-e", text, "--", "python")
    except TreeError:
        return False
    return True


def _applied(tree: WheelTree, path: Path) -> bool:
    try:
        tree.apply(path)
    except TreeError:
        return False
    return True


def table(commit: str, date: str, found: Sequence[tuple[Patch, str]]) -> str:
    """The result as Markdown: what applies as one line, the others as a table."""
    rest = [(patch, state) for patch, state in found if state != APPLIES]
    lines = [
        f"On apache/tvm main at `{commit[:12]}` of {date}, {len(found) - len(rest)} of "
        f"{len(found)} patches apply as they are. The others:",
        "",
        "| patch | on main |",
        "|---|---|",
        *(f"| {patch.name[:4]} | {state} |" for patch, state in rest),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("clone", type=Path, help="a git clone of apache/tvm")
    parser.add_argument("--revision", default="main", help="the revision to try (default main)")
    parser.add_argument("--write", action="store_true", help="put the table into the README")
    options = parser.parse_args(arguments)
    try:
        commit, date = commit_of(options.clone, options.revision)
        with tempfile.TemporaryDirectory(prefix="tvm-main-") as directory:
            tree = unpacked(options.clone, commit, Path(directory))
            series, lacking = read_series(HERE), read_lacking(REBASED)
            stand = [(patch, *standing(tree, patch, lacking)) for patch in series]
    except (PatchError, TreeError) as error:
        print(f"on_main.py: {error}", file=sys.stderr)
        return 1
    text = table(commit, date, [(patch, state) for patch, state, _ in stand])
    if options.write:
        readme = README.read_text(encoding="utf-8")
        before, _, rest = readme.partition(BEGIN)
        README.write_text(before + BEGIN + text + END + rest.partition(END)[2], encoding="utf-8")
    else:
        print(text, end="")
    problems = [problem for _, _, problem in stand if problem is not None]
    unknown = set(lacking) - {patch.name[:4] for patch in series}
    problems += [f"{LACKING}: there is no patch {number}" for number in sorted(unknown)]
    for problem in problems:
        print(f"on_main.py: {problem}", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
