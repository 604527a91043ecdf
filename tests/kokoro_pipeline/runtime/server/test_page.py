"""The page at `/` in a real browser: it plays while it streams, highlights, and shows errors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.slow

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no chromium on this machine", allow_module_level=True)

TEXT = "Hello there, my friend. It costs $3.50 today! " + "One more sentence is said. " * 12
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--autoplay-policy=no-user-gesture-required",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS))
        yield running
        running.close()


@pytest.fixture
def page(browser: Any, server: Any) -> Iterator[Any]:
    page = browser.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda sent: page.problems.append(sent.url) if foreign(sent.url) else None)

    def foreign(url: str) -> bool:
        return not url.startswith((server.url, "blob:", "data:"))

    page.goto(server.url + "/")
    yield page
    assert page.problems == []
    page.close()


def test_it_plays_before_the_end_and_highlights_the_word(page: Any) -> None:
    page.fill("#text", TEXT)
    page.click("#speak")
    page.wait_for_selector("#words mark", timeout=30_000)
    assert page.inner_text("#words mark") in (*TEXT.split(), "there", "$3.50")
    assert page.evaluate("speaking.context.state") == "running"
    page.wait_for_selector("#audio:not([hidden])", timeout=60_000)
    assert page.evaluate("speaking.position() < speaking.seconds")  # it is still playing
    assert page.inner_text("#words").split() == TEXT.split()
    assert page.evaluate("speaking.words.length") == len(TEXT.split())
    with page.expect_download() as audio:
        page.click("#audio")
    with open(audio.value.path(), "rb") as file:  # noqa: PTH123
        assert file.read(4) == b"RIFF"
    with page.expect_download() as subtitles:
        page.click("#subtitles")
    with open(subtitles.value.path(), encoding="utf-8") as file:  # noqa: PTH123
        assert file.readline() == "WEBVTT\n"
    page.click("#stop")
    assert page.is_disabled("#stop")


def test_an_error_is_shown(page: Any) -> None:
    page.fill("#voice", "af_hart")
    page.click("#speak")
    page.wait_for_selector("#error:not([hidden])")
    assert "near: af_heart" in page.inner_text("#error")


def test_a_late_list_of_voices_changes_nothing_that_was_typed(browser: Any, server: Any) -> None:
    page = browser.new_page()
    late: list[Any] = []
    page.route("**/v1/audio/voices", lambda route: late.append(route))
    with page.expect_request("**/v1/audio/voices"):
        page.goto(server.url + "/")
    page.fill("#voice", "af_hart")
    page.click("#speak")
    page.wait_for_selector("#error:not([hidden])")
    late[0].continue_()
    page.wait_for_selector("#voices option", state="attached")
    assert page.input_value("#voice") == "af_hart"
    assert "near: af_heart" in page.inner_text("#error")
    page.close()


def test_keyboard_and_screen_readers(page: Any) -> None:
    page.focus("#text")
    focused = []
    for _ in range(5):
        page.keyboard.press("Tab")
        focused.append(page.evaluate("document.activeElement.id"))
    assert focused == ["lang", "voice", "speed", "key", "speak"]
    page.keyboard.press("Enter")
    page.wait_for_selector("#words mark", timeout=30_000)
    fields = "[...document.querySelectorAll('input, textarea, select')]"
    assert page.evaluate(f"{fields}.every((field) => field.labels.length)")
    assert page.get_attribute("#status", "aria-live") == "polite"


def test_phone_width(page: Any) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) <= 0


def test_the_viewer_of_the_api_asks_for_the_key(
    browser: Any, start_server: Any, toy_artifact: Any
) -> None:
    server = start_server(toy_artifact, "--api-key", "secret")
    page = browser.new_page()
    foreign: list[str] = []
    page.on("request", lambda sent: foreign.append(sent.url))
    page.goto(server.url + "/docs")
    page.click("button.authorize")
    page.fill(".modal-ux input", "secret")
    page.click(".modal-ux button.authorize")
    page.click(".modal-ux button.btn-done")
    page.click("#operations-speech-create_phonemes_v1_phonemize_post")
    page.click("button.try-out__btn")
    page.fill("textarea.body-param__text", '{"input": "Hello"}')
    page.click("button.execute")
    page.wait_for_selector(".live-responses-table .response-col_status >> text=200")
    assert [url for url in foreign if not url.startswith((server.url, "data:"))] == []
    page.close()
