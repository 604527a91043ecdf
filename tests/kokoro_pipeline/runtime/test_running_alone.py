"""The running half only needs numpy and the TVM runtime; each test uses a fresh process."""

from __future__ import annotations

import importlib.util
import os

import pytest

BLOCKER = """
import sys

class Blocker:
    BLOCKED = {"torch", "transformers", "tvm", "kokoro", "huggingface_hub", "misaki", "spacy"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.BLOCKED:
            raise ModuleNotFoundError(f"{name} is blocked", name=name)

sys.meta_path.insert(0, Blocker())
"""

SPEAK = """
import hashlib
import kokoro_pipeline
with kokoro_pipeline.load(sys.argv[1], threads=int(sys.argv[2])) as tts:
    speech = tts.synthesize("həlˈoʊ wˈɜːld", seed=1)
print(hashlib.sha256(speech.audio.tobytes()).hexdigest())
"""

REPORT = """
print(sorted({"torch", "transformers", "tvm"} & set(sys.modules)))
"""


@pytest.fixture
def digest(toy_artifact, run_fresh):
    return run_fresh("import sys" + SPEAK, toy_artifact, 1).strip()


def test_synthesis_with_torch_transformers_and_tvm_blocked(toy_artifact, run_fresh, digest):
    assert run_fresh(BLOCKER + SPEAK, toy_artifact, 2).strip() == digest


def test_synthesis_imports_neither_torch_nor_tvm(toy_artifact, run_fresh, digest):
    said = run_fresh("import sys" + SPEAK + REPORT, toy_artifact, 2).splitlines()
    assert said == [digest, "[]"]


def test_importing_the_package_imports_almost_nothing(run_fresh):
    said = run_fresh(
        """
        import sys
        import kokoro_pipeline
        print(sorted({"torch", "tvm", "tvm_ffi", "numpy"} & set(sys.modules)))
        """
    )
    assert said == "[]\n"


needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)


@pytest.mark.slow
@needs_torch
def test_torch_imported_later_works(toy_artifact, run_fresh, digest):
    later = """
import torch
assert torch.ones(2).sum().item() == 2.0
assert torch.from_numpy(speech.audio).shape == (len(speech.audio),)
"""
    said = run_fresh("import sys" + SPEAK + later + REPORT, toy_artifact, 1).splitlines()
    assert said == [digest, "['torch']"]


@needs_torch
def test_torch_imported_before_works(toy_artifact, run_fresh, digest):
    said = run_fresh("import sys, torch" + SPEAK + REPORT, toy_artifact, 1).splitlines()
    assert said == [digest, "['torch']"]


@pytest.mark.slow
@pytest.mark.parametrize("order", ["import tvm", ""], ids=["tvm-first", "tvm-later"])
def test_the_tvm_package_may_share_the_process(toy_artifact, run_fresh, digest, order):
    later = "\nimport tvm; assert tvm.runtime.tensor(speech.audio).shape == speech.audio.shape\n"
    program = f"import sys\n{order}\n{SPEAK}{later}"
    assert run_fresh(program, toy_artifact, 1).strip() == digest


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "TVM_NUM_THREADS"])
def test_bits_do_not_depend_on_the_threads_of_the_environment(
    toy_artifact, run_fresh, digest, variable
):
    for count in ("1", "3"):
        environment = {**os.environ, variable: count}
        program = "import sys" + SPEAK.replace("int(sys.argv[2])", "None")
        assert run_fresh(program, toy_artifact, environment=environment).strip() == digest


def test_workers_are_not_pinned_to_cores(toy_artifact, run_fresh):
    """Pinned workers of two processes would share core 0 while others idle."""
    said = run_fresh(
        """
        import os, sys
        from pathlib import Path
        import kokoro_pipeline
        tts = kokoro_pipeline.load(sys.argv[1], threads=2)
        tts.synthesize("a")
        if hasattr(os, "sched_getaffinity"):
            tasks = [int(task.name) for task in Path("/proc/self/task").iterdir()]
            assert len(tasks) >= 3, tasks  # main, dispatcher, one worker
            assert all(os.sched_getaffinity(t) == os.sched_getaffinity(0) for t in tasks)
        print("free")
        """,
        toy_artifact,
    )
    assert said == "free\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_is_told_to_load_again_and_can(toy_artifact, run_fresh, digest):
    said = run_fresh(
        """
        import hashlib, os, sys
        import kokoro_pipeline
        tts = kokoro_pipeline.load(sys.argv[1], threads=2)
        tts.synthesize("a")
        child = os.fork()
        if child == 0:
            status = 1
            try:
                tts.synthesize("a")
            except kokoro_pipeline.EnvironmentFault as error:
                assert "load the artifact after forking" in str(error), error
                tts.close()
                again = kokoro_pipeline.load(sys.argv[1], threads=2)
                audio = again.synthesize("həlˈoʊ wˈɜːld", seed=1).audio
                print(hashlib.sha256(audio.tobytes()).hexdigest(), flush=True)
                again.close()
                status = 0
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert len(tts.synthesize("a").audio)
        """,
        toy_artifact,
    )
    assert said.strip() == digest


def test_an_artifact_may_be_loaded_and_dropped_many_times(toy_artifact, run_fresh):
    """Threads, machines and mappings of dropped synthesizers are given back."""
    said = run_fresh(
        """
        import gc, sys, threading
        import kokoro_pipeline
        for _ in range(20):
            tts = kokoro_pipeline.load(sys.argv[1], threads=2)
            tts.synthesize("a")
            del tts
        gc.collect()
        for thread in threading.enumerate():
            if thread is not threading.main_thread():
                thread.join(10)
        print(threading.active_count())
        """,
        toy_artifact,
    )
    assert said == "1\n"
