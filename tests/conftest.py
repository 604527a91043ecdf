"""Fixtures that several areas share."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# `benchmarks` is found in the checkout only.
sys.path.append(str(Path(__file__).resolve().parent.parent))


@pytest.fixture(scope="session")
def synthetic_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The synthetic weights of seed 0 in the hub's layout, written once a session. Read only."""
    pytest.importorskip("torch", reason="writing a checkpoint needs torch")
    from kokoro_pipeline.compiler.weights import write_synthetic

    folder = write_synthetic(tmp_path_factory.mktemp("weights") / "synthetic", seed=0).path
    yield folder
    shutil.rmtree(folder)  # 330 MB, which pytest would keep for three sessions


@pytest.fixture(scope="session")
def artifact(synthetic_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The whole model of the synthetic weights for this machine at the highest --opt. Read only.

    Built once a session, which takes about a minute; not validated: that is a test's work.
    """
    import kokoro_pipeline

    folder = tmp_path_factory.mktemp("artifact") / "kokoro"
    kokoro_pipeline.build(str(synthetic_folder), output=folder, validate=False)
    yield folder
    shutil.rmtree(folder)  # some 500 MB
