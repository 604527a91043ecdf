"""Create a folder for running the benchmark on a machine with a GPU and PyTorch.

    python -m benchmarks.gpu_folder.pack -o DIR [--python 3.12] [--precision tf32]  here, no GPU
    python DIR/run.py                                                              there

`--target llvm --opt 1` creates one for this CPU, to try the same script.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.gpu_folder.folder import LENGTHS, make_folder
from kokoro_pipeline.errors import KokoroError


def main() -> int:
    """Create the folder and print its size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--target", default="cuda", help="as `kokoro-pipeline build` takes it")
    parser.add_argument("--mcpu", help="of the host; for a GPU's by default x86-64-v3")
    parser.add_argument("--opt", type=int)
    parser.add_argument(
        "--precision",
        default="float32",
        help="of the decoder's products, as `kokoro-pipeline build` takes it; with tf32, bfloat16 "
        "and float16 parity is a signal-to-noise ratio",
    )
    parser.add_argument("--python", help="the version there, such as 3.12; default this one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--lengths", default=",".join(map(str, LENGTHS)), help="phonemes of the references"
    )
    args = parser.parse_args()
    try:
        size = make_folder(
            args.output,
            target=args.target,
            mcpu=args.mcpu,
            opt=args.opt,
            precision=args.precision,
            python=args.python,
            lengths=tuple(int(word) for word in args.lengths.split(",")),
            seed=args.seed,
            progress=lambda text: print(text, file=sys.stderr, flush=True),
        )
    except KokoroError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(f"{args.output}: {size / 2**20:.1f} MiB; run there: python run.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
