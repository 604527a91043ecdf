"""`native/` built with cargo, and the toy artifact of the runtime tests.

Everything that is built needs cargo and the crates of Debian's packages `librust-*-dev`. Where they
are missing, tests skip and say so; with KOKORO_REQUIRE_NATIVE=1, as `.ci/run` has it, they fail.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kokoro_pipeline.runtime.engine.library import find_runtime_library

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "native"
CRATES = Path("/usr/share/cargo/registry")
NEEDED = ("clap", "libc", "libloading", "memmap2", "serde_json", "sha2", "signal_hook", "tempfile")


def _runtime_fixtures() -> Any:
    """tests/kokoro_pipeline/runtime/conftest.py, which pytest shows to its own folder only."""
    file = ROOT / "tests" / "kokoro_pipeline" / "runtime" / "conftest.py"
    specification = importlib.util.spec_from_file_location("toy_artifact_fixtures", file)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


_toy = _runtime_fixtures()
toy_library = _toy.toy_library
toy_artifact = _toy.toy_artifact


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What uses cargo, directly or through another fixture, is of the tier `native`."""
    for item in items:
        if "cargo" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.native)


def _missing() -> str | None:
    """What is missing for building, with a remedy."""
    if shutil.which("cargo") is None:
        return "cargo is not installed (https://rustup.rs, or apt-get install cargo)"
    absent = [
        name for name in NEEDED if not list(CRATES.glob(f"{name.replace('_', '[-_]')}-[0-9]*"))
    ]
    if absent:
        packages = " ".join(f"librust-{name.replace('_', '-')}-dev" for name in absent)
        return f"Debian's crates are not installed (apt-get install {packages})"
    return None


@pytest.fixture(scope="session")
def cargo() -> Callable[..., subprocess.CompletedProcess[str]]:
    """`cargo("build", …)` runs cargo in `native/` with Debian's crates, and must succeed."""
    missing = _missing()
    if missing is not None:
        if os.environ.get("KOKORO_REQUIRE_NATIVE") == "1":
            pytest.fail(missing)
        pytest.skip(missing)

    def run(
        command: str, *words: str, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        registry = [
            *("--config", 'source.crates-io.replace-with="debian"'),
            *("--config", f'source.debian.directory="{CRATES}"'),
        ]
        line = ["cargo", command, "--offline", *registry, *words]
        done = subprocess.run(
            line,
            cwd=NATIVE,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
            env={**os.environ, **(environment or {})},
        )
        assert done.returncode == 0, f"{' '.join(line)}\n{done.stdout[-8000:]}{done.stderr[-8000:]}"
        return done

    return run


@pytest.fixture(scope="session")
def built(cargo: Callable[..., Any]) -> Path:
    """The folder of the release build: kokoro-say, libkokoro.so, libkokoro.a, examples."""
    cargo("build", "--release", "--workspace", "--lib", "--bins", "--examples")
    return Path(os.environ.get("CARGO_TARGET_DIR", NATIVE / "target")) / "release"


@pytest.fixture(scope="session")
def tvm_libraries() -> str:
    """What KOKORO_TVM_LIBS has to be for the libraries of this environment."""
    ffi = importlib.util.find_spec("tvm_ffi")
    assert ffi is not None and ffi.submodule_search_locations
    return f"{find_runtime_library().parent}:{Path(ffi.submodule_search_locations[0]) / 'lib'}"


@pytest.fixture(scope="session")
def native_environment(tvm_libraries: str) -> dict[str, str]:
    """The environment of native programs."""
    rest = {k: v for k, v in os.environ.items() if k != "TVM_NUM_THREADS"}
    return {**rest, "KOKORO_TVM_LIBS": tvm_libraries}


@pytest.fixture
def kokoro_say(
    built: Path, native_environment: dict[str, str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """`kokoro_say("info", DIR)` runs the program in an empty folder."""

    def run(
        *words: str | bytes | Path,
        stdin: bytes = b"",
        environment: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        here = tmp_path / "empty"
        here.mkdir(exist_ok=True)
        return subprocess.run(
            [built / "kokoro-say", *words],
            cwd=here,
            input=stdin,
            capture_output=True,
            timeout=300,
            check=False,
            env={**native_environment, **(environment or {})},
        )

    return run
