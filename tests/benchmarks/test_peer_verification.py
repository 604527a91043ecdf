"""Contenders that compute something else are not timed."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers.verification import (
    FLOAT32,
    INPUTS,
    OUTPUTS,
    Tolerance,
    verify,
)
from kokoro_pipeline.errors import CheckFailed

SHAPES = {
    "d_en": (1, 512, 3),
    "duration": (1, 3, 50),
    "d": (1, 3, 640),
    "t_en": (1, 512, 3),
    "F0": (1, 8),
    "N": (1, 8),
    "har": (1, 22, 481),
    "audio": (1, 2400),
}


@pytest.fixture
def reference(tmp_path):
    """Arbitrary arrays with the names of a reference."""
    random = np.random.default_rng(0)
    names = {name for group in (*INPUTS.values(), *OUTPUTS.values()) for name in group}
    arrays = {
        name: random.standard_normal(SHAPES.get(name, (2,)), np.float32) for name in sorted(names)
    }
    path = tmp_path / "reference.npz"
    np.savez(path, **arrays)
    return path


def functions_of(path, **changed):
    """Functions that return the outputs of the reference, except for those in `changed`."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files} | changed

    def give(names):
        values = tuple(arrays[name] for name in names)
        return lambda *inputs: values[0] if len(values) == 1 else values

    return {function: give(outputs) for function, outputs in OUTPUTS.items()}


def output(path, name):
    with np.load(path) as file:
        return file[name].copy()


def test_equal_bits_agree(reference):
    found = verify(functions_of(reference), reference, FLOAT32)
    assert [a.output for a in found] == [n for names in OUTPUTS.values() for n in names]
    assert all(a.holds and a.snr_db is None for a in found)


def test_each_function_gets_the_references_own_inputs(reference):
    seen = {}

    def watch(name, function):
        def call(*arrays):
            seen[name] = arrays
            return function(*arrays)

        return call

    functions = {name: watch(name, f) for name, f in functions_of(reference).items()}
    verify(functions, reference, FLOAT32)
    for name, inputs in INPUTS.items():
        for array, wanted in zip(seen[name], inputs, strict=True):
            np.testing.assert_array_equal(array, output(reference, wanted))


@pytest.mark.parametrize("name", ["d_en", "duration", "d", "t_en", "F0", "N", "har", "audio"])
@pytest.mark.parametrize("damage", ["off", "nan", "shape"])
def test_what_is_wrong_is_named(reference, name, damage):
    array = output(reference, name)
    if damage == "off":
        array[(0,) * array.ndim] += np.abs(array).max()
    elif damage == "nan":
        array[(0,) * array.ndim] = np.nan
    else:
        array = array[..., :-1]
    with pytest.raises(CheckFailed, match=rf"\b{name}\b"):
        verify(functions_of(reference, **{name: array}), reference, FLOAT32)


def test_phases_a_turn_apart_are_the_same(reference):
    har = output(reference, "har")
    har[:, 11:] += 2 * np.pi
    found = verify(functions_of(reference, har=har), reference, FLOAT32)
    assert next(a.error for a in found if a.output == "har") < 1e-6


def test_a_source_that_is_not_judged_is_still_measured(reference):
    har = -output(reference, "har")
    found = verify(functions_of(reference, har=har), reference, Tolerance(1e-3, None))
    assert next(a.error for a in found if a.output == "har") > 0.1


def test_the_signal_to_noise_ratio_is_in_decibels(reference):
    audio = output(reference, "audio")
    found = verify(functions_of(reference, audio=audio * 1.0001), reference, FLOAT32)
    assert next(a.snr_db for a in found if a.output == "audio") == pytest.approx(80, abs=0.1)
