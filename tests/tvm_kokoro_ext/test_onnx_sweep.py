"""The sweep of `onnx`'s node tests: its page, and that the extension is nowhere wrong."""

import re
from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="the ONNX frontend needs the package onnx")

import onnx_sweep
from onnx_sweep import REFUSED, RIGHT, WRONG, Outcome

from tvm_kokoro_ext import _compat

PAGE = Path(__file__).parents[2] / "docs" / "onnx.md"


def outcomes(*results):
    return {
        str(at): Outcome(str(at), "Relu", "ai.onnx", result) for at, result in enumerate(results)
    }


@pytest.mark.parametrize(
    ("stock", "own", "worse"),
    [(RIGHT, REFUSED, 1), (RIGHT, WRONG, 1), (REFUSED, WRONG, 1), (WRONG, REFUSED, 0)],
)
def test_a_wrong_result_is_worse_than_a_refusal(stock, own, worse):
    assert len(onnx_sweep.worse(outcomes(stock), outcomes(own))) == worse
    assert onnx_sweep.worse(outcomes(stock), outcomes(stock)) == []


def test_the_page_counts_by_operator():
    page = onnx_sweep.page(outcomes(RIGHT, WRONG), outcomes(RIGHT, RIGHT), "versions")
    assert "| stock | 1 | 1 | 0 |\n| extension | 2 | 0 | 0 |" in page
    assert "worse than stock in 0 of 2 tests" in page
    assert "| Relu | 2 | 1 | 1 | 0 | 2 | 0 | 0 |" in page


def test_the_page_of_the_docs_says_none_wrong_or_worse():
    page = PAGE.read_text("utf-8")
    assert "The extension is worse than stock in 0 of" in page
    assert re.search(r"\| extension \| \d+ \| 0 \| \d+ \|", page)


@pytest.mark.slow
def test_a_part_of_the_sweep_is_nowhere_wrong_or_worse():
    if _compat.tvm_version() < _compat.Version("0.27"):
        pytest.skip("the sweep is made on 0.27")
    stock = onnx_sweep.outcomes(True, every=29)
    extension = onnx_sweep.outcomes(False, every=29)
    assert onnx_sweep.worse(stock, extension) == []
    assert {o.result for o in extension.values()} == {RIGHT, REFUSED}
