"""Probes of `doctor` for CUDA: the driver for running artifacts, the compiler for building them."""

from __future__ import annotations

from ..errors import KokoroError
from .console import size
from .finding import Finding
from .isolated import NoAnswerError, ask

DRIVER_SECONDS = 20.0
"""Timeout in seconds for starting the driver."""

_ASK_DRIVER = """
from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.runtime.engine.cuda_driver import read_driver
try:
    driver = read_driver()
except EnvironmentFault as fault:
    answer({"fault": str(fault)})
else:
    gpus = [[gpu.name, gpu.arch, gpu.memory] for gpu in driver.devices]
    answer({"version": driver.version, "gpus": gpus})
"""


def cuda_driver() -> list[Finding]:
    """The NVIDIA driver and its GPUs, queried in a separate process; needed for CUDA only."""
    try:
        told = ask(_ASK_DRIVER, timeout=DRIVER_SECONDS)
    except NoAnswerError as error:
        remedy = "check the NVIDIA driver with nvidia-smi"
        return [Finding("cuda driver", "warning", f"does not answer: {error}", remedy)]
    if "fault" in told:
        cause, _, remedy = told["fault"].partition("; ")
        return [Finding("cuda driver", "absent", cause, remedy or "nvidia-smi shows more")]
    version = ".".join(str(part) for part in told["version"])
    gpus = [f"{name} ({arch}, {size(memory)})" for name, arch, memory in told["gpus"]]
    return [Finding("cuda driver", "ok", f"CUDA {version}: {', '.join(gpus)}")]


def cuda_compiler() -> list[Finding]:
    """The compiler for `build --target cuda`, which does not need a driver."""
    from ..compiler.codegen.cuda_compiler import find_cuda_compiler

    try:
        found = find_cuda_compiler()
    except KokoroError as error:
        remedy = "for --target cuda: pip install nvidia-cuda-nvrtc"
        return [Finding("cuda compiler", "absent", str(error).partition(":")[0], remedy)]
    return [Finding("cuda compiler", "ok", found.name)]
