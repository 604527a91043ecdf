"""Compiled functions take numpy arrays, reject invalid ones, and compute correctly."""

from __future__ import annotations

import numpy as np
import pytest

import kokoro_pipeline
from kokoro_pipeline.errors import InputError


@pytest.fixture(scope="module")
def functions(toy_artifact):
    with kokoro_pipeline.load(toy_artifact, threads=1) as tts:
        yield tts.functions


def inputs_of(name: str, *, batch: int = 1, n: int = 7, t: int = 5) -> list[np.ndarray]:
    generator = np.random.default_rng(3)

    def normal(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape, dtype=np.float32)

    ids = generator.integers(0, 178, (batch, n))
    lengths = np.arange(n, n - batch, -1)
    return {
        "bert_forward": [ids, lengths],
        "duration_forward": [normal(batch, 512, n), normal(batch, 128), lengths],
        "text_encoder_forward": [ids, lengths],
        "f0n_forward": [normal(1, 640, t), normal(1, 128)],
        "noise_forward": [np.zeros(t, np.int64), generator.integers(0, 1 << 32, 2)],
        "source_forward": [normal(1, 2 * t), normal(1, 600 * t, 9)],
        "decoder_forward": [
            normal(1, 512, t),
            normal(1, 2 * t),
            normal(1, 2 * t),
            normal(1, 128),
            normal(1, 22, 120 * t + 1),
        ],
    }[name]


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def assert_right(reference, name, result, inputs):
    expected = as_tuple(reference[name](*inputs))
    assert len(as_tuple(result)) == len(expected)
    for got, want in zip(as_tuple(result), expected, strict=True):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


NAMES = [
    "bert_forward",
    "duration_forward",
    "text_encoder_forward",
    "f0n_forward",
    "noise_forward",
    "source_forward",
    "decoder_forward",
]


def test_all_are_there_by_name(functions):
    assert list(functions) == NAMES
    with pytest.raises(KeyError):
        functions["vocoder_forward"]
    with pytest.raises(TypeError):
        functions["bert_forward"] = None  # type: ignore[index]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "t"), [(1, 1), (3, 2), (64, 33)])
def test_each_computes_with_its_own_parameters(functions, toy_reference, name, n, t):
    inputs = inputs_of(name, n=n, t=t)
    assert_right(toy_reference, name, functions[name](*inputs), inputs)


@pytest.mark.parametrize("name", NAMES[:3])
def test_batches(functions, toy_reference, name):
    inputs = inputs_of(name, batch=3)
    assert_right(toy_reference, name, functions[name](*inputs), inputs)


def misalign(array: np.ndarray) -> np.ndarray:
    raw = np.empty(array.nbytes + 128, np.uint8)
    start = -raw.ctypes.data % 64 + 4
    moved = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[...] = array
    assert moved.ctypes.data % 64 == 4
    return moved


def read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "layout",
    [
        misalign,
        np.asfortranarray,
        lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
        lambda a: a[..., ::-1].copy()[..., ::-1],
        read_only,
    ],
    ids=["misaligned", "fortran", "strided", "reversed", "read-only"],
)
def test_no_layout_reaches_a_kernel_unprepared(functions, toy_reference, name, layout):
    inputs = inputs_of(name)
    result = functions[name](*map(layout, inputs))
    assert_right(toy_reference, name, result, inputs)


def test_outputs_own_their_memory_and_can_be_passed_on(functions):
    """A later call of the same shape must not write into an earlier result."""
    first_inputs, second_inputs = inputs_of("source_forward"), inputs_of("source_forward")
    second_inputs[0] = second_inputs[0] + 1
    first = functions["source_forward"](*first_inputs)
    kept = first.copy()
    second = functions["source_forward"](*second_inputs)
    assert np.array_equal(first, kept)
    assert not np.array_equal(first, second)
    assert first.flags.writeable
    assert first.ctypes.data % 64 == 0


def test_an_array_from_torch_is_refused_by_type(functions):
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match=r"'input_ids' is torch\.Tensor, expected a numpy array"):
        functions["bert_forward"](torch.zeros((1, 3), dtype=torch.int64), np.array([3]))


@pytest.mark.parametrize(
    ("name", "index", "replacement", "message"),
    [
        (
            "bert_forward",
            0,
            lambda a: a.astype(np.int32),
            r"bert_forward: argument 0 'input_ids' is int32, expected int64",
        ),
        ("bert_forward", 0, lambda a: a.tolist(), "is list, expected a numpy array"),
        ("bert_forward", 0, lambda a: a[0], r"has shape \[7\], expected 2 dimensions \[B, n\]"),
        ("bert_forward", 0, lambda a: a[:, :0], r"has shape \[1, 0\], expected \[B, n\]"),
        (
            "bert_forward",
            1,
            lambda a: np.array([7, 7]),
            r"'lengths' has shape \[2\], expected \[B\] with B=1 from 'input_ids', that is \[1\]",
        ),
        (
            "bert_forward",
            0,
            lambda a: np.full_like(a, 178),
            r"'input_ids' is 178 at \[0, 0\], expected values from 0 to 177",
        ),
        ("bert_forward", 0, lambda a: a - 300, r"'input_ids' is -\d+ at"),
        (
            "bert_forward",
            1,
            lambda a: a * 0,
            r"'lengths' is 0 at \[0\], expected values from 1 to 7",
        ),
        ("bert_forward", 1, lambda a: a + 1, r"'lengths' is 8 at \[0\]"),
        ("duration_forward", 2, lambda a: a + 1, r"'lengths' is 8 at \[0\]"),
        (
            "bert_forward",
            0,
            lambda a: np.zeros((1, 513), np.int64),
            r"n=513 \(from 'input_ids'\) is over the limit of 512",
        ),
        (
            "decoder_forward",
            1,
            lambda a: a[:, 1:],
            r"argument 1 'F0' has shape \[1, 9\], "
            r"expected \[1, 2\*t\] with t=5 from 'asr', that is \[1, 10\]",
        ),
        (
            "decoder_forward",
            3,
            lambda a: a[:, :64],
            r"'style' has shape \[1, 64\], expected \[1, 128\]",
        ),
        ("decoder_forward", 4, lambda a: a[..., 1:], r"'har' has shape \[1, 22, 600\]"),
        ("decoder_forward", 0, lambda a: a.astype(np.float64), "is float64, expected float32"),
        ("decoder_forward", 0, lambda a: a.astype(">f4"), "is >f4, expected float32"),
        ("f0n_forward", 1, lambda a: np.repeat(a, 2, 0), r"'style' has shape \[2, 128\]"),
    ],
)
def test_bad_arguments_are_refused_before_a_kernel(
    functions, toy_reference, name, index, replacement, message
):
    inputs = inputs_of(name)
    bad = list(inputs)
    bad[index] = replacement(bad[index])
    with pytest.raises(InputError, match=message) as caught:
        functions[name](*bad)
    assert str(caught.value).startswith(name)
    assert_right(toy_reference, name, functions[name](*inputs), inputs)


def test_the_number_of_arguments_is_checked(functions):
    with pytest.raises(
        InputError, match=r"decoder_forward takes 5 arrays \(asr, F0, N, style, har\), got 4"
    ):
        functions["decoder_forward"](*inputs_of("decoder_forward")[:4])


def test_frames_have_a_limit(functions):
    with pytest.raises(InputError, match=r"t=8193 \(from 'en'\) is over the limit of 8192"):
        functions["f0n_forward"](
            np.zeros((1, 640, 8193), np.float32), np.zeros((1, 128), np.float32)
        )


def test_memory_of_other_lengths_is_given_back(toy_artifact, run_fresh):
    """TVM's pool keeps every size it ever saw: without release 200 lengths cost gigabytes."""
    said = run_fresh(
        """
        import resource, sys
        import numpy as np
        import kokoro_pipeline
        f = kokoro_pipeline.load(sys.argv[1], threads=1).functions["source_forward"]
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        def call(t):
            f(np.zeros((1, 2 * t), np.float32), np.zeros((1, 600 * t, 9), np.float32))
        call(500)
        before = peak()
        for t in range(300, 500):
            call(t)
        print(peak() - before)
        """,
        toy_artifact,
    )
    assert float(said) < 100
