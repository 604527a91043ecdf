"""What noise of a key is, in float64: the definition that kernels are held to.

The words of Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011) for
the counters from 0 on become standard normals by the inverse of the normal distribution. The
highest bit of a word is the sign of its value, and the others are a number k: the value is the
quantile of (k + 1/2) / 2^32, which is below one half, with that sign. Its size is at most 6.34.

Every value depends on the key and its place only, so that any number of threads, vectors or cores
draws the same ones. The words of `GROUP` neighbouring counters are stored one after the other, the
first words of all of them first, so that vectors and warps write neighbours.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

GROUP = 16
"""Counters whose words are stored together."""
WORDS = 4
"""Words of a counter."""
VALUES = GROUP * WORDS
"""Values of a group."""

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
"""What is added to the two words of the key after each round."""

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(key: NDArray[np.int64], counters: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The words of Philox4x32-10 for counters below 2^32, [n, 4]; key: two words of 32 bits."""
    zero = np.zeros_like(counters)
    c = [counters, zero, zero, zero]
    k = [np.uint64(word) for word in key]
    for _ in range(ROUNDS):
        first, second = (
            word * np.uint64(factor) for word, factor in zip(c[::2], MULTIPLIERS, strict=True)
        )
        c = [
            second >> _HALF ^ c[1] ^ k[0],
            second & _LOW,
            first >> _HALF ^ c[3] ^ k[1],
            first & _LOW,
        ]
        k = [word + np.uint64(step) & _LOW for word, step in zip(k, WEYL, strict=True)]
    return np.stack(c, axis=1)


def standard_normals(key: NDArray[np.int64], start: int, stop: int) -> NDArray[np.float64]:
    """The values `start` to `stop` of a key: int64 [2], two words of 32 bits."""
    first, last = start // VALUES, -(-stop // VALUES)
    counters = np.arange(first * GROUP, last * GROUP, dtype=np.uint64)
    words = philox(key, counters).reshape(-1, GROUP, WORDS).swapaxes(1, 2).reshape(-1)
    words = words[start - first * VALUES :][: stop - start].astype(np.int64)
    quantile = NormalDist().inv_cdf
    sizes = [-quantile((word + 0.5) * 2.0**-32) for word in (words & 0x7FFFFFFF).tolist()]
    return np.where(words >> 31 > 0, -np.array(sizes), sizes)
