"""Batches with the stand-in artifact: resumed, damaged, and two at once."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kokoro_pipeline.artifact.locks import hold_folder
from kokoro_pipeline.errors import EnvironmentFault, InputError
from kokoro_pipeline.runtime.batch import runner, speaking
from kokoro_pipeline.runtime.batch.book import Book, Chapter, write_book
from kokoro_pipeline.runtime.batch.epub import title_and_author
from kokoro_pipeline.runtime.batch.inputs import Defaults, read_entries
from kokoro_pipeline.runtime.batch.speaking import BatchOptions

Batch = Callable[..., subprocess.CompletedProcess[str]]
PHONEMES = "həlˈoʊ wˈɜːld"


def command(artifact: Path, *words: object) -> list[str]:
    program = [sys.executable, "-m", "kokoro_pipeline", "batch", "--threads", "1"]
    return [*program, "--artifact", str(artifact), *map(str, words)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def batch(toy_artifact: Path) -> Batch:
    def run(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(toy_artifact, *words),
            capture_output=True,
            text=True,
            env=environment(),
            timeout=120,
            check=False,
        )

    return run


def write_lines(path: Path, *rows: Any) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def many(path: Path, count: int, length: int = 1) -> Path:
    rows = ({"id": f"e{n}", "phonemes": f"{PHONEMES} " * (n % 3 + length)} for n in range(count))
    return write_lines(path, *rows)


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "not a line of JSON"),
        ("[" * 100_000, "not a line of JSON"),
        ("[1]", "is one JSON object, this is list"),
        ({}, "either a text or phonemes"),
        ({"text": "a", "phonemes": "a"}, "either a text or phonemes"),
        ({"text": ["a"]}, "text is list"),
        ({"text": " \n"}, "the text is empty"),
        ('{"text": "Oh \\ud800"}', "U+D800 at position 3 is half of a character"),
        ({"phonemes": ""}, "the phonemes are empty"),
        ({"phonemes": "a", "pitch": 2}, "unknown pitch; known are id, text"),
        ({"phonemes": "a", "title": 7}, "title is int"),
        ('{"phonemes": "a", "title": "\\ud800"}', "U+D800"),
        ({"phonemes": "a", "speed": "fast"}, "speed is 'fast'"),
        ('{"phonemes": "a", "speed": NaN}', "speed is nan"),
        ({"phonemes": "a", "seed": -1}, "seed"),
        ({"phonemes": "a", "lang": "xx"}, "xx"),
        ({"phonemes": "a", "voice": 7}, "voice is int"),
        ({"phonemes": "a", "id": "../a"}, "has '/'"),
        ({"phonemes": "a", "id": ".a"}, "no name for a file"),
        ({"phonemes": "a", "id": ""}, "no name for a file"),
        ({"phonemes": "a", "id": "a\0"}, "no name for a file"),
        ('{"phonemes": "a", "id": "\\ud800"}', "no name for a file"),
        ({"phonemes": "a", "id": "a" * 201}, "up to 200 bytes"),
        ({"phonemes": "a", "id": "Fine"}, "the id 'Fine' is that of line 1"),
    ],
)
def test_a_bad_row_is_an_entry_with_a_fault(tmp_path, row, said):
    file = write_lines(tmp_path / "in.jsonl", {"id": "fine", "phonemes": "a"}, row)
    good, bad = read_entries(file, Defaults())
    assert (good.id, good.fault) == ("fine", None) and good.request is not None
    assert bad.request is None and bad.place == "line 2" and said in (bad.fault or "")


def test_the_name_of_a_row_that_cannot_be_read_is_free(tmp_path):
    file = write_lines(tmp_path / "in.jsonl", "{bad", {"id": "000001", "phonemes": "a"})
    bad, good = read_entries(file, Defaults())
    assert (bad.request, good.id, good.fault) == (None, "000001", None)


def test_a_line_that_is_not_utf8_is_one_fault(tmp_path):
    file = tmp_path / "in.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"phonemes": "a"}\n\n\xff\n{"phonemes": "b", "id": 4}\n')
    entries = read_entries(file, Defaults())
    assert [entry.id for entry in entries] == ["000001", "000002", "4"]
    assert [entry.fault is None for entry in entries] == [True, False, True]
    assert entries[1].place == "line 3"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("in.csv", "id,voice\na,b\n", "of which one is text or phonemes"),
        ("in.csv", "text,text\na,b\n", "each once"),
        ("in.csv", "text,pitch\na,b\n", "text, pitch"),
        ("in.csv", 'text\n"a\n', "line 2: unexpected end"),
        ("in.csv", "", r"in\.csv is empty: its first row"),
        ("in.csv", "\ntext\na\n", r"in\.csv begins with an empty line: its first row"),
        ("in.csv", "text\n", "holds nothing to speak"),
        ("in.jsonl", "\n", "holds nothing to speak"),
        ("in.pdf", "%PDF", "cannot tell what"),
        ("in.epub", "no zip", "is not an EPUB"),
    ],
)
def test_an_input_that_cannot_be_read(tmp_path, name, text, said):
    if name.endswith("epub"):
        pytest.importorskip("ebooklib")
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=said):
        read_entries(tmp_path / name, Defaults())


@pytest.mark.parametrize("name", ["none.csv", "none.jsonl", "none.epub"])
def test_an_input_that_does_not_exist(tmp_path, name):
    with pytest.raises(InputError, match="cannot read .*No such file|cannot read .*no such file"):
        read_entries(tmp_path / name, Defaults())


@pytest.mark.parametrize("name", ["nosuch", "nosuch.txt", "nosuch/"])
def test_a_name_without_a_suffix_that_does_not_exist(tmp_path, name):
    with pytest.raises(InputError, match=r"cannot read .*nosuch.*: it does not exist"):
        read_entries(tmp_path / name, Defaults())


def test_csv(tmp_path):
    file = tmp_path / "in.csv"
    file.write_bytes(
        '\ufeffid,text,voice,speed,seed\r\na,"Two\nlines",,1.5,3\r\nb,x,,slow,\r\nc,x,y,,,7\r\n'
        "d,x\r\n".encode()
    )
    a, b, c, d = read_entries(file, Defaults(voice="af_bella", speed=2.0))
    assert a.request is not None and d.request is not None
    assert (a.request.text, a.request.speed, a.request.seed) == ("Two\nlines", 1.5, 3)
    assert a.request.voice == d.request.voice == "af_bella" and d.request.speed == 2.0
    assert "speed is 'slow'" in (b.fault or "") and "1 cells more" in (c.fault or "")
    assert (b.id, c.id) == ("b", "c")


def test_a_folder_of_texts(tmp_path):
    (tmp_path / "b.txt").write_text("Second.")
    (tmp_path / "a.TXT").write_bytes(b"\xef\xbb\xbfFirst.")
    (tmp_path / "c.txt").write_bytes(b"\xff")
    (tmp_path / "notes.md").write_text("not spoken")
    (tmp_path / ".hidden.txt").write_text("not spoken")
    entries = read_entries(tmp_path, Defaults())
    assert [entry.request and entry.request.text for entry in entries] == [
        "First.",
        "Second.",
        None,
    ]
    assert (entries[2].id, entries[2].place) == ("c", "c.txt")
    assert "not UTF-8" in (entries[2].fault or "")


def test_links_to_nothing_in_a_folder_are_entries_with_a_fault(tmp_path):
    (tmp_path / "fine.txt").write_text("Fine.")
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "linked.txt").symlink_to("fine.txt")
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    (tmp_path / "nothing.txt").symlink_to("absent")
    faults = {entry.place: entry.fault for entry in read_entries(tmp_path, Defaults())}
    assert faults == {
        "fine.txt": None,
        "linked.txt": None,
        "loop.txt": f"cannot be read: {os.strerror(errno.ELOOP)}",
        "nothing.txt": f"cannot be read: {os.strerror(errno.ENOENT)}",
    }


def test_the_chapters_of_an_epub(tmp_path):
    epub = pytest.importorskip("ebooklib.epub")
    book = epub.EpubBook()
    book.set_identifier("x")
    book.set_title("A book")
    book.add_author("An  Author")
    pages = {
        "one.xhtml": "<h1>One</h1><p>It   <em>be</em>gins.<br/>Here.<!-- no --></p>",
        "cover.xhtml": "<img src='x.png'/>",
        "two.xhtml": "<script>no()</script><div>Two<p>&amp; more</p>tail</div>",
    }
    items = []
    for name, body in pages.items():
        item = epub.EpubHtml(title=name, file_name=f"text/{name}")
        item.content = f"<html><head><title>no</title></head><body>{body}</body></html>"
        book.add_item(item)
        items.append(item)
    book.add_item(epub.EpubNav())
    book.spine = ["nav", *items]
    epub.write_epub(str(tmp_path / "book.epub"), book)
    first, second = read_entries(tmp_path / "book.epub", Defaults())
    assert first.request is not None and second.request is not None
    assert (first.id, second.id) == ("001-one", "003-two")
    assert first.request.text == "One\n\nIt begins.\n\nHere."
    assert second.request.text == "Two\n\n& more\n\ntail"
    assert (first.title, second.title) == ("One", None)
    assert title_and_author(tmp_path / "book.epub") == ("A book", "An Author")
    damaged = (tmp_path / "book.epub").read_bytes()[:-40]
    (tmp_path / "damaged.epub").write_bytes(damaged)
    with zipfile.ZipFile(tmp_path / "empty.epub", "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
    for name in ("damaged.epub", "empty.epub"):
        with pytest.raises(InputError, match="is not an EPUB, or is damaged"):
            read_entries(tmp_path / name, Defaults())


CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
    'full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
METADATA = '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"/>'
XHTML = "application/xhtml+xml"


def item(name: str, media_type: str = XHTML) -> str:
    return f'<item id="{name}" href="{name}.xhtml" media-type="{media_type}"/>'


def small_epub(
    path: Path,
    page: bytes = b"<p>Hi</p>",
    metadata: str = METADATA,
    manifest: str = f"<manifest>{item('one')}</manifest>",
    spine: str = '<spine><itemref idref="one"/></spine>',
) -> Path:
    pytest.importorskip("ebooklib")
    package = f'<package xmlns="http://www.idpf.org/2007/opf">{metadata}{manifest}{spine}</package>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("a.opf", package)
        archive.writestr("one.xhtml", page)
        archive.writestr("two.xhtml", b"<p>Two</p>")
    return path


def spoken(path: Path) -> list[str]:
    return [str(each.request and each.request.text) for each in read_entries(path, Defaults())]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>Café</p>".encode(), "Café"),
        ("<title>Café</title><meta charset='utf-8'/><p>Café</p>".encode(), "Café"),
        ("<p>Café</p>".encode("utf-8-sig"), "Café"),
        ("<p>Café</p>".encode("utf-16"), "Café"),
        ("<?xml version='1.0' encoding='utf-16'?><p>Café</p>".encode("utf-16-le"), "Café"),
        ("<?xml version='1.0' encoding='utf-16'?><p>Café</p>".encode(), "Café"),
        ("<?xml version='1.0' encoding='latin-1'?><p>Café</p>".encode("latin-1"), "Café"),
        ("<?xml version='1.0' encoding='no such'?><p>Café</p>".encode(), "Café"),
        ("<meta content='text/html; charset=cp1251'><p>Да</p>".encode("cp1251"), "Да"),
        ("<p>Café</p>".encode("latin-1"), "Café"),
        (b"<p>a <![CDATA[x < y & z]]> b</p>", "a x < y & z b"),
        (b"<!DOCTYPE html [<!ENTITY a 'b'>]><head><title>T</title></head><p>c</p>", "c"),
        (b"<!DOCTYPE html PUBLIC '-//W3C//DTD' 'http://x'>\n<p>c</p>", "c"),
        (b"<div>" * 1500 + b"deep" + b"</div>" * 1500 + b"<p>after</p>", "deep\n\nafter"),
        (b"<p>a<b>b</b>c<!-- no -->d<?no?>e<script>no</script>f</p>g", "abcdef\n\ng"),
    ],
)
def test_a_page_of_an_epub(tmp_path: Path, page: bytes, text: str) -> None:
    assert spoken(small_epub(tmp_path / "a.epub", page)) == [text]


@pytest.mark.parametrize(
    ("parts", "texts"),
    [
        ({"metadata": ""}, ["Hi"]),
        ({"metadata": "<metadata/>"}, ["Hi"]),
        ({"spine": '<spine toc="none"><itemref idref="one"/></spine>'}, ["Hi"]),
        (
            {
                "manifest": f"<manifest>{item('one', 'image/png')}{item('two', 'text/html')}"
                "</manifest>",
                "spine": '<spine><itemref idref="one"/><itemref idref="two"/></spine>',
            },
            ["Two"],
        ),
    ],
)
def test_an_epub_is_read_without_what_no_chapter_needs(
    tmp_path: Path, parts: dict[str, Any], texts: list[str]
) -> None:
    path = small_epub(tmp_path / "a.epub", **parts)
    assert spoken(path) == texts
    assert title_and_author(path) == (None, None)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"spine": ""}, "a.opf has no <spine>"),
        ({"manifest": ""}, "a.opf has no <manifest>"),
        ({"page": b"<div>" * 5000 + b"deep"}, "elements of one.xhtml are nested too deep"),
    ],
)
def test_what_an_epub_lacks_is_named(tmp_path: Path, parts: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_entries(small_epub(tmp_path / "a.epub", **parts), Defaults())


def test_faults_do_not_stop_the_rest_and_a_second_run_changes_nothing(batch, tmp_path):
    file = write_lines(
        tmp_path / "in.jsonl",
        {"id": "a", "phonemes": PHONEMES},
        "{",
        {"id": "b", "phonemes": PHONEMES, "voice": "af_bela"},
        {"id": "c", "phonemes": "🙂🙂"},
        {"id": "d", "phonemes": PHONEMES, "speed": 2, "voice": "af_bella"},
    )
    out = tmp_path / "out"
    ended = batch(file, "-o", out, "--json")
    report = json.loads(ended.stdout)
    assert ended.returncode == 1, ended.stderr
    assert (report["entries"], report["spoken"], report["kept"]) == (5, 2, 0)
    assert [each["place"] for each in report["failed"]] == ["line 2", "line 3", "line 4"]
    assert "line 3 (b): unknown voice 'af_bela'" in ended.stderr and "af_bella" in ended.stderr
    assert "NOT SPEECH" in ended.stderr
    first = content(out)
    assert sorted(first) == ["a.wav", "d.wav", "results.jsonl"]
    assert [each["id"] for each in results(out)] == ["a", "000002", "b", "c", "d"]
    ended = batch(file, "-o", out, "--json")
    assert (ended.returncode, json.loads(ended.stdout)["kept"]) == (1, 2)
    assert content(out) == first


@pytest.mark.parametrize(
    "name", ["wav", *(pytest.param(name, marks=pytest.mark.slow) for name in ("opus", "mp3"))]
)
def test_a_killed_batch_goes_on_where_it_was(batch, toy_artifact, tmp_path, name):
    if name != "wav":
        pytest.importorskip("soundfile")
    file = many(tmp_path / "in.jsonl", 40)
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert batch(file, "-o", whole, "--format", name, "--workers", 2).returncode == 0
    words = command(toy_artifact, file, "-o", out, "--format", name)
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, env=environment()) as running:
        deadline = time.monotonic() + 60
        while len(list(out.glob("e*"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.002)
        running.send_signal(signal.SIGKILL)
        assert running.wait() == -signal.SIGKILL  # it was in the middle
    # A line that was torn, a file that was damaged, and what was left beside.
    with (out / "results.jsonl").open("ab") as stream:
        stream.write(b'{"id": "e39", "ke')
    (out / f"e1.{name}").write_bytes(b"damaged")
    (out / ".kokoro-batch.e5.wav").write_bytes(b"left")
    ended = batch(file, "-o", out, "--format", name, "--json")
    report = json.loads(ended.stdout)
    assert (ended.returncode, report["spoken"] + report["kept"]) == (0, 40), ended.stderr
    assert report["kept"] >= 1
    assert content(out) == content(whole)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_batch_that_is_ended_says_so_and_nothing_else(toy_artifact, tmp_path, workers):
    file, out = many(tmp_path / "in.jsonl", 2000), tmp_path / "out"
    words = command(toy_artifact, file, "-o", out, "--workers", workers)
    with subprocess.Popen(words, stderr=subprocess.PIPE, env=environment(), text=True) as running:
        deadline = time.monotonic() + 60
        while not list(out.glob("e*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        running.send_signal(signal.SIGTERM)
        _, said = running.communicate(timeout=60)
    assert (running.returncode, said) == (143, "kokoro-pipeline: error: ended by SIGTERM\n")


@pytest.mark.slow
def test_what_has_changed_is_spoken_again(batch, tmp_path):
    out = tmp_path / "out"
    rows = [{"id": "a", "phonemes": PHONEMES}, {"id": "b", "phonemes": PHONEMES}]
    for change in ({}, {"seed": 5}, {"voice": "af_bella"}):
        rows[1] |= change
        file = write_lines(tmp_path / "in.jsonl", *rows)
        report = json.loads(batch(file, "-o", out, "--json").stdout)
        assert (report["spoken"], report["kept"]) == ((1, 1) if change else (2, 0))


def test_a_lexicon_is_for_all_texts_and_what_it_changes_is_spoken_again(batch, tmp_path):
    pytest.importorskip("misaki")
    out, lexicon = tmp_path / "out", tmp_path / "mine.tsv"
    rows = {"id": "a", "phonemes": PHONEMES}, {"id": "b", "text": "A vlorp."}
    file = write_lines(tmp_path / "in.jsonl", *rows)
    options: tuple[object, ...] = ()
    seen = []
    for spoken, kept in ((2, 0), (1, 1), (0, 2)):
        report = json.loads(batch(file, "-o", out, "--json", *options).stdout)
        assert (report["spoken"], report["kept"]) == (spoken, kept)
        seen.append(content(out)["b.wav"])
        lexicon.write_text("vlorp\tvlˈɔɹpəɹpəɹp\n", "utf-8")
        options = ("--lexicon", lexicon)
    assert seen[0] != seen[1] == seen[2]


def test_two_batches_on_one_folder(batch, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    held = hold_folder(out)
    assert held is not None
    try:
        ended = batch(many(tmp_path / "in.jsonl", 1), "-o", out)
    finally:
        os.close(held)
    assert ended.returncode == 3 and "another batch is writing into" in ended.stderr
    assert content(out) == {}


@pytest.mark.slow
def test_a_full_disk_ends_the_batch_and_the_next_run_goes_on(batch, toy_artifact, tmp_path):
    file = write_lines(
        tmp_path / "in.jsonl",
        {"id": "short", "phonemes": "a"},
        {"id": "long", "phonemes": PHONEMES * 40},
        {"id": "last", "phonemes": "a"},
    )
    out = tmp_path / "out"
    limited = subprocess.run(
        ["bash", "-c", 'ulimit -f 200; exec "$@"', "-", *command(toy_artifact, file, "-o", out)],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert limited.returncode == 3, limited.stderr
    assert "long.wav: the file would be larger" in limited.stderr
    assert sorted(content(out)) == ["results.jsonl", "short.wav"]
    ended = batch(file, "-o", out, "--json")
    assert (ended.returncode, json.loads(ended.stdout)["kept"]) == (0, 1)


def test_subtitles_are_of_texts(batch, tmp_path):
    pytest.importorskip("misaki")
    file = write_lines(
        tmp_path / "in.jsonl",
        {"id": "a", "text": "Hello world."},
        {"id": "b", "phonemes": PHONEMES},
    )
    out = tmp_path / "out"
    ended = batch(file, "-o", out, "--subtitles", "srt")
    assert ended.returncode == 1 and "line 2 (b): subtitles are of a text" in ended.stderr
    assert b"Hello world." in (out / "a.srt").read_bytes()
    first = content(out)
    (out / "a.srt").unlink()
    batch(file, "-o", out, "--subtitles", "srt")
    assert content(out) == first


@pytest.mark.parametrize(
    ("name", "subtitles"),
    [("join_speech", None), ("write_subtitles", "json"), ("file_sha256", None)],
)
def test_nothing_is_left_of_an_entry_that_fails_behind_its_audio(
    name, subtitles, toy_artifact, tmp_path, monkeypatch
):
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("failed")

    (entry,) = read_entries(many(tmp_path / "in.jsonl", 1), Defaults())
    out = tmp_path / "out"
    out.mkdir()
    speaker = speaking.EntrySpeaker(BatchOptions(toy_artifact, out, subtitles=subtitles, threads=1))
    monkeypatch.setattr(speaking, name, fail)
    try:
        assert "failed" in (speaker.speak(entry, "key").error or "")
    finally:
        speaker.close()
    assert content(out) == {}


def test_a_worker_that_dies_is_named(toy_artifact, tmp_path):
    entries = read_entries(many(tmp_path / "in.jsonl", 60), Defaults())
    options = BatchOptions(toy_artifact, tmp_path / "out", workers=2, threads=1)

    def kill(result: Any, fresh: bool) -> None:
        import multiprocessing

        for process in multiprocessing.active_children():
            process.kill()

    with pytest.raises(EnvironmentFault, match="a worker process died"):
        runner.run_batch(entries, options, kill)


@pytest.mark.parametrize("audio_format", ["wav", "flac"])
def test_a_batch_becomes_a_book_with_a_chapter_for_each_entry(batch, tmp_path, audio_format):
    """Also from files of an earlier run, byte for byte the same."""
    av = pytest.importorskip("av")
    rows = ({"phonemes": PHONEMES, "title": " The\u00a0first\nché "}, {"phonemes": PHONEMES * 2})
    file = write_lines(tmp_path / "Some story.jsonl", *rows)
    book, books = tmp_path / "b.m4b", []
    for _ in range(2):
        words = ("--book", book, "--format", audio_format, "--json")
        ended = batch(file, "-o", tmp_path / "out", *words)
        assert ended.returncode == 0, ended.stderr
        assert json.loads(ended.stdout)["book"] == str(book)
        books.append(book.read_bytes())
    assert books[0] == books[1] and books[0][4:12] == b"ftypM4B "
    lengths = [each["samples"] for each in results(tmp_path / "out")]
    with av.open(str(book)) as container:
        assert container.metadata["title"] == "Some story"
        assert "not speech" in container.metadata["comment"].lower()
        marks = container.chapters()
        samples = sum(frame.samples for frame in container.decode(audio=0))
    assert [mark["metadata"]["title"] for mark in marks] == ["The first ché", "000002"]
    at = [round(float(mark["end"] * mark["time_base"]) * 24_000) for mark in marks]
    assert abs(at[0] - lengths[0]) <= 24 and abs(at[1] - sum(lengths)) <= 24  # milliseconds
    assert sum(lengths) <= samples < sum(lengths) + 3 * 1024  # whole frames


def test_a_book_lacks_no_chapter(batch, tmp_path):
    file = write_lines(tmp_path / "in.jsonl", {"phonemes": PHONEMES}, {"phonemes": ""})
    ended = batch(file, "-o", tmp_path / "out", "--book", tmp_path / "b.m4b")
    assert ended.returncode == 1 and not (tmp_path / "b.m4b").exists()
    assert "is not written, because a chapter would be missing" in ended.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--book", "b.mp3"), "is none: name it b.m4b"),
        (("--book", "b.m4b", "--format", "mp3"), "made from wav or flac files"),
        (("--book", "no/such/b.m4b"), "is no/such a folder you can write to?"),
    ],
)
def test_a_book_that_cannot_be_written_is_refused_before_anything_is_spoken(
    batch, tmp_path, words, said
):
    file = write_lines(tmp_path / "in.jsonl", {"phonemes": PHONEMES})
    ended = batch(file, "-o", tmp_path / "out", *words)
    assert ended.returncode == 3 and said in ended.stderr
    assert not (tmp_path / "out").exists()


def test_a_chapter_that_cannot_be_read_leaves_no_book(tmp_path):
    pytest.importorskip("av")
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    with pytest.raises(EnvironmentFault, match="b.m4b cannot be read"):
        write_book(tmp_path / "b.m4b", [Chapter(tmp_path / "a.wav", 1, "a")], Book("a"))
    assert [each.name for each in tmp_path.iterdir()] == ["a.wav"]


def test_each_chapter_of_a_book_is_reported_before_it_is_encoded(tmp_path):
    """A book of hours is encoded for minutes."""
    soundfile = pytest.importorskip("soundfile")
    pytest.importorskip("av")
    chapters = []
    for name in ("a", "b"):
        soundfile.write(tmp_path / f"{name}.wav", [0.0] * 2400, 24_000)
        chapters.append(Chapter(tmp_path / f"{name}.wav", 2400, name))
    reported: list[int] = []
    write_book(tmp_path / "b.m4b", chapters, Book("a"), reported.append)
    assert reported == [1, 2]
