"""`kokoro-pipeline assets DIR -o OUT`: the vocabulary and the voices as plain files."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

from . import arguments, exit_codes
from .command import Command
from .console import Console


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "folder",
        metavar="DIR",
        type=Path,
        help="an artifact, or a folder of weights in the hub's layout",
    )
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="OUT", help="the folder to write"
    )
    parser.add_argument("--force", action="store_true", help="replace existing files")
    arguments.add_json(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Write `vocab.json` and `VOICE.npy`, float32 [510, 256], for every voice."""
    import numpy as np

    from ..artifact.disk import writing
    from ..artifact.manifest import CONFIG_NAME, MANIFEST_NAME
    from ..artifact.reader import read_artifact
    from ..config import load_config
    from ..errors import InputError
    from ..runtime.voices import list_voices, load_voice

    folder: Path = args.folder
    # A folder without a manifest may be one of weights; what is neither is told as no artifact.
    if (folder / MANIFEST_NAME).is_file() or not (folder / CONFIG_NAME).is_file():
        read_artifact(folder)
    vocabulary = load_config(folder / CONFIG_NAME).vocab
    contents = {
        "vocab.json": (json.dumps(vocabulary, ensure_ascii=False, indent=1) + "\n").encode("utf-8")
    }
    for name in list_voices(folder):
        pack = load_voice(name, folder)
        stream = io.BytesIO()
        np.save(stream, pack.reshape(pack.shape[0], pack.shape[2]))
        contents[f"{name}.npy"] = stream.getvalue()
    existing = [name for name in contents if (args.output / name).exists()]
    if existing and not args.force:
        raise InputError(
            f"{args.output} has {', '.join(existing)} already: name another output, or replace "
            "them with --force"
        )
    with writing(args.output):
        args.output.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (args.output / name).write_bytes(content)
    if args.json:
        console.json({"output": args.output, "symbols": len(vocabulary), "files": list(contents)})
    else:
        console.data(
            f"{args.output}: {len(vocabulary)} symbols, {len(contents) - 1} voices of 510 rows"
        )
    return exit_codes.OK


COMMAND = Command(
    name="assets",
    summary="write the vocabulary and the voices as vocab.json and VOICE.npy",
    configure=configure,
    run=run,
)
