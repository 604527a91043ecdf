"""`kokoro-pipeline voices`: list voices, or check a voice file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import InputError
from . import arguments, exit_codes
from .command import Command, UsageError
from .console import Console, table


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--artifact", type=Path, metavar="DIR", help="list an artifact's voices")
    source.add_argument(
        "--weights",
        metavar="SPEC",
        help=f"list the voices of weights: {arguments.HUB_WEIGHTS}, synthetic, or a folder",
    )
    parser.add_argument(
        "--check",
        action="append",
        default=[],
        metavar="VOICE",
        help="load a voice file (.npy, .bin, .pt), or with --artifact a name or blend, and say "
        "what it is; may be given several times",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """List voices, check voices, or both.

    All voices are checked; if one is unusable, the results of the others are printed, then its
    error: exit code 3.
    """
    if args.artifact is None and args.weights is None and not args.check:
        raise UsageError("whose voices? give --artifact DIR, --weights SPEC or --check FILE")
    listed = _listed(args, console)
    checked: list[dict[str, Any]] = []
    refused: list[InputError] = []
    for voice in args.check:
        try:
            checked.append(_check(voice, args.artifact))
        except InputError as error:
            refused.append(error)
    _print(args, listed, checked, console)
    if refused:
        raise InputError("; ".join(str(error) for error in refused))
    return exit_codes.OK


def _print(
    args: argparse.Namespace, listed: list[str], checked: list[dict[str, Any]], console: Console
) -> None:
    if args.json and (listed or checked):
        console.json({"voices": listed, "checked": checked})
        return
    if listed:
        console.data("\n".join(listed))
    if checked:
        console.data(
            table(
                (
                    found["voice"],
                    "ok",
                    f"{found['dtype']} {found['shape']}",
                    f"rms {found['rms']:.3f}",
                )
                for found in checked
            )
        )


def _listed(args: argparse.Namespace, console: Console) -> list[str]:
    """Names of the voices of --artifact or --weights; none without either."""
    if args.artifact is not None:
        from ..artifact.reader import read_artifact

        return list(read_artifact(args.artifact).manifest.voices)
    if args.weights is not None:
        from ..runtime.voices import list_voices

        folder = _weights_folder(args.weights, console)
        voices = list_voices(folder)
        if not voices:
            raise InputError(f"{folder} holds no voices: name weights, or their folder `voices`")
        return voices
    return []


def _weights_folder(spec: str, console: Console) -> Path:
    """A local folder, which does not need torch, or other weights as found by `build`."""
    if Path(spec).is_dir():
        return Path(spec)
    from ..compiler.weights import resolve

    return resolve(spec, progress=console.watched).path


def _check(voice: str, artifact: Path | None) -> dict[str, Any]:
    """Load a voice like `say`; errors are raised."""
    import numpy as np

    from ..runtime.voices import load_voice

    # Without an artifact there are no names; a file is looked up as given.
    directory = Path() if artifact is None else artifact / "voices"
    pack = load_voice(voice, directory)
    return {
        "voice": voice,
        "dtype": str(pack.dtype),
        "shape": pack.shape,
        "rms": float(np.sqrt(np.mean(np.square(pack, dtype=np.float64)))),
    }


COMMAND = Command(
    name="voices",
    summary="list voices, or check a voice file",
    configure=configure,
    run=run,
)
