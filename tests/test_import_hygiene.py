"""Imports that import-linter's contracts cannot check: by name, and of other packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kokoro_pipeline
from kokoro_pipeline.extras import EXTRA_OF

PIPELINE = Path(kokoro_pipeline.__file__).parent
# Beside it in the tree and in site-packages; importing it would apply its fixes to this process.
EXTENSION = PIPELINE.with_name("tvm_kokoro_ext")
EMULATOR = PIPELINE.with_name("tvm_gpu_emulator")

HEAVY = (
    "torch",
    "tvm",
    "transformers",
    "kokoro",
    "misaki",
    "spacy",
    "phonemizer",
    "huggingface_hub",
    "soundfile",
)

RUNNING = ("artifact", "bundling", "cli", "runtime")
"""Folders whose modules import without torch and tvm."""
BUILDING = (
    "benchmarking",
    "building",
    "compiler",
    "validation",
)
"""Folders that may import torch or tvm at their top: nothing imports them until a build starts."""


def modules(package: Path, folders: tuple[str, ...] | None = None) -> list[str]:
    """Dotted names of a package's modules; with `folders`, those in them and those in none."""
    names = []
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package).with_suffix("").parts
        if folders is not None and len(parts) > 1 and parts[0] not in folders:
            continue
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if parts[-1:] != ("__main__",):
            names.append(".".join((package.name, *parts)))
    return names


def fresh(program: str, *words: str) -> str:
    """Run a program in a new interpreter that finds the packages here; its stdout."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path.insert(0, {str(PIPELINE.parent)!r})\n{program}",
            *words,
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "statement",
    [
        "import kokoro_pipeline",
        "import kokoro_pipeline.cli",
        "from kokoro_pipeline.cli import main; main(['--help'])",
        "from kokoro_pipeline.cli import main; main(['say', '', '-o', 'x.wav'])",
        "from kokoro_pipeline.cli import main\n"
        "main(['say', '--phonemes', 'a', '--artifact', 'nowhere', '-o', sys.argv[1] + '/x.wav'])",
        "from kokoro_pipeline import load, Speech",
    ],
)
def test_importing_loads_nothing_heavy(statement, tmp_path):
    program = f"{statement}\nprint('LOADED', *sorted(set({HEAVY!r}) & set(sys.modules)))"
    assert fresh(program, str(tmp_path)).splitlines()[-1] == "LOADED"


IMPORT_ALL = """
import importlib
blocked, names = sys.argv[1].split(","), sys.argv[2].split(",")
for name in blocked:
    sys.modules[name] = None
failed = []
for name in names:
    try:
        importlib.import_module(name)
    except ImportError as error:
        failed.append(f"{name}: {error}")
print("\\n".join(failed))
"""


def test_the_running_half_imports_with_torch_and_tvm_blocked():
    """Every module, those of the extra `text` too: it comes without torch."""
    names = modules(PIPELINE, RUNNING)
    assert "kokoro_pipeline.runtime.speech.synthesizer" in names
    blocked = ("torch", "tvm", "transformers", "kokoro", "huggingface_hub")
    assert fresh(IMPORT_ALL, ",".join(blocked), ",".join(names)).strip() == ""


def test_building_and_validating_import_with_the_extra_build_alone():
    """README's first line installs `build` and no other extra."""
    blocked = [module for module, extra in EXTRA_OF.items() if extra not in ("build", "text")]
    assert "onnx" in blocked
    names = [
        "kokoro_pipeline.building.builder",
        "kokoro_pipeline.validation",
        "kokoro_pipeline.cli.build",
    ]
    assert fresh(IMPORT_ALL, ",".join(blocked), ",".join(names)).strip() == ""


def test_kernels_passes_and_the_extension_import_with_torch_blocked():
    """Kernels know no torch, and the extension waits where torch is missing.

    `tvm_kokoro_ext.ops` are operators of torch, for programs that import torch themselves.
    """
    names = [
        *(name for name in modules(EXTENSION) if name != "tvm_kokoro_ext.ops"),
        *modules(EMULATOR),
        *(f"kokoro_pipeline.{folder}" for folder in BUILDING),
        *(f"kokoro_pipeline.compiler.{folder}" for folder in ("passes", "weights")),
    ]
    names += [
        name for name in modules(PIPELINE) if name.startswith("kokoro_pipeline.compiler.kernels")
    ]
    blocked = [name for name in HEAVY if name != "tvm"]
    assert fresh(IMPORT_ALL, ",".join(blocked), ",".join(names)).strip() == ""
