"""`kokoro-pipeline phonemize TEXT`: print the phonemes that `say` would pass to the model."""

from __future__ import annotations

import argparse

from . import arguments, exit_codes
from .command import Command
from .console import Console
from .source_text import add_source, read_source


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_source(parser)
    parser.add_argument(
        "--lang",
        default="en-us",
        metavar="CODE",
        help="language of the text: en-us (default), en-gb, es, fr, hi, it, pt-br, ja or zh",
    )
    arguments.add_lexicon(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Print the phonemes of a text on one line, or with `--json` word by word."""
    from ..runtime.text import phonemize

    lexicon = arguments.given_lexicon(args)
    text = read_source(args)
    result = phonemize(text, args.lang, lexicon=lexicon)
    if result.unspoken:
        unread = " ".join(result.unspoken)
        console.warn(f"left unspoken, having no reading in {args.lang}: {unread}")
    if args.json:
        console.json({"text": text, "lang": args.lang, **vars(result)})
    else:
        console.data(result.phonemes)
    return exit_codes.OK


COMMAND = Command(
    name="phonemize",
    summary="print the phonemes of a text",
    configure=configure,
    run=run,
    epilog="Needs the extra `text`: pip install 'tvm-kokoro[text]'; Japanese `ja`, Chinese `zh`.",
)
