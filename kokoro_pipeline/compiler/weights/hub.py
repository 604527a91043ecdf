"""The real weights from the hub, through its own client with its cache and settings."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from kokoro_pipeline.errors import EnvironmentFault

from . import layout
from .requirements import building_module

REPOSITORY = "hexgrad/Kokoro-82M"
REVISION = "main"
PATTERNS = (layout.CONFIG, layout.CHECKPOINT, f"{layout.VOICES}/*.pt")
"""The files of the repository that form a weights folder."""

_REQUEST_SECONDS = 5.0
_PROBE_SECONDS = 10.0
"""Timeout for finding out whether the hub answers at all.

Without it, an unresponsive name server, or a host with many unresponsive addresses, would block the
client for minutes.
"""

T = TypeVar("T")


@dataclass(frozen=True)
class Snapshot:
    """A complete copy of one commit in the hub's cache."""

    path: Path
    revision: str


def fetch(progress: bool = True) -> Snapshot:
    """Fetch the current weights of the repository, downloading them if they are not cached.

    If the hub does not answer, or HF_HUB_OFFLINE is set, the cached copy is used. HF_HOME,
    HF_ENDPOINT and the other variables of the client are honoured, with their values from the time
    huggingface_hub was first imported. `progress` shows the client's progress bars on stderr.

    Raises EnvironmentFault, with the cause and remedies, if neither the hub nor the cache has the
    weights; without a network, this takes about 15 seconds at most.
    """
    hub = _client()
    try:
        _probe(hub)
    except EnvironmentFault as fault:
        cached = _cached(hub)
        if cached is None:
            raise EnvironmentFault(f"{fault}, and {_no_copy(hub)}. {_way_out()}") from fault
        return cached
    with _bars(hub, progress):
        try:
            path = hub.snapshot_download(
                REPOSITORY, revision=REVISION, allow_patterns=list(PATTERNS)
            )
        except _client_errors(hub) as error:
            raise EnvironmentFault(
                f"downloading {REPOSITORY} from {_endpoint(hub)} failed: "
                f"{_first_line(_cause(hub, error))}. "
                f"Run again: files that arrived whole are kept. {_way_out()}"
            ) from error
    snapshot = Snapshot(Path(path), Path(path).name)
    if lacking := _lacking(snapshot.path):
        raise EnvironmentFault(
            f"{_endpoint(hub)} has no {', '.join(lacking)} in {REPOSITORY} "
            f"(commit {snapshot.revision}). {_way_out()}"
        )
    return snapshot


def _client() -> Any:
    """The package of the client, with the modules used here, which it loads lazily."""
    hub = building_module("huggingface_hub")
    for name in ("constants", "errors", "utils"):
        building_module(f"huggingface_hub.{name}")
    return hub


def _probe(hub: Any) -> None:
    """Make one cheap request. Raises EnvironmentFault if it fails."""
    if hub.constants.HF_HUB_OFFLINE:
        raise EnvironmentFault(f"{REPOSITORY} was not asked for: HF_HUB_OFFLINE is set")
    endpoint = _endpoint(hub)
    try:
        _within(
            _PROBE_SECONDS,
            lambda: hub.HfApi().model_info(REPOSITORY, revision=REVISION, timeout=_REQUEST_SECONDS),
        )
    except _client_errors(hub) as error:
        raise EnvironmentFault(f"{endpoint} does not answer: {_first_line(error)}") from error


def _within(seconds: float, call: Callable[[], T]) -> T:
    """Return the result of a call or raise its exception.

    Raises TimeoutError if it takes longer; the call then continues in the background.
    """
    done: queue.Queue[tuple[T | None, Exception | None]] = queue.Queue()

    def work() -> None:
        try:
            done.put((call(), None))
        except Exception as error:  # noqa: BLE001 - raised in the caller
            done.put((None, error))

    threading.Thread(target=work, daemon=True, name="hub probe").start()
    try:
        result, error = done.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no answer within {seconds:.0f} s") from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]


def _client_errors(hub: Any) -> tuple[type[Exception], ...]:
    """The exceptions of the client for a hub that is unreachable, refuses, or drops the connection.

    Versions of the client use different HTTP libraries; its own HTTP error derives from that of the
    library. ValueError is raised for an answer that is not JSON, RuntimeError by the accelerated
    transfer.
    """
    own = [kind for kind in hub.errors.HfHubHTTPError.__mro__ if kind.__module__ != "builtins"]
    return (
        *own,
        hub.errors.EntryNotFoundError,
        OSError,
        RuntimeError,
        ValueError,
        LookupError,
        TypeError,
    )


def _cached(hub: Any) -> Snapshot | None:
    """The cached copy of the revision, or None if it is incomplete."""
    config = hub.try_to_load_from_cache(REPOSITORY, layout.CONFIG, revision=REVISION)
    if not isinstance(config, str):
        return None
    path = Path(config).parent
    return None if _lacking(path) else Snapshot(path, path.name)


def _lacking(path: Path) -> list[str]:
    """The patterns that match nothing in the folder."""
    return [pattern for pattern in PATTERNS if not any(path.glob(pattern))]


def _no_copy(hub: Any) -> str:
    return f"the cache {hub.constants.HF_HUB_CACHE} has no complete copy"


def _endpoint(hub: Any) -> str:
    return str(hub.constants.ENDPOINT)


def _way_out() -> str:
    return (
        "Ways out: connect to the network (HF_ENDPOINT names a mirror) or unset HF_HUB_OFFLINE and "
        f"run again; copy the repository's {', '.join(PATTERNS)} into a folder and pass --weights "
        "FOLDER; or pass --weights synthetic, a stand-in that builds and runs but is not speech"
    )


def _cause(hub: Any, error: BaseException) -> BaseException:
    """The original error, if the client only reports that it then looked into its cache."""
    wrapped = isinstance(error, hub.errors.LocalEntryNotFoundError) and error.__cause__
    return wrapped or error


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


@contextlib.contextmanager
def _bars(hub: Any, shown: bool) -> Iterator[None]:
    """Disable the client's progress bars during the body, unless `shown`."""
    if shown or hub.utils.are_progress_bars_disabled():
        yield
        return
    hub.utils.disable_progress_bars()
    try:
        yield
    finally:
        hub.utils.enable_progress_bars()
