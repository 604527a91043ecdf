"""A good implementation passes, and each way of being wrong fails in its own step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kokoro_pipeline.validation.compare import FUNCTION_NAMES, compare_case
from kokoro_pipeline.validation.validation_report import WHOLE_STEP

Function = Callable[..., Any]


def failing(functions: dict[str, Function], tiny: Any) -> set[tuple[str, str]]:
    """The steps and quantities that fail."""
    comparison = compare_case(functions, tiny)
    return {(m.step, m.quantity) for m in comparison.measurements if not m.passed}


@pytest.mark.slow
def test_float32_networks_with_a_float64_source_pass(functions: dict, tiny: Any) -> None:
    comparison = compare_case(functions, tiny)
    assert [m for m in comparison.measurements if not m.passed] == []
    assert {m.step for m in comparison.measurements} == {*FUNCTION_NAMES, WHOLE_STEP}
    assert len(comparison.measurements) == 1 + 3 + 2 + 1 + 2 + 5 + 1 + 1
    assert comparison.squared_ours is not None
    assert 0 < comparison.squared_ours < comparison.squared_float32
    assert comparison.compiled_time > 0


@pytest.mark.slow
def test_a_decoder_of_reduced_precision_is_judged_as_one(functions: dict, tiny: Any) -> None:
    """What float32 may not do, and every other step still keeps float32's tolerances."""

    def noisy(*arrays: np.ndarray) -> np.ndarray:
        audio = np.asarray(functions["decoder_forward"](*arrays))
        spread = np.abs(audio).mean() * 1e-3
        return audio + np.random.default_rng(0).normal(0, spread, audio.shape).astype(np.float32)

    wrong = {**functions, "decoder_forward": noisy}
    assert failing(wrong, tiny) == {("decoder_forward", "audio")}
    without = compare_case(wrong, tiny, "float32-fma").measurements
    assert {(m.step, m.quantity) for m in without if not m.passed} == failing(wrong, tiny)
    reduced = compare_case(wrong, tiny, "tf32")
    assert [m for m in reduced.measurements if not m.passed] == []
    assert any("dB of signal to noise" in m.note for m in reduced.measurements)


def test_a_float32_source_fails_as_the_source(functions: dict, tiny: Any, float32: Any) -> None:
    """The tolerance of the source must reject PyTorch's own float32 source."""
    source = {"source_forward": lambda f0, noise: float32.har(float32.waveform(f0, noise))}
    wrong = failing({**functions, **source}, tiny)
    assert {step for step, _ in wrong} == {"source_forward"}
    assert ("source_forward", "waveform") in wrong


def altered(function: Function, output: int, change: Callable[[np.ndarray], Any]) -> Function:
    """The function with one of its outputs changed."""

    def wrapper(*inputs: np.ndarray) -> Any:
        outputs = function(*inputs)
        if not isinstance(outputs, tuple):
            return change(outputs)
        return tuple(change(o) if i == output else o for i, o in enumerate(outputs))

    return wrapper


def spike(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flat[array.size // 2] += 2e-4 * np.abs(array).max()
    return array


def scale(array: np.ndarray) -> np.ndarray:
    return array * np.float32(1 + 9e-5)


def a_nan(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flat[-1] = np.nan
    return array


def minus_pi(har: np.ndarray) -> np.ndarray:
    har = har.copy()
    real = har[:, [11, 21]]
    har[:, [11, 21]] = np.where(real > 3, -real, real)
    return har


def shorter(array: np.ndarray) -> np.ndarray:
    return array[..., :-1]


def widened(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "output", "change", "wrong"),
    [
        ("bert_forward", 0, spike, {"d_en"}),
        ("bert_forward", 0, a_nan, {"d_en"}),
        ("duration_forward", 0, spike, {"duration"}),
        ("duration_forward", 1, spike, {"d"}),
        ("duration_forward", 0, lambda x: x * np.float32(1.5), {"duration", "durations"}),
        ("duration_forward", 0, a_nan, {"duration"}),
        ("text_encoder_forward", 0, scale, {"t_en"}),  # over the rms, under the maximum
        ("text_encoder_forward", 0, shorter, {"t_en"}),
        ("f0n_forward", 0, spike, {"F0"}),
        ("f0n_forward", 1, spike, {"N"}),
        ("noise_forward", 0, spike, {"first values", "last values"}),  # both hold the middle
        ("noise_forward", 0, shorter, {"noise"}),
        ("noise_forward", 0, lambda x: -x, {"first values", "last values"}),
        ("source_forward", 0, minus_pi, {"phases across the cut"}),
        ("source_forward", 0, a_nan, {"har"}),
        ("decoder_forward", 0, spike, {"audio"}),
        ("decoder_forward", 0, widened, {"audio"}),
        ("decoder_forward", 0, a_nan, {"audio"}),
    ],
)
def test_a_wrong_function_fails_in_its_own_step(
    functions: dict, tiny: Any, name: str, output: int, change: Any, wrong: set[str]
) -> None:
    spoiled = {**functions, name: altered(functions[name], output, change)}
    found = failing(spoiled, tiny)
    steps = {(step, quantity) for step, quantity in found if step != WHOLE_STEP}
    assert steps == {(name, quantity) for quantity in wrong}
    # The chain knows durations only: they differ where the function's own do.
    assert (WHOLE_STEP in {step for step, _ in found}) == ("durations" in wrong)


def test_an_unusable_output_makes_the_whole_audio_fail(functions: dict, tiny: Any) -> None:
    spoiled = {**functions, "f0n_forward": altered(functions["f0n_forward"], 0, a_nan)}
    comparison = compare_case(spoiled, tiny)
    assert comparison.squared_ours is not None and np.isnan(comparison.squared_ours)
    assert "whole_audio" not in comparison.outputs


def test_a_nan_that_only_the_chain_meets_fails_by_name(functions: dict, tiny: Any) -> None:
    calls = []

    def second_time_nan(*inputs: np.ndarray) -> np.ndarray:
        calls.append(1)
        audio = functions["decoder_forward"](*inputs)
        return a_nan(audio) if len(calls) > 1 else audio

    assert failing({**functions, "decoder_forward": second_time_nan}, tiny) == {
        (WHOLE_STEP, "audio")
    }


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_a_part_of_the_functions_is_compared_for_itself(
    functions: dict, tiny: Any, name: str
) -> None:
    comparison = compare_case({name: functions[name]}, tiny)
    assert {m.step for m in comparison.measurements} == {name}
    assert comparison.squared_ours is None


def test_what_a_function_raises_is_not_swallowed(functions: dict, tiny: Any) -> None:
    def broken(*_: np.ndarray) -> Any:
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        compare_case({**functions, "f0n_forward": broken}, tiny)
