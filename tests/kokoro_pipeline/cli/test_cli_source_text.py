"""The sources of the text: an argument, a file, standard input; and invalid sources."""

from __future__ import annotations

import argparse
import io
from types import SimpleNamespace

import pytest

from kokoro_pipeline.cli.command import UsageError
from kokoro_pipeline.cli.source_text import add_source, read_source, stream_source
from kokoro_pipeline.errors import InputError


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_source(parser)
    return parser.parse_args(words)


@pytest.fixture
def stdin(monkeypatch):
    def give(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    return give


def test_an_argument_is_taken_as_it_is():
    assert read_source(parse(" hello\n")) == " hello\n"
    assert read_source(parse("--", "-5 dollars")) == "-5 dollars"
    assert read_source(parse("")) == ""


@pytest.mark.parametrize("words", [["-"], ["-f", "-"]], ids=" ".join)
def test_a_dash_is_standard_input(stdin, words):
    stdin("həlˈoʊ".encode())
    assert read_source(parse(*words)) == "həlˈoʊ"


def test_a_file_is_utf8_and_a_byte_order_mark_is_no_text(tmp_path):
    file = tmp_path / "text"
    file.write_bytes(b"\xef\xbb\xbfcaf\xc3\xa9")
    assert read_source(parse("-f", str(file))) == "café"


@pytest.mark.parametrize("words", [[], ["a", "-f", "b"]], ids=["none", "two"])
def test_exactly_one_source(words):
    with pytest.raises(UsageError):
        read_source(parse(*words))


def test_bytes_that_are_no_utf8_are_refused_with_their_place(tmp_path, stdin):
    file = tmp_path / "latin"
    file.write_bytes(b"caf\xe9 au lait")
    with pytest.raises(InputError, match=r"latin is not UTF-8: byte 3 is 0xe9"):
        read_source(parse("-f", str(file)))
    stdin(b"\xff")
    with pytest.raises(InputError, match="standard input is not UTF-8"):
        read_source(parse("-"))


def test_an_undecodable_argument_is_refused():
    with pytest.raises(InputError, match="UTF-8"):
        read_source(parse("caf\udce9"))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            read_source(parse("-f", str(path)))


@pytest.mark.parametrize("given", ["file", "pipe", "stream"])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"%PDF-1.4\n%\xe2\xe3", "is a PDF document, not text: pdftotext"),
        (b"PK\x03\x04\x14\x00", "is a zip archive.*kokoro-pipeline batch"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "Microsoft Office"),
        (b"{\\rtf1 hello}", "RTF.*pandoc"),
        (b"\x1f\x8b\x08\x08", "gzip.*zcat"),
        (b"\xff\xfeH\x00i\x00", "UTF-16.*iconv -f UTF-16"),
        (b"\n<!doctype HTML>\n<p>Hi", "HTML.*pandoc"),
        (b"<?xml version='1.0'?><html lang='en'>", "HTML"),
        (b"\xef\xbb\xbf <speak>Hi.</speak>", "SSML document.*say --ssml"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_documents_of_other_kinds_are_named_and_not_read_aloud(tmp_path, stdin, data, said, given):
    file = tmp_path / "text"
    file.write_bytes(data)
    stdin(data)
    with pytest.raises(InputError, match=said):
        if given == "stream":
            list(stream_source(parse("-")))
        else:
            read_source(parse("-f", str(file) if given == "file" else "-"))


@pytest.mark.parametrize("text", ["<html> is a tag", "%PDF- begins a PDF", "<speak> is SSML", "PK"])
def test_what_is_typed_may_speak_of_documents(text):
    assert read_source(parse(text)) == text


def test_a_document_is_one_where_it_is_asked_for():
    text = "<speak>Hi.</speak>"
    with pytest.raises(InputError, match="TEXT is an SSML document"):
        read_source(parse(text))
    assert read_source(argparse.Namespace(text=text, file=None, ssml=True)) == text
