"""The benchmark scripts: each starts, and the table of errors is within its bounds."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("tvm")
pytest.importorskip("torch")

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run_main(monkeypatch, capsys) -> Callable[..., str]:
    """`run_main(module, *arguments)`: what it prints."""

    def run(module: ModuleType, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [str(module.__file__), *arguments])
        module.main()
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_starts(name, run_main, capsys):
    module = load_script(name)
    with pytest.raises(SystemExit) as ended:
        run_main(module, "--help")
    assert ended.value.code == 0
    assert "usage:" in capsys.readouterr().out


@pytest.mark.parametrize(("damage", "right"), [(0.0, True), (1e-3, False)], ids=("right", "wrong"))
def test_the_table_of_errors_shows_a_wrong_kernel(damage, right, run_main, monkeypatch):
    module = load_script("kernel_errors")
    case = module.product

    def damaged(target):
        made = case(target, 17, 8, 5)
        wrong = [made.arguments[0] * (1 + damage), *made.arguments[1:]]
        return module.Case(
            made.name, made.kernel, [wrong[0].astype("float32"), wrong[1]], made.truth
        )

    monkeypatch.setattr(module, "cases", lambda target, core, rows: [damaged(target)])
    (row,) = [
        line for line in run_main(module, "--rows", "70").splitlines() if "linear 17->8" in line
    ]
    largest, rms, theirs, _ = (float(cell) for cell in row.split("|")[2:6])
    assert (largest < 3e-6) == right
    assert (rms < 1e-6) == right
    assert theirs < 3e-6


def test_every_synthesizer_speaks_all_of_its_utterances_and_is_timed():
    module = load_script("sharing")
    order: list[str] = []

    class Synthesizer:
        def synthesize(self, phonemes: str) -> None:
            order.append(phonemes)

    seconds = module.speak_at_once([Synthesizer(), Synthesizer()], "kæt")
    assert order == ["kæt"] * (2 * module.UTTERANCES)
    assert len(seconds) == 2
    assert min(seconds) > 0


@pytest.mark.slow
def test_the_estimate_reads_the_kernels_of_the_model():
    module = load_script("gpu_roofline")
    name = "text_encoder_forward"
    lowered, components = module.lower("float32", [name])
    found = module.launches(lowered, module.sizes_of(components, 1.0))
    text = module.table(found, module.GPUS["A100"], 3)
    assert "| `gpu_conv1d_512x512k5s1d1p2_2_bias_float32` | text_encoder | 3 |" in text
