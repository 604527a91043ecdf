"""A server as clients see it: OpenAI's own package, Kokoro-FastAPI's forms, errors, load."""

from __future__ import annotations

import base64
import gzip
import io
import itertools
import json
import signal
import subprocess
import sys
import threading
import time
import wave
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import kokoro_pipeline
from kokoro_pipeline.runtime.audio.samples import to_pcm16
from kokoro_pipeline.runtime.text import lexicon_of

httpx = pytest.importorskip("httpx")
openai = pytest.importorskip("openai")

TEXT = "Hello there, my friend. It costs $3.50 today! Is that so?\n\nAnother paragraph ends here."


@pytest.fixture(scope="module", params=["serve", pytest.param("ray_serve", marks=pytest.mark.slow)])
def server(request):
    """The server, and the same application as a deployment of Ray Serve."""
    return request.getfixturevalue("own_server" if request.param == "serve" else "ray_server")


@pytest.fixture(scope="module")
def expected(toy_artifact):
    """The 16-bit samples of a text, by the synthesizer."""

    def samples(text: str, **options: object) -> bytes:
        speech = tts.speak(text, first="clause", **options)
        return to_pcm16(speech.audio)[0].tobytes()

    with kokoro_pipeline.load(toy_artifact, threads=1) as tts:
        yield samples


@pytest.fixture(scope="module")
def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="any", max_retries=0)


@pytest.mark.parametrize(
    "options", [{}, {"speed": 1.5}, {"voice": "af_bella(2)+af_heart(1)"}], ids=str
)
def test_openai_gets_the_bits_of_the_synthesizer(client, expected, options):
    given = {"voice": "af_heart", **options}
    answer = client.audio.speech.create(model="tts-1", input=TEXT, response_format="pcm", **given)
    given["voice"] = given["voice"].replace("af_bella(2)+af_heart(1)", "af_bella:2,af_heart:1")
    assert answer.content == expected(TEXT, **given)


@pytest.mark.parametrize(
    ("model", "status"),
    [
        ("gpt-4o-mini-tts-2025-12-15", 200),
        ("tts-1-2025-03-20", 200),
        ("tts-1-hd-1106", 200),
        ("gpt-4o-mini-tts-2025-12", 404),
        ("gpt-4o-mini-tts-latest", 404),
        ("dall-e-2025-12-15", 404),
    ],
)
def test_a_known_model_may_have_the_date_of_its_release(server, model, status):
    answer = server.post("/v1/audio/speech", json={"input": "Hi.", "model": model})
    assert answer.status_code == status


def test_openais_voices_speak_on_every_artifact(client):
    """Where the artifact lacks the voice, the nearest answers, and the header names it."""
    answer = client.audio.speech.with_raw_response.create(
        model="tts-1", input="Hi.", voice="alloy", response_format="pcm"
    )
    assert answer.headers["x-kokoro-voice"] in ("af_bella", "af_heart")


def test_openai_streams(client, expected):
    with client.audio.speech.with_streaming_response.create(
        model="kokoro", input=TEXT, voice="af_heart", response_format="pcm"
    ) as answer:
        parts = list(answer.iter_bytes())
    assert b"".join(parts) == expected(TEXT)
    assert len(parts) >= 2


def test_openai_asynchronously(server, expected):
    import asyncio

    async def speak() -> bytes:
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="any") as client:
            answer = await client.audio.speech.create(
                model="tts-1", input=TEXT, voice="af_heart", response_format="pcm"
            )
            return answer.content

    assert asyncio.run(speak()) == expected(TEXT)


@pytest.mark.parametrize(
    ("name", "begins", "media"),
    [
        ("wav", b"RIFF\xff\xff\xff\xffWAVE", "audio/wav"),
        ("flac", b"fLaC", "audio/flac"),
        ("opus", b"OggS", "audio/ogg"),
        ("mp3", b"\xff", "audio/mpeg"),
        ("aac", b"\xff\xf1", "audio/aac"),
    ],
)
def test_formats(server, expected, name, begins, media):
    answer = server.post("/v1/audio/speech", json={"input": TEXT, "response_format": name})
    assert answer.status_code == 200
    assert answer.content.startswith(begins)
    assert answer.headers["content-type"] == media
    av = pytest.importorskip("av")
    with av.open(io.BytesIO(answer.content)) as file:
        decoded = sum(frame.samples / frame.sample_rate for frame in file.decode(audio=0))
    assert decoded == pytest.approx(len(expected(TEXT)) / 48_000, abs=0.1)


def test_events(server, expected):
    body = {
        "input": TEXT,
        "response_format": "pcm",
        "stream_format": "sse",
        "speed": 0.3,
    }
    answer = server.post("/v1/audio/speech", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(e.removeprefix("data: ")) for e in answer.text.split("\n\n") if e]
    assert max(map(len, answer.text.splitlines())) < 2**16  # what asyncio reads as one line
    assert [e["type"] for e in events[-2:]] == ["speech.audio.delta", "speech.audio.done"]
    audio = b"".join(base64.b64decode(e["audio"]) for e in events[:-1])
    assert audio == expected(TEXT, speed=0.3)
    assert events[-1]["usage"]["input_tokens"] == len(TEXT)


@pytest.mark.parametrize(
    "path", ["/v1/audio/speech", "/v1/audio/timestamps", "/dev/captioned_speech"]
)
def test_fields_that_change_nothing_are_named(server, path):
    given = {"instructions": "Sing.", "volume_multiplier": 2, "\u2603": 1, "a\r\nX-Other: b": 1}
    headers = server.post(path, json={"input": "Hi.", **given}).headers
    assert headers["x-kokoro-ignored"] == "instructions, volume_multiplier"
    assert headers["x-kokoro-voice"] == "af_heart"
    assert "x-kokoro-ignored" not in server.post(path, json={"input": "Hi.", "seed": 1}).headers


@pytest.mark.parametrize("name", ["wav", "mp3"])
def test_an_answer_that_is_not_streamed_is_a_whole_file(server, expected, name):
    """Its length is in the headers, of the answer and of the file."""
    body = {"input": TEXT, "response_format": name, "stream": False}
    answer = server.post("/v1/audio/speech", json=body)
    assert int(answer.headers["content-length"]) == len(answer.content)
    if name == "wav":
        with wave.open(io.BytesIO(answer.content)) as file:
            assert file.readframes(file.getnframes()) == expected(TEXT)


def test_a_field_that_is_null_is_not_given(server, expected):
    """As clients in typed languages write what nobody has set."""
    schema = server.get("/openapi.json").json()["paths"]["/v1/audio/speech"]["post"]
    fields = schema["requestBody"]["content"]["application/json"]["schema"]["properties"]
    body = {**dict.fromkeys(fields), "input": TEXT, "response_format": "pcm"}
    assert server.post("/v1/audio/speech", json=body).content == expected(TEXT)
    body = {"text": "Hello", "language": None}
    assert server.post("/dev/phonemize", json=body).json()["phonemes"] == "həlˈO"


def test_timestamps(server):
    answer = server.post(
        "/v1/audio/timestamps", json={"input": TEXT, "response_format": "wav"}
    ).json()
    with wave.open(io.BytesIO(base64.b64decode(answer["audio"]))) as file:
        assert file.getnframes() == round(24_000 * answer["seconds"])
    assert [TEXT[slice(*w["span"])] for w in answer["words"]] == [
        w["text"] for w in answer["words"]
    ]
    assert "$3.50" in [w["text"] for w in answer["words"]]
    times = [t for w in answer["words"] for t in (w["start"], w["end"])]
    assert times == sorted(times)


def test_kokoro_fastapi_forms(server, expected):
    body = {"input": TEXT, "voice": "af_heart", "response_format": "pcm", "lang_code": "a"}
    lines = server.post("/dev/captioned_speech", json=body).text.splitlines()
    pieces = [json.loads(line) for line in lines]
    assert b"".join(base64.b64decode(p["audio"]) for p in pieces) == expected(TEXT)
    words = [w for p in pieces for w in p["timestamps"]]
    assert [w["word"] for w in words][:3] == ["Hello", "there", "my"]
    assert all(a["end_time"] <= b["start_time"] for a, b in itertools.pairwise(words))
    whole = server.post("/dev/captioned_speech", json={**body, "stream": False}).json()
    assert base64.b64decode(whole["audio"]) == expected(TEXT)
    assert whole["timestamps"] == words
    read = server.post("/dev/phonemize", json={"text": "Hello", "language": "a"}).json()
    assert read == {"phonemes": "həlˈO", "tokens": [50, 83, 54, 156, 31]}
    spoken = server.post("/dev/generate_from_phonemes", json={"phonemes": "həlˈO"})
    assert spoken.content[:4] == b"RIFF"
    voices = server.get("/v1/audio/voices").json()["voices"]
    names = [v["id"] for v in voices]
    assert names == ["af_bella", "af_heart"]
    assert server.get("/v1/audio/voices?legacy=true").json() == {"voices": names}


def test_open_webui_finds_the_models(server):
    models = server.get("/v1/audio/models").json()["models"]
    assert models == [{"id": m["id"]} for m in server.get("/v1/models").json()["data"]]


@pytest.mark.parametrize("voices", ["af_bella(2)+af_heart(1)", ["af_bella", "af_heart"]], ids=str)
def test_combined_voices_are_read_by_torch(server, toy_artifact, tmp_path, voices):
    torch = pytest.importorskip("torch")
    answer = server.post("/v1/audio/voices/combine", json=voices)
    assert answer.headers["content-disposition"].endswith(".pt")
    file = tmp_path / "voice.pt"
    file.write_bytes(answer.content)
    from kokoro_pipeline.runtime.voices import load_voice

    spec = "af_bella:2,af_heart:1" if isinstance(voices, str) else "af_bella,af_heart"
    wanted = load_voice(spec, toy_artifact / "voices")
    assert np.array_equal(torch.load(file, weights_only=True).numpy(), wanted)
    assert np.array_equal(load_voice(file, toy_artifact), wanted)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "JSON"),
        (b"[" * 1_000_000, 400, "JSON"),
        (b"\xff\xfe", 400, "JSON"),
        (b'{"input": "x", "speed": NaN}', 400, "speed"),
        (b'{"input": "x", "speed": 1e999}', 400, "speed"),
        (b'{"input": 5}', 400, "input"),
        (b"{}", 400, "input"),
        (b'{"input": null}', 400, "input"),
        (b"[1]", 400, "no JSON object"),
        (b'{"input": " "}', 400, "nothing to say"),
        ('{"input": "☃ ☃"}'.encode(), 400, "nothing to speak"),
        (b'{"input": "x", "voice": "af_hart"}', 400, "near: af_heart"),
        (b'{"input": "x", "voice": "AF_HART"}', 400, "near: af_heart"),
        (b'{"input": "x", "voice": "/etc/passwd"}', 400, "neither a name"),
        (b'{"input": "x", "lang": "tlh"}', 400, "not supported"),
        (b'{"input": "x", "model": "dall-e"}', 404, "no model"),
        (b'{"input": "x", "seed": -1}', 400, "seed"),
        (b'{"input": "x", "response_format": "midi"}', 400, "response_format"),
        (b'{"input": "' + b"a" * 250_000 + b'"}', 413, "250000 characters"),
        (b'{"input": "' + b"a" * 2_000_000 + b'"}', 413, "larger than"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_bad_requests_are_told_why(server, body, status, said):
    headers = {"Content-Type": "application/json"}
    answer = server.post("/v1/audio/speech", content=body, headers=headers)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert said in error["message"]
    assert "--" not in error["message"]  # no options of the command line


@pytest.mark.parametrize("text", ["Hello. [pause 500ms]", "[pause 500ms] Hello.", "Hi. ☃"])
def test_pauses_at_the_ends(client, expected, text):
    answer = client.audio.speech.create(
        model="kokoro", input=text, voice="af_heart", response_format="pcm"
    )
    assert answer.content == expected(text)


def test_few_characters_do_not_ask_for_much_memory(server):
    many = "a [pause 60000ms] " * 61
    for path, body, status, said in (
        ("/v1/audio/speech", {"input": "[pause 60000ms]" * 11 + "a"}, 400, "pauses that follow"),
        ("/v1/audio/timestamps", {"input": many}, 413, "which only streams may be"),
        ("/dev/captioned_speech", {"input": many, "stream": False}, 413, "which only streams"),
    ):
        answer = server.post(path, json={**body, "response_format": "pcm"})
        assert answer.status_code == status
        assert said in answer.json()["error"]["message"]


def test_bodies_as_some_clients_write_them(server):
    """With a byte order mark, which is no part of JSON, or compressed, which is not understood."""
    path, body = "/v1/phonemize", b'{"input": "Hi."}'
    for content, coding, status in (
        (b"\xef\xbb\xbf" + body, "identity", 200),
        (gzip.compress(body), "gzip", 415),
        (body, "deflate, gzip", 415),
    ):
        headers = {"Content-Type": "application/json", "Content-Encoding": coding}
        answer = server.post(path, content=content, headers=headers)
        assert answer.status_code == status
        assert status == 200 or "compressed" in answer.json()["error"]["message"]


def test_other_errors_have_the_same_form(server):
    body, plain = b'{"input": "Hi."}', {"Content-Type": "text/plain"}
    for answer, status, said in (
        (server.post("/audio/speech", json={"input": "x"}), 404, "no POST /audio/speech: /docs"),
        (server.get("/v1/audio/speech"), 405, "GET /v1/audio/speech is not possible, only POST"),
        (server.get("/v1/models/nothing"), 404, "no model 'nothing'"),
        (server.post("/v1/audio/speech", content=body, headers=plain), 415, "'text/plain'"),
        (server.post("/v1/audio/speech", content=body), 415, "Content-Type is ''"),
        (server.get("/v1/audio/voices?legacy=maybe"), 400, "boolean"),
    ):
        assert answer.status_code == status
        assert said in answer.json()["error"]["message"]


def test_a_field_is_named_as_in_the_request(server):
    for path, body, field in (
        ("/v1/audio/speech", {"input": " "}, "input"),
        ("/dev/phonemize", {"text": " "}, "text"),
        ("/dev/generate_from_phonemes", {"phonemes": ""}, "phonemes"),
        ("/v1/audio/speech", {"input": "x", "voice": 5}, "voice"),
        ("/v1/audio/speech", {"input": "x", "voice": {"id": 5}}, "voice.id"),
        ("/v1/audio/speech", {"input": "x", "voice": "af_bella(0)"}, "voice"),
        ("/v1/audio/speech", {"input": "x", "voice": "af_bella(1)+af_bella(1)"}, "voice"),
        ("/v1/audio/speech", {"input": "x", "lang": "tlh"}, "lang"),
        ("/v1/audio/speech", {"input": "x", "lang_code": "tlh"}, "lang_code"),
        ("/v1/audio/speech", {"input": "x", "lexicon": {"x": "5"}}, "lexicon"),
        ("/v1/audio/speech", {"input": "..."}, "input"),
        ("/v1/audio/speech", {"input": "<p", "ssml": True}, "input"),
        ("/v1/phonemize", {"input": "x", "lang": "tlh"}, "lang"),
        ("/dev/phonemize", {"text": "x", "language": "tlh"}, "language"),
        ("/dev/generate_from_phonemes", {"phonemes": "555"}, "phonemes"),
    ):
        answer = server.post(path, json=body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, field)


def test_monitors_may_ask_for_the_head_alone(server):
    model = "/v1/models/gpt-4o-mini-tts-2025-12-15"
    for path, status in (
        *((known, 200) for known in ("/health", "/v1/models", model, "/")),
        ("/nowhere", 404),
    ):
        answer = httpx.head(server.url + path)
        assert (answer.status_code, answer.content) == (status, b"")
        assert int(answer.headers["content-length"]) == len(server.get(path).content)


def test_answers_carry_security_headers(server):
    for path in ("/", "/health", "/v1/models", "/nowhere"):
        headers = server.get(path, headers={"Origin": "https://elsewhere.example"}).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers


def test_a_lexicon_of_the_server_is_for_clients_that_send_none(
    start_server, toy_artifact, expected, tmp_path
):
    file = tmp_path / "mine.tsv"
    file.write_text("vlorp\tvlˈɔɹp\nzyx\tzˈɪks\n", "utf-8")
    server = start_server(toy_artifact, "--lexicon", str(file))
    text = "A vlorp, a zyx."
    for own, said in (({}, "vlˈɔɹp"), ({"vlorp": "vlˈuɹp"}, "vlˈuɹp")):
        body = {"input": text, "response_format": "pcm", "lexicon": own}
        wanted = lexicon_of({"vlorp": said, "zyx": "zˈɪks"})
        assert server.post("/v1/audio/speech", json=body).content == expected(text, lexicon=wanted)
    for path, field in (("/v1/phonemize", "input"), ("/dev/phonemize", "text")):
        read = server.post(path, json={field: text}).json()["phonemes"]
        assert "vlˈɔɹp" in read and "zˈɪks" in read


@pytest.mark.parametrize("stripped", [True, False])
def test_a_proxy_may_offer_it_under_a_path_of_its_own(start_server, toy_artifact, stripped):
    """The viewer asks for what is under that path, whether the proxy strips it or not."""
    server = start_server(toy_artifact, "--api-key", "secret", "--root-path", "/tts")
    prefix = "" if stripped else "/tts"
    page = server.get(prefix + "/docs")
    assert page.status_code == 200 and "unsafe-inline" in page.headers["content-security-policy"]
    for path in ("/openapi.json", "/docs/viewer/swagger-ui.css"):
        assert f"/tts{path}" in page.text
        assert server.get(prefix + path).status_code == 200
    assert server.get(prefix + "/health").status_code == 200
    body = {"input": "Hi.", "response_format": "pcm"}
    for headers, status in (({}, 401), ({"Authorization": "Bearer secret"}, 200)):
        answer = server.post(prefix + "/v1/audio/speech", json=body, headers=headers)
        assert answer.status_code == status


def test_browsers_may_use_it_from_pages_that_were_named(start_server, toy_artifact):
    """Also with a key, for which a browser asks without one whether it may send one."""
    page = "http://localhost:3000"
    server = start_server(toy_artifact, "--api-key", "secret", "--cors-origin", page)
    for origin, allowed in ((page, page), ("https://elsewhere.example", None)):
        asked = {
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        }
        before = httpx.options(server.url + "/v1/audio/speech", headers=asked)
        assert (before.status_code == 200) == (allowed is not None)
        assert before.headers.get("access-control-allow-origin") == allowed
        for key, status in (("wrong", 401), ("secret", 200)):
            headers = {"Origin": origin, "Authorization": f"Bearer {key}"}
            answer = server.post("/v1/audio/speech", json={"input": "Hi."}, headers=headers)
            assert answer.status_code == status
            assert answer.headers.get("access-control-allow-origin") == allowed


def test_the_page_fetches_nothing_from_elsewhere(server):
    for path in ("/", "/page.js", "/page.css"):
        answer = server.get(path)
        assert answer.status_code == 200
        assert "//" not in answer.text.replace("// ", "").replace("http://www.w3.org", "")


def test_status_and_metrics(server):
    assert server.get("/health").json() == {"status": "healthy"}
    assert server.get("/ready").json() == {"status": "ready", "synthetic": True}
    server.post("/v1/audio/speech", json={"input": "Hello."})
    text = server.get("/metrics").text
    assert 'kokoro_requests_total{path="/v1/audio/speech",status="200"}' in text
    assert "kokoro_first_audio_seconds_count" in text


def test_the_openapi_document_describes_the_bodies(server):
    paths = server.get("/openapi.json").json()["paths"]
    schema = paths["/v1/audio/speech"]["post"]["requestBody"]["content"]["application/json"][
        "schema"
    ]
    assert {"input", "voice", "response_format", "speed"} <= set(schema["properties"])


def test_many_clients_get_right_bytes(server, expected):
    texts = [f"This is sentence number {n}, of client {n % 7}. It ends." for n in range(24)]
    wanted = {text: expected(text, seed=n) for n, text in enumerate(texts)}

    def ask(n: int) -> bool:
        if n % 4 == 3:  # goes away after the first bytes
            body = {"input": texts[n] * 5, "response_format": "pcm"}
            with httpx.stream("POST", server.url + "/v1/audio/speech", json=body) as answer:
                next(answer.iter_bytes())
            return True
        body = {"input": texts[n], "seed": n, "response_format": "pcm"}
        return server.post("/v1/audio/speech", json=body).content == wanted[texts[n]]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(24)))
    assert server.get("/health").status_code == 200


def test_a_key_is_asked_for(start_server, toy_artifact):
    server = start_server(toy_artifact, "--api-key", "secret")
    assert server.get("/health").status_code == 200
    assert server.get("/").status_code == 200
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}):
        answer = server.get("/v1/models", headers=headers)
        assert answer.status_code == 401
        error = answer.json()["error"]
        assert (error["type"], error["code"]) == ("authentication_error", "invalid_api_key")
    assert server.get("/v1/models", headers={"Authorization": "Bearer secret"}).status_code == 200


def test_too_many_requests_are_sent_away(start_server, toy_artifact):
    server = start_server(toy_artifact, "--max-requests", "1")
    body = {"input": TEXT * 200, "response_format": "pcm"}
    with httpx.stream("POST", server.url + "/v1/audio/speech", json=body, timeout=60) as answer:
        parts = answer.iter_bytes()  # closes the answer when it is dropped
        next(parts)
        refused = server.post("/v1/audio/speech", json={"input": "Hello."})
        assert refused.status_code == 429
        assert refused.json()["error"]["type"] == "rate_limit_error"
        assert int(refused.headers["retry-after"]) >= 1
    deadline = time.monotonic() + 30
    while server.post("/v1/audio/speech", json={"input": "Hello."}).status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.slow
def test_a_signal_ends_it_after_the_running_requests(start_server, toy_artifact, expected):
    server = start_server(toy_artifact)
    answers: list[bytes] = []

    def ask() -> None:
        answers.append(
            server.post(
                "/v1/audio/speech", json={"input": TEXT * 40, "response_format": "pcm"}
            ).content
        )

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.3)
    server.process.send_signal(signal.SIGTERM)
    thread.join()
    assert server.process.wait(30) in (0, -signal.SIGTERM)
    assert answers == [expected(TEXT * 40)]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_second_ctrl_c_ends_it_at_once(start_server, toy_artifact, workers):
    """Without tracebacks, and without waiting for workers, which ignore what ends others."""
    server = start_server(toy_artifact, "--workers", str(workers))
    body = {"input": TEXT * 500, "response_format": "pcm"}
    with httpx.stream("POST", server.url + "/v1/audio/speech", json=body, timeout=60) as answer:
        parts = answer.iter_bytes()
        next(parts)
        server.process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(0.5)  # it waits for the request
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(5) == 130
    [line] = server.last_words()
    assert line == "kokoro-pipeline: error: interrupted before its requests had ended\n"


def test_a_port_in_use_is_named(start_server, toy_artifact, run_serve):
    server = start_server(toy_artifact)
    port = server.url.rpartition(":")[2]
    ended = run_serve("--port", port)
    assert ended.returncode == 3
    assert f"cannot listen on 127.0.0.1:{port}" in ended.stderr
    assert f"process {server.process.pid}" in ended.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "0.0.0.0"), "give --api-key KEY, or --insecure"),
        (("--host", "::"), "give --api-key KEY, or --insecure"),
        (("--host", "127.0.0.1:8880"), "host is '127.0.0.1:8880', expected an address"),
        (("--host", "http://localhost"), "expected an address"),
        (("--host", "[::1]"), "expected an address"),
        (("--host", ""), "expected an address"),
        (("--port", "99999"), "port is 99999"),
        (("--cors-origin", "http://localhost:3000/"), "is no origin"),
        (("--cors-origin", "localhost"), "is no origin"),
        (("--root-path", "tts"), "root path is 'tts', expected a path"),
        (("--root-path", "/tts/"), "such as /tts"),
        (("--host", "no.such.host.invalid", "--insecure"), "no host"),
        (("--artifact", "absent"), "absent"),
    ],
)
def test_what_cannot_be_served_is_refused(run_serve, words, said):
    ended = run_serve(*words)
    assert ended.returncode == 3
    assert said in ended.stderr


@pytest.mark.slow
def test_requests_made_from_the_openapi_document_meet_no_server_error(
    start_server, toy_artifact, tmp_path
):
    """Schemathesis sends what the document allows, and what it does not."""
    pytest.importorskip("schemathesis")
    server = start_server(toy_artifact)
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("schemathesis"), "run", server.url + "/openapi.json"),
            "--checks",
            "not_a_server_error,response_schema_conformance,content_type_conformance",
            *("--phases", "coverage,fuzzing", "--max-examples", "8", "--request-timeout", "60"),
        ],
        cwd=tmp_path,  # schemathesis keeps what it found there
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "create_speech" in done.stdout or "tested" in done.stdout.lower()
