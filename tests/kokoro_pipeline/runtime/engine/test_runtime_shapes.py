"""Symbolic shapes bind consistently over all arguments of a call."""

from __future__ import annotations

import pytest

from kokoro_pipeline.runtime.engine.shapes import Bindings, ShapeError


@pytest.mark.parametrize(
    ("arguments", "symbols"),
    [
        ([("a", ("n",), (5,))], {"n": 5}),
        ([("a", ("2*t",), (10,))], {"t": 5}),
        ([("a", ("120*t+1",), (121,))], {"t": 1}),
        ([("a", (1, "2*t"), (1, 6)), ("b", (1, "600*t", 9), (1, 1800, 9))], {"t": 3}),
        ([("a", ("B", 512, "n"), (2, 512, 7)), ("b", ("B",), (2,))], {"B": 2, "n": 7}),
        ([("a", (3,), (3,))], {}),
    ],
)
def test_binds_each_symbol_by_solving(arguments, symbols):
    bindings = Bindings()
    for name, expected, got in arguments:
        bindings.bind(name, expected, got)
    assert bindings.values == symbols


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (("n", 512), (4, 511)),
        (("2*t",), (7,)),
        (("2*t",), (0,)),
        (("120*t+1",), (1,)),
        (("120*t+1",), (120,)),
        (("n", "n"), (3, 4)),
        (("n",), (0,)),
        (("n",), (3, 1)),
        ((), (1,)),
    ],
)
def test_refuses_what_does_not_fit(expected, got):
    with pytest.raises(ShapeError):
        Bindings().bind("a", expected, got)


def test_a_contradiction_names_who_bound_the_symbol():
    bindings = Bindings()
    bindings.bind("asr", (1, 512, "t"), (1, 512, 16))
    with pytest.raises(ShapeError, match=r"\[1, 2\*t\] with t=16 from 'asr', that is \[1, 32\]"):
        bindings.bind("F0", (1, "2*t"), (1, 33))


def test_evaluates_outputs():
    bindings = Bindings()
    bindings.bind("F0", (1, "2*t"), (1, 8))
    assert bindings.evaluate((1, 22, "120*t+1")) == (1, 22, 481)
