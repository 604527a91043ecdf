"""eSpeak's C library exits for bad data and is not thread-safe; neither may affect users."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import espeakng_loader
import pytest

from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.runtime.text import espeak

DATA = Path(espeakng_loader.get_data_path())
READ_FROM = """
import sys
import espeakng_loader
from pathlib import Path
from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.runtime.text.espeak import espeak_reader
espeakng_loader.get_library_path = lambda: sys.argv[1]
espeakng_loader.get_data_path = lambda: str(Path(sys.argv[1]).parent / "espeak-ng-data")
try:
    print(espeak_reader(False)("flibbertigibbeting"))
except EnvironmentFault as fault:
    print("refused:", fault)
"""


def read_from(library: Path, **environment: str) -> str:
    """The phonemes from a fresh process with the library at `library`, or its error."""
    done = subprocess.run(
        [sys.executable, "-c", READ_FROM, str(library)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONUTF8": "1",
            **environment,
        },
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def long_folder(tmp_path: Path) -> Path:
    """A folder whose path is far over the library's limit."""
    folder = tmp_path / ("long-" * 20) / ("path-" * 20)
    folder.mkdir(parents=True)
    assert len(os.fsencode(folder)) > espeak.MAX_DATA_PATH
    return folder


def copy_installation(folder: Path) -> Path:
    library = Path(espeakng_loader.get_library_path())
    shutil.copytree(DATA, folder / "espeak-ng-data")
    return Path(shutil.copy(library, folder / library.name))


def test_an_overlong_data_path_still_reads(long_folder: Path) -> None:
    """Given as it is, such a path made the library call exit()."""
    assert read_from(copy_installation(long_folder)) == "flˈɪbəɹtˌɪʤəbbɪTɪŋ"


def test_the_copy_is_gone_afterwards(long_folder: Path, tmp_path: Path) -> None:
    """Every run leaving a copy behind would fill the temporary directory."""
    temporary = tmp_path / "t"
    temporary.mkdir()
    read_from(copy_installation(long_folder), TMPDIR=str(temporary))
    assert not list(temporary.glob("espeak-*"))


def test_an_overlong_temporary_directory_is_refused(long_folder: Path) -> None:
    refusal = read_from(copy_installation(long_folder), TMPDIR=str(long_folder))
    assert "refused:" in refusal
    assert "set TMPDIR to a short path" in refusal


@pytest.mark.parametrize(
    ("voice", "name"),
    [("fr-fr", "fr_dict"), ("pt-br", "pt_dict"), ("hi", "lang/inc/hi"), ("es", "en_dict")],
)
def test_each_voice_needs_its_own_data(tmp_path: Path, voice: str, name: str) -> None:
    shutil.copytree(DATA, tmp_path / "data")
    espeak.check_data(tmp_path / "data", voice)
    (tmp_path / "data" / name).unlink()
    with pytest.raises(EnvironmentFault, match=name):
        espeak.check_data(tmp_path / "data", voice)


@pytest.mark.parametrize("name", ["phontab", "phondata", "en_dict"])
def test_incomplete_data_is_refused_before_the_library_sees_it(tmp_path: Path, name: str) -> None:
    library = copy_installation(tmp_path)
    (tmp_path / "espeak-ng-data" / name).unlink()
    refusal = read_from(library)
    assert "refused:" in refusal
    assert name in refusal
    assert "pip install" in refusal


def test_missing_data_is_refused(tmp_path: Path) -> None:
    library = copy_installation(tmp_path)
    shutil.rmtree(tmp_path / "espeak-ng-data")
    assert "phontab" in read_from(library)


def test_a_short_path_is_used_as_it_is() -> None:
    espeak.check_data(DATA)
    if len(os.fsencode(DATA.resolve())) > espeak.MAX_DATA_PATH:
        pytest.skip("the installed data have a long path")
    assert espeak.short_data_folder(DATA) == DATA


def test_check_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="phontab, phonindex"):
        espeak.check_data(tmp_path)


def test_threads_get_their_own_words() -> None:
    """Eight unlocked threads gave wrong phonemes for one word in fifty."""
    read = espeak.espeak_reader(False)
    words = [f"{head}{tail}" for head in ("brak", "flon", "snur", "quip") for tail in (
        "ingtonite", "ovia", "esque", "ormator", "illium", "astrophe", "ulence", "wick"
    )] * 10  # fmt: skip
    alone = {word: read(word) for word in set(words)}
    assert len(set(alone.values())) == len(alone)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, words)) == [alone[word] for word in words]


@pytest.mark.parametrize(
    ("word", "british", "phonemes"),
    [
        ("Blairstown", False, "blˈɛɹstWn"),
        ("Blairstown", True, "blˈɛːstWn"),  # misaki alone gives the diphthong of "day"
        ("cetera", False, "sˈɛTəɹə"),  # misaki alone doubles the r
    ],
)
def test_spelling_rules_give_misakis_alphabet(word: str, british: bool, phonemes: str) -> None:
    assert espeak.espeak_reader(british)(word) == phonemes
