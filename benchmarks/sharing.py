"""Measure how well synthesizers that work at the same time share the machine.

    python -m benchmarks.sharing DIR [--synthesizers 2] [--threads N] [--seconds 4] [-r 5]

In each round, one synthesizer runs alone, then all run at the same time. "together" is the total
number of seconds of audio per second; "slowest / fastest" is 1 if the machine is shared evenly.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import threading
import time
from pathlib import Path

import kokoro_pipeline
from kokoro_pipeline.benchmarking.lengths import phonemes_lasting
from kokoro_pipeline.benchmarking.tables import markdown_table
from kokoro_pipeline.config import SAMPLE_RATE, SAMPLES_PER_FRAME

UTTERANCES = 3
FRAMES_PER_SECOND = SAMPLE_RATE / SAMPLES_PER_FRAME


def speak_at_once(synthesizers: list[kokoro_pipeline.Synthesizer], phonemes: str) -> list[float]:
    """The time in seconds that each of the synthesizers took, when all start together."""
    start = threading.Barrier(len(synthesizers))
    seconds = [0.0] * len(synthesizers)

    def work(index: int) -> None:
        start.wait()
        began = time.perf_counter()
        for _ in range(UTTERANCES):
            synthesizers[index].synthesize(phonemes)
        seconds[index] = time.perf_counter() - began

    workers = [threading.Thread(target=work, args=(i,)) for i in range(len(synthesizers))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("artifact", type=Path)
    parser.add_argument("--synthesizers", type=int, default=2)
    parser.add_argument("--threads", type=int, help="of each (default: all CPUs)")
    parser.add_argument("--seconds", type=float, default=4.0, help="of audio, about")
    parser.add_argument("-r", "--repetitions", type=int, default=5)
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        all_of_them = [
            stack.enter_context(kokoro_pipeline.load(args.artifact, threads=args.threads))
            for _ in range(args.synthesizers)
        ]
        first = all_of_them[0]
        phonemes = phonemes_lasting(
            args.seconds, lambda text: first.predict_durations(text).sum() / FRAMES_PER_SECOND
        )
        audio = UTTERANCES * first.synthesize(phonemes).audio.size / SAMPLE_RATE
        speak_at_once(all_of_them, phonemes)  # warms up
        alone, together = [], []
        for _ in range(args.repetitions):
            alone += speak_at_once([first], phonemes)
            together.append(speak_at_once(all_of_them, phonemes))
    spans = [max(seconds) for seconds in together]
    rates = [len(all_of_them) * audio / span for span in spans]
    gain = statistics.median(r * a / audio for r, a in zip(rates, alone, strict=True))
    uneven = statistics.median(max(seconds) / min(seconds) for seconds in together)
    print(
        markdown_table(
            ("synthesizers", "threads of each", "alone", "together", "gain", "slowest / fastest"),
            [
                (
                    str(len(all_of_them)),
                    str(first.threads),
                    f"{audio / statistics.median(alone):.1f}",
                    f"{statistics.median(rates):.1f}",
                    f"{gain:.2f}",
                    f"{uneven:.2f}",
                )
            ],
        )
    )


if __name__ == "__main__":
    main()
