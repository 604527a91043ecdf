"""Bessel functions, trigamma, zeta and erfcx, computed in float64 for all dtypes.

The approximations are those of the Cephes Mathematical Library (Stephen L. Moshier), which PyTorch
computes in the dtype of its operands.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from tvm_kokoro_ext import _compat, _emit
from tvm_kokoro_ext._compat import T, relax, tirx
from tvm_kokoro_ext._fix import Converter
from tvm_kokoro_ext._fixes._shared import elementwise, indexing, loops, steps

# Chebyshev coefficients of exp(-x) I(x) for x up to 8 (of exp(-x) I(x) / x for the first order),
# and of exp(-x) sqrt(x) I(x) beyond.
_I0_NEAR = (
    -4.4153416464793395e-18,
    3.3307945188222384e-17,
    -2.431279846547955e-16,
    1.715391285555133e-15,
    -1.1685332877993451e-14,
    7.676185498604936e-14,
    -4.856446783111929e-13,
    2.95505266312964e-12,
    -1.726826291441556e-11,
    9.675809035373237e-11,
    -5.189795601635263e-10,
    2.6598237246823866e-09,
    -1.300025009986248e-08,
    6.046995022541919e-08,
    -2.670793853940612e-07,
    1.1173875391201037e-06,
    -4.4167383584587505e-06,
    1.6448448070728896e-05,
    -5.754195010082104e-05,
    0.00018850288509584165,
    -0.0005763755745385824,
    0.0016394756169413357,
    -0.004324309995050576,
    0.010546460394594998,
    -0.02373741480589947,
    0.04930528423967071,
    -0.09490109704804764,
    0.17162090152220877,
    -0.3046826723431984,
    0.6767952744094761,
)
_I0_FAR = (
    -7.233180487874754e-18,
    -4.830504485944182e-18,
    4.46562142029676e-17,
    3.461222867697461e-17,
    -2.8276239805165836e-16,
    -3.425485619677219e-16,
    1.7725601330565263e-15,
    3.8116806693526224e-15,
    -9.554846698828307e-15,
    -4.150569347287222e-14,
    1.54008621752141e-14,
    3.8527783827421426e-13,
    7.180124451383666e-13,
    -1.7941785315068062e-12,
    -1.3215811840447713e-11,
    -3.1499165279632416e-11,
    1.1889147107846439e-11,
    4.94060238822497e-10,
    3.3962320257083865e-09,
    2.266668990498178e-08,
    2.0489185894690638e-07,
    2.8913705208347567e-06,
    6.889758346916825e-05,
    0.0033691164782556943,
    0.8044904110141088,
)
_I1_NEAR = (
    2.7779141127610464e-18,
    -2.111421214358166e-17,
    1.5536319577362005e-16,
    -1.1055969477353862e-15,
    7.600684294735408e-15,
    -5.042185504727912e-14,
    3.223793365945575e-13,
    -1.9839743977649436e-12,
    1.1736186298890901e-11,
    -6.663489723502027e-11,
    3.625590281552117e-10,
    -1.8872497517228294e-09,
    9.381537386495773e-09,
    -4.445059128796328e-08,
    2.0032947535521353e-07,
    -8.568720264695455e-07,
    3.4702513081376785e-06,
    -1.3273163656039436e-05,
    4.781565107550054e-05,
    -0.00016176081582589674,
    0.0005122859561685758,
    -0.0015135724506312532,
    0.004156422944312888,
    -0.010564084894626197,
    0.024726449030626516,
    -0.05294598120809499,
    0.1026436586898471,
    -0.17641651835783406,
    0.25258718644363365,
)
_I1_FAR = (
    7.517296310842105e-18,
    4.414348323071708e-18,
    -4.6503053684893586e-17,
    -3.209525921993424e-17,
    2.96262899764595e-16,
    3.3082023109209285e-16,
    -1.8803547755107825e-15,
    -3.8144030724370075e-15,
    1.0420276984128802e-14,
    4.272440016711951e-14,
    -2.1015418427726643e-14,
    -4.0835511110921974e-13,
    -7.198551776245908e-13,
    2.0356285441470896e-12,
    1.4125807436613782e-11,
    3.2526035830154884e-11,
    -1.8974958123505413e-11,
    -5.589743462196584e-10,
    -3.835380385964237e-09,
    -2.6314688468895196e-08,
    -2.512236237870209e-07,
    -3.882564808877691e-06,
    -0.00011058893876262371,
    -0.009761097491361469,
    0.7785762350182801,
)
_J0_PP = (
    0.0007969367292973471,
    0.08283523921074408,
    1.239533716464143,
    5.447250030587687,
    8.74716500199817,
    5.303240382353949,
    1.0,
)
_J1_PP = (
    0.0007621256162081731,
    0.07313970569409176,
    1.1271960812968493,
    5.112079511468076,
    8.424045901417724,
    5.214515986823615,
    1.0,
)
_J0_PQ = (
    0.0009244088105588637,
    0.08562884743544745,
    1.2535274390105895,
    5.470977403304171,
    8.761908832370695,
    5.306052882353947,
    1.0,
)
_J1_PQ = (
    0.0005713231280725487,
    0.06884559087544954,
    1.105142326340617,
    5.073863861286015,
    8.399855543276042,
    5.209828486823619,
    1.0,
)
_J0_QP = (
    -0.011366383889846916,
    -1.2825271867050931,
    -19.553954425773597,
    -93.20601521237683,
    -177.68116798048806,
    -147.07750515495118,
    -51.41053267665993,
    -6.050143506007285,
)
_J1_QP = (
    0.05108625947501766,
    4.982138729512334,
    75.82382841325453,
    366.7796093601508,
    710.8563049989261,
    597.4896124006136,
    211.68875710057213,
    25.207020585802372,
)
_J0_QQ = (
    64.3178256118178,
    856.4300259769806,
    3882.4018360540163,
    7240.467741956525,
    5930.727011873169,
    2062.0933166032783,
    242.0057402402914,
)
_J1_QQ = (
    74.23732770356752,
    1056.4488603826283,
    4986.410583376536,
    9562.318924047562,
    7997.041604473507,
    2826.1927851763908,
    336.0936078106983,
)
_J0_RP = (
    -4794432209.782018,
    1956174919465.5657,
    -249248344360967.72,
    9708622510473064.0,
)
_J1_RP = (
    -899971225.7055594,
    452228297998.19403,
    -72749424522181.83,
    3682957328638529.0,
)
_J0_RQ = (
    499.563147152651,
    173785.4016763747,
    48440965.83399621,
    11185553704.535683,
    2112775201154.892,
    310518229857422.56,
    3.1812195594320496e16,
    1.7108629408104315e18,
)
_J1_RQ = (
    620.8364781180543,
    256987.25675774884,
    83514679.14319493,
    22151159547.97925,
    4749141220799.914,
    784369607876235.9,
    8.952223361846274e16,
    5.322786203326801e18,
)

#: The squares of the first zeros of the Bessel functions of the first kind.
_J0_ZEROS = (5.78318596294678452118, 30.4712623436620863991)
_J1_ZEROS = (14.6819706421238932572, 49.2184563216946036703)
#: (2k)! / B_2k of the Euler-Maclaurin formula.
_EULER = (
    12.0,
    -720.0,
    30240.0,
    -1209600.0,
    47900160.0,
    -1.8924375803183791606e9,
    7.47242496e10,
    -2.950130727918164224e12,
    1.1646782814350067249e14,
    -4.5979787224074726105e15,
    1.8152105401943546773e17,
    -7.1661652561756670113e18,
)
_SUMMED = 9  # terms of the zeta function that are added before that formula
_EPSILON = 2.0**-53


def _f(value: float) -> Any:
    return tirx.const(value, "float64")


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """By Horner's rule, from the highest power on; it uses each step once."""
    value = _f(coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + _f(coefficient)
    return value


@functools.cache
def _powers(coefficients: Sequence[float]) -> tuple[float, ...]:
    """The coefficients of the powers, from the highest on, of a Chebyshev series.

    Clenshaw's recurrence uses each step twice, and TVM writes it out as often. The series converge
    so fast that the powers lose no digits from -1 to 1.
    """
    series = [Fraction(number) for number in reversed(coefficients)]
    series[0] /= 2
    before, last = [Fraction(1)], [Fraction(0), Fraction(1)]
    total = [Fraction(0)] * len(series)
    for number, coefficient in enumerate(series):
        for power, factor in enumerate(before):
            total[power] += coefficient * factor
        twice = [Fraction(0), *(2 * factor for factor in last)]
        for power, factor in enumerate(before):
            twice[power] -= factor
        before, last = (last, twice) if number else (last, [Fraction(-1), Fraction(0), Fraction(2)])
    return tuple(float(number) for number in reversed(total))


def _modified(order: int, scaled: bool) -> Callable[[Any], Any]:
    """The modified Bessel function of the first kind, times exp(-|x|) if it is scaled."""
    near, far = ((_I0_NEAR, _I0_FAR), (_I1_NEAR, _I1_FAR))[order]

    def function(x: Any) -> Any:
        names = steps.Steps()
        size = names.name(tirx.abs(x))
        close = _polynomial(names.name(size / _f(4) - _f(1)), _powers(near))
        distant = _polynomial(names.name(_f(16) / size - _f(1)), _powers(far))
        growth = _f(1) if scaled else names.name(tirx.exp(size))
        if order:
            close = close * size
        value = tirx.Select(size <= _f(8), growth * close, growth * distant / tirx.sqrt(size))
        return names.within(tirx.Select(x < _f(0), -value, value) if order else value)

    return function


def _of_first_kind(order: int) -> Callable[[Any], Any]:
    """The Bessel function of the first kind, with its phase in `cos` and `sin` beyond 5."""
    p_above, p_below = ((_J0_PP, _J0_PQ), (_J1_PP, _J1_PQ))[order]
    q_above, q_below = ((_J0_QP, _J0_QQ), (_J1_QP, _J1_QQ))[order]
    r_above, r_below = ((_J0_RP, _J0_RQ), (_J1_RP, _J1_RQ))[order]
    first, second = (_J0_ZEROS, _J1_ZEROS)[order]

    def function(x: Any) -> Any:
        names = steps.Steps()
        size = names.name(tirx.abs(x))
        square = names.name(size * size)
        near = _polynomial(square, r_above) / _polynomial(square, r_below)
        near = near * (square - _f(first)) * (square - _f(second))
        near = near * size if order else near
        ratio = names.name(_f(5) / size)
        inverse = names.name(ratio * ratio)
        p = _polynomial(inverse, p_above) / _polynomial(inverse, p_below)
        q = _polynomial(inverse, q_above) / _polynomial(inverse, q_below)
        phase = names.name(size - _f((2 * order + 1) * math.pi / 4))
        far = (p * tirx.cos(phase) - ratio * q * tirx.sin(phase)) * _f(math.sqrt(2 / math.pi))
        value = tirx.Select(size <= _f(5), near, far / tirx.sqrt(size))
        return names.within(tirx.Select(x < _f(0), -value, value) if order else value)

    return function


def trigamma(x: Any) -> Any:
    """By reflection below 1/2, six steps up, and the asymptotic series from there on."""
    names = steps.Steps()
    reflected = x < _f(0.5)
    sine = names.name(tirx.sin(_f(math.pi) * x))
    y = names.name(tirx.Select(reflected, _f(1) - x, x))
    terms = _f(0)
    for step in range(6):
        term = names.name(y + _f(step))
        terms = terms + _f(1) / (term * term)
    far = names.name(y + _f(6))
    inverse = names.name(_f(1) / (far * far))
    series = inverse * (_f(1 / 6) - inverse * (_f(1 / 30) - inverse * _f(1 / 42)))
    value = names.name(terms + (_f(1) + _f(0.5) / far + series) / far)
    return names.within(tirx.Select(reflected, _f(math.pi**2) / (sine * sine) - value, value))


def _erfcx(x: Any) -> Any:
    """exp(x²) · erfc(x), from 25 on by the first terms of its asymptotic series.

    x² is taken as the sum of a number without rounding, the square of 24 digits, and a rest.
    """
    names = steps.Steps()
    digits = names.name(tirx.Cast("float64", tirx.Cast("float32", x)))
    rest = names.name((x - digits) * (x + digits))
    complement = tirx.call_pure_extern("float64", "erfc", x)
    near = tirx.exp(digits * digits) * (tirx.exp(rest) * complement)
    inverse = names.name(_f(0.5) / (x * x))
    series = _polynomial(inverse, (10395.0, -945.0, 105.0, -15.0, 3.0, -1.0, 1.0))
    far = _f(1 / math.sqrt(math.pi)) / x * series
    value = tirx.Select(x > _f(25), far, near)
    return names.within(tirx.Select(x < _f(-30), tirx.infinity("float64"), value))


def _elementwise(function: Callable[[Any], Any], hint: str) -> Converter:
    def convert(importer: Any, node: Any, previous: Any) -> Any:
        x = importer.retrieve_args(node)[0]
        return of_tensor(importer, node, function, x, hint)

    return convert


def of_tensor(importer: Any, node: Any, function: Callable[[Any], Any], x: Any, hint: str) -> Any:
    dtype = _emit.result_dtype(importer, node) or _compat.dtype_of(x)

    def element(value: Any) -> Any:
        names = steps.Steps()
        wide = names.name(tirx.Cast("float64", value))
        return names.within(tirx.Cast(dtype, function(wide)))

    return elementwise.emit(importer, element, x, hint=hint)


def zeta(importer: Any, node: Any, previous: Any) -> Any:
    operands = importer.retrieve_args(node)[:2]
    x, q = (_emit.tensor_or_scalar(importer, value, "float64") for value in operands)
    return zeta_of(importer, node, x, q, 1.0)


def zeta_of(importer: Any, node: Any, x: Any, q: Any, factor: float) -> Any:
    """The sum of (q + k)^-x over all k from 0 on, times a factor.

    The first terms are added, until q + k is above 9 or they no longer count, and Euler's and
    Maclaurin's formula gives the rest. A q below zero needs as many terms more, as in PyTorch.
    """
    shape = elementwise.broadcast(x, q)
    operands = [_emit.emit(importer, relax.op.broadcast_to(value, shape)) for value in (x, q)]
    flat = [indexing.flatten(importer, value) for value in operands]

    def body(dims: Any, total: Any, place: Any, term: Any, rest: Any, s: Any, start: Any) -> None:
        with T.serial(0, dims[0][0]) as i:
            total[i] = tirx.pow(start[i], -s[i])
            place[i] = start[i]
            term[i] = total[i]
            rest[i] = _f(0)  # terms that have been added; -1 once they no longer count
            with T.While(_adds_more(place[i], term[i], rest[i], s[i], start[i])):
                rest[i] = rest[i] + _f(1)
                place[i] = place[i] + _f(1)
                term[i] = tirx.pow(place[i], -s[i])
                total[i] = total[i] + term[i]
                small = tirx.abs(term[i]) < tirx.abs(total[i]) * _f(_EPSILON)
                rest[i] = tirx.if_then_else(small, _f(-1), rest[i])
            with T.If(rest[i] >= _f(0)), T.Then():
                total[i] = total[i] + term[i] * place[i] / (s[i] - _f(1)) - _f(0.5) * term[i]
                rest[i] = _f(1)
                for number, divisor in enumerate(_EULER):
                    with T.If(rest[i] != _f(0)), T.Then():
                        rest[i] = rest[i] * (s[i] + _f(2 * number))
                        term[i] = term[i] / place[i]
                        total[i] = total[i] + rest[i] * term[i] / _f(divisor)
                        small = tirx.abs(rest[i] * term[i] / _f(divisor) / total[i])
                        rest[i] = rest[i] * (s[i] + _f(2 * number + 1))
                        term[i] = term[i] / place[i]
                        rest[i] = tirx.if_then_else(small < _f(_EPSILON), _f(0), rest[i])
            pole = tirx.all(start[i] <= _f(0), start[i] == tirx.floor(start[i]))
            lost = tirx.all(start[i] <= _f(0), s[i] != tirx.floor(s[i]))
            total[i] = tirx.if_then_else(lost, _f(math.nan), total[i])
            total[i] = tirx.if_then_else(pole, tirx.infinity("float64"), total[i])
            total[i] = tirx.if_then_else(s[i] < _f(1), _f(math.nan), total[i])
            total[i] = tirx.if_then_else(s[i] == _f(1), tirx.infinity("float64"), total[i])
            total[i] = total[i] * _f(factor)

    outputs = [([_emit.extent(shape)], "float64")] * 4
    sums = loops.emit(importer, body, outputs, *flat, hint="zeta")[0]
    found = _emit.emit(importer, relax.op.reshape(sums, shape))
    return _emit.astype(importer, found, _emit.result_dtype(importer, node) or "float32")


def _adds_more(place: Any, term: Any, added: Any, s: Any, start: Any) -> Any:
    """Whether another term counts; never where the result is not finite anyway."""
    defined = tirx.all(s > _f(1), tirx.any(start > _f(0), start != tirx.floor(start)))
    open_ = tirx.any(tirx.all(added >= _f(0), added < _f(_SUMMED)), place <= _f(_SUMMED))
    return tirx.all(defined, added >= _f(0), open_)


_FUNCTIONS: dict[str, Converter] = {
    "i0": _elementwise(_modified(0, False), "i0"),
    "special_i0e": _elementwise(_modified(0, True), "i0e"),
    "special_i1": _elementwise(_modified(1, False), "i1"),
    "special_i1e": _elementwise(_modified(1, True), "i1e"),
    "special_modified_bessel_i0": _elementwise(_modified(0, False), "i0"),
    "special_modified_bessel_i1": _elementwise(_modified(1, False), "i1"),
    "special_bessel_j0": _elementwise(_of_first_kind(0), "bessel_j0"),
    "special_bessel_j1": _elementwise(_of_first_kind(1), "bessel_j1"),
    "special_erfcx": _elementwise(_erfcx, "erfcx"),
    "special_zeta": zeta,
}
#: What torch decomposes them to.
_PRIMITIVES = {
    "bessel_i0": "i0",
    "bessel_i0e": "special_i0e",
    "bessel_i1": "special_i1",
    "bessel_i1e": "special_i1e",
    "bessel_j0": "special_bessel_j0",
    "bessel_j1": "special_bessel_j1",
    "erfcx": "special_erfcx",
    "zeta": "special_zeta",
}
CONVERTERS: dict[str, Converter] = {
    **{f"{name}.default": function for name, function in _FUNCTIONS.items()},
    **{f"{name}.default": _FUNCTIONS[of] for name, of in _PRIMITIVES.items()},
    "special_zeta.self_scalar": zeta,
    "special_zeta.other_scalar": zeta,
}
