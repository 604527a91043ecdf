"""Who gets the next engine, voices as clients write them, and what is logged."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest

pytest.importorskip("fastapi")

from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.runtime.server.failures import BrokenAnswer, WithoutBrokenAnswers
from kokoro_pipeline.runtime.server.problems import Problem, problem_of
from kokoro_pipeline.runtime.server.settings import ServerSettings
from kokoro_pipeline.runtime.server.turns import Turns
from kokoro_pipeline.runtime.server.voice_names import resolve_voice

VOICES = ("af_bella", "af_heart", "af_sky", "am_echo")


def test_a_book_does_not_starve_a_sentence() -> None:
    """The book asks again for each piece; the sentence comes after the piece that runs."""
    order: list[str] = []

    async def speak(turns: Turns[int], client: str, pieces: int) -> None:
        for _ in range(pieces):
            async with turns.turn(client):
                order.append(client)
                await asyncio.sleep(0)

    async def run() -> None:
        turns = Turns([1])
        await asyncio.gather(
            speak(turns, "book", 10), speak(turns, "one", 1), speak(turns, "two", 2)
        )

    asyncio.run(run())
    assert order[:5] == ["book", "one", "two", "book", "two"]
    assert order.count("book") == 10


def test_who_gave_up_waits_no_more() -> None:
    """The metrics tell how many pieces wait; a cancelled one stays in the queue until its turn."""

    async def speak(turns: Turns[int], client: str) -> None:
        async with turns.turn(client):
            pass

    async def run() -> list[int]:
        turns, seen = Turns([1]), []
        async with turns.turn("first"):
            waiting = [asyncio.create_task(speak(turns, str(n))) for n in range(3)]
            await asyncio.sleep(0)
            seen.append(turns.waiting)
            waiting[1].cancel()
            await asyncio.sleep(0)
            seen.append(turns.waiting)
        await asyncio.gather(*waiting, return_exceptions=True)
        return [*seen, turns.waiting]

    assert asyncio.run(run()) == [3, 2, 0]


def test_clients_are_served_in_rotation() -> None:
    """One client with many requests gets no more turns than one with a single request."""
    order: list[str] = []

    async def speak(turns: Turns[int], client: str) -> None:
        async with turns.turn(client):
            order.append(client)
            await asyncio.sleep(0)

    async def run() -> None:
        turns = Turns([1])
        async with turns.turn("first"):
            waiting = [asyncio.create_task(speak(turns, c)) for c in ["many"] * 5 + ["single"]]
            await asyncio.sleep(0)
        await asyncio.gather(*waiting)

    asyncio.run(run())
    assert order.index("single") == 1


def test_an_idle_engine_gives_its_memory_back(toy_artifact, monkeypatch) -> None:
    from kokoro_pipeline.runtime.server import engines
    from kokoro_pipeline.runtime.speech.pieces import Piece

    monkeypatch.setattr(engines, "IDLE_SECONDS", 0.05)
    released: list[int] = []

    async def run() -> None:
        engine = engines.LocalEngine(toy_artifact, 1)
        monkeypatch.setattr(engine._synthesizer, "release_memory", lambda: released.append(1))
        job = engines.Job(Piece("həlˈO"), "af_heart", 1.0, 0, 0)
        for _ in range(3):
            assert await engine.run(job) is not None
        assert released == []  # it was not idle
        await asyncio.sleep(0.3)
        assert released == [1]
        engine.close()

    asyncio.run(run())


@pytest.mark.parametrize("loads", [True, False])
def test_a_worker_whose_server_is_gone_ends_without_a_traceback(
    toy_artifact, tmp_path, monkeypatch, loads
) -> None:
    from multiprocessing import Pipe

    from kokoro_pipeline.runtime.server import engines

    monkeypatch.setattr(engines.signal, "signal", lambda *_: None)
    ours, theirs = Pipe()
    ours.close()
    engines._work(theirs, toy_artifact if loads else tmp_path / "absent", 1)


@pytest.mark.parametrize("how", ["asyncio", "anyio", "time limit"])
def test_an_engine_that_works_for_nobody_is_not_given_to_the_next(tmp_path, how) -> None:
    """Anyio, by which answers end whose clients went away, cancels again and again."""
    import anyio

    from kokoro_pipeline.runtime.server.metrics import Metrics
    from kokoro_pipeline.runtime.server.speaking import Speaker
    from kokoro_pipeline.runtime.speech.request import SpeechRequest

    class Engine:
        """Notices when it is asked while it works."""

        def __init__(self) -> None:
            self.working = asyncio.Event()
            self.freed = asyncio.Event()
            self.asked = 0

        async def run(self, job: object) -> None:
            assert not self.working.is_set(), "it still works"
            self.asked += 1
            self.working.set()
            await self.freed.wait()
            self.working.clear()

    async def speak(speaker: Speaker) -> None:
        with pytest.raises(Problem, match="nothing to say"):
            await speaker.begin(SpeechRequest(phonemes="a"), "client")

    async def run() -> None:
        engine = Engine()
        limit = 0.05 if how == "time limit" else 60.0
        settings = ServerSettings(tmp_path, time_limit=limit)
        speaker = Speaker([engine], VOICES, settings, Metrics())
        if how == "asyncio":
            first = asyncio.create_task(speak(speaker))
            await engine.working.wait()
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
        elif how == "anyio":
            async with anyio.create_task_group() as group:
                group.start_soon(speak, speaker)
                await engine.working.wait()
                group.cancel_scope.cancel()
        else:
            while not engine.working.is_set():  # a busy machine may not come that far at once
                with pytest.raises(TimeoutError):
                    await speak(speaker)
            speaker._settings = replace(settings, time_limit=60.0)
        second = asyncio.create_task(speak(speaker))
        await asyncio.sleep(0.02)
        assert engine.asked == 1
        engine.freed.set()
        await second
        assert engine.asked == 2

    asyncio.run(run())


def test_who_goes_away_frees_the_turn() -> None:
    async def run() -> None:
        turns = Turns([1])
        async with turns.turn("a"):
            gone = asyncio.create_task(turns._take("b"))
            await asyncio.sleep(0)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
        async with asyncio.timeout(5), turns.turn("c"):
            assert turns.waiting == 0
        # Cancelled in the moment in which the engine is given to it.
        manager = turns.turn("a")
        await manager.__aenter__()
        late = asyncio.create_task(turns._take("b"))
        await asyncio.sleep(0)
        await manager.__aexit__(None, None, None)
        late.cancel()
        await asyncio.gather(late, return_exceptions=True)
        async with asyncio.timeout(5), turns.turn("c"):
            pass

    asyncio.run(run())


@pytest.mark.parametrize(
    ("text", "voice"),
    [
        ("af_heart", "af_heart"),
        ("af_heart,af_sky", "af_heart,af_sky"),
        ("af_bella(2)+af_sky(1)", "af_bella:2,af_sky:1"),
        ("af_bella + af_sky", "af_bella,af_sky"),
        ("af_bella(0.5)+af_sky", "af_bella:0.5,af_sky:1"),
        ("af_bella:0.6,af_heart:0.4", "af_bella:0.6,af_heart:0.4"),
        ("shimmer", "af_sky"),
        ("echo", "am_echo"),
        ("nova", "af_bella"),
        ("verse", "am_echo"),
    ],
)
def test_voices_have_the_names_of_other_servers(text: str, voice: str) -> None:
    assert resolve_voice(text, VOICES) == voice


@pytest.mark.parametrize(
    "text",
    [
        "/etc/passwd",
        "../af_heart",
        "af_heart.npy",
        "",
        "+",
        "af_heart+",
        "af_heart(2",
        "Nova",
        "af\0x",
    ],
)
def test_nothing_else_is_a_voice(text: str) -> None:
    with pytest.raises(InputError):
        resolve_voice(text, VOICES)


class _Group(Exception):
    """As ExceptionGroup, which Python 3.10 has not."""

    def __init__(self, *exceptions: BaseException) -> None:
        super().__init__("unhandled errors in a TaskGroup")
        self.exceptions = exceptions


@pytest.mark.parametrize(
    ("error", "written"),
    [
        (None, True),
        (ValueError("a defect"), True),
        (_Group(BrokenAnswer(), ValueError("a defect")), True),
        (BrokenAnswer(), False),
        (_Group(BrokenAnswer()), False),
        (asyncio.CancelledError(), False),
    ],
    ids=repr,
)
def test_the_log_has_the_tracebacks_of_defects_alone(error, written) -> None:
    told = None if error is None else (type(error), error, None)
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "failed", (), told)
    assert WithoutBrokenAnswers().filter(record) is written


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (EnvironmentFault("eSpeak's data in /opt/x/espeak-ng-data is incomplete"), False),
        (EnvironmentFault("packages are not installed (bad magic in '/usr/lib/a.pyc')"), False),
        (EnvironmentFault("the dictionary in C:\\x\\unidic does not load"), False),
        (EnvironmentFault("Chinese needs: pip install 'tvm-kokoro[zh]'"), True),
        (EnvironmentFault("AAC and/or Opus need the extra audio"), True),
    ],
    ids=str,
)
def test_a_client_is_told_no_path_of_the_server(error, told) -> None:
    problem = problem_of(error)
    assert problem.status == 503 and problem.logged == str(error)
    assert (problem.message == str(error)) is told
    assert told or problem.message.endswith("the log of the server names it")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"host": "0.0.0.0"}, "can be reached from other machines: give --api-key"),
        ({"host": "example.invalid"}, "other machines"),
        ({"port": 70_000}, "port is 70000"),
        ({"workers": 0}, "workers is 0"),
        ({"api_key": " "}, "the API key is empty"),
    ],
)
def test_unsafe_settings_are_refused(tmp_path, options, message) -> None:
    with pytest.raises(InputError, match=message):
        ServerSettings(tmp_path, **options)


def test_safe_settings_are_not(tmp_path) -> None:
    for options in ({}, {"host": "::1"}, {"host": "0.0.0.0", "api_key": "k"}):
        ServerSettings(tmp_path, **options)
    ServerSettings(tmp_path, host="0.0.0.0", insecure=True)
