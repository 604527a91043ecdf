"""`kokoro-pipeline doctor`: check this machine and show what is missing, with remedies."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from . import arguments, doctor_checks, doctor_cuda, exit_codes
from .command import Command
from .console import Console, table
from .finding import Finding

Probe = Callable[[], list[Finding]]

PROBES: tuple[Probe, ...] = (
    doctor_checks.python,
    doctor_checks.cpu,
    doctor_checks.tvm_pair,
    doctor_checks.runtime,
    doctor_checks.compiler_and_fixes,
    doctor_checks.build_packages,
    doctor_checks.linker,
    doctor_cuda.cuda_compiler,
    doctor_cuda.cuda_driver,
    doctor_checks.text,
    doctor_checks.audio_packages,
    doctor_checks.extras,
    doctor_checks.hub,
    doctor_checks.cached_weights,
    doctor_checks.cached_artifacts,
)
"""In the order of the output. They run concurrently, as some wait for processes or the network."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    arguments.add_json(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Show every finding; returns 1 if something required is broken."""
    console.progress("looking at this machine …")
    findings = examine(PROBES)
    broken = [finding for finding in findings if finding.state == "broken"]
    if args.json:
        console.json({"healthy": not broken, "findings": findings})
    else:
        console.data(screen(findings))
    return exit_codes.FAILED_CHECK if broken else exit_codes.OK


def examine(asked: tuple[Probe, ...]) -> list[Finding]:
    """The findings of all probes, in the order of the probes."""
    with ThreadPoolExecutor(max_workers=len(asked)) as pool:
        return [finding for found in pool.map(_examine_one, asked) for finding in found]


def screen(findings: list[Finding]) -> str:
    """Format the findings as lines, each followed by its remedy, and a verdict."""
    marks = {"ok": "ok", "absent": "--", "warning": "warning", "broken": "BROKEN"}
    width = max(len(finding.part) for finding in findings)
    lines = []
    for finding in findings:
        row = (marks[finding.state].ljust(7), finding.part.ljust(width), finding.detail)
        lines.append(table([row]))
        if finding.remedy and finding.state != "ok":
            lines.append(f"{'':7}  {'':{width}}  -> {finding.remedy}")
    broken = [finding.part for finding in findings if finding.state == "broken"]
    verdict = f"broken: {', '.join(broken)}" if broken else "nothing required is broken"
    return "\n".join([*lines, verdict])


def _examine_one(probe: Probe) -> list[Finding]:
    try:
        return probe()
    except Exception as error:  # noqa: BLE001 -- a part so ill that asking fails is a finding
        return [
            Finding(
                probe.__name__.replace("_", " "),
                "broken",
                f"asking failed: {type(error).__name__}: {error}",
                "please report this",
            )
        ]


COMMAND = Command(
    name="doctor",
    summary="show what this machine has and lacks, with remedies",
    configure=configure,
    run=run,
    epilog="Exit code 1 where something that is required is broken.",
)
