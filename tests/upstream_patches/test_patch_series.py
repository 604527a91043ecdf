"""The series, its files and the README's table agree, and every patch is ready to be submitted.

Checks what a committer looks at first: mail headers, upstream's form of titles, prose without
names, the fields, ASF headers, upstream's ruff settings, and that `git am` applies each patch.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import Path

import pytest
from patch_proof.patch_file import Patch, PatchError, read_patch, read_series, requirements
from patch_proof.test_run import Outcomes
from patch_proof.wheel_tree import TreeError, WheelTree, installed_version
from prove import judge

PATCHES = Path(__file__).resolve().parents[2] / "upstream_patches"
SERIES = read_series(PATCHES)
EACH = pytest.mark.parametrize("patch", SERIES, ids=[patch.name for patch in SERIES])

# Upstream's settings (pyproject.toml of apache/tvm) for ruff 0.12.3.
RUFF = """
line-length = 100
target-version = "py310"
[lint]
select = ["E", "F", "I", "UP", "RUF"]
ignore = ["UP028", "UP030", "UP031", "RUF043", "RUF059"]
[lint.isort]
known-first-party = ["tvm"]
"""
ASF = "# Licensed to the Apache Software Foundation (ASF) under one\n"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> WheelTree:
    target = SERIES[0].fields["Applies-To"][0]
    if target != f"apache-tvm {installed_version()} wheel tree":
        pytest.skip(f"the patches are made for the {target}")
    return WheelTree(tmp_path_factory.mktemp("wheel"))


@EACH
def test_title_and_headers(patch: Patch) -> None:
    assert re.fullmatch(r"(\[[A-Z][A-Za-z]+\])+ [A-Z].*[^.]", patch.subject)
    name, address = parseaddr(patch.author)
    assert name and address.endswith("@users.noreply.github.com")
    assert parsedate_to_datetime(patch.date).tzinfo is not None
    slug = re.sub(r"[^a-z0-9]+", "-", patch.title.lower()).strip("-")
    assert patch.name[5:] == f"{slug}.patch"


@EACH
def test_body_is_prose_without_names(patch: Patch) -> None:
    paragraphs = patch.body.split("\n\n")
    assert len(paragraphs) >= 2, "what is wrong, then what the patch does"
    assert not re.search(r"(?<!\w)@\w", patch.body)
    assert max(map(len, patch.body.splitlines())) <= 100


@EACH
def test_fields(patch: Patch) -> None:
    assert patch.fields["Forwarded"] == ("no",)
    assert patch.fields["Applied-Upstream"] == ("no",)
    assert all(test in patch.touched for test in patch.tests)
    assert {path.split("/")[0] for path in patch.touched} in (
        {"python", "tests"},
        {"docs", "tests"},
    )


def test_readme_has_a_row_for_every_patch() -> None:
    readme = (PATCHES / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\d{4})\]\((\S+\.patch)\) \|.*\| (\S+) \|$", readme, re.MULTILINE)
    assert rows == [
        (patch.name[:4], patch.name, f"`{Path(patch.tests[0]).name}`") for patch in SERIES
    ]


def test_readme_names_fixes_that_exist() -> None:
    readme = (PATCHES / "README.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in readme.splitlines() if re.match(r"\| \[\d{4}\]", line)]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row[2])}
    sources = PATCHES.parent.joinpath("tvm_kokoro_ext", "_fixes").rglob("*.py")
    known = {name for path in sources for name in re.findall(r'\bid="(\w+)"', path.read_text())}
    assert named and named <= known


@pytest.mark.slow
@EACH
def test_applies_after_what_it_depends_on(patch: Patch, tree: WheelTree) -> None:
    tree.reset([required.path for required in requirements(patch, SERIES)])
    tree.apply(patch.path)
    assert tree.git("log", "-1", "--format=%s").strip() == patch.subject


def test_series_applies_in_order(tree: WheelTree) -> None:
    tree.reset([patch.path for patch in SERIES])
    changed = tree.git("diff", "--name-only", tree.base).split()
    assert sorted(changed) == sorted({path for patch in SERIES for path in patch.touched})
    tree.git("diff", "--check", tree.base)
    for name in changed:
        assert (tree.root / name).read_text(encoding="utf-8").startswith(ASF), name


def test_series_adds_no_complaint_of_ruff(tree: WheelTree) -> None:
    """Counted against the stock tree, where a newer ruff than upstream's finds more."""
    ruff = Path(sys.executable).with_name("ruff")
    executable = str(ruff) if ruff.is_file() else shutil.which("ruff")
    if executable is None:
        pytest.skip("ruff is not installed: pip install '.[lint]'")
    tree.reset([patch.path for patch in SERIES])
    changed = tree.git("diff", "--name-only", tree.base).split()
    patched = _complaints(executable, tree, changed)
    tree.reset()
    stock = _complaints(executable, tree, [name for name in changed if (tree.root / name).exists()])
    assert not patched - stock


def _complaints(ruff: str, tree: WheelTree, files: list[str]) -> Counter[tuple[str, str]]:
    """How often each rule is broken in each file; a file that is not formatted counts too."""
    config = tree.root / ".git" / "ruff.toml"
    config.write_text(RUFF)

    def run(*command: str) -> str:
        return subprocess.run(
            [ruff, *command, "--no-cache", "--config", str(config), *files],
            cwd=tree.root,
            capture_output=True,
            text=True,
            check=False,
        ).stdout

    found = json.loads(run("check", "--output-format=json"))
    complaints = Counter((str(entry["filename"]), str(entry["code"])) for entry in found)
    unformatted = run("format", "--check").splitlines()
    complaints.update((line, "format") for line in unformatted if line.startswith("Would reformat"))
    return complaints


def test_refused_patch_leaves_the_tree_alone(tree: WheelTree) -> None:
    dependent = next(patch for patch in SERIES if patch.depends_on)
    tree.reset()
    tree.apply(SERIES[0].path)
    head = tree.git("rev-parse", "HEAD")
    with pytest.raises(TreeError, match=re.escape(SERIES[0].name)):
        tree.apply(SERIES[0].path)
    assert tree.git("rev-parse", "HEAD") == head
    assert tree.git("status", "--porcelain") == ""
    assert requirements(dependent, SERIES)


def _damaged(directory: Path, change: tuple[str, str]) -> Path:
    text = SERIES[0].path.read_text(encoding="utf-8")
    assert change[0] in text
    path = directory / SERIES[0].name
    path.write_text(text.replace(*change, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("Subject: [PATCH] ", "Subject: "), "does not begin with"),
        (("Forwarded: no\n", ""), "lacks the fields Forwarded"),
        (("From: ", "X-From: "), "no header From"),
        (("\nBug: ", "\nbug is "), "not a field"),
    ],
)
def test_damaged_patch_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(PatchError, match=message):
        read_patch(_damaged(tmp_path, change))


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("", "not listed in series"),
        ("0002-other.patch\n{name}\n", "must be a file"),
        ("# comment\n{name}\n", None),
    ],
)
def test_series_must_list_what_is_there(tmp_path: Path, listed: str, message: str | None) -> None:
    shutil.copy(SERIES[0].path, tmp_path)
    (tmp_path / "series").write_text(listed.format(name=SERIES[0].name))
    if message is None:
        assert [patch.name for patch in read_series(tmp_path)] == [SERIES[0].name]
        return
    with pytest.raises(PatchError, match=message):
        read_series(tmp_path)


def _outcomes(passed: str = "", failed: str = "", crashed: bool = False) -> Outcomes:
    return Outcomes(frozenset(passed.split()), frozenset(failed.split()), crashed, "output")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (_outcomes("b_unchanged", "a"), _outcomes("a b_unchanged"), None),
        (_outcomes(crashed=True), _outcomes("a b_unchanged"), None),
        (_outcomes("a", "b"), _outcomes("a b"), "pass too: a"),
        (_outcomes("", "a b_unchanged"), _outcomes("a b_unchanged"), "not unchanged: b_unchanged"),
        (_outcomes("a"), _outcomes("a"), "none of its tests fails"),
        (_outcomes("", "a b"), _outcomes("a", "b"), "do not pass"),
        (_outcomes("", "a"), _outcomes(crashed=True), "do not pass"),
        (_outcomes("", "a"), _outcomes(), "do not pass"),
    ],
)
def test_judgement(before: Outcomes, after: Outcomes, message: str | None) -> None:
    problems = "\n".join(judge(before, after))
    assert (message is None) == (not problems)
    assert message is None or message in problems


def test_the_readme_says_what_becomes_of_each_patch_on_main() -> None:
    """Written by `on_main.py`: how many apply, and each of the others in a row."""
    readme = (PATCHES / "README.md").read_text(encoding="utf-8")
    section = readme.partition("<!-- on_main.py -->")[2].partition("<!-- end of on_main.py -->")[0]
    stated = re.search(r"at `[0-9a-f]{12}` of [\d-]+, (\d+) of (\d+) patches apply", section)
    assert stated is not None
    others = re.findall(r"^\| (\d{4}) \| (.*) \|$", section, re.M)
    assert int(stated[2]) == len(SERIES)
    assert int(stated[1]) + len(others) == len(SERIES)
    copies = {path.name for path in (PATCHES / "main").glob("*.patch")}
    assert copies == set(re.findall(r"\(main/(\S+)\)", section))
    for name in copies:
        copy, patch = read_patch(PATCHES / "main" / name), read_patch(PATCHES / name)
        assert copy.fields["Applies-To"][0].startswith("apache/tvm main ")
        assert copy.fields["Proved-By"] == patch.fields["Proved-By"]
        assert copy.subject == patch.subject


def test_on_main_tells_what_applies_what_was_copied_and_what_is_fixed(
    tree: WheelTree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import on_main

    first = SERIES[0]
    monkeypatch.setattr(on_main, "REBASED", tmp_path)
    tree.reset()
    assert on_main.standing(tree, first) == (on_main.APPLIES, None)
    assert on_main.standing(tree, first) == (on_main.FIXED, None)
    shutil.copy(first.path, tmp_path)
    tree.reset()
    assert on_main.standing(tree, first)[1] == f"{first.name}: the copy is not needed"
    state, problem = on_main.standing(tree, first)
    assert "rebased copy" in state and problem is not None and "does not apply" in problem
    tree.reset()
    dependent = next(patch for patch in SERIES if patch.fields.get("Depends-On"))
    assert on_main.standing(tree, dependent)[0] == on_main.MISSING


def test_on_main_takes_the_copy_of_a_patch_that_applies_without_code_it_relies_on(
    tree: WheelTree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import on_main

    first = SERIES[0]
    number = first.name[:4]
    monkeypatch.setattr(on_main, "REBASED", tmp_path)
    absent = {number: on_main.Lack("a text that no source holds", "calls what is not there")}
    tree.reset()
    before = tree.git("rev-parse", "HEAD^{tree}")
    state, problem = on_main.standing(tree, first, absent)
    assert state == (f"applies, but calls what is not there; [rebased copy](main/{first.name})")
    assert problem == f"{first.name}: the rebased copy does not apply"
    assert tree.git("rev-parse", "HEAD^{tree}") == before  # the patch itself is taken back
    shutil.copy(first.path, tmp_path)
    assert on_main.standing(tree, first, absent) == (state, None)
    assert tree.git("rev-parse", "HEAD^{tree}") != before
    (tmp_path / first.name).unlink()
    tree.reset()
    present = {number: on_main.Lack("def from_exported_program", "calls what is there")}
    assert on_main.standing(tree, first, present) == (
        on_main.APPLIES,
        f"lacking.tsv: the line of {number} is not needed",
    )


@pytest.mark.parametrize("line", ["0001\ttext", "0001\t\treason", "0001\tx\ty\n0001\tx\ty"])
def test_lines_about_what_main_lacks_are_checked(line: str, tmp_path: Path) -> None:
    import on_main

    assert on_main.read_lacking(tmp_path) == {}
    (tmp_path / "lacking.tsv").write_text(f"# a comment\n\n{line}\n", encoding="utf-8")
    with pytest.raises(on_main.PatchError, match="not one patch, a text and a reason"):
        on_main.read_lacking(tmp_path)
