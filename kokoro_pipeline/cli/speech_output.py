"""Where `say` puts audio: files and pipes that grow while it speaks, the loudspeaker."""

from __future__ import annotations

import argparse
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from .command import UsageError
from .console import Console, naming_stdout
from .source_text import STDIN

if TYPE_CHECKING:
    import numpy as np

    from ..runtime.audio import AudioFile, AudioStream
    from ..runtime.audio.playing import Player

FORMATS = ("wav", "pcm", "flac", "mp3", "ogg", "opus", "aac")
SAMPLE_RATE = 24_000


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the audio file to write, which grows while it speaks; - is standard output",
    )
    output.add_argument(
        "--format",
        choices=FORMATS,
        help="format of the audio (default: what the name of FILE says, else wav); all but wav and "
        "pcm need the extra `audio`",
    )
    output.add_argument(
        "--float", dest="floating", action="store_true", help="32-bit float samples, not 16-bit"
    )
    output.add_argument(
        "--play",
        action="store_true",
        help="play it through the loudspeaker, with or without -o (needs the extra `audio`)",
    )
    output.add_argument(
        "--subtitles",
        type=Path,
        metavar="FILE",
        help="write the times of the words: .srt, .vtt, .json, .TextGrid or .lab",
    )


def check_outputs(args: argparse.Namespace) -> None:
    """Raises InputError or EnvironmentFault for what cannot be written, UsageError for a file that
    is named twice."""
    from ..runtime.audio import check_writable, make_encoder
    from ..runtime.speech.subtitles import check_subtitles

    _check_apart(args)
    if args.output not in (None, STDIN):
        if args.output.endswith(os.sep):
            raise InputError(f"cannot write {args.output}: it names a folder; name a file in it")
        check_writable(Path(args.output), args.format)
    if args.output is not None:
        name = _format(args)
        if args.floating and name != "wav":
            raise InputError(f"--float is for WAV files, not for {name}")
        make_encoder(name, SAMPLE_RATE, floating=args.floating)
    if args.play:
        from ..runtime.audio.playing import check_player

        check_player()
    if args.subtitles is not None:
        check_subtitles(args.subtitles)


def _check_apart(args: argparse.Namespace) -> None:
    """Raise UsageError if a file to write is also one to read, or to write for something else."""
    named = {
        "-o": [args.output],
        "--subtitles": [args.subtitles],
        "-f": [args.file],
        "--lexicon": args.lexicon or [],
    }
    files = [
        (option, name)
        for option, names in named.items()
        for name in names
        if name not in (None, STDIN)
    ]
    written = [each for each in files if each[0] in ("-o", "--subtitles")]
    for option, name in written:
        for other, also in files:
            if other != option and _is_same(Path(name), Path(also)):
                raise UsageError(f"{option} and {other} name the same file, {name}")


def _is_same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.is_file() and one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)  # of circular links, too


def _format(args: argparse.Namespace) -> str:
    from ..runtime.audio import format_of

    if args.output == STDIN:
        return args.format or "wav"
    return format_of(Path(args.output), args.format)


class Outputs:
    """The outputs that a command line asks for."""

    def __init__(self, args: argparse.Namespace, console: Console) -> None:
        """Open them. Raises InputError and EnvironmentFault as they do."""
        from ..runtime.audio import AudioFile, AudioStream

        self._file: AudioFile | None = None
        self._stream: AudioStream | None = None
        self._player: Player | None = None
        if args.output == STDIN:
            self._stream = AudioStream(
                console.binary_output(), _format(args), SAMPLE_RATE, floating=args.floating
            )
        elif args.output is not None:
            self._file = AudioFile(
                Path(args.output), SAMPLE_RATE, name=args.format, floating=args.floating
            )
        if args.play:
            from ..runtime.audio.playing import Player

            self._player = Player(SAMPLE_RATE)

    @property
    def clipped(self) -> int:
        """Samples outside [-1, 1], which were clipped."""
        return sum(each.clipped for each in (self._file, self._stream) if each is not None)

    def write(self, samples: np.ndarray) -> None:
        """Write samples, float32 [n]; the loudspeaker comes last, for it takes their time."""
        for each in (self._file, self._stream, self._player):
            if each is not None:
                with self._naming(each):
                    each.write(samples)

    def finish(self) -> None:
        """Complete the files, and wait for the loudspeaker."""
        for each in (self._file, self._stream, self._player):
            if each is not None:
                with self._naming(each):
                    each.finish()

    def _naming(self, output: object) -> AbstractContextManager[None]:
        """What lets an error of the stream say that it is one of standard output."""
        return naming_stdout() if output is self._stream else nullcontext()

    def interrupt(self) -> list[Path]:
        """Stop early; returns the files that hold the beginning."""
        if self._player is not None:
            self._player.stop()
        kept = self._file.interrupt() if self._file is not None else None
        return [] if kept is None else [kept]
