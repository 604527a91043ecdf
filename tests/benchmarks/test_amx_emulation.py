"""The text encoder as it is lowered for AMX, emulated, against float64.

The decoder takes minutes: `python -m benchmarks.amx_emulation`.
"""

from __future__ import annotations

import pytest

pytest.importorskip("tvm")
pytest.importorskip("torch")

from benchmarks.amx_emulation import compile_emulated
from kokoro_pipeline.artifact.cpu import host_architecture
from kokoro_pipeline.compiler.weights import resolve
from kokoro_pipeline.validation import select_cases, validate_functions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(host_architecture() != "x86_64", reason="emulates AMX on x86-64"),
]


def test_three_products_hold_float32s_tolerances():
    folder = resolve("synthetic")
    functions, _ = compile_emulated(folder, ["text_encoder_forward"], "float32")
    report = validate_functions(
        functions, folder, select_cases(2, "short")[:1], artifact="emulated", opt_level=2
    )
    assert report.passed, str(report)
