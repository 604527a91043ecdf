"""Fast Fourier transforms of a fixed length, in stages of a small radix.

Stockham's self-sorting algorithm (Van Loan, "Computational Frameworks for the Fast Fourier
Transform", 1992, section 1.7): a stage of radix r takes n = r·m·s elements x[j, p, q] to
y[p, k, q] = ω^(k·p) Σ_j x[j, p, q] · e^(±2πi·j·k/r), where ω = e^(±2πi/(r·m)), m is the length of
the transforms that are left and s that of the transforms that are done. After the last stage the
elements are in order. Each stage is a kernel of its own, for a kernel into which the stage before
it were inlined would compute that stage r times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import relax, te, tirx
from tvm_kokoro_ext._fixes.complex._complex import Complex

_SHORTEST = 64  # below it, products with a matrix are as fast
_RADICES = (4, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)
_OPAQUE = {"op_pattern": 8}  # TVM fuses such a kernel with no other

_Read = Callable[..., tuple[Any, Any]]


def are_for(length: int) -> bool:
    """Whether stages are faster than a matrix: not for short lengths and large prime factors."""
    return length >= _SHORTEST and bool(_radices(length))


def _radices(length: int) -> list[int]:
    """The radix of each stage; none if the length has another prime factor."""
    found, rest = [], length
    for radix in _RADICES:
        while rest % radix == 0:
            found.append(radix)
            rest //= radix
    return found if rest == 1 else []


def turns(numbers: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The cosines and sines of 2π·number/length in float64, which is first reduced for accuracy.

    They are exactly 0 at whole quarter turns, on which the phase of the ends of a spectrum depends.
    """
    rest = numbers % length
    angles, quarters = 2 * np.pi * rest / length, 4 * rest % (2 * length)
    return (
        np.where(quarters == length, 0, np.cos(angles)),
        np.where(quarters == 0, 0, np.sin(angles)),
    )


def transform(importer: Any, x: Complex, *, forward: bool, scale: float) -> Complex:
    """The transform of the last axis, times `scale`."""
    length = int(_compat.shape_of(x.real)[-1])
    return _run(importer, [x.real, x.imag], _element, length, forward, scale)


def of_real(importer: Any, x: Any, *, count: int, scale: float) -> Complex:
    """The first `count` elements of the forward transform of the last axis of a real tensor."""
    length = int(_compat.shape_of(x)[-1])
    if length % 2:
        zero = _emit.emit(importer, relax.op.zeros_like(x))
        made = transform(importer, Complex(x, zero), forward=True, scale=scale)
        return Complex(*(_first(importer, part, count) for part in (made.real, made.imag)))
    half = length // 2

    def pairs(data: Any, lead: Sequence[Any], place: Any) -> tuple[Any, Any]:
        return data(*lead, 2 * place), data(*lead, 2 * place + 1)

    z = _run(importer, [x], pairs, half, forward=True, scale=scale / 2)
    cos, sin = (_constant(importer, wave, x) for wave in turns(np.arange(count), length))

    def untangled(real: Any, imag: Any, cos: Any, sin: Any) -> list[Any]:
        def parts(*at: Any) -> tuple[Any, ...]:
            *lead, k = at
            near, far = tirx.floormod(k, half), tirx.floormod(length - k, half)
            a, b = (real(*lead, near), imag(*lead, near)), (real(*lead, far), imag(*lead, far))
            # Of the even and of the odd elements: the sum and the difference of a and conj(b).
            return a[0] + b[0], a[1] - b[1], a[0] - b[0], a[1] + b[1], cos(k), sin(k)

        def re(*at: Any) -> Any:
            even, _, odd_re, odd_im, c, s = parts(*at)
            return even + (c * odd_im - s * odd_re)

        def im(*at: Any) -> Any:
            _, even, odd_re, odd_im, c, s = parts(*at)
            return even - (c * odd_re + s * odd_im)

        shape = (*real.shape[:-1], count)
        return [te.compute(shape, re, name="re"), te.compute(shape, im, name="im")]

    return _pair(importer, untangled, z.real, z.imag, cos, sin, hint="fft_real")


def to_real(importer: Any, x: Complex, length: int, *, scale: float) -> Any:
    """The inverse transform of the half spectrum of a real tensor, of shape [..., length]."""
    if length % 2:
        whole = _pair(importer, _mirrored(length), x.real, x.imag, hint="fft_mirror")
        return transform(importer, whole, forward=False, scale=scale).real
    half = length // 2
    cos, sin = (_constant(importer, wave, x.real) for wave in turns(np.arange(half), length))

    def tangled(real: Any, imag: Any, cos: Any, sin: Any) -> list[Any]:
        def parts(*at: Any) -> tuple[Any, ...]:
            *lead, k = at
            # The ends of the spectrum of real numbers are real.
            a_im, b_im = (
                tirx.if_then_else(k == 0, _zero(imag), imag(*lead, place))
                for place in (k, half - k)
            )
            a_re, b_re = real(*lead, k), real(*lead, half - k)
            return a_re + b_re, a_im - b_im, a_re - b_re, a_im + b_im, cos(k), sin(k)

        def re(*at: Any) -> Any:
            even, _, odd_re, odd_im, c, s = parts(*at)
            return even - (c * odd_im + s * odd_re)

        def im(*at: Any) -> Any:
            _, even, odd_re, odd_im, c, s = parts(*at)
            return even + (c * odd_re - s * odd_im)

        shape = (*real.shape[:-1], half)
        return [te.compute(shape, re, name="re"), te.compute(shape, im, name="im")]

    z = _pair(importer, tangled, x.real, x.imag, cos, sin, hint="fft_half")
    z = transform(importer, z, forward=False, scale=scale)

    def interleaved(real: Any, imag: Any) -> Any:
        return te.compute(
            (*real.shape, 2),
            lambda *at: tirx.if_then_else(at[-1] == 0, real(*at[:-1]), imag(*at[:-1])),
            name="interleaved",
        )

    return _flat(
        importer, _emit.emit_te(importer, interleaved, z.real, z.imag, hint="fft_pairs"), 2
    )


def _run(
    importer: Any, inputs: list[Any], read: _Read, length: int, forward: bool, scale: float
) -> Complex:
    """All stages; `read(*inputs, lead, place)` gives the parts of an element of the last axis."""
    done, rest = 1, length
    for radix in _radices(length):
        rest //= radix
        j, p, k = np.ix_(range(radix), range(rest), range(radix))
        cos, sin = turns((j * rest + p) * k, radix * rest)
        factor = scale if done == 1 else 1.0
        tables = [
            _constant(importer, factor * wave, inputs[0])
            for wave in (cos, -sin if forward else sin)
        ]
        stage = _stage(read, len(inputs), radix, rest, done)
        made = _pair(importer, stage, *inputs, *tables, hint="fft_stage")
        inputs = [_flat(importer, part, 3) for part in (made.real, made.imag)]
        read, done = _element, done * radix
    return Complex(*inputs)


def _element(real: Any, imag: Any, lead: Sequence[Any], place: Any) -> tuple[Any, Any]:
    return real(*lead, place), imag(*lead, place)


def _stage(read: _Read, count: int, radix: int, rest: int, done: int) -> Callable[..., list[Any]]:
    """The kernel of a stage, of `count` inputs and the factors [j, p, k], to [..., p, k, q]."""

    def stage(*args: Any) -> list[Any]:
        inputs, cos, sin = args[:count], *args[count:]

        def terms(at: Sequence[Any]) -> list[tuple[Any, Any, Any, Any]]:
            *lead, p, k, q = at
            found = []
            for j in range(radix):
                re, im = read(*inputs, lead, (j * rest + p) * done + q)
                found.append((re, im, cos(j, p, k), sin(j, p, k)))
            return found

        def re(*at: Any) -> Any:
            return sum(re * c - im * s for re, im, c, s in terms(at))

        def im(*at: Any) -> Any:
            return sum(re * s + im * c for re, im, c, s in terms(at))

        shape = (*inputs[0].shape[:-1], rest, radix, done)
        return [te.compute(shape, re, name="re"), te.compute(shape, im, name="im")]

    return stage


def _mirrored(length: int) -> Callable[..., list[Any]]:
    """The whole spectrum of real numbers from its first half, for an odd length."""

    def mirrored(real: Any, imag: Any) -> list[Any]:
        def re(*at: Any) -> Any:
            return real(*at[:-1], tirx.min(at[-1], length - at[-1]))

        def im(*at: Any) -> Any:
            *lead, k = at
            value = imag(*lead, tirx.min(k, length - k))
            value = tirx.if_then_else(2 * k < length, value, -value)
            return tirx.if_then_else(k == 0, _zero(imag), value)

        shape = (*real.shape[:-1], length)
        return [te.compute(shape, re, name="re"), te.compute(shape, im, name="im")]

    return mirrored


def _pair(importer: Any, kernel: Callable[..., list[Any]], *args: Any, hint: str) -> Complex:
    both = _emit.emit_te(importer, kernel, *args, hint=hint, attrs=_OPAQUE)
    return Complex(*(_emit.emit(importer, relax.TupleGetItem(both, i)) for i in range(2)))


def _flat(importer: Any, x: Any, count: int) -> Any:
    """The tensor with its last `count` axes as one."""
    sizes = _compat.shape_of(x)
    shape = [*sizes[:-count], _emit.extent(sizes[-count:])]
    return _emit.emit(importer, relax.op.reshape(x, relax.ShapeExpr(list(map(_emit.int64, shape)))))


def _first(importer: Any, x: Any, count: int) -> Any:
    """The first `count` elements of the last axis."""
    axis = _compat.rank_of(x) - 1  # TVM refuses -1 for symbolic shapes
    return _emit.emit(importer, relax.op.strided_slice(x, [axis], [0], [count]))


def _constant(importer: Any, values: np.ndarray, like: Any) -> Any:
    return relax.const(values.astype(_compat.dtype_of(like)), _compat.dtype_of(like))


def _zero(tensor: Any) -> Any:
    return tirx.const(0, str(tensor.dtype))
