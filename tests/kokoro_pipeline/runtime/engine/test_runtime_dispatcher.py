"""A single thread makes all calls, and problems of a caller do not affect it."""

from __future__ import annotations

import gc
import signal
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.engine.dispatcher import Dispatcher


@pytest.fixture
def dispatcher():
    one = Dispatcher(at_end=nothing)
    yield one
    one.close()


def nothing() -> None:
    """For dispatchers with nothing to clear away."""


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where the suite is a shell's background job, which
    starts with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_main() -> None:
    """Interrupt the main thread like Ctrl-C."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def test_all_jobs_run_in_the_one_thread(dispatcher):
    threads = {dispatcher.run(threading.get_ident) for _ in range(3)}
    assert len(threads) == 1
    assert threads != {threading.get_ident()}


def test_jobs_of_several_threads_never_overlap(dispatcher):
    inside = []

    def job():
        inside.append(1)
        assert len(inside) == 1
        time.sleep(0.001)
        inside.pop()

    callers = [
        threading.Thread(target=lambda: [dispatcher.run(job) for _ in range(10)]) for _ in range(8)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert dispatcher.run(lambda: len(inside)) == 0


def test_an_exception_comes_back_and_the_thread_goes_on(dispatcher):
    def fail():
        raise KeyError("cause")

    for _ in range(2):
        with pytest.raises(KeyError, match="cause"):
            dispatcher.run(fail)
    assert dispatcher.run(lambda: 7) == 7


def test_system_exit_in_a_job_is_the_callers(dispatcher):
    def leave():
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        dispatcher.run(leave)
    assert dispatcher.run(lambda: 7) == 7


def test_a_job_may_call_its_own_dispatcher(dispatcher):
    assert dispatcher.run(lambda: dispatcher.run(lambda: 7)) == 7


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_leaves_at_once_and_locks_nothing(dispatcher):
    release = threading.Event()
    started = threading.Event()

    def slow():
        started.set()
        assert release.wait(30)

    def interrupt():
        assert started.wait(30)
        interrupt_main()

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        dispatcher.run(slow)
    assert not release.is_set()
    release.set()
    assert dispatcher.run(lambda: 7) == 7


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_job_that_has_not_started_never_runs(dispatcher):
    release, started, ran = threading.Event(), threading.Event(), []

    def block():
        started.set()
        assert release.wait(30)

    other = threading.Thread(target=lambda: dispatcher.run(block))
    other.start()
    assert started.wait(30)
    threading.Timer(0.05, interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        dispatcher.run(lambda: ran.append(1))
    release.set()
    other.join()
    dispatcher.run(lambda: None)
    assert ran == []


def test_closing_finishes_what_is_queued_and_refuses_more():
    done = []
    dispatcher = Dispatcher(at_end=lambda: done.append(2))
    caller = threading.Thread(
        target=lambda: dispatcher.run(lambda: (time.sleep(0.05), done.append(1)))
    )
    caller.start()
    while not caller.is_alive() or dispatcher._jobs.qsize():
        time.sleep(0.001)
    time.sleep(0.01)
    dispatcher.close()
    dispatcher.close()
    assert done == [1, 2]
    with pytest.raises(InputError, match="closed"):
        dispatcher.run(lambda: 7)


def test_garbage_ends_its_thread():
    ended = []
    dispatcher = Dispatcher(at_end=lambda: ended.append(1))
    thread = dispatcher._thread
    assert dispatcher.run(lambda: 7) == 7
    del dispatcher
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()
    assert ended == [1]


def test_an_idle_thread_holds_no_result(dispatcher):
    class Thing:
        pass

    thing = dispatcher.run(Thing)
    reference = weakref.ref(thing)
    del thing
    dispatcher.run(lambda: None)
    gc.collect()
    assert reference() is None


def test_a_process_ends_by_itself_with_a_dispatcher_open(run_fresh):
    said = run_fresh(
        """
        import threading, time
        from kokoro_pipeline.runtime.engine.dispatcher import Dispatcher
        dispatcher = Dispatcher(at_end=lambda: print("ended", flush=True))
        started = threading.Event()
        def slow():
            started.set()
            time.sleep(0.3)
            print("finished", flush=True)
        caller = threading.Thread(target=dispatcher.run, args=(slow,), daemon=True)
        caller.start()
        started.wait()
        """
    )
    assert said == "finished\nended\n"
