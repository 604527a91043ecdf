"""The C++ patches are ready to be sent, and `prove.py --cpp` refuses what it cannot prove.

Guards against a meaningless result of `--cpp`, from a unit that was compiled for a library other
than the installed one. The proof itself needs a clone of apache/tvm and is not run here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from patch_proof import cpp_source, norm_kernels
from patch_proof.cpp_build import NATIVE_SOURCES, build_library
from patch_proof.cpp_proof import judge_measurement
from patch_proof.cpp_source import Wheel
from patch_proof.patch_file import Patch, read_series
from patch_proof.test_run import loading
from patch_proof.wheel_tree import TreeError
from prove import main

PATCHES = Path(__file__).resolve().parents[2] / "upstream_patches"
SERIES = read_series(PATCHES / "cpp")
EACH = pytest.mark.parametrize("patch", SERIES, ids=[patch.name for patch in SERIES])
COMPILER = shutil.which("g++")
PINNED = "0123456789abcdef0123456789abcdef01234567"


def _git(directory: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    subprocess.run(["git", "-C", str(directory), *identity, *arguments], check=True)


@pytest.fixture
def wheel(tmp_path: Path) -> Wheel:
    """A made-up wheel of two files."""
    tvm = tmp_path / "site-packages" / "tvm"
    (tvm / "include" / "tvm" / "runtime").mkdir(parents=True)
    (tvm / "te.py").write_text("te = 1\n")
    (tvm / "include" / "tvm" / "runtime" / "base.h").write_text("// base\n")
    metadata = tvm.parent / "apache_tvm-1.2.3.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Requires-Dist: apache-tvm-ffi>=0.1.9\n")
    return Wheel("1.2.3", tvm, tvm.parent / "tvm_ffi", "0.1.10", PINNED[:9])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with the tag v1.2.3 and a pinned tvm-ffi, whose files are the wheel's."""
    root = tmp_path / "apache-tvm"
    (root / "python" / "tvm").mkdir(parents=True)
    (root / "include" / "tvm" / "runtime").mkdir(parents=True)
    (root / "python" / "tvm" / "te.py").write_text("te = 1\n")
    (root / "include" / "tvm" / "runtime" / "base.h").write_text("// base\n")
    _git(tmp_path, "init", "-q", "-b", "main", str(root))
    _git(root, "add", "-A")
    _git(root, "update-index", "--add", "--cacheinfo", f"160000,{PINNED},3rdparty/tvm-ffi")
    _git(root, "commit", "-q", "-m", "release")
    _git(root, "tag", "v1.2.3")
    return root


@EACH
def test_title_body_and_fields(patch: Patch) -> None:
    assert re.fullmatch(r"(\[[A-Z][A-Za-z]+\])+ [A-Z].*[^.]", patch.subject)
    slug = re.sub(r"[^a-z0-9]+", "-", patch.title.lower()).strip("-")
    assert patch.name[5:] == f"{slug}.patch"
    assert len(patch.body.split("\n\n")) >= 2, "what is wrong, then what the patch does"
    assert not re.search(r"(?<!\w)@\w", patch.body)
    assert max(map(len, patch.body.splitlines())) <= 100
    assert patch.fields["Forwarded"] == patch.fields["Applied-Upstream"] == ("no",)
    assert all(test in patch.touched for test in patch.tests)


@EACH
def test_units_are_named(patch: Patch) -> None:
    units = patch.fields["Translation-Unit"]
    linked_with = patch.fields.get("Linked-With", ())
    patched = {name for name in patch.touched if name.endswith((".cc", ".h"))}
    sources = {name for name in patched if name.endswith(".cc")}
    assert patched
    assert units
    assert sources <= {*units, *linked_with}  # else the patch would not be in the library
    # A unit that is not patched registers what calls patched code: of a header, or linked.
    assert sources != patched or sources & set(linked_with) or set(units) <= patched
    for linked in linked_with:
        assert linked.startswith("src/") or (NATIVE_SOURCES / linked).is_file()
    for program in patch.fields.get("Measured-By", ()):
        assert (PATCHES / "patch_proof" / f"{program}.py").is_file()


@EACH
def test_added_lines(patch: Patch) -> None:
    """Upstream's formatters allow 100 columns of C++; new files begin with ASF's header."""
    diff = patch.path.read_text(encoding="utf-8").partition("\n---\n")[2]
    for part in diff.split("\ndiff --git ")[1:]:
        name = part.split()[0].removeprefix("a/")
        added = [line[1:] for line in part.splitlines() if re.match(r"\+(?!\+\+ )", line)]
        assert not [line for line in added if line != line.rstrip()], name
        if name.endswith((".cc", ".h")):
            assert max(map(len, added)) <= 100, name
        if "\nnew file" in part:
            assert added[0].startswith("# Licensed to the Apache Software Foundation"), name


def test_readme_has_a_row_for_every_patch() -> None:
    readme = (PATCHES / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[cpp/(\d{4})\]\(cpp/(\S+)\) \|.*\| (\S+) \|$", readme, re.MULTILINE)
    assert rows == [
        (patch.name[:4], patch.name, f"`{Path(patch.tests[0]).name}`") for patch in SERIES
    ]


def test_made_for_one_tag(capsys: pytest.CaptureFixture[str]) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", cpp_source.target_version(SERIES))
    other = replace(SERIES[0], fields=SERIES[0].fields | {"Applies-To": ("apache/tvm v0.1.0",)})
    for series in ([SERIES[1], other], [replace(other, fields={"Applies-To": ("main",)})]):
        with pytest.raises(TreeError, match="not made for one tag"):
            cpp_source.target_version(series)


def test_needs_a_checkout(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--cpp"])
    assert stopped.value.code == 2
    assert "--cpp needs --tvm-source DIR" in capsys.readouterr().err


def test_another_version_than_the_installed_one_is_refused(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpp_source, "installed_version", lambda: "99.0")
    assert main(["--cpp", "--tvm-source", str(checkout)]) == 1
    said = capsys.readouterr().err
    wanted = cpp_source.target_version(SERIES)
    assert f"tag v{wanted}" in said and "installed is apache-tvm 99.0" in said
    assert f"pip install apache-tvm=={wanted}" in said


def test_matching_checkout_becomes_a_tree(checkout: Path, wheel: Wheel, tmp_path: Path) -> None:
    (wheel.tvm / "lib").mkdir()
    (wheel.tvm / "_version.py").write_text("__version__ = '1.2.3'\n")
    cpp_source.check_version("1.2.3", wheel)
    commit = cpp_source.commit_of(checkout, "1.2.3")
    cpp_source.check_ffi(checkout, commit, wheel)
    (checkout / "python" / "tvm" / "te.py").write_text("edited\n")
    tree = cpp_source.tree_of(checkout, commit, tmp_path / "clone", wheel)
    assert (tree.python / "tvm" / "te.py").read_text() == "te = 1\n"
    assert (tree.python / "tvm" / "lib").resolve() == (wheel.tvm / "lib").resolve()
    tree.reset()


def test_folder_without_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="not a git repository.*Next: git clone"):
        cpp_source.commit_of(tmp_path / "nowhere", "1.2.3")


def test_missing_tag_is_refused_with_those_there_are(checkout: Path) -> None:
    with pytest.raises(TreeError, match=r"no tag v9\.9; its newest are v1\.2\.3\. Next: .*fetch"):
        cpp_source.commit_of(checkout, "9.9")


def test_other_tvm_ffi_is_refused(checkout: Path, wheel: Wheel) -> None:
    """Neighbouring versions compile and then fail when they run: an Array of null was legal."""
    commit = cpp_source.commit_of(checkout, "1.2.3")
    for installed in ("fedcba987", "None"):
        with pytest.raises(TreeError, match=rf"{PINNED[:9]};.*{installed}.*tvm-ffi==0\.1\.9"):
            cpp_source.check_ffi(checkout, commit, replace(wheel, ffi_commit=installed))


@pytest.mark.parametrize("name", ["te.py", "include/tvm/runtime/base.h"])
def test_wheel_of_other_files_is_refused(
    checkout: Path, wheel: Wheel, tmp_path: Path, name: str
) -> None:
    (wheel.tvm / name).write_text("something else\n")
    commit = cpp_source.commit_of(checkout, "1.2.3")
    with pytest.raises(TreeError, match=rf"1 files differ, first \S*{Path(name).name}\. Next"):
        cpp_source.tree_of(checkout, commit, tmp_path / "clone", wheel)


def test_missing_compiler_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(TreeError, match=r"neither g\+\+ nor clang\+\+.*Next: install"):
        cpp_source.find_compiler()
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(TreeError, match="no-such-compiler is not on PATH"):
        cpp_source.find_compiler()


def test_installed_wheel_is_described() -> None:
    wheel = cpp_source.installed_wheel()
    assert re.fullmatch(r"[0-9a-f]{7,40}", wheel.ffi_commit)
    assert all(library.is_file() for library in wheel.libraries)


REGISTERING = """
#include <tvm/ffi/reflection/registry.h>
int helper();
TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("ffi.ArraySize", [](tvm::ffi::Any) { return helper(); });
}
"""
LINKED = """
#include <cstdlib>
int helper() { return 42; }
TVM_FFI_STATIC_INIT_BLOCK() { std::abort(); }
"""


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no g++")
def test_library_replaces_what_its_unit_registers(tmp_path: Path) -> None:
    """The unit's function takes the place of the wheel's; the linked one registers nothing."""
    assert COMPILER is not None
    wheel = cpp_source.installed_wheel()
    (tmp_path / "unit.cc").write_text(REGISTERING)
    (tmp_path / "linked.cc").write_text(LINKED)
    library = tmp_path / "patched.so"
    units = (["./unit.cc"], ["./linked.cc"])
    build_library(COMPILER, tmp_path, wheel, *units, library, jobs=1)
    program = (
        f"{loading([*wheel.libraries, library])}"
        "print(tvm_ffi.get_global_func('ffi.ArraySize')(None))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["42"]


@pytest.mark.skipif(COMPILER is None, reason="no g++")
@pytest.mark.parametrize(
    ("text", "message"),
    [("int broken(", "does not compile"), ("int a();\nint b() { return a(); }", "does not link")],
)
def test_what_cannot_be_built_is_refused(tmp_path: Path, text: str, message: str) -> None:
    assert COMPILER is not None
    wheel = cpp_source.installed_wheel()
    unit = "#include <tvm/ffi/c_api.h>\n" + text
    unit += "\n__attribute__((constructor)) static void start() { b(); }\n" if "b()" in text else ""
    (tmp_path / "unit.cc").write_text(unit)
    with pytest.raises(TreeError, match=message):
        build_library(COMPILER, tmp_path, wheel, ["./unit.cc"], [], tmp_path / "x.so", jobs=1)


@pytest.mark.parametrize(
    ("wrong_before", "wrong_after", "message"),
    [(5, 0, None), (0, 0, "nothing wrong without"), (5, 2, "still has 2 wrong")],
)
def test_judgement_of_measurement(wrong_before: int, wrong_after: int, message: str | None) -> None:
    measured = {"norm": {"wrong_before": wrong_before, "wrong_after": wrong_after}}
    problems = "\n".join(judge_measurement(measured))
    assert (message is None) == (not problems)
    assert message is None or message in problems


def test_nan_counts_as_wrong() -> None:
    x = np.random.default_rng(0).normal(5.0, 2.0, norm_kernels.SHAPE).astype("float32")
    rows = x.astype("float64")
    output = (rows - rows.mean(-1, keepdims=True)) / rows.std(-1, keepdims=True)
    assert norm_kernels._wrong(output, x, norm_kernels.SHAPE[1])[0] == 0
    output[0, 0, 0], output[0, 1, 1] = np.nan, output[0, 1, 1] + 1
    wrong, error = norm_kernels._wrong(output, x, norm_kernels.SHAPE[1])
    assert wrong == 2 and error == pytest.approx(1.0, abs=1e-3)
