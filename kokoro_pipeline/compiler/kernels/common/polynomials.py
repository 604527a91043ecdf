"""Polynomials of the elementary functions, and constants in parts."""

from __future__ import annotations

LOG2_E = 1.44269504088896341
# ln 2 and pi as sums of parts with few significant bits: n times the first parts is exact, so the
# reduction does not lose accuracy.
LN2_PARTS = (0.693359375, -2.12194440e-4)
PI_PARTS = (3.140625, 9.67502593994140625e-4, 1.509957990978376432e-7)
EXP_POLYNOMIAL = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
)
SIN_POLYNOMIAL = (
    2.6083159809786593e-06,
    -1.981069071916863e-4,
    8.33307858556509e-3,
    -1.66666597127914e-1,
)
# For float64; interpolates at the Chebyshev nodes up to pi/2.
SIN_POLYNOMIAL_64 = (
    2.7314368769379893e-15,
    -7.643969663988074e-13,
    1.6058977292642743e-10,
    -2.505210761669045e-08,
    2.7557319219160833e-06,
    -0.00019841269841254966,
    0.008333333333333316,
    -0.16666666666666666,
)
# P in ln(1 + r) = r - r^2 / 2 + r^3 P(r), for 1 + r from sqrt(1/2) to sqrt(2) (Moshier, Cephes).
LOG_POLYNOMIAL = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
