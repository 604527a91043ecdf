"""The node tests of the package `onnx` through TVM's frontend, stock and with the extension.

    python tests/tvm_kokoro_ext/onnx_sweep.py [--write docs/onnx.md] [--only TEXT] [--every N]

Every case is the graph of one operator with its inputs and outputs. Each half runs in processes of
its own, since stock's frontend may end the process. Without `--write` the table goes to standard
output. The exit code is 1 if the extension is wrong or worse than stock anywhere.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

RIGHT, WRONG, REFUSED = "right", "wrong", "refused"
_REST = range(1, 8)
CONSTANT: dict[str, Sequence[int]] = {
    **dict.fromkeys(
        ("Expand", "Pad", "Reshape", "Resize", "Slice", "Split", "SplitToSequence", "Squeeze"),
        _REST,
    ),
    **dict.fromkeys(("Tile", "TopK", "Trilu", "Unsqueeze", "Upsample", "CumSum", "OneHot"), _REST),
    **dict.fromkeys(("CenterCropPad", "DFT", "STFT", "AffineGrid", "CumProd"), _REST),
    **{f"Reduce{kind}": _REST for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean")},
    **{f"Reduce{kind}": _REST for kind in ("Min", "Prod", "Sum", "SumSquare")},
    "Dropout": _REST,
    "NonMaxSuppression": range(2, 5),
    "ConstantOfShape": (0,),
    "Col2Im": (1, 2),
    "MelWeightMatrix": range(5),
    "Range": range(3),
}
"""Inputs that say sizes, axes, scales and the like, by operator: constants, as in most models."""

TRANSFORMS = ("DFT", "STFT")
"""Operators whose errors are relative to the largest element: the tests' own results round, too."""

_RANK = {RIGHT: 2, REFUSED: 1, WRONG: 0}
_MARK = "case:"


@dataclass(frozen=True)
class Outcome:
    """What became of one case, with the reason."""

    case: str
    operator: str
    domain: str
    result: str
    reason: str = ""


def cases(only: str = "", every: int = 1) -> list[Any]:
    """The node tests, in the order of their names."""
    import onnx.backend.test.loader

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = onnx.backend.test.loader.load_model_tests(kind="node")
    named = sorted((case for case in found if only in case.name), key=lambda case: case.name)
    return named[::every]


def operator_of(model: Any) -> tuple[str, str]:
    """The operator that a case is about, and its domain: the last one of the graph."""
    node = model.graph.node[-1]
    return node.op_type, node.domain or "ai.onnx"


def run_case(case: Any) -> Outcome:
    """Import, compile and run one case."""
    import onnx

    model = onnx.load(Path(case.model_dir) / "model.onnx") if case.model is None else case.model
    operator, domain = operator_of(model)
    sets = list(_data_sets(case, model))

    def outcome(result: str, reason: object = "") -> Outcome:
        text = f"{type(reason).__name__}: {reason}" if isinstance(reason, Exception) else reason
        return Outcome(case.name, operator, domain, result, " ".join(str(text).split())[:160])

    held: set[int] = set()
    if len(sets) == 1:
        model, held = _with_constants(model, sets[0][0])
    try:
        run = _compiled(model)
    except Exception as error:  # noqa: BLE001 - whatever is raised is the finding
        return outcome(REFUSED, error)
    for inputs, outputs in sets:
        try:
            found = run([value for at, value in enumerate(inputs) if at not in held])
        except Exception as error:  # noqa: BLE001
            return outcome(REFUSED, error)
        difference = _difference(found, outputs, case.rtol, case.atol, operator in TRANSFORMS)
        if difference:
            return outcome(WRONG, difference)
    return outcome(RIGHT)


def _with_constants(model: Any, inputs: Sequence[Any]) -> tuple[Any, set[int]]:
    """A copy of the model that holds the inputs of `CONSTANT`, and the places of these inputs."""
    import onnx
    from onnx import numpy_helper

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    names = [value.name for value in copy.graph.input]
    wanted = {
        node.input[at]
        for node in copy.graph.node
        for at in CONSTANT.get(node.op_type, ())
        if at < len(node.input)
    }
    held = {at for at, name in enumerate(names) if name in wanted and at < len(inputs)}
    for at in held:
        copy.graph.initializer.append(numpy_helper.from_array(np.asarray(inputs[at]), names[at]))
    kept = [value for at, value in enumerate(model.graph.input) if at not in held]
    del copy.graph.input[:]
    copy.graph.input.extend(kept)
    return copy, held


def _compiled(model: Any) -> Any:
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = from_onnx(model)
    names = [value.name for value in model.graph.input]
    taken = [str(p.name if hasattr(p, "name") else p.name_hint) for p in module["main"].params]
    executable = tvm.compile(module, tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    machine = relax.VirtualMachine(executable, tvm.cpu())

    def run(inputs: Sequence[Any]) -> list[Any]:
        if len(taken) != len(names):
            raise ValueError(f"the function takes {', '.join(taken)}")
        return _flat(machine["main"](*[tvm.runtime.tensor(np.asarray(i)) for i in inputs]))

    return run


def _flat(result: Any) -> list[Any]:
    import tvm

    if isinstance(result, tvm.ir.Array | tuple | list):
        return [array for part in result for array in _flat(part)]
    return [result.numpy() if hasattr(result, "numpy") else np.asarray(result)]


def _data_sets(case: Any, model: Any) -> Iterable[tuple[list[Any], list[Any]]]:
    import onnx
    from onnx import numpy_helper

    if case.data_sets is not None:
        for inputs, outputs in case.data_sets:
            yield inputs, list(map(_array, outputs))
        return
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        both = []
        for kind in ("input", "output"):
            arrays = []
            for at in range(len(list(folder.glob(f"{kind}_*.pb")))):
                tensor = onnx.TensorProto()
                tensor.ParseFromString((folder / f"{kind}_{at}.pb").read_bytes())
                arrays.append(numpy_helper.to_array(tensor))
            both.append(arrays)
        yield both[0], both[1]


def _array(value: Any) -> Any:
    """An output of a case, which may be given as a message."""
    import onnx

    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _difference(
    got: Sequence[Any], want: Sequence[Any], rtol: float, atol: float, of_peak: bool = False
) -> str:
    """What differs; "" if nothing does. `of_peak` allows two units of the largest element."""
    wanted = [np.asarray(array) for part in want for array in (part if _listed(part) else [part])]
    if len(got) < len(wanted):
        return f"{len(got)} results for {len(wanted)}"
    for mine, theirs in zip(got, wanted, strict=False):
        mine = np.asarray(mine)
        if mine.shape != theirs.shape:
            return f"the shape is {list(mine.shape)} for {list(theirs.shape)}"
        if mine.dtype != theirs.dtype:
            return f"the dtype is {mine.dtype} for {theirs.dtype}"
        if theirs.dtype.kind in "biu":
            same = np.array_equal(mine, theirs)
        else:
            wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
            unit = 2 * float(np.finfo(theirs.dtype).eps) if of_peak else 0.0
            mine, theirs, floor = mine.astype(wide), theirs.astype(wide), _unit(theirs)
            peak = np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0)
            bounds = {"rtol": max(rtol, floor), "atol": max(atol, floor * peak, unit * peak)}
            same = np.allclose(mine, theirs, equal_nan=True, **bounds)
        if not same:
            return "the values differ"
    return ""


def _unit(array: Any) -> float:
    """Two units in the last place of a dtype of two bytes or less: tests round at each step."""
    import ml_dtypes

    return 2 * float(ml_dtypes.finfo(array.dtype).eps) if array.dtype.itemsize <= 2 else 0.0


def _listed(value: Any) -> bool:
    return isinstance(value, list | tuple)


def child(stock: bool, only: str, every: int, skipped: set[str]) -> None:
    """Run cases and print an outcome a line, preceded by the name of the case."""
    if not stock:
        import tvm_kokoro_ext

        tvm_kokoro_ext.activate()
    for case in cases(only, every):
        if case.name not in skipped:
            print(f"{_MARK}{case.name}", flush=True)
            print(json.dumps(run_case(case).__dict__), flush=True)


def outcomes(stock: bool, only: str = "", every: int = 1) -> dict[str, Outcome]:
    """The outcomes of all cases; one that ends its process, or takes too long, is refused."""
    found: dict[str, Outcome] = {}
    known = {case.name: case for case in cases(only, every)}
    while len(found) < len(known):
        before = len(found)
        command = [sys.executable, __file__, "--child", "stock" if stock else "extension"]
        command += ["--only", only, "--every", str(every)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(sorted(found)))
        process.stdin.close()
        running = ""
        for line in process.stdout:
            if line.startswith(_MARK):
                running = line[len(_MARK) :].strip()
            elif line.startswith("{"):
                outcome = Outcome(**json.loads(line))
                found[outcome.case] = outcome
                running = ""
        code = process.wait()
        if running:
            model = known[running].model
            operator, domain = operator_of(model) if model is not None else (running, "ai.onnx")
            reason = f"ends the process ({code})"
            found[running] = Outcome(running, operator, domain, REFUSED, reason)
        if len(found) == before:
            raise RuntimeError(f"the process for {'stock' if stock else 'the extension'} failed")
    return found


def worse(stock: dict[str, Outcome], extension: dict[str, Outcome]) -> list[str]:
    """The cases in which the extension does worse than stock."""
    return [
        f"{name}: {stock[name].result} -> {own.result} ({own.reason})"
        for name, own in extension.items()
        if _RANK[own.result] < _RANK[stock[name].result]
    ]


def page(stock: dict[str, Outcome], extension: dict[str, Outcome], versions: str) -> str:
    """The page as Markdown."""
    rows: dict[tuple[str, str], list[Counter[str]]] = defaultdict(lambda: [Counter(), Counter()])
    for which, found in enumerate((stock, extension)):
        for outcome in found.values():
            rows[outcome.domain, outcome.operator][which][outcome.result] += 1
    totals = [Counter(o.result for o in found.values()) for found in (stock, extension)]
    lines = [
        "# ONNX",
        "",
        "What becomes of the node tests of the package `onnx` (`onnx.backend.test`) in TVM's ONNX "
        "frontend, as released and with",
        "[the extension](extension.md#onnx). Each test is a graph of one operator with inputs and "
        "outputs; it is imported, compiled for the CPU and",
        "run. A result is right where shape, dtype and values are those of the test, to its "
        "tolerances (two units in the last place in float16",
        "and bfloat16); refused are those that raise, in import, compilation or the run, and those "
        "that end the process. Inputs that say sizes,",
        "axes or scales are constants, as in most models.",
        "",
        f"Written by `python tests/tvm_kokoro_ext/onnx_sweep.py --write docs/onnx.md` with "
        f"{versions}.",
        "",
        "| of the tests | right | wrong | refused |",
        "|---|---:|---:|---:|",
    ]
    for name, total in zip(("stock", "extension"), totals, strict=True):
        lines.append(f"| {name} | {total[RIGHT]} | {total[WRONG]} | {total[REFUSED]} |")
    count = len(worse(stock, extension))
    lines += [
        "",
        f"The extension is worse than stock in {count} of {len(stock)} tests.",
        "",
        "| operator | tests | stock right | wrong | refused | extension right | wrong | refused |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for (domain, operator), (before, after) in sorted(rows.items()):
        name = operator if domain == "ai.onnx" else f"{operator} ({domain})"
        figures = [c[key] for c in (before, after) for key in (RIGHT, WRONG, REFUSED)]
        cells = " | ".join(str(figure) for figure in figures)
        lines.append(f"| {name} | {sum(before.values())} | {cells} |")
    return "\n".join(lines) + "\n"


def _earlier(details: Path) -> dict[str, Outcome]:
    rows = [json.loads(line)["stock"] for line in details.read_text("utf-8").splitlines()]
    return {row["case"]: Outcome(**row) for row in rows}


def main() -> int:
    """Run both halves and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name has TEXT")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth case")
    parser.add_argument("--details", type=Path, metavar="FILE", help="outcomes as JSON lines")
    parser.add_argument("--stock", type=Path, metavar="FILE", help="stock's outcomes of --details")
    parser.add_argument("--child", choices=("stock", "extension"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child == "stock", args.only, args.every, set(json.load(sys.stdin)))
        return 0
    from importlib.metadata import version

    stock = _earlier(args.stock) if args.stock else outcomes(True, args.only, args.every)
    extension = outcomes(False, args.only, args.every)
    if args.details:
        rows = [
            {"stock": stock[name].__dict__, "extension": own.__dict__}
            for name, own in extension.items()
        ]
        args.details.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    versions = ", ".join(f"{name} {version(name)}" for name in ("apache-tvm", "onnx"))
    text = page(stock, extension, versions)
    if args.write:
        args.write.write_text(text, "utf-8")
    else:
        print(text)
    found = worse(stock, extension)
    found += [f"{o.case}: {o.reason}" for o in extension.values() if o.result == WRONG]
    for line in found:
        print(line, file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
