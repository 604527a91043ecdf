"""Kernels compiled for CUDA and Metal and run on the CPU, with every access checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest

if TYPE_CHECKING:
    from tvm import tirx

    from tvm_gpu_emulator import Executable

KINDS = ("cuda", "metal")


def gpu_target(kind: str) -> Any:
    from kokoro_pipeline.compiler.codegen.target import resolve_target

    # This machine's CPU runs the host code, whatever system the device would be on.
    target = resolve_target(kind).tvm
    import tvm

    return tvm.target.Target(target, host="llvm") if kind == "metal" else target


class Kernels:
    """Kernels of one device by a name, compiled together."""

    def __init__(self, kind: str, executable: Executable, symbols: Mapping[str, str]) -> None:
        self.kind, self.executable, self._symbols = kind, executable, symbols

    def __call__(
        self,
        name: str,
        inputs: Sequence[np.ndarray],
        *outputs: tuple[int, ...],
        dtype: str = "float32",
    ) -> Any:
        """The output of the given shape, or a list of them. What is not written stays NaN or -1."""
        unwritten = np.nan if dtype.startswith("float") else -1
        results = [np.full(shape, unwritten, dtype) for shape in outputs]
        copies = [np.array(array, order="C") for array in inputs]
        self.executable[self._symbols[name]](*copies, *results)
        for array, copy in zip(inputs, copies, strict=True):
            np.testing.assert_array_equal(copy, array)
        return results[0] if len(results) == 1 else results


CompileKernels = Callable[..., Kernels]


@pytest.fixture(scope="session")
def large_blocks() -> Callable[[], AbstractContextManager[None]]:
    """A context in which kernels of products are made that take large blocks for any size."""
    from kokoro_pipeline.compiler.kernels.gpu import tiled_product

    return lambda: mock.patch.object(tiled_product, "ENOUGH_BLOCKS", 1)


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def device_target() -> Callable[[str], Any]:
    """The target of a device's kind, its host code for this machine."""
    return gpu_target


@pytest.fixture(scope="session")
def compile_kernels(tmp_path_factory: pytest.TempPathFactory) -> CompileKernels:
    """`compile_kernels(kind, {name: PrimFunc})`; further arguments are the emulator's."""
    import tvm

    from kokoro_pipeline.compiler.passes.exact_constants import exact_constants
    from tvm_gpu_emulator import emulate

    folder: Path = tmp_path_factory.mktemp("gpu_kernels")

    def compile_all(kind: str, functions: Mapping[str, tirx.PrimFunc], **options: Any) -> Kernels:
        symbols = {name: str(f.attrs["global_symbol"]) for name, f in functions.items()}
        module = tvm.IRModule({symbols[name]: f for name, f in functions.items()})
        if kind == "metal":
            module = exact_constants(module)
        settings = {"check": True, "cache": folder, **options}
        return Kernels(kind, emulate(module, gpu_target(kind), **settings), symbols)

    return compile_all
