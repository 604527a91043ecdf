"""Batches on a Ray cluster of two nodes on this machine: the same bytes, whatever dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kokoro_pipeline.cli import main
from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.runtime.batch.inputs import Defaults, read_entries
from kokoro_pipeline.runtime.batch.runner import run_batch
from kokoro_pipeline.runtime.batch.speaking import BatchOptions

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PHONEMES = "həlˈoʊ wˈɜːld"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head that speaks nothing, and two nodes with a CPU each."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # for the nodes
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    started = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False},
    )
    started.add_node(num_cpus=1)
    started.doomed = started.add_node(num_cpus=1)
    started.wait_for_nodes()
    yield started
    ray.shutdown()
    started.shutdown()


def entries_of(path: Path, count: int, length: int) -> Path:
    rows = [{"id": f"e{n}", "phonemes": f"{PHONEMES}. " * (length + n % 3)} for n in range(count)]
    rows[3]["voice"] = "af_bela"  # a fault, which stops nothing
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def running_actors() -> int:
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "args="], capture_output=True, text=True, check=True
    ).stdout
    return sum(line.startswith("ray::MapWorker") for line in listed.splitlines())


def test_a_node_that_dies_loses_nothing_and_doubles_nothing(cluster, toy_artifact, tmp_path):
    entries = read_entries(entries_of(tmp_path / "in.jsonl", 60, 12), Defaults())
    local, out = tmp_path / "local", tmp_path / "ray"
    wanted = run_batch(entries, BatchOptions(toy_artifact, local, threads=1), lambda *_: None)
    seen: list[str] = []
    killed = threading.Event()

    def report(result: Any, fresh: bool) -> None:
        seen.append(result.id)
        if fresh and len(seen) >= 8 and not killed.is_set():
            killed.set()
            deadline = time.monotonic() + 60
            while running_actors() < 2 and time.monotonic() < deadline:  # one on each node
                time.sleep(0.05)
            assert running_actors() == 2
            cluster.remove_node(cluster.doomed, allow_graceful=False)

    options = BatchOptions(toy_artifact, out, engine="ray", address=cluster.address)
    results = run_batch(entries, options, report)
    assert killed.is_set()
    assert sorted(seen) == sorted(entry.id for entry in entries)
    assert results == wanted
    assert content(out) == content(local)
    # What is there is kept, whichever engine made it.
    fresh: list[bool] = []
    run_batch(entries, BatchOptions(toy_artifact, out), lambda _, new: fresh.append(new))
    assert not any(fresh)


def test_the_command_starts_a_cluster(toy_artifact, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    file, out = entries_of(tmp_path / "in.jsonl", 6, 1), tmp_path / "ray"
    words = ["batch", str(file), "--artifact", str(toy_artifact), "--engine", "ray"]
    assert main([*words, "-o", str(out)]) == 1  # for the voice that is not there
    assert main(["batch", str(file), "--artifact", str(toy_artifact), "-o", str(out)]) == 1
    assert len(content(out)) == 6


def test_a_cluster_that_is_not_there(toy_artifact, tmp_path):
    entries = read_entries(entries_of(tmp_path / "in.jsonl", 6, 1), Defaults())
    options = BatchOptions(toy_artifact, tmp_path / "no", engine="ray", address="127.0.0.1:1")
    with pytest.raises(EnvironmentFault, match=r"no cluster answers at 127\.0\.0\.1:1"):
        run_batch(entries, options, lambda *_: None)
