"""The workspace's own tests, lints, format and documentation."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parents[2] / "native"


def require_component(name: str) -> None:
    """Skip where the toolchain lacks a component, as Debian's does."""
    if subprocess.run(["cargo", name, "--version"], capture_output=True, check=False).returncode:
        pytest.skip(f"cargo {name} is not installed (rustup component add {name})")


def test_the_workspace_passes_its_own_tests(cargo):
    done = cargo("test", "--workspace")
    results = [line for line in done.stdout.splitlines() if line.startswith("test result:")]
    assert len(results) >= 4
    assert all(" 0 ignored" in line for line in results)


def test_clippy_finds_nothing(cargo):
    require_component("clippy")
    cargo("clippy", "--workspace", "--all-targets", "--", "-D", "warnings")


def test_the_documentation_is_clean(cargo):
    cargo("doc", "--workspace", "--no-deps", environment={"RUSTDOCFLAGS": "-D warnings"})


def test_the_code_is_formatted(cargo):
    require_component("fmt")
    line = ["cargo", "fmt", "--all", "--check"]
    done = subprocess.run(line, cwd=NATIVE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
