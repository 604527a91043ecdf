"""The syntax of generated Metal text, by clang: types, address spaces, names, without a Mac.

clang reads the text as OpenCL C++, whose address spaces are Metal's under other names, with the
emulator's header in place of Apple's. It finds what g++ cannot, foremost pointers into the wrong
address space. Metal has no generic pointers as OpenCL has: a pointer type that names no address
space is looked for in the text. It is not Apple's compiler: a text without faults here may still
have some there.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from kokoro_pipeline.errors import EnvironmentFault

from .compiling import NATIVE
from .faults import Report
from .kernel_text import GENERATED, line_of

_OPTIONS = (
    "-x",
    "clcpp",
    "-cl-std=clc++2021",
    "-cl-no-stdinc",
    "-target",
    "spir64",
    "-fsyntax-only",
    "-w",
    "-ferror-limit=5",
    "-fno-caret-diagnostics",
    f"-I{NATIVE}",
    f"-I{NATIVE / 'include'}",
)

# `(half4*)`, a cast, and `half4* p = `, a declaration, with the words before the star.
_WORDS = r"((?:[A-Za-z_]\w*\s+)*[A-Za-z_]\w*)\s*\*\s*"
_POINTER = re.compile(rf"\({_WORDS}\)|^\s*{_WORDS}\w+\s*[=;]", re.M)
_SPACES = {"device", "threadgroup", "thread", "constant"}


def find_clang() -> tuple[str, ...]:
    """The command that is clang: its own, or the one in ziglang (PyPI).

    Raises EnvironmentFault where neither is there.
    """
    found = shutil.which("clang")
    if found is not None:
        return (found,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "clang")
    raise EnvironmentFault(
        "clang, which checks the Metal text, is not here: "
        "pip install ziglang, or apt-get install clang"
    )


def check_metal(source: str) -> list[Report]:
    """The faults of a Metal text as TVM generates it; an empty list where it has none.

    Reports have the kind "syntax" and the line of `source`. Raises EnvironmentFault without clang.
    """
    clang = find_clang()
    starts = [match.start() for match in re.finditer(r"^// Function: ", source, re.M)] or [0]
    parts = [
        (line_of(source, start), source[start:stop])
        for start, stop in zip(starts, [*starts[1:], len(source)], strict=True)
    ]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = pool.map(lambda part: _check(clang, *part), parts)
    return [report for reports in found for report in reports]


def _check(clang: Sequence[str], line: int, text: str) -> list[Report]:
    named = re.search(r"\bkernel void (\w+)", text)
    kernel = named[1] if named else "(no kernel)"
    done = subprocess.run(
        [*clang, *_OPTIONS, "-"],
        input=f'#line {line} "{GENERATED}"\n{text}',
        capture_output=True,
        text=True,
        check=False,
    )
    lines = text.splitlines()

    def report(number: int, message: str) -> Report:
        at = number - line
        shown = lines[at].strip()[:200] if at < len(lines) else ""
        return Report("syntax", kernel, number, f"{message}\n  {number}: {shown}")

    pointers = [
        report(line + line_of(text, match.end()) - 1, f"{words}* names no address space")
        for match in _POINTER.finditer(text)
        for words in [match[1] or match[2]]
        if not _SPACES & set(words.split())
    ]
    if done.returncode == 0:
        return pointers
    errors = re.findall(rf"^{GENERATED}:(\d+):\d+: (?:fatal )?error: (.*)$", done.stderr, re.M)
    if not errors:  # a compiler that cannot run is no fault of the text
        raise EnvironmentFault(f"{' '.join(clang)} failed:\n{done.stderr[:2000]}")
    return [*pointers, *(report(int(number), message) for number, message in errors)]
