"""Compile kernels for every instruction set that this machine supports, many at once."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tvm
from tvm.target import codegen

from kokoro_pipeline.artifact import amx
from kokoro_pipeline.artifact.cpu import host_architecture, host_features
from kokoro_pipeline.compiler.codegen.target import host_mcpu
from kokoro_pipeline.compiler.kernels.common.producer import Activation
from kokoro_pipeline.compiler.kernels.cpu.tile_unit import TileUnit
from kokoro_pipeline.compiler.kernels.cpu.transform import SameConv1d
from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget
from kokoro_pipeline.errors import ArtifactError

HOST = host_mcpu()
HOST_TARGET = tvm.target.Target({"kind": "llvm", "mcpu": HOST})


def runnable_cpus() -> list[Any]:
    """An mcpu for each instruction set (AVX-512, AVX2); elsewhere the host's own. Those behind the
    best are of the tier `variants`."""
    levels = {"x86-64-v4": ["avx512f", "avx512vl", "avx512dq"], "x86-64-v3": ["avx2", "fma"]}
    found = [
        name for name, need in levels.items() if codegen.target_has_features(need, HOST_TARGET)
    ]
    best, *others = found or [HOST]
    return [best, *(pytest.param(cpu, marks=pytest.mark.variants) for cpu in others)]


@dataclass
class KernelTarget:
    """An instruction set, its vectors, and a compiler of PrimFuncs into numpy functions."""

    mcpu: str
    vectors: VectorTarget = field(init=False)

    def __post_init__(self) -> None:
        self.vectors = VectorTarget.of(self.mcpu)

    def compile(self, functions: Sequence[Any]) -> Mapping[str, Callable[..., None]]:
        """Compiled functions by their global symbol; the last arguments are written."""
        module = tvm.IRModule({f.attrs["global_symbol"]: f for f in functions})
        library = tvm.compile(module, target=tvm.target.Target({"kind": "llvm", "mcpu": self.mcpu}))
        return {
            str(f.attrs["global_symbol"]): library[str(f.attrs["global_symbol"])] for f in functions
        }


@pytest.fixture(scope="module", params=runnable_cpus())
def kernel_target(request: pytest.FixtureRequest) -> KernelTarget:
    return KernelTarget(request.param)


@dataclass
class TileTarget(KernelTarget):
    """An instruction set whose kernels multiply tiles, by instructions or by their emulation."""

    unit: TileUnit = TileUnit.EMULATED

    def compile(self, functions: Sequence[Any]) -> Mapping[str, Callable[..., None]]:
        """As the product compiles them, which takes half the time."""
        with tvm.transform.PassContext(disabled_pass=["s_tir.CompactBufferAllocation"]):
            return super().compile(functions)


def tile_targets() -> list[TileTarget]:
    """The emulation for the best instruction set of x86-64 here, and the instructions."""
    if host_architecture() != "x86_64":
        return []
    return [TileTarget(runnable_cpus()[0]), TileTarget("sapphirerapids", TileUnit.AMX)]


@pytest.fixture(
    scope="session", params=tile_targets(), ids=lambda target: f"{target.mcpu}-{target.unit.value}"
)
def tile_target(request: pytest.FixtureRequest) -> TileTarget:
    """Skips the instructions, and says why, where this machine cannot run them."""
    target: TileTarget = request.param
    if target.unit is TileUnit.AMX:
        missing = set(amx.FEATURES) - host_features()
        if missing:
            pytest.skip(f"only the emulation ran: this CPU lacks {', '.join(sorted(missing))}")
        try:
            amx.permit_tiles()
        except ArtifactError as fault:
            pytest.skip(f"only the emulation ran: {fault}")
    return target


@pytest.fixture(scope="session")
def aarch64() -> ModuleType:
    """The module `aarch64_process.py`, where this machine can emulate aarch64."""
    path = Path(__file__).with_name("aarch64_process.py")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reason = module.why_not()
    if reason:
        pytest.skip(reason)
    return module


def call(
    function: Callable[..., None], inputs: Sequence[np.ndarray], *outputs: tuple[int, ...]
) -> list[np.ndarray]:
    """Run a kernel on aligned copies; outputs start as NaN, so an element left unwritten shows."""
    arguments = [tvm.runtime.tensor(np.ascontiguousarray(a)) for a in inputs]
    results = [tvm.runtime.tensor(np.full(shape, np.nan, np.float32)) for shape in outputs]
    function(*arguments, *results)
    return [r.numpy() for r in results]


@pytest.fixture(scope="session")
def call_kernel() -> Callable[..., list[np.ndarray]]:
    return call


# Convolutions that keep the length, with their producers


@dataclass
class SameConvCase:
    """Random arguments of a convolution, and its result in float64."""

    conv: SameConv1d
    batch: int
    length: int
    dilation: int

    def __post_init__(self) -> None:
        conv, B, L = self.conv, self.batch, self.length
        C, rng = conv.in_channels, np.random.default_rng([L, self.dilation])

        def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
            return (scale * rng.standard_normal(shape)).astype(np.float32)

        self.x = normal(B, L, C)
        self.coefficients: list[np.ndarray] = []
        z = self.x.astype(np.float64)
        if conv.producer.adain:
            mean, rstd = normal(B, C, scale=0.1), np.exp(normal(B, C, scale=0.3))
            weight, bias, style = normal(C), normal(C, scale=0.5), normal(B, 2 * C, scale=0.5)
            self.coefficients += [mean, rstd, weight, bias, style]
            h = (z - mean[:, None]) * rstd[:, None].astype(np.float64) * weight + bias
            z = (1.0 + style[:, None, :C].astype(np.float64)) * h + style[:, None, C:]
        if conv.producer.activation is Activation.LEAKY_RELU:
            z = np.maximum(z, conv.producer.slope * z)
        elif conv.producer.activation is Activation.SNAKE:
            alpha = rng.uniform(0.3, 3, C).astype(np.float32)
            self.coefficients.append(alpha)
            z = z + np.sin(alpha * z) ** 2 / alpha.astype(np.float64)
        self.weight = normal(conv.out_channels, C, conv.taps, scale=(C * conv.taps) ** -0.5)
        self.bias = normal(conv.out_channels, scale=0.1)
        self.residual = [normal(B, L, conv.out_channels)] if conv.residual else []
        pad = conv.taps // 2 * self.dilation
        padded = np.pad(z, ((0, 0), (pad, pad), (0, 0)))
        y = np.zeros((B, L, conv.out_channels)) + self.bias
        for k in range(conv.taps):
            rows = padded[:, k * self.dilation : k * self.dilation + L]
            y += rows @ self.weight[:, :, k].T.astype(np.float64)
        self.expected = y + (self.residual[0] if conv.residual else 0.0)

    def run(self, function: Callable[..., None], packed: np.ndarray) -> np.ndarray:
        return self.run_all(function, packed)[0]

    def run_all(self, function: Callable[..., None], packed: np.ndarray) -> list[np.ndarray]:
        """The result, and its mean and reciprocal deviation if the convolution gives them."""
        inputs = [self.x, *self.coefficients, packed, *self.residual]
        arguments = [tvm.runtime.tensor(np.ascontiguousarray(a)) for a in inputs]
        moment = (self.batch, self.conv.out_channels)
        moments = [] if self.conv.statistics is None else [moment, moment]
        results = [
            tvm.runtime.tensor(np.full(shape, np.nan, np.float32))
            for shape in [self.expected.shape, *moments]
        ]
        function(*arguments, self.dilation, *results)
        return [result.numpy() for result in results]

    def row(self, b: int) -> SameConvCase:
        """The same case with batch row b alone."""
        alone = SameConvCase(self.conv, self.batch, self.length, self.dilation)
        alone.x, alone.residual = self.x[b : b + 1], [r[b : b + 1] for r in self.residual]
        alone.coefficients = [a[b : b + 1] if a.ndim == 2 else a for a in self.coefficients]
        alone.expected = self.expected[b : b + 1]
        return alone


Compiled = Mapping[str, Callable[..., None]]
Pack = Callable[..., np.ndarray]


@pytest.fixture(scope="session")
def make_same_conv_case() -> Callable[..., SameConvCase]:
    return SameConvCase


@pytest.fixture(scope="session")
def check_same_conv1d() -> Callable[..., tuple[float, float]]:
    def check(
        function: Callable[..., None],
        conv: SameConv1d,
        target: KernelTarget,
        pack: Pack,
        length: int,
        dilation: int,
    ) -> tuple[float, float]:
        """Largest and root mean square error, over the result's standard deviation."""
        case = SameConvCase(conv, 2 if length < 30 else 1, length, dilation)
        y = case.run(function, pack(target.vectors, case.weight, case.bias))
        error, scale = y - case.expected, case.expected.std()
        return float(np.abs(error).max() / scale), float(np.sqrt((error**2).mean()) / scale)

    return check


@pytest.fixture
def check_statistics(set_threads: Callable[[int], None]) -> Callable[..., None]:
    def check(
        function: Callable[..., None], conv: SameConv1d, target: KernelTarget, pack: Pack
    ) -> None:
        """Statistics equal those of the rows written, as exact as `channel_statistics` has them
        where a one-pass formula fails; 1 and 3 threads give the same bits."""
        for length in (1, 2, 27, 601):
            for dilation in (1, 5, 40):
                case = SameConvCase(conv, 2, length, dilation)
                offsets = np.linspace(-1000, 1000, conv.out_channels, dtype=np.float32)
                packed = pack(target.vectors, case.weight, case.bias + offsets)
                runs = []
                for threads in (1, 3):
                    set_threads(threads)
                    runs.append(case.run_all(function, packed))
                y, mean, rstd = runs[0]
                for one, other in zip(*runs, strict=True):
                    np.testing.assert_array_equal(one, other)
                exact = y.astype(np.float64)
                np.testing.assert_allclose(mean, exact.mean(1), rtol=2e-7, atol=2e-6)
                deviation = np.sqrt(exact.var(1) + conv.statistics)
                np.testing.assert_allclose(rstd, 1 / deviation, rtol=2e-6)

    return check


@pytest.fixture(scope="session")
def isolate_batch_rows() -> Callable[..., None]:
    def isolate(
        compiled: Compiled, convs: Mapping[str, SameConv1d], target: KernelTarget, pack: Pack
    ) -> None:
        """NaN in the other batch rows changes no bit, for each of the convolutions."""
        for name, conv in convs.items():
            for dilation in (1, 5):
                case = SameConvCase(conv, 3, 61, dilation)
                packed = pack(target.vectors, case.weight, case.bias)
                alone = case.row(1).run(compiled[name], packed)
                batched = [case.x, *case.residual, *(a for a in case.coefficients if a.ndim == 2)]
                for array in batched:
                    array[[0, 2]] = np.nan
                np.testing.assert_array_equal(case.run(compiled[name], packed)[1], alone[0])

    return isolate


@pytest.fixture
def vary_threads(set_threads: Callable[[int], None]) -> Callable[..., None]:
    def vary(
        compiled: Compiled, convs: Mapping[str, SameConv1d], target: KernelTarget, pack: Pack
    ) -> None:
        """1, 2 and 5 threads give the same bits, for each of the convolutions."""
        for name, conv in convs.items():
            case = SameConvCase(conv, 2, 403, 3)
            packed = pack(target.vectors, case.weight, case.bias)
            results = []
            for threads in (1, 2, 5):
                set_threads(threads)
                results.append(case.run(compiled[name], packed))
            np.testing.assert_array_equal(results[0], results[1])
            np.testing.assert_array_equal(results[0], results[2])

    return vary
