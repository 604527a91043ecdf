"""Write the ONNX models used for benchmarking ONNX Runtime and OpenVINO, for inspection.

    python -m benchmarks.export_onnx DIR [--weights auto]

There is one model for each of the six functions, with symbolic lengths. With `--whole`,
DIR/kokoro.onnx is the one graph of the stock model, from which `kokoro-pipeline build` builds.
Needs the extras `build` and `bench`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.peers.onnx_export import export_onnx
from benchmarks.peers.portable import portable_modules
from benchmarks.peers.whole_onnx import export_whole
from kokoro_pipeline.compiler.weights import load_model, resolve


def main() -> None:
    """Export the models and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--weights", default="auto", help="as `kokoro-pipeline build` takes them")
    parser.add_argument("--whole", action="store_true", help="one graph of the stock model")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    if args.whole:
        export_whole(args.weights, args.output / "kokoro.onnx")
    else:
        export_onnx(portable_modules(load_model(resolve(args.weights))), args.output)
    for file in sorted(args.output.glob("*.onnx")):
        print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
