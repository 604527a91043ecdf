"""Run the command line in this process, with replacements for expensive parts."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from kokoro_pipeline.artifact.cpu import host_architecture
from kokoro_pipeline.artifact.manifest import (
    FunctionSpec,
    Manifest,
    TargetInfo,
    TensorSpec,
    WeightsInfo,
)
from kokoro_pipeline.artifact.writer import ArtifactWriter
from kokoro_pipeline.cli import main
from kokoro_pipeline.runtime.engine.ffi_compatibility import RECOMMENDED


@dataclass(frozen=True)
class Ended:
    """How a command line ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def run_cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """`run_cli("info", DIR)` runs a command line and returns its exit code and output."""

    def run(*words: str | Path) -> Ended:
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Ended(code, out, err)

    return run


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replace a module: `stand_in("kokoro_pipeline.compiler.weights", resolve=f)`."""

    def replace(name: str, **attributes: Any) -> None:
        module = ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)
        parent, _, child = name.rpartition(".")
        if parent in sys.modules:
            monkeypatch.setattr(sys.modules[parent], child, module, raising=False)

    return replace


@pytest.fixture
def make_manifest() -> Callable[..., Manifest]:
    """A manifest of an artifact made by this package and TVM, synthetic unless told otherwise."""

    def make(**changes: Any) -> Manifest:
        import kokoro_pipeline

        values: dict[str, Any] = {
            "package_version": kokoro_pipeline.__version__,
            "weights": WeightsInfo("synthetic", None, "0" * 64, synthetic=True, seed=0),
            "versions": dict(zip(("apache-tvm", "apache-tvm-ffi"), RECOMMENDED, strict=True)),
            "target": TargetInfo("llvm", "generic", ()),
            "opt_level": 1,
            "functions": {
                "bert_forward": FunctionSpec(
                    inputs=(
                        TensorSpec("input_ids", "int64", ("B", "n")),
                        TensorSpec("lengths", "int64", ("B",)),
                    ),
                    outputs=(TensorSpec("d_en", "float32", ("B", 512, "n")),),
                )
            },
            "fixes": {"clamp": "applied", "atan2": "not_needed"},
        }
        return Manifest(**{**values, **changes})

    return make


@pytest.fixture
def make_artifact(make_manifest: Callable[..., Manifest]) -> Callable[..., Path]:
    """An artifact folder that opens, with a library that computes nothing."""

    def make(output: Path, **changes: Any) -> Path:
        with ArtifactWriter(output, force=True) as writer:
            (writer.directory / "model.so").write_bytes(_empty_library())
            (writer.directory / "params.bin").write_bytes(b"")
            (writer.directory / "config.json").write_text("{}")
            (writer.directory / "voices").mkdir()
            for name in ("af_bella", "af_heart"):
                np.save(
                    writer.directory / "voices" / f"{name}.npy",
                    np.full((510, 1, 256), 0.5, dtype=np.float32),
                )
            return writer.commit(make_manifest(**changes))

    return make


def _empty_library() -> bytes:
    """The header of a shared library for Linux on this architecture, without any code."""
    machine = {"x86_64": 62, "aarch64": 183}[host_architecture()]
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, machine) + bytes(1000)
