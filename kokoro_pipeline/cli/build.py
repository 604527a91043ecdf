"""`kokoro-pipeline build`: build an artifact from PyTorch weights."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArtifactError, InputError
from . import arguments, exit_codes
from .command import Command, UsageError
from .console import Console, seconds, table

if TYPE_CHECKING:
    from ..building.builder import BuildReport


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="the artifact folder to write"
    )
    parser.add_argument(
        "--weights",
        default="auto",
        metavar="SPEC",
        help=f"auto (default: {arguments.HUB_WEIGHTS}, else synthetic if the hub cannot be "
        "reached), "
        f"{arguments.HUB_WEIGHTS}, synthetic, a folder in the hub's layout, or an ONNX file with "
        "the whole of Kokoro",
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the config.json of an ONNX file (default: the one beside it, else Kokoro-82M's)",
    )
    parser.add_argument(
        "--voices",
        type=Path,
        nargs="+",
        default=(),
        metavar="DIR",
        help="the voices of an ONNX file: folders of packs, packs, or archives of packs (default: "
        "the folder voices beside it)",
    )
    arguments.add_synthetic_seed(parser)
    parser.add_argument(
        "--target",
        default="llvm",
        metavar="TARGET",
        help="what to compile for: llvm (the CPU, default), cuda, metal, a tag of TVM such as "
        'nvidia/nvidia-a100, or JSON such as \'{"kind": "cuda", "arch": ["sm_80", "sm_90"]}\'',
    )
    parser.add_argument(
        "--host",
        metavar="HOST",
        help="the system to link for: linux-x86_64, linux-aarch64, macos-arm64 (default: this "
        "machine; for metal macos-arm64)",
    )
    parser.add_argument(
        "--mcpu",
        metavar="CPU",
        help="LLVM name of the CPU to compile for (default: this machine's)",
    )
    parser.add_argument(
        "--precision",
        default="float32",
        metavar="P",
        help="dtype that the decoder's products are rounded to: tf32, bfloat16, float16 for CUDA's "
        "tensor cores, bfloat16 for a CPU with AMX (default: float32, where both multiply in parts "
        "with float32's tolerances; float32-fma: CUDA without tensor cores)",
    )
    parser.add_argument(
        "--opt",
        type=int,
        metavar="LEVEL",
        help="0 plain legalization, 1 direct kernels, 2 fast algorithms (default: the highest)",
    )
    tuning = parser.add_mutually_exclusive_group()
    tuning.add_argument(
        "--tune",
        action="store_true",
        help="choose the algorithms of convolutions by measuring them on this machine, for up to a "
        "minute, and record them in the manifest",
    )
    tuning.add_argument(
        "--tune-from",
        type=Path,
        metavar="FILE",
        help="repeat what an artifact that was built with --tune has recorded (its folder or its "
        "manifest.json) without measuring",
    )
    parser.add_argument(
        "--components",
        type=arguments.names,
        metavar="NAME,…",
        help="only compile these functions, for work on the compiler",
    )
    parser.add_argument("--force", action="store_true", help="replace an existing output")
    parser.add_argument(
        "--no-validate",
        dest="validate",
        action="store_false",
        help="skip the short comparison with PyTorch that ends a build",
    )
    parser.add_argument(
        "--debug-dump",
        type=Path,
        metavar="D",
        help="write the module after every phase of the passes into D",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="check and print what would be built; build nothing"
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Build, and report the time of each stage."""
    if args.output is None and not args.dry_run:
        raise UsageError("where to? give -o DIR")
    if args.dry_run:
        return _dry_run(args, console)
    report = build_artifact(args, console)
    if args.json:
        console.json(
            {
                "path": report.path,
                "synthetic": report.manifest.weights.synthetic,
                "stages": [{"name": name, "seconds": spent} for name, spent in report.stages],
                "manifest": report.manifest.to_json(),
                "kernels": report.kernels,
                "not_validated": report.not_validated,
            }
        )
    else:
        console.data(summary(report))
    return exit_codes.OK


def build_artifact(args: argparse.Namespace, console: Console) -> BuildReport:
    """Call the builder with the options of the command line, and warn about synthetic weights."""
    from ..building.builder import build

    report = build(
        weights=args.weights,
        target=args.target,
        output=args.output,
        mcpu=args.mcpu,
        host=args.host,
        precision=args.precision,
        opt=args.opt,
        components=args.components,
        force=args.force,
        validate=args.validate,
        debug_dump=args.debug_dump,
        seed=args.seed,
        tune=args.tune,
        tune_from=args.tune_from,
        progress=console.progress,
        config=args.config,
        voices=args.voices,
    )
    if report.manifest.weights.synthetic:
        console.warn(_synthetic(args))
    if report.not_validated is not None:
        console.warn(
            f"the artifact was NOT VALIDATED: {report.not_validated}. Where it can run: "
            f"kokoro-pipeline validate {args.output}"
        )
    return report


def summary(report: BuildReport) -> str:
    """The path of the artifact and the time of each stage."""
    total = sum(spent for _, spent in report.stages)
    rows = [
        (name, seconds(spent), f"{spent / total:4.0%}" if total else "")
        for name, spent in report.stages
    ]
    return f"{report.path}\n{table([*rows, ('total', seconds(total), '')], indent='  ')}"


def _synthetic(args: argparse.Namespace) -> str:
    """The warning for an artifact without the real weights."""
    why = "were asked for" if args.weights == "synthetic" else "are what could be had"
    return (
        f"SYNTHETIC WEIGHTS {why}: this artifact computes and does NOT SPEAK. "
        "For speech, with the hub in reach: "
        f"kokoro-pipeline build --weights {arguments.HUB_WEIGHTS} -o {args.output} --force"
    )


def _dry_run(args: argparse.Namespace, console: Console) -> int:
    """Print what a build would do, with the checks that a build does first; reads no weights."""
    from ..artifact.manifest import GRAPH_DURATIONS, GRAPH_SPEECH
    from ..compiler.codegen.cuda_compiler import find_cuda_compiler
    from ..compiler.codegen.linking import find_linker
    from ..compiler.codegen.target import resolve_target
    from ..compiler.onnx_file.opening import is_onnx, open_onnx
    from ..compiler.passes.pipeline import OPT_LEVELS
    from ..runtime.speech.binding import FUNCTIONS

    opt = max(OPT_LEVELS) if args.opt is None else args.opt
    if opt not in OPT_LEVELS:
        levels = "; ".join(f"{level}: {words}" for level, words in OPT_LEVELS.items())
        raise InputError(f"unknown --opt {opt}: the levels are {levels}")
    from_graph = is_onnx(args.weights)
    components = args.components or ((GRAPH_DURATIONS, GRAPH_SPEECH) if from_graph else FUNCTIONS)
    unknown = [name for name in args.components or () if name not in FUNCTIONS]
    if unknown:
        raise InputError(f"no component {', '.join(unknown)}: there are {', '.join(FUNCTIONS)}")
    if args.output is not None and args.output.exists() and not args.force:
        raise ArtifactError(f"{args.output} exists: choose another -o, or replace it with --force")
    chosen = resolve_target(args.target, args.mcpu, args.host, args.precision).at_level(opt)
    target = chosen.info
    tuning = _check_tuning(args, from_graph)
    if from_graph:
        open_onnx(args.weights, args.config, args.voices)
    compiler = find_cuda_compiler().name if chosen.kind == "cuda" else None
    linker = find_linker(chosen.host)
    plan = {
        "output": args.output,
        "weights": args.weights,
        "target": target,
        "opt_level": opt,
        "components": components,
        "linker": linker.name,
        "cuda_compiler": compiler,
        "tune": tuning,
        "validate": args.validate,
    }
    if args.json:
        console.json(plan)
        return exit_codes.OK
    console.data(
        table(
            [
                ("output", str(args.output or "none given (-o DIR)")),
                ("weights", args.weights),
                ("target", str(chosen)),
                ("features", " ".join(target.features) or "none beyond the architecture's own"),
                ("opt level", f"{opt}: {OPT_LEVELS[opt]}"),
                ("components", " ".join(components)),
                ("linker", linker.name),
                *([("CUDA compiler", compiler)] if compiler else []),
                ("convolutions", tuning),
                ("validate", "yes" if args.validate else "no"),
            ]
        )
    )
    return exit_codes.OK


def _check_tuning(args: argparse.Namespace, from_graph: bool) -> str:
    """How algorithms would be chosen, after the checks that a build makes of these options."""
    if not args.tune and args.tune_from is None and not from_graph:
        return "chosen by the model of costs"
    from ..building.options import check_options

    check_options(
        args.target,
        args.mcpu,
        args.host,
        args.precision,
        args.opt,
        args.components,
        args.tune,
        args.tune_from,
        from_graph=from_graph,
    )
    if not args.tune and args.tune_from is None:
        return "chosen by the model of costs"
    return "measured on this machine" if args.tune else f"as measured for {args.tune_from}"


COMMAND = Command(
    name="build",
    summary="build an artifact from PyTorch weights or an ONNX file",
    configure=configure,
    run=run,
    epilog="Needs the extra `build`, for an ONNX file also `onnx`: pip install "
    "'tvm-kokoro[build,onnx]'.",
)
