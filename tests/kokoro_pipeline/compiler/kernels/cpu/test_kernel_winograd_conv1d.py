"""Winograd's convolution, with its producers and residual, against float64."""

from __future__ import annotations

from typing import Any

import pytest

from kokoro_pipeline.compiler.kernels.common.producer import Activation, Producer
from kokoro_pipeline.compiler.kernels.cpu.transform import SameConv1d
from kokoro_pipeline.compiler.kernels.cpu.transform_conv1d import (
    pack_transformed,
    transformed_conv1d,
)
from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget
from kokoro_pipeline.compiler.kernels.cpu.winograd_conv1d import Winograd, winograd_of
from kokoro_pipeline.errors import InputError

# Convolution, outputs of a tile, largest error, root mean square error.
SNAKE = Producer(True, Activation.SNAKE)
CASES = {
    "resblock, first": (SameConv1d(128, 128, 3, SNAKE), 6, 2e-5, 2.5e-6),
    "resblock, second": (SameConv1d(128, 128, 3, SNAKE, residual=True), 4, 8e-6, 1e-6),
    "pre-net": (SameConv1d(256, 64, 3, Producer(True, Activation.LEAKY_RELU, 0.2)), 4, 8e-6, 1e-6),
    "input channels are padded": (
        SameConv1d(90, 64, 3, Producer(True, Activation.LEAKY_RELU, 0.2), residual=True),
        6,
        2e-5,
        2.5e-6,
    ),
    "padded by more than a vector": (SameConv1d(514, 64, 3), 2, 5e-6, 7e-7),
    "plain, five taps": (SameConv1d(64, 128, 5), 4, 3e-5, 4e-6),
    "many channels": (SameConv1d(768, 64, 3), 2, 5e-6, 7e-7),
    "many channels in short sums": (SameConv1d(768, 64, 3, chunk=64), 2, 3e-6, 3.5e-7),
    "two outputs": (SameConv1d(64, 64, 3), 2, 3e-6, 5e-7),
}


def winograd_conv1d(target: VectorTarget, conv: SameConv1d, outputs: int) -> Any:
    return transformed_conv1d(target, conv, winograd_of(conv.taps, outputs), 30)


def packed(conv: SameConv1d, outputs: int) -> Any:
    """The function that packs weights for a number of outputs."""
    transform = winograd_of(conv.taps, outputs)
    return lambda target, *weights: pack_transformed(target, transform, *weights)


LENGTHS = (1, 2, 5, 25, 26, 27, 96, 601)


@pytest.fixture(scope="module")
def compiled(kernel_target):
    functions = {
        name: winograd_conv1d(kernel_target.vectors, conv, outputs)
        for name, (conv, outputs, *_) in CASES.items()
    }
    library = kernel_target.compile(list(functions.values()))
    return {name: library[str(f.attrs["global_symbol"])] for name, f in functions.items()}


@pytest.mark.parametrize("name", CASES)
def test_equals_float64_at_every_length_and_dilation(
    name, compiled, kernel_target, check_same_conv1d
):
    conv, outputs, most, most_rms = CASES[name]
    pack = packed(conv, outputs)
    for length in LENGTHS:
        for dilation in (1, 3, 5, 40) if length < 100 else (1, 3, 5):
            largest, rms = check_same_conv1d(
                compiled[name], conv, kernel_target, pack, length, dilation
            )
            assert largest <= most, (length, dilation)
            assert rms <= most_rms, (length, dilation)


def test_other_rows_of_the_batch_are_never_read(compiled, kernel_target, isolate_batch_rows):
    for name, (conv, outputs, *_) in CASES.items():
        pack = packed(conv, outputs)
        isolate_batch_rows(compiled, {name: conv}, kernel_target, pack)


def test_the_number_of_threads_cannot_show(compiled, kernel_target, vary_threads):
    for name, (conv, outputs, *_) in CASES.items():
        pack = packed(conv, outputs)
        vary_threads(compiled, {name: conv}, kernel_target, pack)


def test_gives_the_statistics_of_what_it_writes(kernel_target, check_statistics):
    conv = SameConv1d(48, 64, 3, residual=True, statistics=1e-5)
    function = winograd_conv1d(kernel_target.vectors, conv, 6)
    (compiled,) = kernel_target.compile([function]).values()
    check_statistics(compiled, conv, kernel_target, packed(conv, 6))


def test_what_cannot_be_done_is_refused():
    vectors = VectorTarget(16, 32)
    with pytest.raises(InputError, match="vectors"):
        winograd_conv1d(vectors, SameConv1d(22, 64, 3, SNAKE), 6)
    with pytest.raises(InputError, match="points are known"):
        winograd_conv1d(vectors, SameConv1d(128, 128, 3), 5)
    with pytest.raises(InputError, match="points are known"):
        Winograd(9, 8)
