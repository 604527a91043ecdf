"""`kokoro-pipeline weights`: write synthetic weights, inspect weights, download the real ones."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from . import arguments, exit_codes
from .command import Command
from .console import Console, table

if TYPE_CHECKING:
    from ..compiler.weights import WeightsFolder


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the three actions and their options."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    synthetic = actions.add_parser(
        "synthetic",
        help="write a folder of synthetic weights",
        description="Write random, calibrated weights of the real architecture in the hub's "
        "layout. The same seed gives identical weights on every machine. Their output is not "
        "speech.",
    )
    synthetic.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="the folder to write"
    )
    arguments.add_synthetic_seed(synthetic)
    arguments.add_json(synthetic)
    synthetic.set_defaults(action=_synthetic)

    show = actions.add_parser(
        "show",
        help="say what weights are: source, revision, hash, voices",
        description="Resolve weights, read the whole checkpoint and say what it is.",
    )
    show.add_argument(
        "weights",
        nargs="?",
        default="auto",
        metavar="SPEC",
        help=f"auto (default), {arguments.HUB_WEIGHTS}, synthetic, or a folder",
    )
    arguments.add_synthetic_seed(show)
    arguments.add_json(show)
    show.set_defaults(action=_show)

    download = actions.add_parser(
        "download",
        help="fetch the real weights into the hub's cache",
        description=f"Fetch {arguments.HUB_WEIGHTS} into the hub's cache, so that `build` and "
        "`say` need no network. HF_HOME, HF_ENDPOINT and HF_HUB_OFFLINE are honoured.",
    )
    arguments.add_json(download)
    download.set_defaults(action=_download)
    for action in (synthetic, show, download):
        arguments.add_debug(action)


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the chosen action."""
    code: int = args.action(args, console)
    return code


def _synthetic(args: argparse.Namespace, console: Console) -> int:
    from ..compiler.weights import write_synthetic

    console.progress(f"writing synthetic weights, seed {args.seed}, into {args.output}")
    folder = write_synthetic(args.output, seed=args.seed)
    console.warn("these weights are SYNTHETIC: what they say is not speech")
    _print(folder, args, console)
    return exit_codes.OK


def _show(args: argparse.Namespace, console: Console) -> int:
    from ..compiler.weights import resolve

    folder = resolve(args.weights, seed=args.seed, progress=console.watched)
    if folder.fallback_reason:
        console.warn(
            f"{arguments.HUB_WEIGHTS} is out of reach ({folder.fallback_reason}): "
            "these are the SYNTHETIC stand-in"
        )
    _print(folder, args, console)
    return exit_codes.OK


def _download(args: argparse.Namespace, console: Console) -> int:
    from ..compiler.weights import resolve

    console.progress(f"fetching {arguments.HUB_WEIGHTS}")
    _print(resolve(arguments.HUB_WEIGHTS, progress=console.watched), args, console)
    return exit_codes.OK


def _print(folder: WeightsFolder, args: argparse.Namespace, console: Console) -> None:
    from ..runtime.voices import list_voices

    voices = list_voices(folder.path)
    if args.json:
        console.json({"path": folder.path, "voices": voices, **vars(folder.info)})
        return
    info = folder.info
    console.data(
        table(
            [
                ("path", str(folder.path)),
                ("source", info.source),
                ("revision", info.revision or "none"),
                ("synthetic", f"yes, seed {info.seed}" if info.synthetic else "no"),
                ("sha256", info.sha256),
                ("voices", " ".join(voices) or "none"),
            ]
        )
    )


COMMAND = Command(
    name="weights",
    summary="write synthetic weights, show or download weights",
    configure=configure,
    run=run,
    epilog="Needs the extra `build`: pip install 'tvm-kokoro[build]'.",
)
