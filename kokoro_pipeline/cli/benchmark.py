"""`kokoro-pipeline benchmark DIR`: speed, start-up and memory of an artifact, and of its peers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from . import arguments, exit_codes
from .command import Command, UsageError
from .console import Console

if TYPE_CHECKING:
    from ..benchmarking.benchmark import BenchmarkRequest
    from ..benchmarking.benchmark_report import BenchmarkReport

DEFAULT_SECONDS = (1.0, 4.0, 10.0)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    arguments.add_artifact_folder(parser)
    spoken = parser.add_mutually_exclusive_group()
    spoken.add_argument(
        "--seconds",
        type=_numbers,
        metavar="S,…",
        help="approximate lengths of audio in seconds, set by the number of phonemes "
        "(default: 1,4,10)",
    )
    spoken.add_argument("--phonemes", metavar="TEXT", help="speak these phonemes instead")
    parser.add_argument(
        "--voice", default="af_heart", metavar="VOICE", help="as `say` takes it (default: af_heart)"
    )
    parser.add_argument(
        "--threads",
        type=_counts,
        metavar="N,…",
        help="numbers of threads, each measured (default: 1 and all CPUs)",
    )
    arguments.add_device(parser)
    parser.add_argument(
        "-r",
        "--repetitions",
        type=arguments.positive_int,
        default=5,
        metavar="N",
        help="number of repeats, of which the median is reported (default: 5)",
    )
    parser.add_argument(
        "--no-warmup", action="store_true", help="measure without one repeat to warm up first"
    )
    parser.add_argument(
        "--against",
        type=arguments.names,
        default=(),
        metavar="NAME,…",
        help="also measure peers, in turns, on the same weights, phonemes, noise and frames: "
        "pytorch, torch.compile, onnxruntime, openvino, openvino-bf16",
    )
    parser.add_argument(
        "--weights",
        metavar="SPEC",
        help="the weights of the peers (default: those the artifact was built from)",
    )
    parser.add_argument(
        "--kernels",
        action="store_true",
        help="measure the kernels instead, relative to the machine's peak of multiply-adds",
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="plot RTF against length (.png, .svg, .pdf)"
    )
    parser.add_argument(
        "-o", "--output", choices=("md", "json"), default="md", help="form (default: md)"
    )
    parser.add_argument(
        "--json", dest="output", action="store_const", const="json", help="the same as -o json"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Measure and print the results."""
    from ..benchmarking.tables import markdown

    _refuse_contradictions(args)
    if args.plot is not None:
        from ..benchmarking.plot import check_plot

        check_plot(args.plot)
    report = _measure(args, console)
    if args.output == "json":
        console.json(report.to_json())
    else:
        console.data(markdown(report))
    if args.plot is not None:
        from ..benchmarking.plot import plot_rtf

        plot_rtf(report, args.plot)
        console.progress(f"drawn {args.plot}")
    return exit_codes.OK


def make_request(args: argparse.Namespace) -> BenchmarkRequest:
    """Convert the command line to a request."""
    from ..benchmarking.benchmark import BenchmarkRequest
    from ..runtime.engine.threads import available_cpus

    return BenchmarkRequest(
        artifact=args.artifact,
        seconds=args.seconds or DEFAULT_SECONDS,
        phonemes=args.phonemes,
        voice=args.voice,
        threads=args.threads or tuple(sorted({1, available_cpus()})),
        repeats=args.repetitions,
        warm_up=0 if args.no_warmup else 1,
        against=args.against,
        weights=args.weights,
        device=args.device,
    )


def _measure(args: argparse.Namespace, console: Console) -> BenchmarkReport:
    from ..benchmarking.benchmark import run_benchmark, run_kernels

    report = (run_kernels if args.kernels else run_benchmark)(make_request(args), console.progress)
    if report.artifact.weights.synthetic:
        console.progress("the weights are synthetic: the speed is the real model's, the audio not")
    if report.machine.busy:
        console.warn(
            f"other work disturbed the measurement: the load was {report.machine.load:.2f} before "
            "it; close what runs beside it"
        )
    return report


def _refuse_contradictions(args: argparse.Namespace) -> None:
    if args.kernels:
        for given, option in (
            (args.against, "--against"),
            (args.plot, "--plot"),
            (args.seconds, "--seconds"),
            (args.phonemes, "--phonemes"),
        ):
            if given:
                raise UsageError(f"--kernels measures kernels alone: leave out {option}")
    if args.weights is not None and not args.against:
        raise UsageError("--weights are the peers': name some with --against")


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(arguments.number(part) for part in arguments.names(text))


def _counts(text: str) -> tuple[int, ...]:
    counts = (arguments.positive_int(part) for part in arguments.names(text))
    return tuple(dict.fromkeys(counts))


COMMAND = Command(
    name="benchmark",
    summary="measure speed, start and memory, alone or against peers",
    configure=configure,
    run=run,
    epilog="""\
RTF is time / length of the audio: lower is better. --against needs the extras `build` and `bench`:
pip install 'tvm-kokoro[build,bench]'. A peer whose results differ from PyTorch's is not timed, and
the exit code is 1.
""",
)
