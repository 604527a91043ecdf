"""Who may import whom: running never pays for building, the extension knows no Kokoro."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kokoro_pipeline

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

RUNNING = ("artifact", "cli", "runtime")
"""Folders whose modules import without torch and tvm."""
BUILDING = (
    "benchmarking",
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


def test_every_folder_is_listed():
    """A new folder has to say on which side it is."""
    folders = {
        entry.name
        for entry in PIPELINE.iterdir()
        if entry.is_dir() and any(entry.glob("*.py")) and entry.name != "__pycache__"
    }
    assert folders <= {*RUNNING, *BUILDING}


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
    names.remove("kokoro_pipeline.builder")
    assert "kokoro_pipeline.runtime.speech.synthesizer" in names
    blocked = ("torch", "tvm", "transformers", "kokoro", "huggingface_hub")
    assert fresh(IMPORT_ALL, ",".join(blocked), ",".join(names)).strip() == ""


def test_kernels_passes_and_the_extension_import_with_torch_blocked():
    """Kernels know no torch, and the extension waits where torch is missing."""
    names = [*modules(EXTENSION), *(f"kokoro_pipeline.{folder}" for folder in BUILDING)]
    kernels = "kokoro_pipeline.compiler.kernels."
    names += [name for name in modules(PIPELINE) if name.startswith(kernels)]
    blocked = [name for name in HEAVY if name != "tvm"]
    assert fresh(IMPORT_ALL, ",".join(blocked), ",".join(names)).strip() == ""


def imports(file: Path) -> Iterator[str]:
    """Absolute names of what a file imports anywhere, but for `if TYPE_CHECKING`."""
    package = file.relative_to(file.parents[_depth(file)]).parent.parts
    pending: list[ast.AST] = [ast.parse(file.read_text("utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *filter(None, [node.module])))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        pending += ast.iter_child_nodes(node)


def _depth(file: Path) -> int:
    """How many folders lie between a file and its top package's parent."""
    for depth, parent in enumerate(file.parents):
        if parent in (PIPELINE, EXTENSION, EMULATOR):
            return depth + 1
    raise ValueError(f"{file} is in no package of ours")


def importers(files: list[Path], forbidden: tuple[str, ...]) -> list[str]:
    """`FILE imports MODULE` for every import of a forbidden module or what is in it."""
    return [
        f"{file.name} imports {name}"
        for file in files
        for name in imports(file)
        if name.startswith(tuple(f"{prefix}." for prefix in forbidden)) or name in forbidden
    ]


def test_the_scan_sees_imports_of_every_form(tmp_path, monkeypatch):
    """Otherwise the scans below would prove nothing."""
    package = tmp_path / "kokoro_pipeline" / "runtime"
    package.mkdir(parents=True)
    monkeypatch.setattr(sys.modules[__name__], "PIPELINE", package.parent)
    file = package / "x.py"
    file.write_text(
        "import tvm.ir\n"
        "from ..compiler import builder\n"
        "from . import library\n"
        "if TYPE_CHECKING:\n    import torch\n"
        "def f():\n    from tvm import relax\n"
    )
    assert sorted(imports(file)) == [
        "kokoro_pipeline.compiler",
        "kokoro_pipeline.compiler.builder",
        "kokoro_pipeline.runtime",
        "kokoro_pipeline.runtime.library",
        "tvm",
        "tvm.ir",
        "tvm.relax",
    ]
    found = importers([file], ("tvm", "torch", "kokoro_pipeline.compiler.builder"))
    assert sorted(found) == [
        "x.py imports kokoro_pipeline.compiler.builder",
        "x.py imports tvm",
        "x.py imports tvm.ir",
        "x.py imports tvm.relax",
    ]


def test_the_extension_knows_nothing_of_kokoro():
    assert importers(sorted(EXTENSION.rglob("*.py")), ("kokoro_pipeline", "kokoro")) == []


def test_running_never_imports_tvm_torch_or_the_building_half():
    building = tuple(f"kokoro_pipeline.{folder}" for folder in BUILDING)
    forbidden = ("tvm", "torch", "transformers", "kokoro", "tvm_kokoro_ext", *building)
    files = [
        file
        for folder in RUNNING
        if folder != "cli"  # it also runs the building commands
        for file in sorted((PIPELINE / folder).rglob("*.py"))
    ]
    assert len(files) > 20
    files += [file for file in PIPELINE.glob("*.py") if file.stem != "builder"]
    assert importers(files, forbidden) == []


def test_kernels_know_no_model_and_no_torch():
    files = sorted((PIPELINE / "compiler" / "kernels").rglob("*.py"))
    rooms = ("model", "passes", "lowering", "codegen", "weights")
    upwards = (*(f"compiler.{room}" for room in rooms), "validation", "runtime", "cli")
    forbidden = ("torch", "kokoro", *(f"kokoro_pipeline.{folder}" for folder in upwards))
    assert importers(files, forbidden) == []


def test_the_emulator_knows_only_the_errors():
    files = sorted(EMULATOR.rglob("*.py"))
    assert files
    modules_of_ours = ("kokoro_pipeline.errors", "tvm_gpu_emulator")
    assert [
        f"{file.name} imports {name}"
        for file in files
        for name in imports(file)
        if name.split(".")[0] in ("kokoro_pipeline", "tvm_kokoro_ext", "torch", "kokoro")
        and name != "kokoro_pipeline"
        and not name.startswith(modules_of_ours)
    ] == []


def test_the_model_knows_no_tvm():
    files = sorted((PIPELINE / "compiler" / "model").rglob("*.py"))
    assert importers(files, ("tvm", "tvm_ffi", "tvm_kokoro_ext")) == []
