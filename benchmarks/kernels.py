"""Speed of the kernels for the shapes of the model, relative to the peak of this machine.

    python -m benchmarks.kernels [--mcpu MCPU] [--threads N] [--frames T] [--only TEXT]

This is for development of the kernels, for any CPU, length and selection of kernels.
`kokoro-pipeline benchmark DIR --kernels` does the same for the CPU of an artifact.
"""

from __future__ import annotations

import argparse

from kokoro_pipeline.benchmarking.benchmark import KERNEL_ROLE
from kokoro_pipeline.benchmarking.process import ContenderProcess
from kokoro_pipeline.benchmarking.tables import KERNEL_HEAD, kernel_row, markdown_row


def main() -> None:
    """Measure the kernels and print the table row by row."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mcpu", default="", help="compile for this CPU (default: this machine's)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--frames", type=int, default=160, help="audio frames of 25 ms (default 160)"
    )
    parser.add_argument("--seconds", type=float, default=0.3, help="time for each kernel")
    parser.add_argument("--only", default="", help="kernels whose name contains this text")
    args = parser.parse_args()
    with ContenderProcess(
        KERNEL_ROLE,
        "kernels",
        args.threads,
        mcpu=args.mcpu,
        frames=str(args.frames),
        only=args.only,
    ) as process:
        about = process.call("describe")
        print(f"{about['mcpu']}, {about['lanes']} lanes, {args.threads} thread(s)\n")
        print(markdown_row(KERNEL_HEAD))
        print("|---" * len(KERNEL_HEAD) + "|")
        for name in process.call("names"):
            speed = process.call("measure", name=name, seconds=args.seconds)
            print(markdown_row(kernel_row(speed)), flush=True)


if __name__ == "__main__":
    main()
