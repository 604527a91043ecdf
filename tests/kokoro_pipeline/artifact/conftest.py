"""Small artifacts that are real except for the code of the library."""

from __future__ import annotations

import importlib.metadata
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kokoro_pipeline.artifact import cpu
from kokoro_pipeline.artifact.manifest import (
    FunctionSpec,
    Manifest,
    ParameterSpec,
    TargetInfo,
    TensorSpec,
    WeightsInfo,
)
from kokoro_pipeline.artifact.parameter_file import write_parameters
from kokoro_pipeline.artifact.writer import ArtifactWriter

ELF_MACHINES = {"x86_64": 62, "aarch64": 183}


def elf_library(machine: str) -> bytes:
    """The first bytes of a shared library for Linux, followed by bytes that tests can damage."""
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, ELF_MACHINES[machine])
    return header + bytes(range(256)) * 8


def describe(parameters: list[ParameterSpec], **changes: object) -> Manifest:
    """A manifest for one function `double`, for this machine; `changes` replace its fields."""
    fields: dict[str, object] = {
        "package_version": "0.1.0",
        "weights": WeightsInfo("synthetic", None, "0" * 64, synthetic=True, seed=0),
        "versions": {"apache-tvm": importlib.metadata.version("apache-tvm")},
        "target": TargetInfo("llvm", "native", tuple(sorted(cpu.host_features()))),
        "opt_level": 1,
        "functions": {
            "double": FunctionSpec(
                (TensorSpec("x", "float32", (1, "t")),),
                (TensorSpec("y", "float32", (1, "2*t")),),
                tuple(parameters),
            )
        },
        "fixes": {"lstm": "applied"},
        "validation": {"double": {"rms": 1e-6}},
    }
    return Manifest(**{**fields, **changes})  # type: ignore[arg-type]


def fill(folder: Path, seed: int = 0) -> list[ParameterSpec]:
    """Write everything but the manifest."""
    values = np.random.default_rng(seed)
    arrays = [
        ("weight", values.standard_normal((5, 7), dtype=np.float32)),
        ("bias", values.standard_normal(3, dtype=np.float32)),
    ]
    specs = write_parameters(folder / "params.bin", arrays)
    (folder / "model.so").write_bytes(elf_library(cpu.host_architecture()))
    (folder / "config.json").write_text("{}")
    (folder / "voices").mkdir()
    np.save(folder / "voices" / "af_heart.npy", np.zeros((510, 1, 256), np.float32))
    return specs


def build_artifact(output: Path, seed: int = 0, force: bool = False, **changes: object) -> Path:
    """A whole artifact at `output`."""
    with ArtifactWriter(output, force) as writer:
        return writer.commit(describe(fill(writer.directory, seed), **changes))


@pytest.fixture
def make_artifact() -> Callable[..., Path]:
    return build_artifact


@pytest.fixture
def fill_folder() -> Callable[..., list[ParameterSpec]]:
    return fill


@pytest.fixture
def make_manifest() -> Callable[..., Manifest]:
    return describe
