"""The pages document every option and every fix, and refer only to files that exist."""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kokoro_pipeline.cli.frame import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = (
    "benchmarks",
    "docs",
    "examples",
    "kokoro_pipeline",
    "native",
    "tests",
    "tvm_gpu_emulator",
    "tvm_kokoro_ext",
    "upstream_patches",
)


def options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action.choices.values():
                yield from options(choice)
        elif action.help != argparse.SUPPRESS:
            yield from set(action.option_strings) - {"-h", "--help"}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_page_of_the_command_line_has_every_option(command):
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    section = re.search(rf"^## {command.name}\n(.*?)(?=^## )", page, re.M | re.S)
    assert section is not None
    parser = argparse.ArgumentParser()
    command.configure(parser)
    declared = set(options(parser))
    written = set(re.findall(r"`(-[\w-]*)", section[1])) - {"-"}
    assert declared <= written
    assert {option for option in written if option not in ("--", "--device")} - declared <= {
        "--against",  # of which a sentence behind the table speaks
        "--artifact",
        "-o",
    }


def test_the_page_of_the_extension_has_every_fix():
    import tvm_kokoro_ext

    page = (ROOT / "docs" / "extension.md").read_text("utf-8").partition("## What is fixed")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| [^|]* \|$", page, re.M)
    assert dict(rows) == {record.id: record.what for record in tvm_kokoro_ext.fixes}


def test_the_page_of_the_api_shows_what_a_name_is_and_no_module_of_that_name():
    """mkdocstrings takes the module where a package also has a function of its name."""
    page = (ROOT / "docs" / "python-api.md").read_text("utf-8")
    for name in re.findall(r"^::: (\S+)$", page, re.M):
        parent, _, last = name.rpartition(".")
        if parent:
            holder = importlib.import_module(parent)
            if last in {
                found.name for found in pkgutil.iter_modules(getattr(holder, "__path__", ()))
            }:
                importlib.import_module(name)
                assert inspect.ismodule(getattr(holder, last)), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page):
    text = page.read_text("utf-8")
    starts = "|".join(FOLDERS)
    named = set(re.findall(rf"(?<![\w/.-])((?:{starts})/[\w./-]*\w)", text))
    modules = set(re.findall(r"python -m (benchmarks\.[a-z_.]+\w)", text))
    named |= {module.replace(".", "/") + ".py" for module in modules}
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda e: e.stem)
def test_the_examples_are_short(example):
    assert len(example.read_text("utf-8").splitlines()) <= 40
