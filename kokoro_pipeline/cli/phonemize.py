"""`kokoro-pipeline phonemize TEXT`: what `say` would feed to the model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from . import arguments, exit_codes
from .command import Command
from .console import Console
from .source_text import add_source, read_source

if TYPE_CHECKING:
    from ..runtime.text import Phonemized


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_source(parser)
    parser.add_argument(
        "--lang",
        default="en-us",
        metavar="CODE",
        help="language of the text: en-us (default) or en-gb",
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Print the phonemes of a text on one line, or with `--json` word by word."""
    text = read_source(args)
    result = phonemize_aloud(text, args.lang, console)
    if args.json:
        console.json({"text": text, "lang": args.lang, **vars(result)})
    else:
        console.data(result.phonemes)
    return exit_codes.OK


def phonemize_aloud(text: str, lang: str, console: Console) -> Phonemized:
    """The phonemes of a text; a warning names what has no reading and stays unspoken.

    Raises InputError for another language or a text with nothing to speak, EnvironmentFault where
    the extra `text` is missing.
    """
    from ..runtime.text import phonemize

    result = phonemize(text, lang=lang)
    if result.unspoken:
        console.warn(f"left unspoken, having no reading in {lang}: {' '.join(result.unspoken)}")
    return result


COMMAND = Command(
    name="phonemize",
    summary="print the phonemes of a text",
    configure=configure,
    run=run,
    epilog="Needs the extra `text`: pip install 'tvm-kokoro[text]'.",
)
