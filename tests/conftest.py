"""The tiers, what keeps the suite small, and fixtures that several areas share."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
FAST = (
    "kokoro_pipeline/artifact",
    "kokoro_pipeline/cli",
    "kokoro_pipeline/runtime/audio",
    "kokoro_pipeline/runtime/text/test_chunking.py",
    "kokoro_pipeline/runtime/text/test_numbers_as_words.py",
    "kokoro_pipeline/runtime/text/test_text_normalization.py",
    "kokoro_pipeline/runtime/voices",
    "kokoro_pipeline/validation/test_validation_cases.py",
    "kokoro_pipeline/validation/test_validation_gates.py",
    "kokoro_pipeline/validation/test_validation_report.py",
    "test_import_hygiene.py",
    "test_version_matrix.py",
)
"""Files and folders of the tier `fast`, in which a test is fast unless it is marked otherwise: no
weights, no model, and neither torch nor the TVM compiler at collection."""

WHOLE_MODEL = (
    "tests/benchmarks/test_gpu_folder.py",
    "tests/benchmarks/test_peer_modules.py",
    "tests/kokoro_pipeline/cli/test_cli_artifact_commands.py",
    "tests/kokoro_pipeline/compiler/kernels/gpu/test_gpu_source.py",
    "tests/kokoro_pipeline/compiler/model/test_model_components.py",
    "tests/kokoro_pipeline/compiler/passes/test_harmonic_source_rule.py",
    "tests/kokoro_pipeline/compiler/test_compiler_parts.py",
    "tests/kokoro_pipeline/compiler/test_exporting_and_importing.py",
    "tests/kokoro_pipeline/compiler/weights/test_calibration.py",
    "tests/kokoro_pipeline/compiler/weights/test_resolving.py",
    "tests/kokoro_pipeline/compiler/weights/test_synthetic_weights.py",
    "tests/kokoro_pipeline/compiler/weights/test_weights_folder.py",
    "tests/kokoro_pipeline/test_artifact_end_to_end.py",
    "tests/kokoro_pipeline/test_onnx_artifact.py",
    "tests/kokoro_pipeline/validation/test_validation_reference.py",
    "tests/kokoro_pipeline/validation/test_validation_run.py",
)
"""Files whose tests make whole models. One worker runs all of them: two at a time would take twice
the memory, and would write the weights and build the artifact twice."""

LONG = (
    "tests/kokoro_pipeline/compiler/kernels/gpu/test_gpu_components.py",
    "tests/tvm_kokoro_ext/test_onnx_sweep.py",
)
"""Files that take minutes: they begin early, so that no worker waits for one in the end."""

WHOLE_MODEL_FIXTURES = {"synthetic_folder", "artifact"}

OTHER_TIERS = {"slow", "variants", "qemu", "cuda_build", "sweep", "native", "models"}

# `benchmarks` is found in the checkout only; behind the rest, so that what is installed is tested.
sys.path.append(str(HERE.parent))

# Processes that share the cores share them out: two teams of torch's threads on two cores wait for
# one another, and take five times as long. Before torch and numpy are imported, and for children.
if (workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))) > 1:
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))


def _leads_to_fast(path: Path) -> bool:
    own = path.relative_to(HERE).parts
    fast = [Path(entry).parts for entry in FAST]
    return any(own[: len(entry)] == entry or entry[: len(own)] == own for entry in fast)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m fast` does not import the other tests either: that takes longer than it has."""
    if config.option.markexpr == "fast" and not _leads_to_fast(collection_path):
        return True
    return None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """For `--dist loadfile`: the files of `WHOLE_MODEL` are one unit of work, which begins first
    because it is the longest; those of `LONG` begin next."""
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class WholeModelsOnOneWorker(LoadFileScheduling):
        unit = "whole models"

        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return self.unit if file in WHOLE_MODEL else file

        def _assign_work_unit(self, node: Any) -> None:
            for early in reversed((self.unit, *LONG)):
                if early in self.workqueue:
                    self.workqueue.move_to_end(early, last=False)
            super()._assign_work_unit(node)

    return WholeModelsOnOneWorker(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--turn",
        metavar="K/N",
        default="0/1",
        help="run every N-th test, those that are in turn K (from 0) by their names",
    )


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    turn, turns = map(int, config.option.turn.split("/"))
    if turns > 1:
        dealt = [(zlib.crc32(item.name.encode()) % turns == turn, item) for item in items]
        config.hook.pytest_deselected(items=[item for chosen, item in dealt if not chosen])
        items[:] = [item for chosen, item in dealt if chosen]
    for item in items:
        marked = {marker.name for marker in item.iter_markers()}
        if marked & OTHER_TIERS:
            continue
        if _leads_to_fast(item.path):
            item.add_marker(pytest.mark.fast)
        file = item.path.relative_to(HERE.parent).as_posix()
        makes_models = WHOLE_MODEL_FIXTURES & set(getattr(item, "fixturenames", ()))
        if makes_models and file not in WHOLE_MODEL:
            raise pytest.UsageError(f"{file} makes whole models: name it in tests/conftest.py")


def pytest_collection_finish() -> None:
    """What was imported stays: collecting garbage need not look there again."""
    gc.collect()
    gc.freeze()


def _give_memory_back() -> None:
    gc.collect()  # a reference model refers to itself
    if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


@pytest.fixture
def memory_given_back() -> Iterator[None]:
    """For a test that makes whole models: what they took goes back to the system after it."""
    yield
    _give_memory_back()


@pytest.fixture(scope="module", autouse=True)
def _memory_of_modules_given_back() -> Iterator[None]:
    """The same when the fixtures of a module have ended."""
    yield
    _give_memory_back()


@pytest.fixture(scope="session")
def synthetic_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The synthetic weights of seed 0 in the hub's layout, written once per session. Read only."""
    pytest.importorskip("torch", reason="writing a checkpoint needs torch")
    from kokoro_pipeline.compiler.weights import write_synthetic

    folder = write_synthetic(tmp_path_factory.mktemp("weights") / "synthetic", seed=0).path
    yield folder
    shutil.rmtree(folder)  # 330 MB, which pytest would keep for three sessions


@pytest.fixture(scope="session")
def artifact(synthetic_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An artifact of the synthetic weights for this machine at the highest --opt. Read only.

    Built once a session, which takes about a minute, by a process whose memory goes when it ends;
    not validated: that is a test's work. $KOKORO_WHOLE_ARTIFACT names a folder where it is kept
    for the next session: `.ci/run` has several.
    """
    given = os.environ.get("KOKORO_WHOLE_ARTIFACT")
    folder = Path(given) if given else tmp_path_factory.mktemp("artifact") / "kokoro"
    if folder.exists():
        yield folder
        return
    words = ["build", "--weights", synthetic_folder, "-o", folder, "--no-validate"]
    done = subprocess.run(
        [sys.executable, "-m", "kokoro_pipeline", *map(str, words)],
        cwd=HERE.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    yield folder
    if not given:
        shutil.rmtree(folder)  # some 500 MB


@pytest.fixture
def pipeline_cache(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A user's cache of the test's own, but for the references of PyTorch in float64: pytest's
    cache keeps them from run to run, by the weights' hash and the versions that computed them."""
    folder = tmp_path_factory.mktemp("pipeline-cache")
    if (cache := getattr(request.config, "cache", None)) is not None:
        references = cache.mkdir("references")
    else:
        references = tmp_path_factory.getbasetemp() / "references"
        references.mkdir(exist_ok=True)
    (folder / "references").symlink_to(references, target_is_directory=True)
    monkeypatch.setenv("KOKORO_PIPELINE_CACHE", str(folder))
    return folder
