"""Try every model with the extension and with stock, and write docs/models.md.

    python tests/models/report.py [--only NAME] [--results FILE.jsonl] [--keep]

Each model and dtype runs in a process of its own. The outcomes are appended to the file of results;
`--keep` runs only what it does not have yet, and `--limit 0` only writes the page. An hour on two
cores.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
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
}


def run(model: Model, dtype: str) -> list[dict[str, Any]]:
    """The outcomes of one model, from processes of its own."""
    found: list[dict[str, Any]] = []
    for by in ("extension", "stock"):
        command = [sys.executable, HERE / "run_model.py", model.name, "--dtype", dtype, "--by", by]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            lines, code = ran.stdout.splitlines(), ran.returncode
        except subprocess.TimeoutExpired:
            lines, code = [], "timeout"
        outcomes = [json.loads(line) for line in lines if line.startswith("{")]
        found += outcomes
        done = {o["variant"] for o in outcomes}
        for variant in {"static", "dynamic"} - done if code else ():
            record = {"model": model.name, "dtype": dtype, "variant": variant, "by": by}
            found.append(record | {"result": "crashed", "detail": f"exit code {code}"})
    return found


def _seconds(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    both = (before.get("import_seconds"), after.get("import_seconds"))
    if before["result"] != "right" or after["result"] != "right" or not all(both):
        return ""
    return f"{both[1] / both[0]:.2f}"


def page(outcomes: Iterable[Mapping[str, Any]]) -> str:
    """The page, from all outcomes; the last one of each case counts."""
    latest = {(o["model"], o["dtype"], o["variant"], o["by"]): o for o in outcomes}
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
                    f"| {results} | {_seconds(stock, own)} |"
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
    options = parser.parse_args(argv)
    cases = [(m, d) for m in MODELS for d in m.dtypes if not options.only or m.name in options.only]
    cases = [(m, d) for m, d in cases if importlib.util.find_spec(m.library) is not None]
    known = _read(options.results)
    if options.keep:
        done = {(o["model"], o["dtype"]) for o in known}
        cases = [(m, d) for m, d in cases if (m.name, d) not in done]
    for model, dtype in cases[: options.limit]:
        print(f"{model.name} {dtype}", file=sys.stderr, flush=True)
        with options.results.open("a", encoding="utf-8") as file:
            for outcome in run(model, dtype):
                file.write(json.dumps(outcome) + "\n")
    PAGE.write_text(page(_read(options.results)), "utf-8")


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


if __name__ == "__main__":
    main()
