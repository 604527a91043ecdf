"""The drawn numbers are the same bits everywhere: a change of numpy or of ours must be noticed."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from kokoro_pipeline.compiler.weights.draws import Draw, draw_tensor, stream_key, symmetric_units

FIRST_UNITS = [
    "0x1.2b67380000000p-3",
    "-0x1.1cc6a80000000p-3",
    "-0x1.b01e980000000p-3",
    "0x1.17abce0000000p-1",
    "0x1.5365ea0000000p-1",
]
MANY_UNITS = "d441f7238ee22ec37ae099a272644ff0d513dd93a21b745fc5486ed9c29bdb28"


def test_units_are_the_bits_they_always_were() -> None:
    """Philox, the key and the conversion are fixed: written weights depend on every bit."""
    units = symmetric_units(0, "a", 5)
    assert [float(unit).hex() for unit in units] == FIRST_UNITS
    many = symmetric_units(0, "a", 100_001)
    assert hashlib.sha256(many.astype("<f4").tobytes()).hexdigest() == MANY_UNITS


def test_units_are_odd_multiples_of_the_step() -> None:
    """No unit is 0 or rounded, so a split draw and an identity parameter can never meet."""
    steps = symmetric_units(3, "steps", 20_000).astype(np.float64) * 2**24
    assert (steps == np.rint(steps)).all()
    assert (steps % 2 == 1).all()
    assert np.abs(steps).max() < 2**24
    assert abs(steps.mean()) < 0.02 * 2**24


@pytest.mark.parametrize(("seed", "name"), [(0, "b"), (1, "a")])
def test_streams_differ_by_seed_and_by_name(seed: int, name: str) -> None:
    """Each tensor of each seed has its own numbers."""
    assert stream_key(seed, name) != stream_key(0, "a")
    assert not (symmetric_units(seed, name, 64) == symmetric_units(0, "a", 64)).any()


def test_a_stream_does_not_depend_on_how_much_is_drawn() -> None:
    """A longer tensor of the same name begins with the same numbers."""
    assert (symmetric_units(0, "a", 101)[:100] == symmetric_units(0, "a", 100)).all()


def test_split_draws_stay_away_from_the_offset() -> None:
    """What must not be the identity lies at least half the scale from it, on both sides."""
    values = draw_tensor(0, "x", Draw((4000,), (1.0,), 0.4, "split")) - 1
    assert np.abs(values).min() >= 0.2 - 1e-6
    assert np.abs(values).max() <= 0.4 + 1e-6
    assert 0.4 < (values > 0).mean() < 0.6


def test_offsets_share_the_rows_in_order() -> None:
    """A bias whose halves mean different things gets an offset for each."""
    values = draw_tensor(0, "x", Draw((6, 50), (-1.5, 0.0, 4.0), 0.25, "even"))
    assert values.dtype == np.float32
    for rows, offset in ((slice(0, 2), -1.5), (slice(2, 4), 0.0), (slice(4, 6), 4.0)):
        assert np.abs(values[rows] - offset).max() <= 0.25


@pytest.mark.parametrize(
    ("offset", "spread"), [((0.0, 1.0), "even"), ((0.0,), "normal")], ids=["rows", "spread"]
)
def test_an_impossible_draw_is_refused(offset: tuple[float, ...], spread: str) -> None:
    """A damaged constants file fails where it is read, not in a wrong tensor."""
    with pytest.raises(ValueError, match=r"offsets|spread"):
        Draw((3,), offset, 1.0, spread)  # type: ignore[arg-type]
