"""Speaks entries on this machine: in this process, or in several that share the parameters."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

from kokoro_pipeline.errors import EnvironmentFault

from ..engine.threads import share_of_threads
from .inputs import Entry
from .results import Result
from .speaking import BatchOptions, EntrySpeaker


def speak_locally(
    pending: list[tuple[int, Entry, str]], options: BatchOptions
) -> Generator[tuple[int, Result], None, None]:
    """The results as they come."""
    if not pending:
        return
    workers = options.workers or 1
    if workers == 1:
        speaker = EntrySpeaker(options)
        try:
            for index, entry, key in pending:
                yield index, speaker.speak(entry, key)
        finally:
            speaker.close()
        return
    threads = options.threads or share_of_threads(workers)
    pool = ProcessPoolExecutor(
        min(workers, len(pending)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(replace(options, threads=threads),),
    )
    finished = False
    try:
        futures = {pool.submit(_work, entry, key): index for index, entry, key in pending}
        for future in as_completed(futures):
            yield futures.pop(future), future.result()
        finished = True
    except BrokenProcessPool as error:
        raise EnvironmentFault(
            "a worker process died, perhaps for want of memory: start the batch again, and it goes "
            "on where it was (fewer --workers take less memory)"
        ) from error
    finally:
        pool.shutdown(wait=finished, cancel_futures=True)
        if not finished:
            for process in multiprocessing.active_children():
                process.kill()


_worker_options: BatchOptions
_worker_speaker: EntrySpeaker | None = None


def _start_worker(options: BatchOptions) -> None:
    global _worker_options
    _worker_options = options
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the batch ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # it was killed: nobody reads the results


def _work(entry: Entry, key: str) -> Result:
    global _worker_speaker
    if _worker_speaker is None:
        _worker_speaker = EntrySpeaker(_worker_options)
    return _worker_speaker.speak(entry, key)
