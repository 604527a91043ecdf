"""Write the ONNX models used for benchmarking ONNX Runtime and OpenVINO, for inspection.

    python -m benchmarks.export_onnx DIR [--weights auto]

There is one model for each of the six functions, with symbolic lengths. Needs the extras `build`
and `bench`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.peers.onnx_export import export_onnx
from benchmarks.peers.portable import portable_modules
from kokoro_pipeline.compiler.weights import load_model, resolve


def main() -> None:
    """Export the models and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--weights", default="auto", help="as `kokoro-pipeline build` takes them")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    export_onnx(portable_modules(load_model(resolve(args.weights))), args.output)
    for file in sorted(args.output.glob("*.onnx")):
        print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
