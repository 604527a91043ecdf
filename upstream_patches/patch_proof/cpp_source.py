"""Check that a checkout of apache/tvm is the source that the installed wheel was built from.

Only then do the headers of the checkout match the library of the wheel, and only with the version
of tvm-ffi that the checkout pins: other versions may compile but fail at run time.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from patch_proof.patch_file import Patch
from patch_proof.wheel_tree import NATIVE, TreeError, WheelTree, installed_version

_TARGET = re.compile(r"apache/tvm v(\d\S*)")
_FFI = "3rdparty/tvm-ffi"


@dataclass(frozen=True)
class Wheel:
    """The folders of an installed wheel pair: the packages tvm and tvm_ffi."""

    version: str
    tvm: Path
    ffi: Path
    ffi_version: str
    ffi_commit: str

    @property
    def libraries(self) -> tuple[Path, ...]:
        """The libraries to link a unit against, in loading order."""
        return (
            self.ffi / "lib" / "libtvm_ffi.so",
            self.tvm / "lib" / "libtvm_runtime.so",
            self.tvm / "lib" / "libtvm_compiler.so",
        )


def installed_wheel() -> Wheel:
    """Find the installed pair without importing it. Raises TreeError if one is missing."""
    number = installed_version()
    folders = {}
    for name in ("tvm", "tvm_ffi"):
        found = find_spec(name)
        if found is None or not found.submodule_search_locations:
            raise TreeError(
                f"the package {name} is not installed: pip install apache-tvm=={number}"
            )
        folders[name] = Path(found.submodule_search_locations[0])
    text = (folders["tvm_ffi"] / "_version.py").read_text(encoding="utf-8")
    commit = re.search(r"commit_id = '?g?([0-9a-f]{7,40}|None)'?$", text, re.MULTILINE)
    return Wheel(
        version=number,
        tvm=folders["tvm"],
        ffi=folders["tvm_ffi"],
        ffi_version=version("apache-tvm-ffi"),
        ffi_commit=commit[1] if commit else "None",
    )


def target_version(series: Sequence[Patch]) -> str:
    """The version that the patches are made for. Raises TreeError unless it is unique."""
    targets = {target for patch in series for target in patch.fields["Applies-To"]}
    found = [_TARGET.fullmatch(target) for target in targets]
    if len(found) != 1 or found[0] is None:
        raise TreeError(f"not made for one tag of apache/tvm: {', '.join(sorted(targets))}")
    return found[0][1]


def check_version(wanted: str, wheel: Wheel) -> None:
    """Raise TreeError if the wheel does not have the version that the patches are made for."""
    if wheel.version != wanted:
        raise TreeError(
            f"the C++ patches are made for tag v{wanted} of apache/tvm, whose units can be loaded "
            f"beside the library of that version alone; installed is apache-tvm {wheel.version}. "
            f"Next: pip install apache-tvm=={wanted} in an environment of its own, and run this "
            "command with its python"
        )


def commit_of(source: Path, wanted: str) -> str:
    """The commit of the tag in the checkout. Raises TreeError if there is none."""
    if not source.is_dir() or _git(source, "rev-parse", "--git-dir") is None:
        raise TreeError(
            f"{source} is not a git repository, so it has no tag v{wanted}. "
            "Next: git clone apache/tvm, and give the clone as --tvm-source"
        )
    commit = _git(source, "rev-parse", "--verify", "-q", f"refs/tags/v{wanted}^{{commit}}")
    if commit is None:
        tags = (_git(source, "tag", "--sort=-creatordate") or "").split()
        raise TreeError(
            f"{source} has no tag v{wanted}; its newest are {', '.join(tags[:3]) or 'none'}. "
            f"Next: git -C {source} fetch --tags"
        )
    return commit


def check_ffi(source: Path, commit: str, wheel: Wheel) -> None:
    """Raise TreeError if the installed tvm-ffi is not the one that the checkout pins."""
    entry = (_git(source, "ls-tree", commit, _FFI) or "").split()
    pinned = entry[2] if len(entry) > 2 and entry[1] == "commit" else ""
    if not pinned or not pinned.startswith(wheel.ffi_commit):
        raise TreeError(
            f"the checkout is compiled with tvm-ffi {pinned[:9] or '(none pinned)'}; installed is "
            f"apache-tvm-ffi {wheel.ffi_version} ({wheel.ffi_commit}), whose headers differ. "
            f"Next: pip install apache-tvm-ffi=={_lower_bound(wheel)}"
        )


def _lower_bound(wheel: Wheel) -> str:
    """The oldest tvm-ffi that the wheel supports, which is the one that it was built with."""
    for metadata in wheel.tvm.parent.glob(f"apache_tvm-{wheel.version}.dist-info/METADATA"):
        text = metadata.read_text(encoding="utf-8")
        found = re.search(r"^Requires-Dist: apache-tvm-ffi>=([^,;\s]+)", text, re.MULTILINE)
        if found:
            return found[1]
    return "VERSION"


def check_python(root: Path, wheel: Wheel) -> None:
    """Raise TreeError if the Python files or the runtime headers differ from those of the wheel."""
    sources = (("python/tvm", wheel.tvm, "*.py"), ("include/tvm", wheel.tvm / "include/tvm", "*.h"))
    different = []
    for folder, installed, pattern in sources:
        for theirs in sorted(installed.rglob(pattern)):
            name = theirs.relative_to(installed)
            ours = root / folder / name
            if name.parts[0] in NATIVE or name.name == "_version.py":
                continue
            if not ours.is_file() or not filecmp.cmp(ours, theirs, shallow=False):
                different.append(f"{folder}/{name}")
    if different:
        raise TreeError(
            f"the tag is not what the installed apache-tvm {wheel.version} was made of: "
            f"{len(different)} files differ, first {', '.join(different[:3])}. "
            f"Next: pip install --force-reinstall --no-deps apache-tvm=={wheel.version}"
        )


def find_compiler() -> str:
    """The C++ compiler: $CXX, or g++ or clang++. Raises TreeError if there is none."""
    asked = os.environ.get("CXX")
    for name in [asked] if asked else ["g++", "clang++"]:
        if path := shutil.which(name):
            return path
    raise TreeError(
        f"no C++ compiler: {asked or 'neither g++ nor clang++'} is not on PATH. "
        "Next: install one that knows C++20, or name it in CXX"
    )


def tree_of(source: Path, commit: str, root: Path, wheel: Wheel) -> WheelTree:
    """A clone of the checkout at the commit, whose Python code uses the libraries of the wheel.

    The checkout is only read. Raises TreeError if the wheel was not built from that commit.
    """
    done = subprocess.run(
        ["git", "clone", "-q", "--shared", "--no-checkout", str(source.resolve()), str(root)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise TreeError(f"{source} cannot be cloned: {done.stderr.strip()[-1000:]}")
    tree = WheelTree.of_clone(root, commit)
    check_python(root, wheel)
    (tree.python / "tvm" / "lib").symlink_to(wheel.tvm / "lib")
    shutil.copyfile(wheel.tvm / "_version.py", tree.python / "tvm" / "_version.py")
    return tree


def _git(source: Path, *arguments: str) -> str | None:
    done = subprocess.run(
        ["git", "-C", str(source), *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None
