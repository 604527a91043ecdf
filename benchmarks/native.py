"""Compare the native runtime with the Python one, both in the same run, in turns.

    python -m benchmarks.native DIR [-r 5] [--threads 2] [-o md|json]

Build the native half first: `cd native && cargo build --release --examples --bins`. Times to the
first compiled call are those of fresh processes, from their start. Memory is what the process has
in no file, on Linux.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kokoro_pipeline.benchmarking.tables import markdown_table
from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.runtime.engine.library import find_runtime_library

ROOT = Path(__file__).resolve().parents[1]
PHONEMES = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˌOvəɹ ðə lˈAzi dˈɔɡ."
"""About three seconds of speech with the real weights."""

_PYTHON = f"""\
import sys
sys.path[0] = {str(ROOT)!r}
import json, time
from pathlib import Path
import numpy as np
import kokoro_pipeline


def anonymous():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) * 1024


with kokoro_pipeline.load(sys.argv[1], threads=int(sys.argv[2])) as tts:
    before = anonymous()
    tts.functions["bert_forward"](np.array([[0, 50, 83, 54, 0]]), np.array([5]))
    print(json.dumps({{"anonymous": before}}), flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        speech = tts.synthesize(line.rstrip("\\n"))
        seconds = time.perf_counter() - started
        memory = anonymous()
        answer = {{"seconds": seconds, "samples": len(speech.audio), "anonymous": memory}}
        print(json.dumps(answer), flush=True)
"""


@dataclass
class Side:
    """The results of one runtime; seconds and bytes."""

    first_call: list[float] = field(default_factory=list)
    """From the start of a fresh process to its first compiled call."""
    memory_before: int = 0
    """Before the first call."""
    utterances: list[float] = field(default_factory=list)
    memory_after: int = 0
    """After the utterances."""
    samples: int = 0


class Worker:
    """A process that answers each line of phonemes with one line of JSON."""

    def __init__(self, line: Sequence[str | Path], side: Side) -> None:
        ffi = importlib.util.find_spec("tvm_ffi")
        if ffi is None or not ffi.submodule_search_locations:
            raise EnvironmentFault("apache-tvm-ffi is not installed: pip install apache-tvm-ffi")
        folders = (find_runtime_library().parent, Path(ffi.submodule_search_locations[0]) / "lib")
        environment = {**os.environ, "KOKORO_TVM_LIBS": ":".join(map(str, folders))}
        started = time.perf_counter()
        self._process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        side.memory_before = self._answer()["anonymous"]
        side.first_call.append(time.perf_counter() - started)

    def speak(self, phonemes: str, side: Side) -> None:
        """Synthesize once, and note how long it took and what memory it left."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{phonemes}\n")
        self._process.stdin.flush()
        answer = self._answer()
        side.utterances.append(answer["seconds"])
        side.samples, side.memory_after = answer["samples"], answer["anonymous"]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _answer(self) -> dict:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EnvironmentFault(f"a worker ended with status {self._process.wait()}, see above")
        return json.loads(line)


def compare(artifact: Path, threads: int, repetitions: int, phonemes: str) -> dict[str, Side]:
    """Run both sides in turns. Raises EnvironmentFault if one of them fails."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "native" / "target"))
    program = target / "release" / "examples" / "measure"
    if not program.is_file():
        raise EnvironmentFault(
            f"{program} is not there: cd native && cargo build --release --examples --bins"
        )
    words = [str(artifact), str(threads)]
    lines = {"native": [program, *words], "python": [sys.executable, "-c", _PYTHON, *words]}
    sides = {name: Side() for name in lines}
    for _ in range(repetitions + 1):
        for name, line in lines.items():
            Worker(line, sides[name]).close()
    for side in sides.values():
        side.first_call = side.first_call[1:]  # the first one warmed up the disk cache
    starts = {name: list(side.first_call) for name, side in sides.items()}
    workers = {name: Worker(line, sides[name]) for name, line in lines.items()}
    for _ in range(repetitions + 1):
        for name, worker in workers.items():
            worker.speak(phonemes, sides[name])
    for name, worker in workers.items():
        worker.close()
        sides[name].first_call = starts[name]
        sides[name].utterances = sides[name].utterances[1:]
    return sides


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("artifact", type=Path)
    parser.add_argument("-r", "--repetitions", type=int, default=5)
    parser.add_argument("-o", "--output", choices=("md", "json"), default="md")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--phonemes", default=PHONEMES)
    args = parser.parse_args()
    sides = compare(args.artifact, args.threads, args.repetitions, args.phonemes)
    if args.output == "json":
        print(json.dumps({name: asdict(side) for name, side in sides.items()}, indent=1))
        return
    native, python = sides["native"], sides["python"]

    def row(name: str, form: str, ours: float, theirs: float) -> tuple[str, ...]:
        return name, format(ours, form), format(theirs, form), f"{ours / theirs:.3f}"

    ratio = statistics.median(
        ours / theirs for ours, theirs in zip(native.utterances, python.utterances, strict=True)
    )
    median = statistics.median
    seconds = native.samples / 24_000
    utterance = row(
        f"an utterance of {seconds:.2f} s, s",
        ".3f",
        *map(median, (native.utterances, python.utterances)),
    )
    rows = [
        row(
            "process start to the first compiled call, ms",
            ".0f",
            *(1000 * median(side.first_call) for side in (native, python)),
        ),
        row("memory before it, MB", ".1f", native.memory_before / 1e6, python.memory_before / 1e6),
        (*utterance[:3], f"{ratio:.3f}"),
        row(
            "memory after utterances, MB",
            ".1f",
            native.memory_after / 1e6,
            python.memory_after / 1e6,
        ),
    ]
    print(markdown_table(("what", "native", "Python", "native / Python"), rows))


if __name__ == "__main__":
    main()
