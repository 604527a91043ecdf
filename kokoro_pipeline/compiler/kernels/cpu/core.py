"""What the choice of a kernel asks of a core: its caches, how fast it multiplies and reads.

LLVM's description of a CPU has its instructions and not its caches, so they are in a table by the
name of the CPU. The name is all that a build knows of the machine that will run the library; a
build on the machine itself may measure instead (`--tune`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import tvm

KB, MB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Core:
    """A core of a CPU. Sizes are in bytes, speeds in multiply-adds or bytes a cycle, on one core.

    `l2` is the data cache that it has to itself, and `l3` about half of the one that it shares with
    others, which also holds what they and other layers of a model read.
    `multiply_adds` is the number of float32 multiply-adds in a cycle. `far` and `memory` are bytes
    that matrix products read in a cycle from L3 and from memory, counted beyond what is hidden
    behind the products; `scattered` is the same for the numbers of a transform that leave L2, which
    lie in many short runs.
    """

    l2: int = 1 * MB
    l3: int = 8 * MB
    multiply_adds: int = 16
    far: float = 16.0
    memory: float = 8.0
    scattered: float = 2.0

    @classmethod
    def of(cls, target: tvm.target.Target | Mapping[str, Any] | str) -> Core:
        """The core of an LLVM target, given as a Target, its dictionary, or an mcpu name.

        A CPU that is not in the table, the generic ones included, is taken to be `Core()`.
        """
        if isinstance(target, str):
            return CORES.get(target, DEFAULT_CORE)
        attributes = target.attrs if isinstance(target, tvm.target.Target) else target
        return CORES.get(str(attributes.get("mcpu", "")), DEFAULT_CORE)


# The makers' manuals have the sizes and the multiply-adds. The speeds of reading are fitted to
# times: an Emerald Rapids took 39 to 48 % of the time of FFTs with 256 channels, in blocks of 8
# tiles, to read their weights from L3; a Zen 5 next to none. A Zen 3 with 8 lanes lost 28 % of the
# time of the products of FFT 32 to numbers outside of L2, and 45 % of those of FFT 64.
_SKYLAKE_SERVER = Core(1 * MB, 16 * MB, 32, far=12, memory=5)
_ICELAKE_SERVER = replace(_SKYLAKE_SERVER, l2=1280 * KB, l3=24 * MB)
_SAPPHIRE_RAPIDS = replace(_ICELAKE_SERVER, l2=2 * MB, l3=36 * MB)
_HASWELL = Core(256 * KB, 4 * MB, 16)
_CLIENT = Core(1280 * KB, 8 * MB, 16)
_ZEN = Core(512 * KB, 8 * MB, 16, far=50, memory=10, scattered=1.0)
_ZEN_4 = replace(_ZEN, l2=1 * MB, l3=16 * MB, scattered=2.0)
_NEOVERSE_N1 = Core(1 * MB, 16 * MB, 8)
_NEOVERSE_V1 = replace(_NEOVERSE_N1, multiply_adds=16)
_APPLE = Core(3 * MB, 8 * MB, 16, far=32, memory=16)

DEFAULT_CORE = Core()

CORES: Mapping[str, Core] = {
    **dict.fromkeys(("haswell", "broadwell", "skylake"), _HASWELL),
    **dict.fromkeys(("skylake-avx512", "cascadelake", "cooperlake"), _SKYLAKE_SERVER),
    **dict.fromkeys(("icelake-client", "rocketlake"), replace(_CLIENT, l2=512 * KB)),
    **dict.fromkeys(("tigerlake", "alderlake", "raptorlake", "meteorlake"), _CLIENT),
    **dict.fromkeys(("arrowlake", "arrowlake-s", "lunarlake"), replace(_CLIENT, l2=2560 * KB)),
    "icelake-server": _ICELAKE_SERVER,
    **dict.fromkeys(
        ("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"), _SAPPHIRE_RAPIDS
    ),
    **dict.fromkeys(("znver1", "znver2"), _ZEN),
    "znver3": replace(_ZEN, l3=16 * MB),
    "znver4": _ZEN_4,
    "znver5": replace(_ZEN_4, multiply_adds=32),
    **dict.fromkeys(("neoverse-n1", "neoverse-n2"), _NEOVERSE_N1),
    "neoverse-v1": _NEOVERSE_V1,
    "neoverse-v2": replace(_NEOVERSE_V1, l2=2 * MB),
    **dict.fromkeys(("apple-m1", "apple-m2", "apple-m3", "apple-m4"), _APPLE),
}
"""Cores by LLVM's name of the CPU."""
