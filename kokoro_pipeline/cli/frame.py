"""The frame around all commands: parsing, exit codes, and reporting of failures."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..errors import KokoroError
from ..extras import EXTRA_OF, install_command
from ..version import __version__
from . import (
    arguments,
    assets,
    batch,
    benchmark,
    build,
    bundle,
    doctor,
    exit_codes,
    info,
    lexicon,
    phonemize,
    say,
    serve,
    validate,
    verify,
    voices,
    weights,
)
from .command import Command, UsageError
from .console import Console, naming_stdout
from .signals import Terminated
from .standard_streams import open_standard_streams

PROGRAM = "kokoro-pipeline"

COMMANDS: tuple[Command, ...] = (
    build.COMMAND,
    say.COMMAND,
    batch.COMMAND,
    serve.COMMAND,
    validate.COMMAND,
    verify.COMMAND,
    info.COMMAND,
    doctor.COMMAND,
    weights.COMMAND,
    voices.COMMAND,
    phonemize.COMMAND,
    lexicon.COMMAND,
    benchmark.COMMAND,
    bundle.COMMAND,
    assets.COMMAND,
)

EXIT_CODES = """\
exit codes: 0 done; 1 a check failed; 2 wrong usage; 3 bad input, file, network or toolchain;
4 a defect of this program; 130 interrupted; 141 standard output was closed; 129 and 143 ended by
SIGHUP and SIGTERM
"""

_BASE_DISTRIBUTION_OF = {"tvm": "apache-tvm", "tvm_ffi": "apache-tvm-ffi", "numpy": "numpy"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: that of the process) and return its exit code."""
    parser = make_parser()
    open_standard_streams()
    _speak_utf8()
    try:
        args = parser.parse_args(argv)
    except SystemExit as end:
        # argparse has already printed help, the version or the usage.
        return end.code if isinstance(end.code, int) else exit_codes.USAGE
    except OSError as error:
        return _unwritten(Console(), error)
    console = Console(debug=args.debug)
    with warnings.catch_warnings():
        _show_our_warnings(console)
        code = _run(args, console)
    _leave_stdout_quietly()
    return code


def _unwritten(console: Console, error: OSError) -> int:
    """Report that standard output takes nothing; returns the exit code."""
    _leave_stdout_quietly()
    if isinstance(error, BrokenPipeError):
        return exit_codes.PIPE_CLOSED
    return _fail(console, _os_error(error), exit_codes.BAD_INPUT)


class _Parser(argparse.ArgumentParser):
    """A parser that says what may have been meant, and when standard output takes no help."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = super().parse_known_args(args, namespace)
        if not hasattr(found, "parser"):  # the innermost is asked first
            found.parser = self
        return found, rest

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            known = re.findall(r"--[a-z-]+", found.parser.format_help())
            meant = _meant(rest[0].partition("=")[0], known)
            if hasattr(found, "text") and not rest[0].startswith("-"):
                meant = "; put a text of several words in quotes"
            found.parser.error(f"unrecognized arguments: {' '.join(rest)}{meant}")
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += _meant(str(value), map(str, action.choices or ()))
            raise

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is not sys.stdout:
            super()._print_message(message, file)
            return
        with naming_stdout():
            file.write(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        with naming_stdout():
            sys.stdout.flush()
        super().exit(status, message)


def _meant(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def make_parser() -> argparse.ArgumentParser:
    """The main parser; it sets `args.command` to the Command, and `args.parser` to its parser."""
    parser = _Parser(
        prog=PROGRAM,
        description="Kokoro-82M through Apache TVM: build with PyTorch, speak without it.",
        epilog=EXIT_CODES,
        formatter_class=_wide_help,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.add_argument(
        "--debug", action="store_true", help="show tracebacks and every library's warnings"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        sub = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.description
            or f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=command.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        arguments.add_debug(sub)
        command.configure(sub)
        sub.set_defaults(command=command)
    return parser


def _wide_help(prog: str) -> argparse.HelpFormatter:
    """A help formatter whose first column is wide enough for the longest command."""
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=30)


def _run(args: argparse.Namespace, console: Console) -> int:
    """Run the command, and convert exceptions to one line of output and an exit code."""
    command: Command = args.command
    try:
        code = command.run(args, console)
        console.flush()  # raises here at the latest for a full disk or a closed pipe
        return code
    except BrokenPipeError:
        return exit_codes.PIPE_CLOSED
    except UsageError as error:
        console.say(args.parser.format_usage().rstrip())
        console.error(str(error))
        return exit_codes.USAGE
    except KeyboardInterrupt:
        console.error("interrupted")
        return exit_codes.INTERRUPTED
    except Terminated as end:
        console.error(f"ended by {end}")
        return end.exit_code
    except KokoroError as error:
        return _fail(console, str(error), error.exit_code)
    except ModuleNotFoundError as error:
        remedy = _missing_module(error)
        if remedy is not None:
            return _fail(console, remedy, exit_codes.BAD_INPUT)
        return _internal(console, error)
    except ImportError as error:
        # The module exists but does not load: the installation is broken, or this package is.
        if (error.name or "").startswith("kokoro_pipeline"):
            return _internal(console, error)
        return _fail(
            console, f"{error} (`{PROGRAM} doctor` checks the installation)", exit_codes.BAD_INPUT
        )
    except OSError as error:
        return _fail(console, _os_error(error), exit_codes.BAD_INPUT)
    except MemoryError:
        return _fail(console, "this machine has not enough free memory", exit_codes.BAD_INPUT)
    except Exception as error:  # noqa: BLE001 -- the outermost frame: what is left is a defect
        return _internal(console, error)


def _fail(console: Console, message: str, code: int) -> int:
    if console.debug:
        traceback.print_exc(file=console.stderr)
    console.error(message)
    return code


def _internal(console: Console, error: Exception) -> int:
    first_line = next(iter(str(error).strip().splitlines()), "no message")
    what = f"{type(error).__name__}: {first_line}"
    hint = "please report it" if console.debug else "rerun with --debug for the traceback"
    return _fail(console, f"{what} (this is a bug in {PROGRAM}; {hint})", exit_codes.INTERNAL)


def _missing_module(error: ModuleNotFoundError) -> str | None:
    """How to install the missing module, or None if it is part of this package."""
    root = (error.name or "").partition(".")[0]
    if root in EXTRA_OF:
        return (
            f"this needs the Python package {root!r}, which is not installed: "
            f"{install_command(EXTRA_OF[root])}"
        )
    if root in _BASE_DISTRIBUTION_OF:
        return (
            f"the Python package {root!r} is not installed: "
            f"pip install {_BASE_DISTRIBUTION_OF[root]} (`{PROGRAM} doctor` checks everything)"
        )
    return None


def _os_error(error: OSError) -> str:
    parts = [str(part) for part in (error.filename, error.filename2) if part is not None]
    reason = error.strerror or str(error) or type(error).__name__
    return f"{' -> '.join(parts)}: {reason}" if parts else reason


def _show_our_warnings(console: Console) -> None:
    """Print warnings of this project as one line each, and other warnings only with --debug."""
    root = Path(__file__).resolve().parent.parent
    ours = (str(root) + os.sep, str(root.with_name("tvm_kokoro_ext")) + os.sep)

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        from_us = filename.startswith(ours) or category.__module__.partition(".")[0] in (
            "kokoro_pipeline",
            "tvm_kokoro_ext",
        )
        if from_us:
            console.warn(str(message))
        elif console.debug:
            console.warn(f"{filename}:{lineno}: {category.__name__}: {message}")

    warnings.simplefilter("default")
    warnings.showwarning = show


def _speak_utf8() -> None:
    """Use UTF-8 regardless of the locale, since most other encodings cannot encode phonemes."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _leave_stdout_quietly() -> None:
    """Discard output that stdout does not accept, so that the final flush does not raise again."""
    try:
        sys.stdout.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
