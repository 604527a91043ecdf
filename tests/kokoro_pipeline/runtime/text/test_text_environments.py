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
    """The `text` extra alone is enough: no torch, no transformers, no download, no kokoro."""
    out = run(f"""
        forbid("torch", "transformers", "kokoro", "tvm", "spacy_curated_transformers")
        from kokoro_pipeline.runtime.text import phonemize
        print(phonemize("Hello blorptangs $5.", {lang!r}).phonemes)
    """)
    expected = {
        "en-us": "həlˈO blˈɔɹptæŋz fˈIv dˈɑləɹz.",
        "en-gb": "həlˈQ blˈɔːptaŋz fˈIv dˈɒləz.",
    }
    assert out == expected[lang]


def test_torch_is_not_imported_where_it_is_installed() -> None:
    """spaCy imports torch unless kept from it: seconds and hundreds of megabytes for nothing."""
    out = run("""
        from kokoro_pipeline.runtime.text import phonemize
        phonemize("Hello world", tagger="rules")
        print("torch" in sys.modules, "transformers" in sys.modules)
    """)
    assert out == "False False"


def test_torch_can_be_imported_afterwards() -> None:
    pytest.importorskip("torch")
    out = run("""
        from kokoro_pipeline.runtime.text import phonemize
        phonemize("Hello world", tagger="rules")
        import torch
        print(torch.ones(2).sum().item())
    """)
    assert out == "2.0"


@pytest.mark.parametrize("missing", ["misaki", "spacy", "num2words"])
def test_a_missing_extra_is_named(missing: str) -> None:
    out = run(f"""
        forbid({missing!r})
        from kokoro_pipeline.errors import EnvironmentFault
        from kokoro_pipeline.runtime.text import phonemize
        try:
            phonemize("Hello world", tagger="rules")
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
        print(phonemize("Hello world", tagger="rules").phonemes)
        try:
            phonemize("Hello blorptangs", tagger="rules")
        except EnvironmentFault as fault:
            print(fault)
    """)
    read, refusal = out.splitlines()
    assert read == "həlˈO wˈɜɹld"
    assert "blorptangs" in refusal
    assert "pip install 'tvm-kokoro[text]'" in refusal


MAKE_MODEL = """
    import spacy
    from pathlib import Path
    from spacy.training import Example

    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    nlp.add_pipe("tagger")
    text, tags = "They record a record .", ["PRP", "VBP", "DT", "NN", "."]
    examples = [Example.from_dict(nlp.make_doc(text), {"tags": tags})]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(60):
        nlp.update(examples, sgd=optimizer)
    root = Path(FOLDER)
    package = root / "en_core_web_sm"
    package.mkdir()
    nlp.meta.update(name="core_web_sm", version="3.8.0")
    nlp.to_disk(package / "en_core_web_sm-3.8.0")
    meta = (package / "en_core_web_sm-3.8.0" / "meta.json").read_text()
    (package / "meta.json").write_text(meta)
    (package / "__init__.py").write_text(
        "from spacy.util import load_model_from_init_py\\n"
        "def load(**overrides):\\n"
        "    return load_model_from_init_py(__file__, **overrides)\\n"
    )
    info = root / "en_core_web_sm-3.8.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\\nName: en_core_web_sm\\nVersion: 3.8.0\\n"
    )
"""


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package like spaCy's, trained on one sentence."""
    folder = tmp_path_factory.mktemp("model")
    run(f"FOLDER = {str(folder)!r}\n" + textwrap.dedent(MAKE_MODEL))
    return folder


def test_an_installed_spacy_model_is_used(model_folder: Path) -> None:
    """The model's tags decide; the rules, asked for, leave it alone."""
    out = run(
        """
        from kokoro_pipeline.runtime.text import phonemize
        from kokoro_pipeline.runtime.text.english.reader import load_english
        print(phonemize("They record a record. The [it](/ˈɪt/), hm.").phonemes)
        print(load_english(False).nlp is not None, load_english(False, "rules").nlp is None)
        """,
        model_folder,
    )
    phonemes, which = out.splitlines()
    assert phonemes.startswith("ðˌA ɹəkˈɔɹd ɐ ɹˈɛkəɹd.")
    assert "ði ˈɪt," in phonemes
    assert which == "True True"


def test_a_broken_spacy_model_is_an_error(tmp_path: Path) -> None:
    """Silently falling back to the rules would change pronunciations."""
    package = tmp_path / "en_core_web_sm"
    package.mkdir()
    (package / "__init__.py").write_text("def load(**overrides):\n    raise OSError('truncated')\n")
    info = tmp_path / "en_core_web_sm-3.8.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: en_core_web_sm\nVersion: 3.8.0\n")
    out = run(
        """
        from kokoro_pipeline.errors import EnvironmentFault
        from kokoro_pipeline.runtime.text import phonemize
        try:
            phonemize("Hello world")
        except EnvironmentFault as fault:
            print(fault)
        """,
        tmp_path,
    )
    assert "en_core_web_sm is installed but does not load (truncated)" in out


def test_rules_read_without_loading_spacy_and_leave_it_usable():
    program = (
        "import sys\n"
        "from kokoro_pipeline.runtime.text import phonemize\n"
        "phonemize('Hello world', tagger='rules')\n"
        "assert 'spacy' not in sys.modules and 'torch' not in sys.modules\n"
        "import misaki.en\n"
        "assert misaki.en.spacy.util.is_package.__module__ == 'spacy.util'\n"
        "import spacy\n"
        "assert spacy.__file__ and misaki.en.spacy.blank is spacy.blank\n"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
