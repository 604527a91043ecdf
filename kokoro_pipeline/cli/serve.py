"""`kokoro-pipeline serve`: speech over HTTP, for applications that use OpenAI's speech API."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import signal
import socket
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import EnvironmentFault, InputError
from ..runtime.server.settings import ServerSettings
from . import arguments, exit_codes
from .command import Command
from .console import Console

if TYPE_CHECKING:
    from ..runtime.server.engines import Engine

_GRACE = 30
"""Seconds that requests have to end after SIGTERM."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    arguments.add_artifact_or_weights(parser)
    parser.add_argument(
        "--host", default=ServerSettings.host, help="address to listen on (%(default)s)"
    )
    parser.add_argument(
        "--port",
        type=int,
        default=ServerSettings.port,
        help="port to listen on; 0 takes a free one (%(default)s)",
    )
    arguments.add_workers(parser)
    parser.add_argument(
        "--api-key",
        metavar="KEY",
        default=os.environ.get("KOKORO_API_KEY"),
        help="clients must send it (default: $KOKORO_API_KEY); required unless the host is local",
    )
    parser.add_argument(
        "--insecure", action="store_true", help="serve other machines without an API key"
    )
    parser.add_argument(
        "--cors-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let pages of this origin (https://chat.example; * is every page) use the server from "
        "a browser; may be given several times",
    )
    parser.add_argument(
        "--root-path",
        default=ServerSettings.root_path,
        metavar="PATH",
        help="path under which a reverse proxy offers the server, such as /tts",
    )
    arguments.add_lexicon(parser)
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--max-text",
        type=arguments.positive_int,
        default=ServerSettings.max_text,
        metavar="N",
        help="characters of a text (%(default)s)",
    )
    limits.add_argument(
        "--max-body",
        type=arguments.positive_int,
        default=ServerSettings.max_body,
        metavar="N",
        help="bytes of a request (%(default)s)",
    )
    limits.add_argument(
        "--max-requests",
        type=arguments.positive_int,
        default=ServerSettings.max_requests,
        metavar="N",
        help="requests that are spoken or wait at once; then 429 (%(default)s)",
    )
    limits.add_argument(
        "--time-limit",
        type=arguments.number,
        default=ServerSettings.time_limit,
        metavar="S",
        help="seconds that a piece of speech may take to be made, and to be received (%(default)g)",
    )
    limits.add_argument(
        "--receive-limit",
        type=arguments.number,
        default=ServerSettings.receive_limit,
        metavar="S",
        help="seconds that the headers of a request may take to arrive, and its body (%(default)g)",
    )
    arguments.add_json(parser)
    parser.add_argument(
        "--log-requests", action="store_true", help="log each request on stderr, without its text"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Serve until a signal ends it."""
    settings = ServerSettings(
        artifact=args.artifact or Path(),
        host=args.host,
        port=args.port,
        workers=args.workers or ServerSettings.workers,
        threads=args.threads,
        api_key=args.api_key,
        insecure=args.insecure,
        cors_origins=tuple(args.cors_origin),
        root_path=args.root_path,
        lexicon=arguments.given_lexicon(args),
        max_body=args.max_body,
        max_text=args.max_text,
        max_requests=args.max_requests,
        time_limit=args.time_limit,
        receive_limit=args.receive_limit,
    )
    try:
        import fastapi  # noqa: F401 - the extra is asked for before an artifact is built
        import fastapi_offline  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn
    except ImportError as error:
        from ..extras import install_command

        raise EnvironmentFault(
            f"serving needs packages that are not installed ({error}): {install_command('serve')}"
        ) from error
    listening = _listen(settings)
    with listening:
        if args.artifact is None:
            import dataclasses

            from .cached_artifact import cached_artifact

            settings = dataclasses.replace(
                settings, artifact=cached_artifact(args.weights, console)
            )
        from ..runtime.server.app import make_app
        from ..runtime.server.receiving import protocol_within

        app = make_app(settings, _engines(settings))
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{port}"
        if args.json:
            console.json({"url": url, "artifact": settings.artifact, "pid": os.getpid()})
            console.flush()
        console.say(f"serving {settings.artifact} at {url} (Ctrl-C ends it)")
        config = uvicorn.Config(
            app,
            # One loop and one parser, whatever else is installed: what is tested is what runs.
            http=protocol_within(settings),
            loop="asyncio",
            ws="none",
            log_level="info" if args.log_requests else "warning",
            access_log=args.log_requests,
            log_config=_log_config(),
            timeout_graceful_shutdown=_GRACE,
            timeout_keep_alive=30,
            limit_concurrency=None,
            server_header=False,
        )
        _allow_connections()
        _run(uvicorn.Server(config), listening)
    return exit_codes.OK


def _log_config() -> dict[str, Any]:
    """Uvicorn's, with requests on standard error as well: standard output is for `--json`.

    What the application has logged before it breaks a connection is not logged again.
    """
    import copy

    from uvicorn.config import LOGGING_CONFIG

    from ..runtime.server.failures import WithoutBrokenAnswers

    config = copy.deepcopy(LOGGING_CONFIG)
    config["handlers"]["access"]["stream"] = "ext://sys.stderr"
    config.setdefault("filters", {})["unbroken"] = {"()": WithoutBrokenAnswers}
    config["handlers"]["default"]["filters"] = ["unbroken"]
    return config


def _allow_connections() -> None:
    """As many files as the system allows: each client takes one, and the default is 1,024."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _run(server: Any, listening: socket.socket) -> None:
    graceful = server.handle_exit

    def end(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and server.should_exit:
            _end_at_once()
        graceful(number, frame)

    server.handle_exit = end  # uvicorn's own would cancel the requests, and tell of each
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:  # raised again by uvicorn after it has shut down
        return


def _end_at_once() -> NoReturn:
    """End the process, whatever its threads and workers do, as Ctrl-C asks that is repeated.

    This is called by a handler of signals, which must not write to a stream that is in use, and
    workers ignore what the terminal and `multiprocessing` would end them with.
    """
    from multiprocessing import active_children  # loaded with the engines

    for worker in active_children():
        worker.kill()
    with contextlib.suppress(OSError):
        os.write(2, b"kokoro-pipeline: error: interrupted before its requests had ended\n")
    os._exit(exit_codes.INTERRUPTED)


def _listen(settings: ServerSettings) -> socket.socket:
    """The socket, before anything slow is done. Raises EnvironmentFault if the port is in use."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"there is no host {settings.host!r} to listen on: {error}") from error
    family, kind, protocol, _, address = found[0]
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        other = "--host" if error.errno == errno.EADDRNOTAVAIL else "--port"
        raise EnvironmentFault(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror}"
            f"{_holder(settings.port)}; choose another with {other}"
        ) from error
    return listening


def _holder(port: int) -> str:
    """The process that listens on a port, where Linux tells."""
    wanted = f":{port:04X}"
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for row in Path(table).read_text().splitlines()[1:]:
                fields = row.split()
                if fields[1].endswith(wanted) and fields[3] == "0A":
                    inodes.add(f"socket:[{fields[9]}]")
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if str(link.readlink()) in inodes:
                pid = link.parts[2]
                name = Path(f"/proc/{pid}/comm").read_text().strip()
                return f" (process {pid}, {name}, listens there)"
    return ""


def _engines(settings: ServerSettings) -> list[Engine]:
    from ..runtime.engine.threads import share_of_threads
    from ..runtime.server.engines import LocalEngine, ProcessEngine

    if settings.workers == 1:
        return [LocalEngine(settings.artifact, settings.threads)]
    threads = settings.threads or share_of_threads(settings.workers)
    return [ProcessEngine(settings.artifact, threads) for _ in range(settings.workers)]


COMMAND = Command(
    name="serve",
    summary="serve speech over HTTP, for applications that use OpenAI's speech API",
    configure=configure,
    run=run,
    epilog="""\
Needs the extra `serve`. A client of OpenAI works with the base URL http://127.0.0.1:8880/v1, a
client of Kokoro-FastAPI with the same host and port. A page to try it is at the root.
""",
)
