"""Validation from end to end: an artifact, or any six functions, against PyTorch over a list of
cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import EnvironmentFault, InputError
from .cases import Case, Selection, resolve_voices, select_cases
from .validation_report import CaseResult, ValidationReport

if TYPE_CHECKING:
    from ..artifact.manifest import WeightsInfo
    from ..compiler.weights import WeightsFolder
    from .compare import Comparison, Functions
    from .references import Progress, ReferenceWeights
    from .store import ReferenceStore

STORE_FOLDER = "references"


def validate(
    artifact: str | Path,
    *,
    weights: str | Path | None = None,
    cases: Sequence[Case] | Selection | None = None,
    device: str = "auto",
    save_dir: Path | None = None,
    progress: Progress | None = None,
) -> ValidationReport:
    """Compare an artifact with PyTorch in float32 and float64, step by step and as a whole.

    `weights` is a specification as `build` takes it; by default those recorded in the manifest, and
    always the same by their hash. `cases` is "full" (20 cases, under 120 s of audio), "short" (4
    cases), or your own list; by default "full". With `--opt 0` artifacts the built-in cases are cut
    to 16 frames. `device` is where the artifact runs, as `load` takes it. `save_dir` receives audio
    and intermediates of every case. `progress` is called with a line of text now and then.

    The first full run takes minutes, most of it PyTorch's float64; its answers are cached by the
    weights' hash. Raises InputError where the weights are others than the artifact's,
    EnvironmentFault where torch or kokoro is missing, ArtifactError where the artifact cannot be
    loaded. A missed tolerance raises nothing: see `ValidationReport.passed`.
    """
    from ..artifact.reader import open_artifact
    from ..runtime import load

    path = Path(artifact)
    manifest = open_artifact(path).manifest
    if cases is None or isinstance(cases, str):
        cases = select_cases(manifest.opt_level, cases or "full")
    prepare_save_dir(save_dir)
    folder = weights_of(manifest.weights, weights)
    with load(path, device=device) as synthesizer:
        return validate_functions(
            synthesizer.functions,
            folder,
            cases,
            artifact=str(path),
            opt_level=manifest.opt_level,
            precision=manifest.target.precision,
            save_dir=save_dir,
            progress=progress,
        )


def validate_functions(
    functions: Functions,
    folder: WeightsFolder,
    cases: Sequence[Case],
    *,
    artifact: str,
    opt_level: int,
    precision: str = "float32",
    save_dir: Path | None = None,
    progress: Progress | None = None,
) -> ValidationReport:
    """`validate` for functions that are no artifact yet: a mapping of (some of) the six names to
    callables.

    A callable takes the function's numpy arrays and returns an array, or a tuple of arrays.
    `artifact` names them in the report. `precision` is that of the decoder's products: a reduced
    one is held to a signal-to-noise ratio (`gates.DECODER_SNR`).
    """
    require_torch()
    import torch

    from ..artifact.cache import cache_root
    from ..compiler.weights import load_model, load_voices
    from .reference import ReferenceModel
    from .references import ReferenceWeights
    from .store import ReferenceStore

    weights = ReferenceWeights(
        sha256=folder.info.sha256,
        source=folder.info.source,
        models=lambda: (
            ReferenceModel(load_model(folder), torch.float64),
            ReferenceModel(load_model(folder), torch.float32),
        ),
        voices=load_voices(folder),
    )
    return compare_functions(
        functions,
        weights,
        cases,
        store=ReferenceStore(cache_root() / STORE_FOLDER, weights.sha256),
        artifact=artifact,
        opt_level=opt_level,
        precision=precision,
        save_dir=save_dir,
        progress=progress,
    )


def compare_functions(
    functions: Functions,
    weights: ReferenceWeights,
    cases: Sequence[Case],
    *,
    store: ReferenceStore | None,
    artifact: str,
    opt_level: int,
    precision: str = "float32",
    save_dir: Path | None = None,
    progress: Progress | None = None,
) -> ValidationReport:
    """Run the cases and gather the report; `store` None computes every reference anew."""
    from .compare import FUNCTION_NAMES, case_result, compare_case, whole_audio
    from .gates import reduced_note
    from .references import References
    from .saved_audio import save_case
    from .store import package_versions

    if not cases:
        raise InputError("no cases to validate")
    unknown = sorted(set(functions) - set(FUNCTION_NAMES))
    if unknown:
        raise InputError(f"no such functions: {unknown}; known are {', '.join(FUNCTION_NAMES)}")
    prepare_save_dir(save_dir)
    tell: Progress = progress if progress is not None else _silent
    references = References(weights, store, tell)
    notes = []
    resolved = resolve_voices(cases, list(weights.voices))
    for wanted, case in zip(cases, resolved, strict=True):
        if case != wanted:
            notes.append(
                f"{case.name}: the weights have no voice {wanted.voice!r}, took {case.voice!r}"
            )
    results: list[CaseResult] = []
    comparisons: list[Comparison] = []
    for number, case in enumerate(resolved, start=1):
        obtained = references.get(case)
        comparison = compare_case(functions, obtained.reference, precision)
        origin = "cached" if obtained.cached else "computed"
        result = case_result(obtained.reference, comparison, origin, obtained.time)
        results.append(result)
        tell(f"[{number}/{len(resolved)}] {_line(result, comparison)}")
        if save_dir is not None:
            save_case(
                save_dir / f"{number:02d}-{case.name}", obtained.reference, comparison.outputs
            )
        # The arrays of a long case are large, its figures are not.
        comparisons.append(comparison.without_outputs())
    whole = None
    if precision == "float32":
        whole = whole_audio(comparisons, sum(result.seconds for result in results))
    else:
        notes.append(reduced_note(precision))
    return ValidationReport(
        artifact=artifact,
        weights={"source": weights.source, "sha256": weights.sha256},
        opt_level=opt_level,
        versions=package_versions(),
        cases=tuple(results),
        measurements=tuple(m for c in comparisons for m in c.measurements),
        whole=whole,
        skipped=tuple(name for name in FUNCTION_NAMES if name not in functions),
        notes=(*notes, *references.notes),
    )


def weights_of(recorded: WeightsInfo, spec: str | Path | None) -> WeightsFolder:
    """The weights that an artifact was built from, by its manifest's record or by `spec`.

    Raises InputError naming both hashes where what is found are other weights.
    """
    require_torch()
    from ..compiler.weights import resolve

    wanted = (
        str(spec) if spec is not None else "synthetic" if recorded.synthetic else recorded.source
    )
    folder = resolve(wanted, seed=recorded.seed or 0)
    if folder.info.sha256 != recorded.sha256:
        raise InputError(
            f"the artifact was built from {_described(recorded)}, but --weights {wanted} gives "
            f"{_described(folder.info)}: name the weights it was built from with --weights"
        )
    return folder


def require_torch() -> None:
    """Raise EnvironmentFault, naming the remedy, where the reference's packages are missing."""
    import importlib.util

    missing = [name for name in ("torch", "kokoro") if importlib.util.find_spec(name) is None]
    if missing:
        raise EnvironmentFault(
            f"validation compares with PyTorch and needs {' and '.join(missing)}: "
            "pip install 'tvm-kokoro[build]'"
        )


def prepare_save_dir(save_dir: Path | None) -> None:
    """Make the folder before the work of minutes; raises EnvironmentFault where that fails."""
    from ..artifact.disk import writing

    if save_dir is not None:
        with writing(save_dir):
            save_dir.mkdir(parents=True, exist_ok=True)


def _described(info: WeightsInfo) -> str:
    seed = f" seed {info.seed}" if info.synthetic else ""
    revision = f" revision {info.revision}" if info.revision else ""
    return f"{info.source}{seed}{revision} (sha256 {info.sha256})"


def _line(result: CaseResult, comparison: Comparison) -> str:
    missed = [f"{m.step} {m.quantity}" for m in comparison.measurements if not m.passed]
    verdict = f"misses {', '.join(missed)}" if missed else "ok"
    return (
        f"{result.name}: {result.tokens} tokens, {result.seconds:.2f} s of audio, "
        f"reference {result.reference} in {result.reference_time:.1f} s, "
        f"functions {result.compiled_time:.2f} s: {verdict}"
    )


def _silent(_: str) -> None:
    pass
