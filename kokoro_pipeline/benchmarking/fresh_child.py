"""The program of a fresh process: load an artifact, synthesize once, and report the times."""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    """Run the measurement and print one JSON object.

    The command line has the start time (time.monotonic of the parent), artifact, threads, voice,
    phonemes and device. Imports are done one by one, since each is timed.
    """
    start, artifact_path, threads, voice, phonemes, device = sys.argv[1:]
    laps: dict[str, float] = {}
    last = float(start)

    def lap(name: str) -> None:
        nonlocal last
        now = time.monotonic()
        laps[name] = now - last
        last = now

    lap("start the interpreter")
    import numpy  # noqa: F401

    lap("import numpy")
    from pathlib import Path

    from ..artifact.reader import open_artifact
    from ..runtime import Synthesizer
    from ..runtime.engine.executable import Executable
    from ..runtime.engine.library import load_runtime
    from ..runtime.engine.resident import DeviceExecutable

    lap("import kokoro_pipeline.runtime")
    artifact = open_artifact(Path(artifact_path))
    lap("check the artifact")
    load_runtime()
    lap("import tvm_ffi, load libtvm_runtime")
    compiled = _count_compiled(Executable)
    # On a device, a call only starts the work, and fetching a result waits for it.
    compiled_on_device = _count_compiled(DeviceExecutable)
    waiting = _count_waiting(DeviceExecutable)
    synthesizer = Synthesizer(artifact, int(threads) or None, device)
    lap("start the VM, map the parameters")
    speech = synthesizer.synthesize(phonemes, voice)
    lap("synthesize")
    inside = sum(compiled) + sum(compiled_on_device) + sum(waiting)
    laps["around the compiled calls"] = laps.pop("synthesize") - inside
    laps["compiled calls"] = inside
    cpu_seconds = time.process_time()
    from .machine import process_memory

    memory = process_memory()
    answer = {
        "laps": laps,
        "cpu_seconds": cpu_seconds,
        "audio_seconds": speech.seconds,
        "memory": vars(memory),
    }
    json.dump(answer, sys.stdout)


def _count_waiting(executable: type) -> list[float]:
    """Make every DeviceExecutable append the time of its fetches to the returned list."""
    spent: list[float] = []
    fetch = executable.fetch  # type: ignore[attr-defined]

    def timed_fetch(self, tensor, array):  # type: ignore[no-untyped-def]
        start = time.monotonic()
        fetch(self, tensor, array)
        spent.append(time.monotonic() - start)

    executable.fetch = timed_fetch  # type: ignore[attr-defined]
    return spent


def _count_compiled(executable: type) -> list[float]:
    """Make every Executable append the time of its calls of compiled code to the returned list."""
    spent: list[float] = []
    call = executable.call  # type: ignore[attr-defined]

    def timed_call(self, name, symbols, inputs):  # type: ignore[no-untyped-def]
        function = self._functions[name]

        def timed(*arguments):  # type: ignore[no-untyped-def]
            start = time.monotonic()
            result = function(*arguments)
            spent.append(time.monotonic() - start)
            return result

        self._functions[name] = timed
        try:
            return call(self, name, symbols, inputs)
        finally:
            self._functions[name] = function

    executable.call = timed_call  # type: ignore[attr-defined]
    return spent
