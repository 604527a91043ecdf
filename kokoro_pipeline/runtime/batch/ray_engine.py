"""Speaks entries on the machines of a Ray cluster, by a pool of actors of Ray Data (extra `ray`).

The machines need the artifact, and voice files, at the same paths, and nothing else in common: the
bytes of the files come back, and this process writes them. What a machine had in work when it died
is spoken again by another one.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import socket
import tempfile
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.extras import install_command

from .inputs import Entry
from .results import GROWING, Result, Written
from .speaking import BatchOptions, EntrySpeaker, output

_MOST_BLOCKS = 1000
"""Into so many parts the entries are divided. The results of a part come together."""


class RemoteSpeaker:
    """The actor: speaks entries into a folder of its own machine, and returns the files."""

    def __init__(self, options: BatchOptions) -> None:
        """Load the artifact. Raises ArtifactError."""
        self._folder = tempfile.TemporaryDirectory(prefix="kokoro-batch-")
        self._speaker = EntrySpeaker(replace(options, output=Path(self._folder.name)))

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """From a pickled index, entry and key to the pickled index, result and files."""
        index, entry, key = pickle.loads(row["entry"])
        result = self._speaker.speak(entry, key)
        files = {}
        for written in result.files:
            path = Path(self._folder.name) / written.file
            files[written.file] = path.read_bytes()
            path.unlink()
        return {"result": pickle.dumps((index, result, files))}


def speak_by_ray(
    pending: list[tuple[int, Entry, str]], options: BatchOptions
) -> Generator[tuple[int, Result], None, None]:
    """The results as they come. Raises EnvironmentFault if the cluster cannot be used."""
    if not pending:
        return
    # Ray reports its use to its makers unless it is told otherwise, and this program sends nothing.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise EnvironmentFault(
            f"--engine ray needs packages that are not installed ({error}): "
            f"{install_command('ray')}"
        ) from error
    begun_here = not ray.is_initialized()
    try:
        if begun_here:
            _ask(options.address)
            ray.init(
                address=options.address,
                include_dashboard=None if options.address else False,
                logging_level=logging.ERROR,
                log_to_driver=False,
            )
        yield from _collected(pending, options)
    except (ray.exceptions.RayError, ConnectionError, RuntimeError) as error:
        raise EnvironmentFault(
            f"the Ray cluster failed: {_reason(error)}: start the batch again, and it goes on "
            "where it was"
        ) from error
    finally:
        if begun_here:
            ray.shutdown()


def _ask(address: str | None) -> None:
    """Raises ConnectionError if nobody listens there: Ray itself asks again for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and port.isdigit() and "/" not in host:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        except OSError as error:
            raise ConnectionError(f"no cluster answers at {address} ({error})") from error


def _collected(
    pending: list[tuple[int, Entry, str]], options: BatchOptions
) -> Generator[tuple[int, Result], None, None]:
    import ray
    from ray.data import ActorPoolStrategy, DataContext

    threads = options.threads or 1
    most = options.workers or max(1, int(ray.cluster_resources().get("CPU", 1)) // threads)
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    rows = [{"entry": pickle.dumps(job)} for job in pending]
    most = min(most, len(rows))
    dataset = ray.data.from_items(rows, override_num_blocks=min(len(rows), _MOST_BLOCKS)).map(
        RemoteSpeaker,  # type: ignore[arg-type] # a class whose objects map rows
        fn_constructor_args=(replace(options, threads=threads),),
        # A pool that may shrink: an actor whose machine died then finds room on another.
        compute=ActorPoolStrategy(
            min_size=1, initial_size=most, max_size=most, max_tasks_in_flight_per_actor=1
        ),
        num_cpus=threads,
    )
    for row in dataset.iter_rows():
        index, result, files = pickle.loads(row["result"])
        for written in result.files:
            _write(options.output, written, files[written.file])
        yield index, result


def _write(folder: Path, written: Written, content: bytes) -> None:
    if hashlib.sha256(content).hexdigest() != written.sha256:
        raise EnvironmentFault(f"{written.file} came damaged from the cluster")
    growing = folder / f"{GROWING}{written.file}"
    with output(folder / written.file):
        growing.write_bytes(content)
        growing.replace(folder / written.file)


def _reason(error: Exception) -> str:
    """The last line of what Ray says, which holds the cause, without its traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("kokoro_pipeline.errors.")]
    said = (ours or lines or [type(error).__name__])[-1]
    return said.removeprefix("kokoro_pipeline.errors.")
