"""A report as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .benchmark_report import (
    ArtifactFacts,
    BenchmarkReport,
    FreshResult,
    KernelTable,
    LongTextResult,
    SpeedResult,
)
from .kernels import KernelSpeed
from .samples import Summary

KERNEL_HEAD = ("kernel", "median µs", "best µs", "GFLOP/s", "of peak", "own GEMM, of peak", "GB/s")


def markdown(report: BenchmarkReport) -> str:
    """The whole report."""
    return "\n\n".join(section for section in _sections(report) if section)


def markdown_row(cells: Iterable[str]) -> str:
    """One line of a table."""
    return "| " + " | ".join(cells) + " |"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; all columns but the first are right-aligned."""
    rule = "|---|" + "---:|" * (len(head) - 1)
    return "\n".join([markdown_row(head), rule, *(markdown_row(row) for row in rows)])


def kernel_row(speed: KernelSpeed) -> tuple[str, ...]:
    """The row of a kernel for KERNEL_HEAD; shares and rates are those of the best repeat."""
    return (
        speed.name,
        f"{speed.median * 1e6:.0f}",
        f"{speed.best * 1e6:.0f}",
        format_number(speed.gflops, ".1f"),
        format_number(speed.share, ".0%"),
        format_number(speed.own_share, ".0%"),
        format_number(speed.gigabytes, ".1f"),
    )


def _sections(report: BenchmarkReport) -> Iterator[str]:
    yield _about(report)
    if report.speeds:
        yield "### Speed\n\n" + _speeds(report.speeds)
        yield "### Steps, ms\n\n" + _steps(report.speeds)
    if report.long_texts:
        yield "### First audio of a text of 2,000 words, ms\n\n" + _long_texts(report.long_texts)
    if report.fresh:
        yield "### Fresh processes\n\n" + _fresh(report.fresh)
    if report.speeds:
        yield "### Parameters\n\n" + _parameters(report.artifact)
    if report.peers is not None:
        yield from report.peers.sections()
    for table in report.kernels:
        yield _kernels(table)


def _about(report: BenchmarkReport) -> str:
    artifact, machine = report.artifact, report.machine
    weights = artifact.weights
    source = weights.source + (f" at {weights.revision[:12]}" if weights.revision else "")
    if weights.synthetic:
        source = f"synthetic, seed {weights.seed}"
    memory = (
        "" if machine.memory_bytes is None else f", {machine.memory_bytes / 1e9:.0f} GB of memory"
    )
    load = "" if machine.load is None else f", load {machine.load:.2f} at the start"
    lines = [
        f"artifact: {artifact.path}, opt level {artifact.opt_level}, {artifact.mcpu}; "
        f"weights {source}",
        f"machine: {machine.cpu}, {machine.usable_cpus} of {machine.cpus} CPUs{memory}; "
        f"{machine.system}{load}",
        f"versions: Python {machine.python}, "
        + ", ".join(f"{name} {version}" for name, version in sorted(report.versions.items())),
    ]
    if report.speeds:
        lines.append(
            f"method: medians of {report.repeats} repeats after {report.warm_up} to warm up, "
            "in turns"
        )
    return "\n".join(f"- {line}" for line in lines)


def _speeds(results: Sequence[SpeedResult]) -> str:
    head = ("audio", "tokens", "chunks", "threads", "RTF", "total ms", "CPU ms", "first audio ms")
    rows = [
        (
            f"{r.utterance.seconds:.2f} s",
            str(r.utterance.tokens),
            str(r.utterance.chunks),
            str(r.threads),
            f"{r.rtf:.3f}",
            format_spread(r.total),
            f"{1000 * r.cpu.median:.0f}",
            f"{1000 * r.first_audio.median:.0f}",
        )
        for r in results
    ]
    return markdown_table(head, rows)


def _steps(results: Sequence[SpeedResult]) -> str:
    head = ("step", *(f"{r.utterance.seconds:.2f} s, {format_threads(r.threads)}" for r in results))
    rows = [
        (name, *(_share(r.steps[name], sum(r.steps.values())) for r in results))
        for name in results[0].steps
    ]
    return markdown_table(head, rows)


def _long_texts(results: Sequence[LongTextResult]) -> str:
    head = ("threads", "first audio", "its first sentence alone", "ratio")
    rows = [
        (
            str(r.threads),
            format_spread(r.first_audio),
            format_spread(r.sentence_alone),
            f"{r.first_audio.median / r.sentence_alone.median:.2f}",
        )
        for r in results
    ]
    return markdown_table(head, rows)


def _fresh(results: Sequence[FreshResult]) -> str:
    times = ("start to first sample ms", "outside compiled code ms")
    head = ("audio", "threads", *times, "peak memory MB", "anonymous MB", "mapped files MB")
    rows = [
        (
            f"{r.utterance.seconds:.2f} s",
            str(r.threads),
            f"{1000 * r.cold_start.seconds:.0f}",
            f"{1000 * r.cold_start.outside:.0f}",
            format_megabytes(r.cold_start.memory.peak),
            format_megabytes(r.cold_start.memory.anonymous),
            format_megabytes(r.cold_start.memory.files),
        )
        for r in results
    ]
    return markdown_table(head, rows)


def _parameters(artifact: ArtifactFacts) -> str:
    rows = [(name, format_megabytes(size)) for name, size in artifact.parameters_of.items()]
    rows += [
        ("on disk and mapped, each once", format_megabytes(artifact.parameter_bytes)),
        ("library", format_megabytes(artifact.library_bytes)),
    ]
    return markdown_table(("parameters of", "MB"), rows)


def _kernels(table: KernelTable) -> str:
    peaks = [kernel.peak_gflops for kernel in table.kernels]
    return (
        f"### Kernels, {table.mcpu}, {table.lanes} lanes, {format_threads(table.threads)}\n\n"
        f"Shapes of {table.frames} frames. Peak {min(peaks):.0f} to {max(peaks):.0f} GFLOP/s, "
        "measured beside each kernel.\n\n"
        + markdown_table(KERNEL_HEAD, (kernel_row(kernel) for kernel in table.kernels))
    )


def format_threads(count: int) -> str:
    """`1 thread`, `2 threads`."""
    return "1 thread" if count == 1 else f"{count} threads"


def format_spread(summary: Summary) -> str:
    """Format median, best and worst in ms."""
    return f"{1000 * summary.median:.0f} ({1000 * summary.best:.0f}–{1000 * summary.worst:.0f})"


def _share(seconds: float, total: float) -> str:
    return f"{1000 * seconds:.1f} ({seconds / total:.0%})"


def format_megabytes(size: int | None) -> str:
    """A size in MB, empty if unknown."""
    return "" if size is None else f"{size / 1e6:.0f}"


def format_number(value: float | None, form: str) -> str:
    """A figure, empty if there is none."""
    return "" if value is None else format(value, form)
