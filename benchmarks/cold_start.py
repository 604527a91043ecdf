"""Break down the time from process start to the first sample, each run in a fresh process.

    python -m benchmarks.cold_start DIR [-r 5] [-o md|json]

"compiled calls" is the time inside the functions of the artifact; everything else is spent in the
running half. `kokoro-pipeline benchmark DIR` reports the totals for several lengths.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from kokoro_pipeline.benchmarking.cold_start import run_fresh, summarize_fresh

PHONEMES = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˌOvəɹ ðə lˈAzi dˈɔɡ."
"""About three seconds of speech with the real weights."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("artifact", type=Path)
    parser.add_argument("-r", "--repetitions", type=int, default=5)
    parser.add_argument("-o", "--output", choices=("md", "json"), default="md")
    parser.add_argument("--voice", default="af_heart")
    parser.add_argument("--threads", type=int, default=0, help="default: all CPUs")
    args = parser.parse_args()

    def run() -> dict:
        return run_fresh(args.artifact, PHONEMES, args.voice, args.threads)

    run()  # warms up the disk cache
    found = summarize_fresh([run() for _ in range(args.repetitions)])
    if args.output == "json":
        print(json.dumps(asdict(found), indent=1))
        return
    print("| step | ms |\n|---|---|")
    for name, value in found.laps.items():
        print(f"| {name} | {1000 * value:.0f} |")
    print(f"| total | {1000 * found.seconds:.0f} |")
    print(f"| everything outside the compiled calls | {1000 * found.outside:.0f} |")
    print(f"\n{found.audio_seconds:.2f} s of audio, peak memory {found.memory.peak / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
