"""Plot of RTF against length."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..artifact.disk import writing
from ..errors import EnvironmentFault, InputError
from ..extras import install_command
from .benchmark_report import BenchmarkReport

_KINDS = (".png", ".svg", ".pdf")


def check_plot(path: Path) -> None:
    """Check that `plot_rtf` can draw, to be called before anything is measured.

    Raises InputError for an invalid file name, EnvironmentFault without matplotlib.
    """
    if path.suffix.lower() not in _KINDS:
        raise InputError(f"--plot {path}: the name must end in one of {', '.join(_KINDS)}")
    if not path.parent.is_dir():
        raise InputError(f"--plot {path}: there is no folder {path.parent}")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise EnvironmentFault(
            f"drawing needs matplotlib ({error}): {install_command('bench')}"
        ) from error


def rtf_curves(report: BenchmarkReport) -> dict[str, list[tuple[float, float]]]:
    """Points (seconds of audio, RTF) in order of length, by runtime and threads.

    Our points are from the utterances measured alone, those of peers from the comparison.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    rows = [("ours", s.threads, s.utterance.seconds, s.rtf) for s in report.speeds]
    rows += [] if report.peers is None else report.peers.curve()
    for name, threads, seconds, rtf in rows:
        label = f"{name}, {threads} thread{'s' if threads > 1 else ''}"
        curves.setdefault(label, []).append((seconds, rtf))
    return {label: sorted(points) for label, points in curves.items()}


def plot_rtf(report: BenchmarkReport, path: Path) -> None:
    """Plot RTF against length. Raises EnvironmentFault if the file cannot be written."""
    from matplotlib.figure import Figure

    curves: Mapping[str, list[tuple[float, float]]] = rtf_curves(report)
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for label, points in curves.items():
        ours = label.startswith("ours")
        lengths, rtfs = zip(*points, strict=True)
        axes.plot(
            lengths, rtfs, marker="o", label=label, linewidth=2.5 if ours else 1.2, linestyle="-"
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("length of the audio, s")
    axes.set_ylabel("real-time factor (time / length)")
    axes.set_title(f"Kokoro-82M, float32, {report.machine.cpu}")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    with writing(path):
        figure.savefig(path, dpi=120)
