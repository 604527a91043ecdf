"""The single thread that makes all calls into TVM for one artifact.

A VM is not re-entrant and TVM's worker pool is thread-local, so the calls of all threads go through
a queue to the one thread that owns both. Callers wait for the result, and exceptions are raised in
the caller.
"""

from __future__ import annotations

import atexit
import itertools
import os
import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from kokoro_pipeline.errors import EnvironmentFault, InputError

T = TypeVar("T")

Job = tuple[Callable[[], Any], "Future[Any]"]
Jobs = queue.SimpleQueue[Job | None]  # None ends the thread; SimpleQueue.put is safe inside the GC

INTERRUPT_SECONDS = 0.1
"""The longest time, in seconds, that Ctrl-C may be delayed while a job runs."""

_numbers = itertools.count(1)
_running: weakref.WeakKeyDictionary[threading.Thread, Jobs] = weakref.WeakKeyDictionary()


class Dispatcher:
    """Runs jobs one after another on one thread, in the order of submission; `at_end` runs last.

    `at_end` must not refer to the dispatcher; otherwise it is never collected.

    The thread ends when the dispatcher is closed or garbage-collected, or at interpreter exit, in
    each case after the jobs that are already queued. A process forked from this one does not have
    the thread, and `run` raises there.
    """

    def __init__(self, at_end: Callable[[], None]) -> None:
        self._jobs: Jobs = queue.SimpleQueue()
        self._closed = False
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._thread = threading.Thread(
            target=_work,
            args=(self._jobs, at_end),
            name=f"kokoro-tvm-{next(_numbers)}",
            daemon=True,
        )
        self._thread.start()
        _running[self._thread] = self._jobs
        self._finalizer = weakref.finalize(self, self._jobs.put, None)
        self._finalizer.atexit = False  # _finish_all ends the threads in order and waits for them

    def run(self, function: Callable[[], T]) -> T:
        """Run `function` on the dispatcher's thread; returns its result or raises its exception.

        A KeyboardInterrupt is raised at once; the job is then dropped if it is still queued, and
        otherwise runs to its end in the background.

        Raises InputError if the dispatcher is closed, EnvironmentFault in a forked process.
        """
        self._refuse_fork()
        if threading.current_thread() is self._thread:
            return function()
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise InputError("this Synthesizer is closed; load the artifact again")
            self._jobs.put((function, future))
        try:
            # Signal handlers installed by libraries such as torch and TVM make a wait restart.
            # Without a timeout, Ctrl-C would only take effect when the job ends.
            while not wait([future], timeout=INTERRUPT_SECONDS).done:
                pass
            return future.result()
        except BaseException:
            future.cancel()  # no effect if the job ran and this is its own exception
            raise
        finally:
            del future  # breaks the reference cycle through the traceback of its exception

    def close(self) -> None:
        """End the thread after the queued jobs and wait for it. May be called more than once."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._finalizer.detach()
        if self._pid == os.getpid():
            self._jobs.put(None)
            if threading.current_thread() is not self._thread:
                self._thread.join()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def _refuse_fork(self) -> None:
        if self._pid != os.getpid():
            raise EnvironmentFault(
                f"this Synthesizer belongs to process {self._pid}, this is its fork {os.getpid()}, "
                "and threads do not survive a fork; load the artifact after forking, or start "
                "processes with the 'spawn' method"
            )


def _work(jobs: Jobs, at_end: Callable[[], None]) -> None:
    while True:
        job = jobs.get()
        if job is None:
            at_end()
            return
        function, future = job
        if future.set_running_or_notify_cancel():
            try:
                result = function()
            except BaseException as error:  # noqa: BLE001 - raised in the caller
                future.set_exception(error)
            else:
                future.set_result(result)
                del result
        del job, function, future  # so that an idle thread does not keep arrays alive


def _finish_all() -> None:
    # A compiled call must not return after the interpreter has ended, so wait for it.
    for thread, jobs in list(_running.items()):
        if thread.is_alive():
            jobs.put(None)
            thread.join()


atexit.register(_finish_all)
