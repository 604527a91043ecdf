"""Try every model with the extension and with stock, and write docs/models.md.

    python tests/models/report.py [--only NAME] [--results FILE.jsonl] [--keep] [--pairs 3]

Each model and dtype runs in a process of its own. The outcomes are appended to the file of results;
`--keep` runs only what it does not have yet, and `--limit 0` only writes the page. An hour on two
cores. `--pairs` measures, for what both have right, how long importing and running take: so many
pairs of processes, stock and the extension in turns. A minute or two for each model.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from catalogue import (  # noqa: E402 - beside this script
    MODELS,
    Model,
)

PAGE = HERE.parent.parent / "docs" / "models.md"
SECONDS = 900
#: What the page says of an outcome.
WORDS = {
    "right": "right",
    "wrong": "**wrong**",
    "refused": "refused",
    "failed": "fails",
    "not exported": "–",
    "crashed": "**crashes**",
    "unfinished": "unfinished",
}


def run(model: Model, dtype: str) -> list[dict[str, Any]]:
    """The outcomes of one model, from processes of its own."""
    found: list[dict[str, Any]] = []
    for by in ("extension", "stock"):
        command = [sys.executable, HERE / "run_model.py", model.name, "--dtype", dtype, "--by", by]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            said, code = ran.stdout, ran.returncode
        except subprocess.TimeoutExpired as late:  # of the variants before, it has the outcomes
            said = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
            code = None
        lines = said.splitlines()
        outcomes = [json.loads(line) for line in lines if line.startswith("{")]
        found += outcomes
        done = {o["variant"] for o in outcomes}
        for variant in {"static", "dynamic"} - done if code != 0 else ():
            record = {"model": model.name, "dtype": dtype, "variant": variant, "by": by}
            if code is None:
                record |= {"result": "unfinished", "detail": f"not ended after {SECONDS} s"}
            else:
                record |= {"result": "crashed", "detail": f"exit code {code}"}
            found.append(record)
    return found


def measure(model: str, dtype: str, variant: str, pairs: int) -> dict[str, Any]:
    """The medians of the times of both, each from a process of its own, in turns."""
    times: dict[str, list[dict[str, float]]] = {"stock": [], "extension": []}
    for number in range(pairs):
        for by in ("stock", "extension") if number % 2 == 0 else ("extension", "stock"):
            command = [sys.executable, HERE / "run_model.py", model, "--dtype", dtype]
            command += ["--variant", variant, "--by", by, "--measure"]
            ran = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=True,
                env=os.environ | {"TVM_NUM_THREADS": "1"},
            )
            times[by].append(json.loads(ran.stdout.splitlines()[-1]))
    medians = {
        by: {key: statistics.median(one[key] for one in found) for key in found[0]}
        for by, found in times.items()
    }
    return {"model": model, "dtype": dtype, "variant": variant, "pairs": pairs} | medians


def _ratios(times: Mapping[str, Any] | None) -> str:
    """The cells of a row: the extension's time by stock's, of importing and of running."""
    if times is None:
        return " | "
    stock, own = times["stock"], times["extension"]
    return " | ".join(f"{own[k] / stock[k]:.2f}" for k in ("import_seconds", "run_seconds"))


def page(outcomes: Iterable[Mapping[str, Any]]) -> str:
    """The page, from all outcomes and times; the last ones of each case count."""
    found = list(outcomes)
    latest = {(o["model"], o["dtype"], o["variant"], o["by"]): o for o in found if "by" in o}
    times = {(o["model"], o["dtype"], o["variant"]): o for o in found if "pairs" in o}
    rows, notes, counts = [], [], {}
    for model in MODELS:
        for dtype in model.dtypes:
            for variant in ("static", "dynamic"):
                stock = latest.get((model.name, dtype, variant, "stock"))
                own = latest.get((model.name, dtype, variant, "extension"))
                if stock is None or own is None:
                    continue
                results = f"{WORDS[stock['result']]} | {WORDS[own['result']]}"
                rows.append(
                    f"| `{model.name}` | {model.library}, {model.kind} | {dtype} | {variant} "
                    f"| {results} | {_ratios(times.get((model.name, dtype, variant)))} |"
                )
                for by, part in (("stock", stock), ("extension", own)):
                    counts.setdefault(by, {}).setdefault(part["result"], 0)
                    counts[by][part["result"]] += 1
                if own["result"] != "right":
                    notes.append(f"- `{model.name}`, {dtype}, {variant}: {own['detail'][:240]}")
    tried = len({row.split("|")[1] for row in rows})
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}"
        for name in ("apache-tvm", "torch", "transformers", "timm", "torchvision")
        if importlib.util.find_spec(name.replace("apache-", "")) is not None
    )
    summary = "\n".join(
        f"| {by} | " + " | ".join(str(counts.get(by, {}).get(kind, 0)) for kind in WORDS) + " |"
        for by in ("stock", "extension")
    )
    return (
        TEMPLATE.read_text("utf-8")
        .replace("@TRIED@", str(tried))
        .replace("@VERSIONS@", versions)
        .replace("@HEADS@", " | ".join(WORDS))
        .replace("@RULE@", "|".join("---" for _ in WORDS))
        .replace("@SUMMARY@", summary)
        .replace("@ROWS@", "\n".join(rows))
        .replace("@NOTES@", "\n".join(notes) or "None.")
    )


TEMPLATE = HERE / "page_template.md"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", help="only these models")
    parser.add_argument("--results", type=Path, default=Path("models.jsonl"))
    parser.add_argument("--keep", action="store_true", help="leave out what the results have")
    parser.add_argument("--limit", type=int, help="run at most so many cases")
    parser.add_argument("--pairs", type=int, default=0, help="pairs of processes to measure")
    options = parser.parse_args(argv)
    cases = [(m, d) for m in MODELS for d in m.dtypes if not options.only or m.name in options.only]
    cases = [(m, d) for m, d in cases if importlib.util.find_spec(m.library) is not None]
    known = _read(options.results)
    if options.keep:
        done = {(o["model"], o["dtype"]) for o in known if "by" in o}
        cases = [(m, d) for m, d in cases if (m.name, d) not in done]
    for model, dtype in cases[: options.limit]:
        print(f"{model.name} {dtype}", file=sys.stderr, flush=True)
        with options.results.open("a", encoding="utf-8") as file:
            for outcome in run(model, dtype):
                file.write(json.dumps(outcome) + "\n")
    for model, dtype, variant in (
        _to_measure(options.results, options.only) if options.pairs else ()
    ):
        print(f"{model} {dtype} {variant}: times", file=sys.stderr, flush=True)
        times = measure(model, dtype, variant, options.pairs)
        with options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(times) + "\n")
    PAGE.write_text(page(_read(options.results)), "utf-8")


def _to_measure(results: Path, only: Sequence[str] | None) -> list[tuple[str, str, str]]:
    """What both have right and nobody has measured yet."""
    found = _read(results)
    right: dict[tuple[str, str, str], set[str]] = {}
    for one in found:
        key = (one["model"], one["dtype"], one["variant"])
        if one.get("result") == "right" and (not only or one["model"] in only):
            right.setdefault(key, set()).add(one["by"])
    done = {(o["model"], o["dtype"], o["variant"]) for o in found if "pairs" in o}
    return [key for key, both in right.items() if len(both) == 2 and key not in done]


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


if __name__ == "__main__":
    main()
