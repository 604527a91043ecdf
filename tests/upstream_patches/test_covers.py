"""The texts of tracking issues cover the series, and their tables are what the programs print."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from patch_proof.patch_file import read_series
from patch_proof.test_run import environment
from patch_proof.wheel_tree import WheelTree, installed_version

PATCHES = Path(__file__).resolve().parents[2] / "upstream_patches"
SERIES = read_series(PATCHES)
README = (PATCHES / "README.md").read_text(encoding="utf-8")
TIMEOUT = 300.0  # seconds; an idle machine needs ten


@dataclass(frozen=True)
class Cover:
    """A cover file: its patches, its program, and what that prints before and after them."""

    name: str
    title: str
    patches: tuple[str, ...]
    program: str
    before: dict[str, str]
    after: dict[str, str]


def read_cover(path: Path) -> Cover:
    """Read a cover file of the form that all of them have."""
    text = path.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(.+)` \| ([^|]*) \| ([^|]*) \|$", text, re.M)
    program = re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert program is not None
    return Cover(
        path.stem,
        text.splitlines()[0].removeprefix("# "),
        tuple(re.findall(r"^- \[\d{4}\]\((\S+\.patch)\): ", text, re.M)),
        program[1],
        {name: before for name, before, _ in rows},
        {name: after for name, _, after in rows},
    )


COVERS = tuple(read_cover(path) for path in sorted(PATCHES.glob("cover-*.md")))
EACH = pytest.mark.parametrize("cover", COVERS, ids=[cover.name for cover in COVERS])


RUN = """
import contextlib, io, json, sys
printed = {}
for name, program in json.load(sys.stdin).items():
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(program, name, "exec"), {"__name__": "__main__"})
    printed[name] = dict(line.split(": ", 1) for line in output.getvalue().splitlines())
json.dump(printed, sys.stdout)
"""


def printed(python: Path) -> dict[str, dict[str, str]]:
    """What the program of each cover prints, `name: value` a line, with tvm from a tree.

    One process runs all of them, so that tvm and torch are imported once.
    """
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps({cover.name: cover.program for cover in COVERS}),
        env=environment(python),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_patch_is_in_one_cover_or_sent_alone() -> None:
    covered = [name for cover in COVERS for name in cover.patches]
    alone = re.search(r"The other patches are sent alone: ([\d, ]+)\.", README)
    assert alone is not None
    numbers = [*(name[:4] for name in covered), *alone[1].split(", ")]
    assert sorted(numbers) == [patch.name[:4] for patch in SERIES]
    assert set(covered) <= {patch.name for patch in SERIES}


@EACH
def test_readme_links_the_cover_with_its_patches(cover: Cover) -> None:
    numbers = ", ".join(name[:4] for name in cover.patches)
    row = f"| [{cover.name}]({cover.name}.md) | {cover.title} | {numbers} |"
    assert row in README.splitlines()


@EACH
def test_order_of_the_patches_is_that_of_the_series(cover: Cover) -> None:
    assert list(cover.patches) == sorted(cover.patches)
    assert cover.before and any(cover.before[name] != cover.after[name] for name in cover.before)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, str]], ...]:
    """What is printed with the tree of the wheel, and with that of the whole series."""
    target = SERIES[0].fields["Applies-To"][0]
    if target != f"apache-tvm {installed_version()} wheel tree":
        pytest.skip(f"the tables are those of the {target}")
    stock, patched = (WheelTree(tmp_path_factory.mktemp(name)) for name in ("stock", "patched"))
    patched.reset([patch.path for patch in SERIES])
    return printed(stock.python), printed(patched.python)


@pytest.mark.slow
@EACH
def test_table_is_what_the_program_prints(
    cover: Cover, tables: tuple[dict[str, dict[str, str]], ...]
) -> None:
    before, after = tables
    assert before[cover.name] == cover.before
    assert after[cover.name] == cover.after
