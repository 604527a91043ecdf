"""Measure the server against its targets: overhead, throughput, first bytes, soak, memory.

    python -m benchmarks.serving DIR [--only overhead,…] [-r 7] [--soak 10000] [--stock FOLDER]

Servers are started as a user would start them. What is compared runs in the same run, in turns.
`--stock` names a folder of weights (`kokoro-pipeline weights synthetic -o FOLDER`) with which stock
kokoro speaks in the same application (`benchmarks.stock_server`).
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import kokoro_pipeline
from kokoro_pipeline.benchmarking.machine import describe_machine
from kokoro_pipeline.benchmarking.tables import markdown_table
from kokoro_pipeline.runtime.audio.samples import to_pcm16
from kokoro_pipeline.runtime.server.engines import IDLE_SECONDS

SHORT = "Two foxes jump over a dog."
"""About three seconds with the synthetic weights."""
PHONEMES = "tˈu fˈɑksᵻz ʤˈʌmp ˌOvəɹ ɐ dˈɔɡ."
SENTENCE = "The quick brown fox jumps over the lazy dog near the river"
CLAUSE = "It was a bright cold day in April, "
REST = "and the clocks were striking thirteen while the wind blew dust along the empty street. "
BYTES_PER_SECOND = 48_000


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    measure: str
    target: str
    found: str


class Client:
    """Asks one server, on one connection."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=600)

    def ask(self, text: str, **options: object) -> tuple[int, bytes, float, float]:
        """Status, body, seconds to its first byte and to its end."""
        body = json.dumps({"input": text, "response_format": "pcm", **options})
        headers = {"Content-Type": "application/json"}
        started = time.perf_counter()
        self._connection.request("POST", "/v1/audio/speech", body, headers)
        answer = self._connection.getresponse()
        first = answer.read(1)
        until_first = time.perf_counter() - started
        content = first + answer.read()
        return answer.status, content, until_first, time.perf_counter() - started

    def first_byte(self, text: str) -> float:
        """Seconds to the first byte; the rest is not waited for."""
        body = json.dumps({"input": text, "response_format": "pcm"})
        started = time.perf_counter()
        self._connection.request(
            "POST", "/v1/audio/speech", body, {"Content-Type": "application/json"}
        )
        self._connection.getresponse().read(1)
        seconds = time.perf_counter() - started
        self._connection.close()  # opens again at the next request
        return seconds


@contextmanager
def server(*words: str, module: Sequence[str] = ("kokoro_pipeline", "serve")) -> Iterator[Server]:
    """A server on a free port."""
    name, *rest = module
    process = subprocess.Popen(
        [sys.executable, "-m", name, *rest, *words], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline() if name.startswith("bench") else process.stdout.read(0)
        line = line or _document(process)
        yield Server(process.pid, line.strip())
    finally:
        process.terminate()
        process.wait()


def _document(process: subprocess.Popen[str]) -> str:
    """The address from what `serve --json` prints."""
    assert process.stdout is not None
    text = ""
    while True:
        line = process.stdout.readline()
        if not line:
            raise SystemExit("the server did not start")
        text += line
        try:
            return str(json.loads(text)["url"])
        except ValueError:
            continue


@dataclass(frozen=True)
class Server:
    """A running server."""

    pid: int
    url: str

    def metric(self, name: str) -> float:
        """The value of a metric without labels."""
        with urllib.request.urlopen(self.url + "/metrics") as answer:
            text = answer.read().decode()
        return float(re.search(rf"^{name} (\S+)$", text, re.M)[1])

    def spoken(self) -> tuple[float, float]:
        """Seconds of audio made until now, and those that the engines worked for them."""
        audio = self.metric("kokoro_audio_seconds_total")
        return audio, self.metric("kokoro_synthesis_seconds_total")

    def settle(self) -> None:
        """Wait until nothing is being spoken, also for clients that went away."""
        while self.metric("kokoro_active_requests") + self.metric("kokoro_busy_workers") > 0:
            time.sleep(0.02)

    def workers(self) -> list[int]:
        """Numbers of its worker processes."""
        found = []
        for path in Path("/proc").glob("[0-9]*/status"):
            try:
                fields = dict(re.findall(r"^(\w+):\s+(.*)$", path.read_text(), re.M))
                command = (path.parent / "cmdline").read_text()
            except OSError:
                continue
            if int(fields["PPid"]) == self.pid and "spawn_main" in command:
                found.append(int(path.parent.name))
        return found


def ours(artifact: Path, *words: str) -> ExitStack | object:
    """`kokoro-pipeline serve` of an artifact."""
    return server("--artifact", str(artifact), "--port", "0", "--json", *words)


def memory_beside_parameters(pid: int) -> int:
    """Resident bytes of a process that are not the parameter file."""
    total, counted = 0, True
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"^[0-9a-f]+-[0-9a-f]+ ", line):
            counted = not line.endswith("params.bin")
        elif counted and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


def in_turns(repetitions: int, *measures: Callable[[], float]) -> list[list[float]]:
    """The results of each measure, which take turns; the first round is dropped."""
    rounds = [[measure() for measure in measures] for _ in range(repetitions + 1)]
    return [list(column) for column in zip(*rounds[1:], strict=True)]


def overhead(args: argparse.Namespace) -> Row:
    """The time of a request less that in which the engine worked for it.

    Two clocks of different processes for the same work would differ by more on a shared machine.
    """
    with ours(args.artifact) as running:
        client = Client(running.url)
        lasting = len(client.ask(SHORT)[1]) / BYTES_PER_SECOND

        def beside() -> float:
            worked = running.metric("kokoro_synthesis_seconds_total")
            took = client.ask(SHORT)[3]
            running.settle()
            return took - (running.metric("kokoro_synthesis_seconds_total") - worked)

        (found,) = in_turns(3 * args.repetitions, beside)
    return Row(
        f"server's overhead over `synthesize` for a sentence of {lasting:.1f} s, its text included",
        "5 ms",
        f"{1000 * statistics.median(found):.1f} ms (least {1000 * min(found):.1f} ms)",
    )


def sentences(count: int) -> list[str]:
    """Different sentences of about three seconds."""
    return [f"Fox {number} jumps over a dog." for number in range(count)]


def rate(texts: Sequence[str], url: str, clients: int = 8) -> float:
    """Seconds of audio a second that the clients get together."""
    waiting = iter(texts)
    lock = threading.Lock()

    def work(_: int) -> int:
        client, received = Client(url), 0
        while True:
            with lock:
                text = next(waiting, None)
            if text is None:
                return received
            status, content, _, _ = client.ask(text)
            assert status == 200, content
            received += len(content)

    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        received = sum(pool.map(work, range(clients)))
    return received / BYTES_PER_SECOND / (time.perf_counter() - started)


def throughput(args: argparse.Namespace) -> Row:
    """Eight clients of two workers against two synthesizers of one thread."""
    texts = sentences(args.requests)

    with ExitStack() as stack:
        running = stack.enter_context(ours(args.artifact, "--workers", "2"))
        direct = [stack.enter_context(kokoro_pipeline.load(args.artifact, 1)) for _ in range(2)]

        def directly() -> float:
            started = time.perf_counter()
            with ThreadPoolExecutor(2) as pool:
                halves = pool.map(
                    lambda n: sum(direct[n].speak(text).seconds for text in texts[n::2]), range(2)
                )
                return sum(halves) / (time.perf_counter() - started)

        found = in_turns(args.repetitions, directly, lambda: rate(texts, running.url))
    shares = [b / a for a, b in zip(*found, strict=True)]
    return Row(
        "throughput of 8 clients against 2 synthesizers called directly",
        "95 %",
        f"{100 * statistics.median(shares):.0f} % "
        f"({statistics.median(found[1]):.1f} s of audio a second)",
    )


def first_bytes(args: argparse.Namespace) -> Row:
    """The first bytes of 2,000 words against a request of the first clause alone."""
    long = CLAUSE + REST + "He walked on without a word to anybody. " * 250
    with ours(args.artifact) as running:
        client = Client(running.url)

        def first(text: str) -> float:
            running.settle()
            return client.first_byte(text)

        found = in_turns(
            args.repetitions,
            lambda: first(CLAUSE),
            lambda: first(long),
        )
    ratios = [b / a for a, b in zip(*found, strict=True)]
    return Row(
        f"first bytes of {len(long.split())} words against the first clause alone",
        "1.2 times",
        f"{statistics.median(ratios):.2f} times ({1000 * statistics.median(found[1]):.0f} ms)",
    )


def beside_a_book(args: argparse.Namespace) -> Row:
    """Short requests while a book is read, against a sentence of the book."""
    book = (CLAUSE + REST) * 300
    with ours(args.artifact) as running:
        client = Client(running.url)
        lasting = len(client.ask(CLAUSE + REST)[1]) / BYTES_PER_SECOND
        reader = Client(running.url)
        over = threading.Event()

        def read() -> None:
            body = json.dumps({"input": book, "response_format": "pcm"})
            connection = reader._connection
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/v1/audio/speech", body, headers)
            answer = connection.getresponse()
            while not over.is_set() and answer.read1(65_536):
                pass
            connection.close()

        thread = threading.Thread(target=read)
        thread.start()
        time.sleep(2)
        before = running.spoken()
        waits = [client.first_byte("Yes, of course.") for _ in range(2 * args.repetitions)]
        audio, worked = (now - then for now, then in zip(running.spoken(), before, strict=True))
        over.set()
        thread.join()
    # At the speed of the same minutes, which differs from another's where a machine is shared.
    sentence = lasting * worked / audio
    return Row(
        "worst first byte of a short request while a book is read",
        "2 sentences' time",
        f"{max(waits) / sentence:.2f} sentences' time ({1000 * max(waits):.0f} ms)",
    )


def against_stock(args: argparse.Namespace) -> Row:
    """The same application over stock kokoro: seconds of audio a second for eight clients."""
    texts = sentences(args.requests)
    words = (str(args.artifact), "--weights", str(args.stock))
    with (
        ours(args.artifact, "--workers", "2") as running,
        server(*words, module=("benchmarks.stock_server",)) as stock,
    ):
        urls = (stock.url, running.url)
        found = in_turns(args.repetitions, *(partial(rate, texts, url) for url in urls))
    ratios = [b / a for a, b in zip(*found, strict=True)]
    return Row(
        "throughput against KPipeline (PyTorch, CPU) in the same application",
        "3 times",
        f"{statistics.median(ratios):.1f} times ({statistics.median(found[0]):.1f} and "
        f"{statistics.median(found[1]):.1f} s of audio a second)",
    )


def soak(args: argparse.Namespace) -> Row:
    """Many requests of 16 clients, a tenth broken off, a tenth bad; every byte is compared."""
    texts = [f"Number {number}." for number in range(24)]
    with kokoro_pipeline.load(args.artifact) as tts:
        wanted = {
            text: to_pcm16(tts.speak(text, first="clause", seed=seed).audio)[0].tobytes()
            for seed, text in enumerate(texts)
        }
    wrong: list[str] = []
    count = iter(range(args.soak))
    lock = threading.Lock()
    sizes: list[int] = []

    with ours(args.artifact) as running:

        def one(client: Client, number: int) -> None:
            seed = number % len(texts)
            if number % 10 == 3:
                client.first_byte(texts[seed] + " And so it goes on. " * 20)
            elif number % 10 == 7:
                bad = ({"speed": -1}, {"voice": "nobody"}, {"model": "x"}, {"seed": "y"})
                status = client.ask(texts[seed], **bad[number // 10 % 4])[0]
                if status not in (400, 404):
                    wrong.append(f"{number}: status {status} of a bad request")
            else:
                status, content, _, _ = client.ask(texts[seed], seed=seed)
                if (status, content) != (200, wanted[texts[seed]]):
                    wrong.append(f"{number}: status {status}, {len(content)} bytes")

        def work(_: int) -> None:
            client = Client(running.url)
            while True:
                with lock:
                    number = next(count, None)
                    if number is not None and number % 100 == 0:
                        sizes.append(memory_beside_parameters(running.pid))
                if number is None:
                    return
                try:
                    one(client, number)
                except (OSError, http.client.HTTPException) as error:
                    wrong.append(f"{number}: {error!r}")
                    client = Client(running.url)

        with ThreadPoolExecutor(16) as pool:
            list(pool.map(work, range(16)))
        sizes.append(memory_beside_parameters(running.pid))
        alive = Path(f"/proc/{running.pid}").exists()
    for each in wrong[:20]:
        print(each, file=sys.stderr)
    settled = sizes[min(5, len(sizes) - 1)]
    return Row(
        f"{args.soak} requests of 16 clients, a tenth broken off, a tenth bad",
        "0 wrong, no crash, 50 MB",
        f"{len(wrong)} wrong, {'no crash' if alive else 'CRASHED'}, memory "
        f"{(max(sizes[5:] or sizes) - settled) / 1e6:+.0f} MB after the first 500",
    )


def text_half(args: argparse.Namespace) -> Row:
    """Four short requests whose phonemes are encoded as one batch, against one after another.

    The audio of each is made alone in both cases, since the functions after the durations take one
    utterance. The results are compared bit for bit.
    """
    with kokoro_pipeline.load(args.artifact) as tts:
        functions = tts.functions
        generator = np.random.Generator(np.random.Philox(1))
        lengths = np.array([24, 29, 33, 38])
        ids = np.zeros((4, lengths.max()), np.int64)
        for row, length in zip(ids, lengths, strict=True):
            row[1 : length - 1] = generator.integers(1, 178, length - 2)
        style = generator.standard_normal((4, 128), dtype=np.float32)

        def half(rows: slice) -> list[np.ndarray]:
            size = lengths[rows].max()
            given = np.ascontiguousarray(ids[rows, :size]), lengths[rows]
            encoded = functions["bert_forward"](*given)
            timed = functions["duration_forward"](encoded, style[rows], given[1])
            return [*timed, functions["text_encoder_forward"](*given)]

        alone = [half(slice(n, n + 1)) for n in range(4)]
        together = half(slice(0, 4))
        equal = all(
            np.array_equal(each[n, : lengths[n]], one[0, : lengths[n]])
            if each.shape[1] == ids.shape[1]
            else np.array_equal(each[n, :, : lengths[n]], one[0, :, : lengths[n]])
            for n in range(4)
            for each, one in zip(together, alone[n], strict=True)
        )

        def timed(work: Callable[[], object]) -> Callable[[], float]:
            def measure() -> float:
                started = time.perf_counter()
                work()
                return time.perf_counter() - started

            return measure

        found = in_turns(
            args.repetitions,
            timed(lambda: [half(slice(n, n + 1)) for n in range(4)]),
            timed(lambda: half(slice(0, 4))),
            timed(lambda: [tts.synthesize(PHONEMES) for _ in range(4)]),
        )
    one, batch, whole = map(statistics.median, found)
    return Row(
        "text halves of 4 short requests as one batch, against one by one",
        "pays",
        f"{100 * batch / one:.0f} % of the time, {'same' if equal else 'other'} bits: "
        f"{100 * (one - batch) / whole:.1f} % of the 4 requests",
    )


def idle_memory(args: argparse.Namespace) -> Row:
    """A worker process that has spoken, and has been idle for a while."""
    with ours(args.artifact, "--workers", "2") as running:
        for _ in range(4):
            Client(running.url).ask(SENTENCE)
        time.sleep(2 * IDLE_SECONDS)
        largest = max(map(memory_beside_parameters, running.workers()))
    return Row(
        "idle memory of a worker beside the mapped parameters", "150 MB", f"{largest / 1e6:.0f} MB"
    )


MEASURES: dict[str, Callable[[argparse.Namespace], Row]] = {
    "overhead": overhead,
    "throughput": throughput,
    "first_bytes": first_bytes,
    "book": beside_a_book,
    "stock": against_stock,
    "soak": soak,
    "memory": idle_memory,
    "batching": text_half,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("artifact", type=Path)
    parser.add_argument("--only", default=",".join(MEASURES), metavar="NAME,…")
    parser.add_argument("-r", "--repetitions", type=int, default=7)
    parser.add_argument("--requests", type=int, default=32, help="of a round of throughput (32)")
    parser.add_argument("--soak", type=int, default=10_000, help="requests (10000)")
    parser.add_argument("--stock", type=Path, help="a folder of weights; else stock is left out")
    args = parser.parse_args()
    names = args.only.split(",")
    if unknown := set(names) - MEASURES.keys():
        parser.error(f"unknown {', '.join(sorted(unknown))}; known are {', '.join(MEASURES)}")
    rows = []
    for name in names:
        if name == "stock" and args.stock is None:
            continue
        row = MEASURES[name](args)
        print(f"{row.measure}: {row.found}", file=sys.stderr, flush=True)
        rows.append((row.measure, row.target, row.found))
    machine = describe_machine()
    print(f"{machine.cpu}, {machine.usable_cpus} CPUs, load {machine.load}\n")
    print(markdown_table(("measure", "target", "found"), rows))


if __name__ == "__main__":
    main()
