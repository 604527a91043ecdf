"""A git repository with upstream's layout, created from the Python tree of an installed wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

# Folders of the wheel without Python code, which are linked and not copied.
NATIVE = ("3rdparty", "cmake", "include", "lib", "lib64", "licenses", "src", "web")


class TreeError(RuntimeError):
    """The tree cannot be created, or a patch does not apply; the message says why."""


def installed_version() -> str:
    """The version of the installed wheel. Raises TreeError if there is none."""
    try:
        return version("apache-tvm")
    except PackageNotFoundError as error:
        raise TreeError(
            "apache-tvm is not installed: pip install apache-tvm==0.27.0.post1"
        ) from error


class WheelTree:
    """The Python tree of the wheel in git, as `root/python/tvm`; `base` is without patches."""

    def __init__(self, root: Path) -> None:
        package = find_spec("tvm")
        if package is None or not package.submodule_search_locations:
            raise TreeError(
                "the package tvm is not installed: pip install apache-tvm==0.27.0.post1"
            )
        _copy_package(Path(package.submodule_search_locations[0]), root / "python" / "tvm")
        self._track(root, f"apache-tvm {installed_version()}, the wheel's Python tree")

    @classmethod
    def of_files(cls, root: Path) -> WheelTree:
        """Create a git repository from existing files in `root/python`."""
        tree = cls.__new__(cls)
        tree._track(root, "a checkout's Python tree")
        return tree

    @classmethod
    def of_clone(cls, root: Path, commit: str) -> WheelTree:
        """Use the existing repository in `root` at a commit."""
        tree = cls.__new__(cls)
        tree.root, tree.python = root, root / "python"
        tree._begin(commit)
        tree.git("checkout", "-q", "--detach", commit)
        return tree

    def _track(self, root: Path, what: str) -> None:
        self.root = root
        self.python = root / "python"
        self.git("init", "-q", "-b", "main", ".")
        # `git am` would pack the objects of earlier series again and again.
        self.git("config", "gc.auto", "0")
        excluded = [f"/python/tvm/{name}" for name in NATIVE] + ["__pycache__"]
        (root / ".git" / "info").mkdir(exist_ok=True)
        (root / ".git" / "info" / "exclude").write_text("\n".join(excluded) + "\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", what)
        self._begin(self.git("rev-parse", "HEAD").strip())

    def _begin(self, base: str) -> None:
        self.base = base
        self._commits: dict[tuple[Path, ...], str] = {(): base}  # by the patches on the base
        self._applied: tuple[Path, ...] = ()

    def git(self, *arguments: str) -> str:
        """Run git in the tree, independently of the machine's configuration; returns its output."""
        environment = {key: value for key, value in os.environ.items() if key[:4] != "GIT_"}
        environment |= {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "prove",
            "GIT_AUTHOR_EMAIL": "prove@localhost",
            "GIT_COMMITTER_NAME": "prove",
            "GIT_COMMITTER_EMAIL": "prove@localhost",
        }
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip())[-2000:]
            raise TreeError(f"git {arguments[0]} failed: {said}")
        return done.stdout

    def reset(self, patches: Sequence[Path] = ()) -> None:
        """Reset the tree to that of the wheel with only these patches applied.

        Patches that have been applied to the wheel in this order are not applied again.
        """
        wanted = tuple(patches)
        known = next(n for n in range(len(wanted), -1, -1) if wanted[:n] in self._commits)
        self._applied = wanted[:known]
        self.git("reset", "-q", "--hard", self._commits[self._applied])
        if wanted[known:]:
            self.apply(*wanted[known:])

    def apply(self, *patches: Path) -> None:
        """Apply patches in order by `git am`.

        Raises TreeError, which names the patch, if one fails; then none of them is applied.
        """
        before = self.git("rev-parse", "HEAD").strip()
        try:
            self.git("am", "-q", "--keep-non-patch", *map(str, patches))
        except TreeError as error:
            self.git("am", "--abort")
            failed = re.search(r"Patch failed at (\d+) ", str(error))
            name = patches[int(failed[1]) - 1 if failed else 0].name
            raise TreeError(f"{name}: {error}") from error
        if self._commits.get(self._applied) != before:
            return  # not on the wheel alone
        for patch, commit in zip(
            patches, self.git("rev-list", "--reverse", f"{before}..HEAD").split(), strict=True
        ):
            self._applied += (patch,)
            self._commits[self._applied] = commit

    def show(self, files: Sequence[str], commit: str) -> None:
        """Check out the files of a commit into the tree."""
        self.git("checkout", "-q", commit, "--", *files)


def _copy_package(source: Path, target: Path) -> None:
    def ignored(directory: str, names: list[str]) -> list[str]:
        top = Path(directory) == source
        return [name for name in names if name == "__pycache__" or (top and name in NATIVE)]

    shutil.copytree(source, target, ignore=ignored)
    for name in NATIVE:
        if (source / name).exists():
            (target / name).symlink_to(source / name)
