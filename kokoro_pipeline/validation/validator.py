"""End-to-end validation of an artifact, or of any six functions, against PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import EnvironmentFault, InputError
from ..extras import install_command
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

    `weights` is a specification as for `build`, by default the weights recorded in the manifest;
    their hash must be that of the artifact's weights. `cases` is "full" (20 cases, less than 120 s
    of audio), "short" (4 cases), or a list of cases; by default "full". For artifacts built with
    `--opt 0`, the built-in cases are truncated to 16 frames. `device` is the device to run on, as
    for `load`. `save_dir` is a folder for the audio and the intermediate results of every case.
    `progress` is called with lines of text.

    An artifact of an ONNX file is compared with ONNX Runtime (`graph_reference`), and `weights` is
    that file; `save_dir` is not for it.

    The first full run takes minutes, mostly for PyTorch in float64, whose results are cached by the
    hash of the weights.

    Raises InputError if the weights are not those of the artifact, EnvironmentFault if torch or
    kokoro is missing, and ArtifactError if the artifact cannot be loaded. A missed tolerance does
    not raise an exception: see `ValidationReport.passed`.
    """
    from ..artifact.reader import Artifact, open_artifact
    from ..config import load_config
    from ..runtime import load
    from ..runtime.voices import load_voice
    from .graph_reference import compare_graph, open_file

    path = Path(artifact)
    manifest = open_artifact(path).manifest
    if cases is None or isinstance(cases, str):
        cases = select_cases(manifest.opt_level, cases or "full")
    prepare_save_dir(save_dir)
    if manifest.is_graph:
        if save_dir is not None:
            raise InputError(
                f"{path} was built from an ONNX file, and --save-dir is for the intermediate "
                "results of PyTorch: leave it out"
            )
        file = open_file(weights or manifest.weights.source, manifest.weights.sha256)
        artifact_voices = Artifact(path, manifest).voices
        with load(path, device=device) as synthesizer:
            return compare_graph(
                synthesizer.functions,
                file,
                load_config(Artifact(path, manifest).config),
                {name: load_voice(name, artifact_voices) for name in manifest.voices},
                cases,
                artifact=str(path),
                opt_level=manifest.opt_level,
                progress=progress,
            )
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
    """Like `validate`, for functions that are not part of an artifact yet.

    `functions` maps some or all of the six names to callables, which take numpy arrays and return
    an array or a tuple of arrays. `artifact` names them in the report. `precision` is that of the
    decoder's products: with reduced precision, the audio is judged by its signal-to-noise ratio
    (`gates.DECODER_SNR`).
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
    """Run the cases and create the report; without a `store`, every reference is computed."""
    from .compare import FUNCTION_NAMES, case_result, compare_case, whole_audio
    from .gates import is_reduced, reduced_note
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
        # Keep only the figures, since the arrays of a long case are large.
        comparisons.append(comparison.without_outputs())
    whole = None
    if not is_reduced(precision):
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
    """Find the weights that an artifact was built from, by its manifest or by `spec`.

    Raises InputError, with both hashes, if the weights found are different ones.
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
    """Raise EnvironmentFault, with a remedy, if packages for the reference are missing."""
    import importlib.util

    missing = [name for name in ("torch", "kokoro") if importlib.util.find_spec(name) is None]
    if missing:
        raise EnvironmentFault(
            f"validation compares with PyTorch and needs {' and '.join(missing)}: "
            f"{install_command('build')}"
        )


def prepare_save_dir(save_dir: Path | None) -> None:
    """Create the folder before the computation starts. Raises EnvironmentFault if that fails."""
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
