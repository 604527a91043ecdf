"""Create the benchmark folder, with everything that a machine with PyTorch and a GPU lacks."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path, PurePosixPath

import torch

import kokoro_pipeline
from kokoro_pipeline.artifact.cache import cache_root
from kokoro_pipeline.artifact.manifest import PARAMETERS_NAME
from kokoro_pipeline.building.builder import build
from kokoro_pipeline.compiler.weights import load_model, load_voices, resolve
from kokoro_pipeline.errors import CheckFailed, EnvironmentFault, InputError
from kokoro_pipeline.runtime.engine.cuda_driver import (
    TVM_CUDA_LIBRARY,
    installed_cuda_runtimes,
    loaded_cuda_runtime,
    needed_version,
)
from kokoro_pipeline.runtime.engine.ffi_compatibility import FFI, TVM
from kokoro_pipeline.runtime.engine.library import find_runtime_library
from kokoro_pipeline.validation.cases import Case, full_cases
from kokoro_pipeline.validation.reference import ReferenceModel
from kokoro_pipeline.validation.references import References, ReferenceWeights
from kokoro_pipeline.validation.store import ReferenceStore
from kokoro_pipeline.validation.validator import STORE_FOLDER

from .recipe import write_recipe
from .references import save_references
from .run import ARTIFACT, RECIPE_FOLDER, REFERENCES

MAX_BYTES = 60 << 20
LENGTHS = (5, 24, 60)
"""Numbers of phonemes of the validation cases whose references are included."""
SITE = "site"
CUDA = "cuda"

RUN = '''"""Run the benchmark of this folder: python run.py --help."""

import importlib.util
import os
import sys
from pathlib import Path

PYTHON = "{python}"

here = Path(__file__).resolve().parent
sys.path.insert(0, str(here / "site"))
found = f"{sys.version_info.major}.{sys.version_info.minor}"
if found != PYTHON:
    print(
        f"error: this folder is for Python {PYTHON}, and this is {found}: run it with "
        f"python{PYTHON}, or make it anew with --python {found}",
        file=sys.stderr,
    )
    sys.exit(3)
for needed in ("torch", "numpy"):
    if importlib.util.find_spec(needed) is None:
        print(f"error: {needed} is not installed here: pip install {needed}", file=sys.stderr)
        sys.exit(3)

# tvm_ffi would compile an extension for torch, which nothing here uses.
os.environ["TVM_FFI_DISABLE_TORCH_C_DLPACK"] = "1"

from benchmarks.gpu_folder.run import main  # noqa: E402

sys.exit(main(here))
'''

# Parts of the tvm_ffi package that are not needed for loading a library.
_NOT_NEEDED = ("3rdparty", "include", "src", "cython", "share")

Progress = Callable[[str], None]


def make_folder(
    output: Path,
    *,
    target: str = "cuda",
    mcpu: str | None = None,
    opt: int | None = None,
    precision: str = "float32",
    python: str | None = None,
    lengths: tuple[int, ...] = LENGTHS,
    seed: int = 0,
    progress: Progress | None = None,
) -> int:
    """Write the benchmark folder for the synthetic weights of `seed`; returns its size in bytes.

    `target`, `mcpu`, `opt` and `precision` are as for `build`; by default, a library for a GPU has
    host code for x86-64-v3. `python` is the version that will run it ("3.12"), by default this one.

    Raises InputError for a folder that is not empty, parameters that cannot be recreated and
    unknown lengths, EnvironmentFault if a wheel is unavailable, and CheckFailed if the folder is
    larger than MAX_BYTES.
    """
    tell = progress or (lambda text: None)
    if output.exists() and any(output.iterdir()):
        raise InputError(f"{output} is not empty: name a new folder")
    cases = [case for case in full_cases() if len(case.phonemes) in lengths]
    if len(cases) < len(set(lengths)):
        known = ", ".join(str(len(case.phonemes)) for case in full_cases())
        raise InputError(f"lengths {list(lengths)}: the cases have {known} phonemes")
    output.mkdir(parents=True, exist_ok=True)
    host = "x86-64-v3" if mcpu is None and target != "llvm" else mcpu
    weights = resolve("synthetic", seed=seed)
    report = build(
        str(weights.path),
        target,
        output / ARTIFACT,
        mcpu=host,
        opt=opt,
        precision=precision,
        validate=False,
        progress=progress,
    )
    tell("recipe of the parameters")
    functions = report.manifest.functions.values()
    names = [parameter.name for function in functions for parameter in function.parameters]
    write_recipe(output / RECIPE_FOLDER, seed, names, report.parameters)
    (output / ARTIFACT / PARAMETERS_NAME).unlink()
    _write_references(output / REFERENCES, seed, cases, tell)
    tell("runtime libraries")
    _write_site(output / SITE, python or _this_python(), report.manifest.target.device)
    run = RUN.replace("{python}", python or _this_python())
    (output / "run.py").write_text(run, "utf-8")
    return checked_size(output)


def checked_size(folder: Path) -> int:
    """The size of all files in bytes. Raises CheckFailed if it is more than MAX_BYTES."""
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    if size > MAX_BYTES:
        raise CheckFailed(
            f"{folder} has {size / 2**20:.1f} MiB, and at most {MAX_BYTES >> 20} can be carried: "
            "take fewer or shorter lengths"
        )
    return size


def _write_references(folder: Path, seed: int, cases: list[Case], tell: Progress) -> None:
    weights = resolve("synthetic", seed=seed)
    wanted = ReferenceWeights(
        sha256=weights.info.sha256,
        source=weights.info.source,
        models=lambda: (
            ReferenceModel(load_model(weights), torch.float64),
            ReferenceModel(load_model(weights), torch.float32),
        ),
        voices=load_voices(weights),
    )
    store = ReferenceStore(cache_root() / STORE_FOLDER, wanted.sha256)
    references = References(wanted, store, tell)
    save_references(folder, [references.get(case).reference for case in cases])


def _write_site(site: Path, python: str, target: str) -> None:
    package = Path(kokoro_pipeline.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__", "native")
    shutil.copytree(package, site / package.name, ignore=ignored)
    shutil.copytree(Path(__file__).parents[1], site / "benchmarks", ignore=ignored)
    _write_distribution(site, TVM, lambda path: path.parts[0].endswith(".dist-info"))
    libraries = site / "tvm" / "lib"
    libraries.mkdir(parents=True)
    runtime = find_runtime_library()
    shutil.copy(runtime, libraries)
    if target == CUDA:
        cuda = runtime.with_name(TVM_CUDA_LIBRARY)
        shutil.copy(cuda, libraries)
        shutil.copy(_cuda_runtime(cuda), libraries)
    # PyTorch does not depend on it.
    _write_distribution(site, "packaging", _is_needed)
    if python == _this_python():
        _write_distribution(site, FFI, _is_needed)
    else:
        _write_wheel(site, python)


def _cuda_runtime(tvm_library: Path) -> Path:
    """CUDA's runtime library; PyTorch may have another version, or none.

    Raises EnvironmentFault if it is not installed.
    """
    name = loaded_cuda_runtime(tvm_library)
    found = next(installed_cuda_runtimes(name), None)
    if found is None:
        major = needed_version(tvm_library)
        raise EnvironmentFault(
            f"{name}, which the folder has to carry, is not there: pip install "
            f"'nvidia-cuda-runtime>={major},<{major + 1}'"
        )
    return found


def _is_needed(path: PurePosixPath) -> bool:
    inside = "/".join(path.parts[1:])
    return not inside.startswith(_NOT_NEEDED) and path.suffix not in (".pyc", ".pyi")


def _write_distribution(site: Path, name: str, wanted: Callable[[PurePosixPath], bool]) -> None:
    for path in metadata.distribution(name).files or ():
        if wanted(path) and ".." not in path.parts:
            target = site / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(path.locate()), target)


def _write_wheel(site: Path, python: str) -> None:
    """Write tvm_ffi for another version of Python, which its extension module depends on."""
    wanted = f"{FFI}=={metadata.version(FFI)}"
    with tempfile.TemporaryDirectory() as folder:
        options = ["--only-binary=:all:", "--no-deps", f"--python-version={python}"]
        command = [sys.executable, "-m", "pip", "download", "-q", *options, "-d", folder, wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode != 0 or len(wheels) != 1:
            said = done.stderr.strip().splitlines()
            raise EnvironmentFault(
                f"pip finds no wheel of {wanted} for Python {python} "
                f"({said[-1] if said else 'it says nothing'}): name another with --python"
            )
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(site, _members(wheel))


def _members(wheel: zipfile.ZipFile) -> Iterator[str]:
    return (name for name in wheel.namelist() if _is_needed(PurePosixPath(name)))


def _this_python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
