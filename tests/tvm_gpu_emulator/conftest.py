"""Small GPU kernels, the two targets, and one folder of compiled kernels for all of the tests."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tvm_gpu_emulator import Executable

KINDS = ("cuda", "metal")


@pytest.fixture(scope="session")
def samples() -> ModuleType:
    """The module `sample_kernels.py`."""
    spec = importlib.util.spec_from_file_location(
        "sample_kernels", Path(__file__).with_name("sample_kernels.py")
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # TVMScript looks its sources up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def target(kind: str) -> Any:
    return _target(kind)


@pytest.fixture
def make_target() -> Callable[..., Any]:
    """`make_target(kind, **limits)`."""
    return _target


def _target(kind: str, **limits: int) -> Any:
    import tvm

    known: dict[str, Any] = {
        "cuda": {"arch": "sm_90", "max_shared_memory_per_block": 49152},
        "metal": {"thread_warp_size": 32, "max_shared_memory_per_block": 32768},
    }[kind]
    return tvm.target.Target(
        {"kind": kind, "max_threads_per_block": 1024, **known, **limits}, host="llvm"
    )


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture
def run(target: Any, cache: Path) -> Callable[..., Executable]:
    """`emulate` for the target at hand, checked unless the test says otherwise."""
    from tvm_gpu_emulator import emulate

    return functools.partial(emulate, target=target, cache=cache, check=True)
