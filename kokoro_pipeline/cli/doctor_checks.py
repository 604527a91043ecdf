"""The probes of `doctor`, one function per part. They change nothing and raise nothing."""

from __future__ import annotations

import os
import platform
import sys
from collections import defaultdict
from importlib import metadata
from importlib.util import find_spec

from packaging.specifiers import SpecifierSet

from ..errors import ArtifactError, KokoroError
from ..extras import EXTRA_OF, install_command
from . import arguments
from .console import size
from .finding import Finding, State
from .isolated import NoAnswerError, ask

SUPPORTED_PYTHON = SpecifierSet(">=3.10,<3.13")
RUNNING_PYTHON = SpecifierSet(">=3.10")
BUILD_REMEDY = install_command("build")
TEXT_REMEDY = install_command("text")

IMPORT_SECONDS = 60.0
"""Timeout in seconds for importing tvm and torch, which can be slow on a slow disk."""
HUB_SECONDS = 4.0
"""Timeout in seconds for an answer of the hub."""


def python() -> list[Finding]:
    """The interpreter and the machine."""
    version = platform.python_version()
    where = f"{version} on {platform.system()} {platform.machine()}, {sys.executable}"
    if SUPPORTED_PYTHON.contains(version, prereleases=True):
        return [Finding("python", "ok", where)]
    if RUNNING_PYTHON.contains(version, prereleases=True):
        return [
            Finding(
                "python",
                "warning",
                f"{where}; it runs artifacts from phonemes, but the packages behind `build` and "
                f"text support {SUPPORTED_PYTHON}",
                "for `build` and text, make a virtual environment with Python 3.10, 3.11 or 3.12",
            )
        ]
    return [
        Finding(
            "python",
            "broken",
            f"{where}; supported: {SUPPORTED_PYTHON}",
            "make a virtual environment with Python 3.10, 3.11 or 3.12",
        )
    ]


def cpu() -> list[Finding]:
    """The vector features of the CPU, which determine the artifacts that it can run."""
    from ..artifact import amx
    from ..artifact.cpu import host_features

    try:
        features = host_features()
    except KokoroError as error:
        return [
            Finding("cpu", "broken", str(error), "run on Linux (x86-64, aarch64) or macOS (arm64)")
        ]
    detail = f"{os.cpu_count()} cores; {' '.join(sorted(features)) or 'no vector features'}"
    if features.issuperset(amx.FEATURES):
        try:
            detail += f"; {amx.permit_tiles('a build for this machine')}"
        except ArtifactError as error:
            return [
                Finding(
                    "cpu",
                    "warning",
                    f"{detail}; builds for this machine leave AMX out: {error}",
                    "allow arch_prctl in the seccomp rules of this container",
                )
            ]
    return [Finding("cpu", "ok", detail)]


def tvm_pair() -> list[Finding]:
    """The versions of tvm and tvm-ffi, and whether they are known to work together."""
    from ..runtime.engine.ffi_compatibility import SUPPORTED_TVM, installed_pair

    pair = installed_pair()
    if pair.tvm is not None and not pair.supported:
        from ..runtime.engine.ffi_compatibility import RECOMMENDED, pair_install_command

        return [
            Finding(
                "tvm pair",
                "broken",
                f"{pair}: kokoro_pipeline needs apache-tvm {SUPPORTED_TVM}",
                pair_install_command(*RECOMMENDED),
            )
        ]
    state: dict[str, Finding] = {
        "works": Finding("tvm pair", "ok", f"{pair}: known to work"),
        "untested": Finding("tvm pair", "warning", f"{pair}: not known to work", pair.remedy),
        "broken": Finding("tvm pair", "broken", f"{pair}: known not to work", pair.remedy),
        "missing": Finding("tvm pair", "broken", f"{pair}", pair.remedy),
    }
    return [state[pair.verdict]]


def runtime() -> list[Finding]:
    """Whether the TVM runtime loads, tested in a separate process."""
    code = (
        "from kokoro_pipeline.runtime.engine.library import load_runtime\n"
        "load_runtime()\nanswer(True)"
    )
    try:
        ask(code, timeout=IMPORT_SECONDS)
    except NoAnswerError as error:
        from ..runtime.engine.ffi_compatibility import RECOMMENDED, pair_install_command

        return [
            Finding(
                "runtime", "broken", f"does not load: {error}", pair_install_command(*RECOMMENDED)
            )
        ]
    return [
        Finding("runtime", "ok", "libtvm_runtime loads without torch and without tvm's compiler")
    ]


def compiler_and_fixes() -> list[Finding]:
    """Whether the TVM compiler can be imported, and the state of every fix of tvm_kokoro_ext."""
    code = (
        "import dataclasses, tvm_kokoro_ext\n"
        "answer([dataclasses.asdict(row) for row in tvm_kokoro_ext.status()])"
    )
    try:
        rows = ask(code, timeout=IMPORT_SECONDS)
    except NoAnswerError as error:
        from ..runtime.engine.ffi_compatibility import RECOMMENDED, pair_install_command

        return [
            Finding(
                "tvm compiler",
                "broken",
                f"does not import: {error}",
                pair_install_command(*RECOMMENDED),
            )
        ]
    return [Finding("tvm compiler", "ok", "imports, with tvm_kokoro_ext"), *_fixes(rows)]


_FIX_STATES: dict[str, tuple[State, str]] = {
    "applied": ("ok", ""),
    "not_needed": ("ok", ""),
    "unknown_version": ("warning", "install an apache-tvm that the fixes know"),
    "disabled": ("warning", "unset TVM_KOKORO_EXT_DISABLE"),
    "failed": ("broken", "python -m tvm_kokoro_ext shows why; reinstall apache-tvm and tvm-kokoro"),
}
"""The state of the finding and the remedy for each state of a fix."""


def _fixes(rows: list[dict[str, str]]) -> list[Finding]:
    """One finding per state of fixes, with their names, and the reason if they do not work."""
    by_state: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        by_state[row["state"]].append(row)
    findings = []
    for state, members in sorted(by_state.items()):
        mark, remedy = _FIX_STATES.get(state, ("warning", "see python -m tvm_kokoro_ext"))
        ids = [row["id"] if mark == "ok" else f"{row['id']} ({row['why']})" for row in members]
        findings.append(Finding(f"fixes {state}", mark, f"{len(ids)}: {', '.join(ids)}", remedy))
    return findings


def build_packages() -> list[Finding]:
    """torch, kokoro and huggingface_hub, which `build` needs in addition."""
    return [
        _package("torch", "torch", SpecifierSet(">=2.9,<2.14"), BUILD_REMEDY),
        _package("kokoro", "kokoro", SpecifierSet(">=0.9.4,<0.10"), BUILD_REMEDY),
        _package("huggingface_hub", "huggingface_hub", SpecifierSet(">=0.26"), BUILD_REMEDY),
    ]


def audio_packages() -> list[Finding]:
    """soundfile, for FLAC, MP3 and OGG, and the loudspeaker; WAV files need nothing."""
    remedy = install_command("audio")
    return [_package("soundfile", "soundfile", SpecifierSet(">=0.13"), remedy), _loudspeaker()]


def _loudspeaker() -> Finding:
    """Asked in a separate process, since PortAudio prints what it thinks of the machine."""
    code = """\
from kokoro_pipeline.errors import KokoroError
from kokoro_pipeline.runtime.audio.playing import check_player
try:
    check_player()
    answer("")
except KokoroError as error:
    answer(str(error))
"""
    try:
        reason = ask(code, timeout=IMPORT_SECONDS)
    except NoAnswerError as error:
        reason = str(error)
    if reason:
        return Finding("loudspeaker", "absent", f"`say --play` does not work: {reason}")
    return Finding("loudspeaker", "ok", "PortAudio has a device to play on")


def extras() -> list[Finding]:
    """The extras that a command of their own needs: whether all their packages are installed."""
    found = [
        ("serve", "kokoro-pipeline serve"),
        ("batch", "kokoro-pipeline batch reads .epub"),
        ("ray", "kokoro-pipeline batch --engine ray"),
        ("ja", "Japanese text"),
        ("zh", "Chinese text"),
    ]
    return [_extra(name, use) for name, use in found]


def _extra(name: str, use: str) -> Finding:
    modules = [module for module, extra in EXTRA_OF.items() if extra == name]
    missing = [module for module in modules if find_spec(module) is None]
    if not missing:
        return Finding(f"extra {name}", "ok", f"{use}: {', '.join(modules)}")
    return Finding(
        f"extra {name}",
        "absent",
        f"{use}: not installed: {', '.join(missing)}",
        install_command(name),
    )


def linker() -> list[Finding]:
    """The linker, which `build` needs and running does not."""
    from ..compiler.codegen.linking import find_linker

    try:
        found = find_linker()
    except KokoroError as error:
        return [
            Finding("linker", "absent", str(error), "apt-get install g++, or pip install ziglang")
        ]
    return [Finding("linker", "ok", f"{found.name}: {' '.join(found.command)}")]


def text() -> list[Finding]:
    """Text to phonemes, tried in a separate process, since eSpeak may terminate the process."""
    missing = [name for name in ("misaki", "num2words") if find_spec(name) is None]
    missing += [name for name in ("phonemizer", "espeakng_loader") if find_spec(name) is None]
    if missing:
        detail = f"not installed: {', '.join(missing)}; phonemes can be spoken without them"
        return [Finding("text, espeak", "absent", detail, TEXT_REMEDY)]
    code = (
        "from kokoro_pipeline.runtime.text import phonemize\n"
        "answer(phonemize('Zyxoril speaks.', lang='en-us').phonemes)"
    )
    try:
        phonemes = ask(code, timeout=IMPORT_SECONDS)
    except NoAnswerError as error:
        return [
            Finding(
                "text, espeak", "warning", f"fails: {error}", f"{TEXT_REMEDY} --force-reinstall"
            )
        ]
    versions = ", ".join(
        f"{name} {metadata.version(name)}"
        for name in ("misaki", "phonemizer-fork", "espeakng-loader")
    )
    return [Finding("text, espeak", "ok", f"{versions}; an unknown word gives {phonemes}")]


def hub() -> list[Finding]:
    """Whether the hub answers, using its own client, which honours proxies and HF_* variables."""
    if find_spec("huggingface_hub") is None:
        return [
            Finding("hub", "absent", "not asked: huggingface_hub is not installed", BUILD_REMEDY)
        ]
    code = (
        "from huggingface_hub import HfApi\n"
        f"answer(HfApi().model_info({arguments.HUB_WEIGHTS!r}, timeout={HUB_SECONDS}).sha)"
    )
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        detail = "not asked: HF_HUB_OFFLINE is set"
        return [Finding("hub", "absent", detail, "unset HF_HUB_OFFLINE to download weights")]
    try:
        revision = ask(code, timeout=HUB_SECONDS + 8)
    except NoAnswerError as error:
        remedy = "check the network or HF_ENDPOINT; `build` falls back to synthetic weights"
        return [Finding("hub", "absent", f"out of reach: {error}", remedy)]
    return [Finding("hub", "ok", f"has {arguments.HUB_WEIGHTS} at {revision}")]


def cached_weights() -> list[Finding]:
    """Whether the real checkpoint is in the hub's cache."""
    if find_spec("huggingface_hub") is None:
        return [Finding("weights", "absent", "huggingface_hub is not installed", BUILD_REMEDY)]
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(arguments.HUB_WEIGHTS, "kokoro-v1_0.pth")
    if isinstance(found, str):
        return [Finding("weights", "ok", f"cached: {found}")]
    detail = f"{arguments.HUB_WEIGHTS} is not in the hub's cache"
    return [Finding("weights", "absent", detail, "kokoro-pipeline weights download")]


def cached_artifacts() -> list[Finding]:
    """The artifacts that `say` has built for itself."""
    from ..artifact.cache import cache_root, list_cached

    found = list_cached()
    if not found:
        detail = f"none cached in {cache_root()}"
        return [Finding("artifacts", "absent", detail, "`say` builds one when first needed")]
    detail = f"{len(found)} cached in {cache_root()}, {size(sum(each.size for each in found))}"
    damaged = [each.path.name for each in found if each.problem is not None]
    if damaged:
        detail += f"; of no use: {', '.join(damaged)}"
        return [Finding("artifacts", "warning", detail, "delete them; `say` builds anew")]
    return [Finding("artifacts", "ok", detail)]


def _package(part: str, distribution: str, wanted: SpecifierSet, remedy: str) -> Finding:
    """Compare an optional distribution with its supported versions, without importing it."""
    try:
        version = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return Finding(part, "absent", "not installed", remedy)
    if wanted.contains(version, prereleases=True):
        return Finding(part, "ok", version)
    return Finding(part, "warning", f"{version}; supported: {wanted}", remedy)
