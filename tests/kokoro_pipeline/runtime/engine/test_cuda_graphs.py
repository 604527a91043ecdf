"""CUDA graphs on the stand-in for driver and GPU.

Captured graphs are launched again, on memory that is still allocated, and give the same results as
single launches.
"""

from __future__ import annotations

import numpy as np
import pytest

import kokoro_pipeline
from kokoro_pipeline.errors import InputError

from .test_cuda_device import machine  # noqa: F401 - the fixture
from .test_cuda_device import pytestmark as needs_emulator

pytestmark = [*needs_emulator, pytest.mark.slow]

SPEAK = """
def speak(graphs, texts):
    with kokoro_pipeline.load(dir, threads=1, graphs=graphs) as tts:
        return [tts.synthesize(text, "af_heart").audio.tolist() for text in texts]
"""


def lines(log) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()]


def test_repeated_lengths_are_launched_as_graphs_and_sound_the_same(machine, symbols, tmp_path):  # noqa: F811
    """Other lengths come between, which would use the graphs' memory if it were free."""
    a, b, c = symbols[:12], symbols[3:15], symbols[:20]
    texts = [a, b, c, a, c, b, c, symbols[:7], a, b]
    program = f"{SPEAK}answer = [speak(False, {texts!r}), speak(True, {texts!r})]"
    log = tmp_path / "log"
    plain, graphs = machine.run(program, log=log)
    assert plain == graphs
    found = [line[0] for line in lines(log)]
    assert found.count("capture") > 6
    assert found.count("graph") > found.count("capture")


def test_a_graph_has_every_launch_and_a_repeat_has_no_other(machine, symbols, tmp_path):  # noqa: F811
    log = tmp_path / "log"
    program = f"""
import pathlib
log = pathlib.Path({str(log)!r})
tts = kokoro_pipeline.load(dir, threads=1, graphs=True)
ids, lengths = np.arange(1, 8)[None], np.array([7])
answer = []
for _ in range(3):
    before = len(log.read_text().splitlines())
    d_en = tts.functions["bert_forward"](ids, lengths)
    answer.append([log.read_text().splitlines()[before:], d_en.tolist()])
"""
    (first, a), (second, b), (third, c) = machine.run(program, log=log)
    launches = sum(line.startswith("launch") for line in first)
    assert launches > 0
    assert f"capture {launches}" in second
    assert f"graph {launches}" in second
    assert not any(line.startswith("launch") for line in third)
    assert f"graph {launches}" in third
    # The sizes' memory is there: nothing is asked for any more.
    assert not any(line.startswith("malloc") for line in third)
    assert a == b == c


def test_nothing_is_collected_during_a_capture(machine):  # noqa: F811
    """The collector might free a tensor of a closed synthesizer, which ends the process."""
    program = """
import ctypes, gc
tts = kokoro_pipeline.load(dir, threads=1, graphs=True)
bert, arguments = tts.functions["bert_forward"], (np.arange(1, 8)[None], np.array([7]))
bert(*arguments)
captures = ctypes.c_void_p.in_dll(ctypes.CDLL("libcuda.so.1"), "fake_capture")
during = []
gc.callbacks.append(lambda phase, _: during.append(bool(captures.value)))
gc.set_threshold(1)
bert(*arguments)
answer = [len(during) > 0, any(during), gc.isenabled()]
"""
    assert machine.run(program) == [True, False, True]


def test_an_output_outlives_the_next_launch(machine):  # noqa: F811
    """Two threads may speak in turns: the first one's features must wait unharmed."""
    program = """
tts = kokoro_pipeline.load(dir, threads=1, graphs=True)
bert, lengths = tts.chain["bert_forward"], np.array([7])
kept = [bert(np.arange(k, k + 7)[None], lengths) for k in range(1, 7)]
again = [bert(np.arange(k, k + 7)[None], lengths) for k in range(1, 7)]
answer = [[np.asarray(x).tolist() for x in kept], [np.asarray(x).tolist() for x in again]]
"""
    kept, again = machine.run(program)
    assert kept == again
    assert len({str(x) for x in kept}) == len(kept)


def test_a_graph_keeps_the_memory_of_its_launches(machine):  # noqa: F811
    """This includes intermediate results, which are written at every launch."""
    program = """
import gc
tts = kokoro_pipeline.load(dir, threads=1, graphs=True)
d_en = np.ones((1, 512, 7), np.float32)
for _ in range(2):
    tts.functions["duration_forward"](d_en, d_en[:, :128, 0].copy(), np.array([7]))
(graph,) = [o for o in gc.get_objects() if type(o).__name__ == "_Captured"]
answer = [len(graph.outputs), len(graph.storages)]
"""
    outputs, storages = machine.run(program)
    assert storages > outputs == 2


def test_the_longest_unused_graph_makes_room(machine, tmp_path):  # noqa: F811
    program = """
import gc
from kokoro_pipeline.runtime.engine import cuda_graphs
cuda_graphs.CudaGraphs.__init__.__defaults__ = (3,)
tts = kokoro_pipeline.load(dir, threads=1, graphs=True)
def bert(n):
    return tts.functions["bert_forward"](np.arange(1, 1 + n)[None], np.array([n])).tolist()
first = [bert(n) for n in range(4, 10)]
answer = first == [bert(n) for n in range(4, 10)] == [bert(n) for n in range(4, 10)]
gc.collect()
"""
    log = tmp_path / "log"
    assert machine.run(program, log=log) is True
    found = [line[0] for line in lines(log)]
    assert found.count("destroy") >= found.count("capture") - 3 > 0


def test_a_capture_that_fails_is_named_and_nothing_runs_otherwise(machine):  # noqa: F811
    program = """
import os
tts = kokoro_pipeline.load(dir, threads=1, graphs=True)
call = lambda: tts.functions["bert_forward"](np.arange(1, 8)[None], np.array([7]))
call()
try:
    call()
    answer = "ran"
except kokoro_pipeline.EnvironmentFault as error:
    del os.environ["FAKE_CUDA_CAPTURE"]
    answer = [str(error), call().shape]
"""
    text, shape = machine.run(program, capture=901)
    for word in ("bert_forward at B=1, n=7", "StreamCaptureInvalidated", "graphs=False"):
        assert word in text
    assert shape == [1, 512, 7]


def test_a_full_device_gives_the_graphs_up_first(machine, symbols, tmp_path):  # noqa: F811
    """A length that fits without the memory of graphs must not be rejected."""
    texts = [symbols[:n] for n in (20, 20, 18, 18, 16, 16, 20, 19, 20)]
    program = f"{SPEAK}answer = speak(%s, {texts!r})"
    whole = machine.run(program % False, log=tmp_path / "plain")
    needed = sum(int(size) for what, size in lines(tmp_path / "plain") if what == "malloc")
    short = {"memory": needed // 2, "log": tmp_path / "graphs"}
    assert machine.run(program % False, memory=short["memory"]) == whole
    assert machine.run(program % True, **short) == whole
    assert any(what == "destroy" for what, _ in lines(tmp_path / "graphs"))


def test_graphs_are_for_cuda(toy_artifact):
    with pytest.raises(InputError, match="graphs=True is for CUDA, and this runs on cpu"):
        kokoro_pipeline.load(toy_artifact, graphs=True)


def test_the_stand_in_poisons_what_is_freed(machine):  # noqa: F811
    """Or a graph that reads freed memory would go unnoticed."""
    program = """
import ctypes
cuda = ctypes.CDLL("libcudart.so.13")
ctypes.CDLL("libcuda.so.1", ctypes.RTLD_GLOBAL)
place = ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(place), ctypes.c_size_t(4096))
ctypes.memset(place, 1, 4096)
cuda.cudaFree(place)
answer = (ctypes.c_ubyte * 4096).from_address(place.value)[2000]
"""
    assert machine.run(program) == 255
    assert np.isnan(np.frombuffer(b"\xff" * 4, np.float32))[0]
