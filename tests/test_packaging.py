"""The installation: no GPL part in the base, a complete wheel, and the promises of the README."""

from __future__ import annotations

import configparser
import importlib
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import kokoro_pipeline
from kokoro_pipeline.cli.frame import COMMANDS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("kokoro_pipeline", "tvm_gpu_emulator", "tvm_kokoro_ext")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """The `[project]` table of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def closure(requirements: list[str]) -> dict[str, metadata.Distribution]:
    """Every installed distribution that the requirements bring, by canonical name."""
    found: dict[str, metadata.Distribution] = {}
    seen: set[tuple[str, str]] = set()
    pending = [(Requirement(text), "") for text in requirements]
    while pending:
        requirement, wanted_by_extra = pending.pop()
        marker = requirement.marker
        if marker is not None and not marker.evaluate({"extra": wanted_by_extra}):
            continue
        name = canonicalize_name(requirement.name)
        found[name] = metadata.distribution(name)
        for extra in ("", *requirement.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                pending += [(Requirement(text), extra) for text in found[name].requires or ()]
    return found


def licenses(distribution: metadata.Distribution) -> str:
    """A distribution's license: its expression, else classifiers and the first line of the text."""
    fields = distribution.metadata
    if fields.get("License-Expression"):
        return str(fields["License-Expression"])
    classifiers = [
        line for line in fields.get_all("Classifier") or () if line.startswith("License")
    ]
    text = (fields.get("License") or "").strip().splitlines()
    return "; ".join([*classifiers, *text[:1]])


def test_the_base_installation_has_no_gpl_part(project):
    said = {name: licenses(found) for name, found in closure(project["dependencies"]).items()}
    assert {"numpy", "apache-tvm", "apache-tvm-ffi", "packaging"} <= said.keys()
    assert [name for name, words in said.items() if not words] == []
    assert {name: words for name, words in said.items() if re.search("GPL|GNU", words)} == {}


def test_the_gpl_is_seen_where_it_is(project):
    """The check above must find the GPL in the extra that contains it."""
    text = closure(project["optional-dependencies"]["text"])
    assert any(re.search("GPL|GNU", licenses(found)) for found in text.values())


def test_the_base_installation_is_small(project):
    heavy = {"torch", "transformers", "kokoro", "misaki", "spacy", "huggingface-hub", "soundfile"}
    assert closure(project["dependencies"]).keys() & heavy == set()


def test_the_text_extra_brings_no_torch(project):
    names = closure(project["optional-dependencies"]["text"]).keys()
    assert names & {"torch", "transformers", "spacy-curated-transformers"} == set()


def test_the_extras(project):
    requirements = {
        extra: [Requirement(text) for text in texts]
        for extra, texts in project["optional-dependencies"].items()
    }
    extras = {
        extra: {str(r).partition(";")[0] for r in found} for extra, found in requirements.items()
    }
    assert {"build", "text", "ja", "zh", "audio", "serve", "bench", "test"} <= extras.keys()
    assert {"torch<2.14,>=2.9", "kokoro<0.10,>=0.9.4"} <= extras["build"]
    assert all("misaki[en]" not in text for text in extras["text"])
    assert "tvm-kokoro[audio,batch,build,ja,ray,serve,text,zh]" in extras["test"]


def test_the_projects_own_words(project):
    assert project["license"] == "Apache-2.0"
    assert project["requires-python"] == ">=3.10"
    assert project["version"] == kokoro_pipeline.__version__


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel, built from a copy of the tree: a build leaves folders behind."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    output = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(output),
    ]
    if _has_setuptools():
        command.append("--no-build-isolation")
    done = subprocess.run(
        [*command, str(source)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    (file,) = output.iterdir()
    with zipfile.ZipFile(file) as opened:
        yield opened


def _has_setuptools() -> bool:
    """Whether this environment can build without fetching setuptools."""
    try:
        return Version(metadata.version("setuptools")) >= Version("77")
    except metadata.PackageNotFoundError:
        return False


def test_the_wheel_holds_every_module_and_all_data(wheel):
    names = set(wheel.namelist())
    for package in PACKAGES:
        tree = ROOT / package
        wanted = {
            file.relative_to(ROOT).as_posix()
            for pattern in ("*.py", "*.json", "py.typed")
            for file in tree.rglob(pattern)
        }
        assert wanted - names == set()
        assert f"{package}/py.typed" in wanted
    assert "kokoro_pipeline/data/config.json" in names


def test_the_wheel_holds_nothing_else(wheel):
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    info = {top for top in tops if top.endswith(".dist-info")}
    assert len(info) == 1
    assert tops - info == set(PACKAGES)


def _in_info(wheel: zipfile.ZipFile, name: str) -> str:
    (path,) = [entry for entry in wheel.namelist() if entry.endswith(f".dist-info/{name}")]
    return wheel.read(path).decode()


def test_the_wheels_metadata(wheel):
    said = Parser().parsestr(_in_info(wheel, "METADATA"))
    assert said["Name"] == "tvm-kokoro"
    assert said["License-Expression"] == "Apache-2.0"
    assert "Apache License" in _in_info(wheel, "licenses/LICENSE")


def test_the_console_script_is_the_command_line(wheel):
    scripts = configparser.ConfigParser()
    scripts.read_string(_in_info(wheel, "entry_points.txt"))
    assert dict(scripts["console_scripts"]) == {"kokoro-pipeline": "kokoro_pipeline.cli:main"}
    module, _, name = scripts["console_scripts"]["kokoro-pipeline"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))


BUILD_AND_SPEAK = (
    "pip install '.[build]' && kokoro-pipeline build -o kokoro && "
    'kokoro-pipeline say "Hello world" --artifact kokoro -o hello.wav'
)
TEST = "pip install '.[test]' && pytest -n 2 --dist loadfile"


def test_readme_begins_with_the_two_command_lines():
    """`.ci/run` reads them there and runs them."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    installing = [line for line in lines if line.startswith("pip install ")]
    assert installing == [BUILD_AND_SPEAK, TEST]
    assert max(map(lines.index, installing)) < 25


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_readme_has_every_command_in_its_table(name):
    assert f"| `kokoro-pipeline {name}" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    "warning",
    ["An artifact contains code: load only what you trust", "GPL-3.0-or-later", "is not speech"],
)
def test_readme_warns(warning):
    assert warning in (ROOT / "README.md").read_text("utf-8")


def test_the_checks_parse():
    done = subprocess.run(
        ["bash", "-n", str(ROOT / ".ci" / "run")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
