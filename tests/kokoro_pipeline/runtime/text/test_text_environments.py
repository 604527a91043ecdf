"""The imports of reading text, and the errors for missing packages, in fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PRELUDE = """
import importlib.abc, socket, sys

class Forbid(importlib.abc.MetaPathFinder):
    def __init__(self, names):
        self.names = names
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def forbid(*names):
    sys.meta_path.insert(0, Forbid(names))

def no_network(*args, **kwargs):
    raise AssertionError("reading text tried the network")

socket.socket.connect = no_network
socket.create_connection = no_network
socket.getaddrinfo = no_network
"""


def run(program: str, *paths: Path) -> str:
    """Standard output of `program` in a fresh process without a network."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*map(str, paths), *sys.path]),
            "PYTHONUTF8": "1",
        },
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_needs_the_standard_library_only() -> None:
    """The running half imports the vocabulary and the splitter, and must not pay for the rest."""
    loaded = run("""
        forbid("numpy", "misaki", "spacy", "phonemizer", "espeakng_loader", "num2words", "torch")
        import kokoro_pipeline.runtime.text
        from kokoro_pipeline.runtime.text import find_language
        print(find_language("en-us").code)
    """)
    assert loaded == "en-us"


@pytest.mark.parametrize("lang", ["en-us", "en-gb"])
def test_text_is_read_without_torch_and_network(lang: str) -> None:
    """The `text` extra alone is enough: no torch, no spaCy, no download, no kokoro."""
    out = run(f"""
        forbid("torch", "transformers", "kokoro", "tvm", "spacy", "thinc")
        from kokoro_pipeline.runtime.text import phonemize
        print(phonemize("Hello blorptangs $5.", {lang!r}).phonemes)
    """)
    expected = {
        "en-us": "həlˈO blˈɔɹptæŋz fˈIv dˈɑləɹz.",
        "en-gb": "həlˈQ blˈɔːptaŋz fˈIv dˈɒləz.",
    }
    assert out == expected[lang]


def test_torch_is_not_imported_where_it_is_installed() -> None:
    """Importing it would cost seconds and hundreds of megabytes for nothing."""
    out = run("""
        from kokoro_pipeline.runtime.text import phonemize
        phonemize("Hello world")
        print("torch" in sys.modules, "transformers" in sys.modules)
    """)
    assert out == "False False"


@pytest.mark.slow
def test_torch_can_be_imported_afterwards() -> None:
    pytest.importorskip("torch")
    out = run("""
        from kokoro_pipeline.runtime.text import phonemize
        phonemize("Hello world")
        import torch
        print(torch.ones(2).sum().item())
    """)
    assert out == "2.0"


@pytest.mark.parametrize("missing", ["misaki", "num2words"])
def test_a_missing_extra_is_named(missing: str) -> None:
    out = run(f"""
        forbid({missing!r})
        from kokoro_pipeline.errors import EnvironmentFault
        from kokoro_pipeline.runtime.text import phonemize
        try:
            phonemize("Hello world")
        except EnvironmentFault as fault:
            print(fault)
    """)
    assert missing in out
    assert "pip install 'tvm-kokoro[text]'" in out


@pytest.mark.parametrize(
    ("lang", "text", "missing", "extra"),
    [
        ("ja", "猫です。", "fugashi", "ja"),
        ("ja", "猫です。", "unidic_lite", "ja"),
        ("zh", "你好。", "jieba", "zh"),
        ("zh", "你好。", "ordered_set", "zh"),
        ("fr", "Bonjour.", "phonemizer", "text"),
    ],
)
def test_the_missing_extra_of_a_language_is_named(
    lang: str, text: str, missing: str, extra: str
) -> None:
    out = run(f"""
        forbid({missing!r})
        from kokoro_pipeline.errors import EnvironmentFault
        from kokoro_pipeline.runtime.text import phonemize
        try:
            phonemize({text!r}, {lang!r})
        except EnvironmentFault as fault:
            print(fault)
    """)
    assert missing in out
    assert f"pip install 'tvm-kokoro[{extra}]'" in out


@pytest.mark.parametrize(("lang", "text"), [("ja", "猫です。"), ("zh", "你好。"), ("hi", "नमस्ते।")])
def test_other_languages_need_no_english_and_no_heavy_package(lang: str, text: str) -> None:
    """kokoro's own way to Japanese imports pyopenjtalk and mojimoji as well."""
    out = run(f"""
        forbid("spacy", "num2words", "torch", "kokoro", "pyopenjtalk", "mojimoji", "unidic")
        from kokoro_pipeline.runtime.text import phonemize
        print(phonemize({text!r}, {lang!r}).phonemes)
        assert "misaki.en" not in sys.modules
    """)
    assert len(out.splitlines()) == 1


@pytest.mark.parametrize("missing", ["phonemizer", "espeakng_loader"])
def test_espeak_is_needed_for_unknown_words_only(missing: str) -> None:
    """The GPL parts are imported when a word first needs them; then their absence is an error."""
    out = run(f"""
        forbid({missing!r})
        from kokoro_pipeline.errors import EnvironmentFault
        from kokoro_pipeline.runtime.text import phonemize
        print(phonemize("Hello world").phonemes)
        try:
            phonemize("Hello blorptangs")
        except EnvironmentFault as fault:
            print(fault)
    """)
    read, refusal = out.splitlines()
    assert read == "həlˈO wˈɜɹld"
    assert "blorptangs" in refusal
    assert "pip install 'tvm-kokoro[text]'" in refusal


# The package, a text, its language, the module that imports the package, and a name in it.
PUT_OFF = [
    ("spacy", "Hello world", "en-us", "misaki.en", "util.is_package"),
    ("segments", "Bonjour", "fr", "phonemizer.backend.segments", "tokenizer.Tokenizer"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("package", "text", "lang", "importer", "name"), PUT_OFF)
def test_what_is_never_used_is_not_loaded_and_stays_usable(package, text, lang, importer, name):
    program = (
        "import importlib, operator, sys\n"
        "from kokoro_pipeline.runtime.text import phonemize\n"
        f"assert phonemize({text!r}, {lang!r}).phonemes\n"
        f"assert {package!r} not in sys.modules and 'torch' not in sys.modules\n"
        f"held = importlib.import_module({importer!r}).{package}\n"
        f"thing = operator.attrgetter({name!r})\n"
        f"assert thing(held).__module__.startswith({package!r})\n"
        f"import {package}\n"
        f"assert {package}.__file__ and thing(held) is thing({package})\n"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
