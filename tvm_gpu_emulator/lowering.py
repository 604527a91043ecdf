"""Generate the host code of a module for this CPU, and its device text, by TVM's own pipeline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import tvm
import tvm_ffi
from packaging.version import Version
from tvm import relax, tirx

from .errors import EnvironmentFault, InputError
from .kernel_text import KernelSpec

NOTE = "gpu_emulator_note"
"""The function that the host calls before a checked launch for every buffer: (name, tensor)."""

_COMPILE_CUDA = "tvm_callback_cuda_compile"
_LOCK = threading.RLock()
_OLDEST_TVM = Version("0.27")


@dataclass(frozen=True)
class Lowered:
    """Host code without its device modules, the device text, and the kernels in it.

    `host` is the module whose imports must provide the kernels. `root` is the module to run: a
    Relax executable or the host module itself.
    """

    host: tvm.runtime.Module
    root: Any
    source: str
    kernels: tuple[KernelSpec, ...]
    functions: tuple[str, ...]


RUNTIME_LOWERING = tvm.ir.transform.Sequential(
    [
        relax.transform.ToNonDataflow(),
        relax.transform.RemovePurityChecking(),
        relax.transform.CallTIRRewrite(),
        relax.transform.StaticPlanBlockMemory(),
        relax.transform.LowerAllocTensor(),
        relax.transform.KillAfterLastUse(),
        relax.transform.LowerRuntimeBuiltin(),
        relax.transform.ComputePrimValue(),
        relax.transform.VMShapeLower(),
        relax.transform.AttachGlobalSymbol(),
    ]
)
"""The passes that Relax functions with `call_tir` still need before code generation."""


def _check_tvm(installed: str) -> None:
    if Version(installed) < _OLDEST_TVM:
        raise EnvironmentFault(
            f"the emulator reads what TVM {_OLDEST_TVM} and newer generates, and this is TVM "
            f"{installed}: pip install 'apache-tvm>={_OLDEST_TVM}'"
        )


def lower(
    module: tvm.IRModule | tirx.PrimFunc,
    target: tvm.target.Target,
    check: bool,
    relax_pipeline: Any,
) -> Lowered:
    """Build for `target` with the CPU of this machine as the host.

    Raises InputError for a target that is neither "cuda" nor "metal", and for a module without
    functions for the device, EnvironmentFault with a version of TVM that generates other text.
    """
    _check_tvm(version("apache-tvm"))
    if target.kind.name not in ("cuda", "metal"):
        raise InputError(f"the emulator runs cuda and metal, not {target.kind.name}")
    if isinstance(module, tirx.PrimFunc):
        module = _one_function(module)
    # The target of the kernels is as given; the host is replaced by this machine.
    target = tvm.target.Target(target, host="llvm")
    with_relax = any(isinstance(f, relax.Function) for f in module.functions.values())
    kernels: dict[str, KernelSpec] = {}
    with _LOCK, _host_on_cpu(kernels, check), _cuda_without_compiler():
        if with_relax:
            root = relax.build(module, target=target, relax_pipeline=relax_pipeline)
            top = root.mod
        else:
            root = top = tvm.tirx.build(module, target=target)
    host, devices = _detach(top, target.kind.name)
    source = "\n".join(device.inspect_source() for device in devices)
    return Lowered(host, root, source, tuple(kernels.values()), _names(module, with_relax))


def _one_function(function: tirx.PrimFunc) -> tvm.IRModule:
    attrs = function.attrs
    name = str(attrs["global_symbol"]) if attrs and "global_symbol" in attrs else "main"
    return tvm.IRModule({name: function})


def _names(module: tvm.IRModule, with_relax: bool) -> tuple[str, ...]:
    kind = relax.Function if with_relax else tirx.PrimFunc
    names = []
    for variable, function in module.functions.items():
        if isinstance(function, kind):
            attrs = function.attrs
            known = attrs is not None and "global_symbol" in attrs
            names.append(str(attrs["global_symbol"]) if known else variable.name_hint)
    return tuple(names)


def _detach(top: tvm.runtime.Module, kind: str) -> tuple[tvm.runtime.Module, list[Any]]:
    """Remove the device code from the module that imports it; returns that module and the code."""
    pending = [top]
    while pending:
        module = pending.pop()
        devices = [each for each in module.imports if each.kind == kind]
        if devices:
            others = [each for each in module.imports if each.kind != kind]
            module.clear_imports()
            for other in others:
                module.import_module(other)
            return module, devices
        pending += list(module.imports)
    raise InputError(
        f"no function of the module runs on {kind}: bind loops to blockIdx and threadIdx "
        "(a Relax function without thread-bound PrimFuncs needs relax_pipeline='default')"
    )


@contextmanager
def _cuda_without_compiler() -> Iterator[None]:
    """Context in which TVM does not compile CUDA text to machine code, which is not needed."""
    previous = tvm.get_global_func(_COMPILE_CUDA, allow_missing=True)
    tvm_ffi.register_global_func(_COMPILE_CUDA, lambda _code: b"", override=True)
    try:
        yield
    finally:
        if previous is None:
            tvm_ffi.registry.remove_global_func(_COMPILE_CUDA)
        else:
            tvm_ffi.register_global_func(_COMPILE_CUDA, previous, override=True)


@contextmanager
def _host_on_cpu(kernels: dict[str, KernelSpec], check: bool) -> Iterator[None]:
    """Context in which host wrappers become CPU functions, and device functions are recorded."""
    original: Callable[[], Any] = tirx.transform.MakePackedAPI

    def retarget(module: tvm.IRModule, _context: Any) -> tvm.IRModule:
        cpu = tvm.target.Target("llvm", host="llvm")
        changed = {}
        for variable, function in module.functions.items():
            if not isinstance(function, tirx.PrimFunc) or not function.attrs:
                continue
            if "tirx.kernel_launch_params" in function.attrs:
                spec = _kernel_spec(variable.name_hint, function)
                kernels[spec.name] = spec
            elif "target" in function.attrs and function.attrs["target"].host is not None:
                host = _with_notes(function) if check else function
                changed[variable] = host.with_attr("target", cpu)
        for variable, function in changed.items():
            module.update_func(variable, function)
        return module

    def replacement() -> Any:
        first = tvm.transform.module_pass(retarget, opt_level=0, name="GPUEmulatorHost")
        return tvm.ir.transform.Sequential([first, original()])

    tirx.transform.MakePackedAPI = replacement
    try:
        yield
    finally:
        tirx.transform.MakePackedAPI = original


def _kernel_spec(name: str, function: tirx.PrimFunc) -> KernelSpec:
    if "global_symbol" in function.attrs:
        name = str(function.attrs["global_symbol"])
    parameters = tuple(
        (
            parameter.name,
            None if isinstance(parameter.ty, tvm.ir.PointerType) else str(parameter.ty),
        )
        for parameter in function.params
    )
    tags = tuple(str(tag) for tag in function.attrs["tirx.kernel_launch_params"])
    return KernelSpec(name, parameters, tags)


def _with_notes(function: tirx.PrimFunc) -> tirx.PrimFunc:
    """Before every launch, report name, shape and dtype of each passed buffer to the checker."""
    aliases: dict[Any, Any] = {}

    def declared(statement: tirx.DeclBuffer) -> None:
        data = statement.data
        if _is_call(data, "tirx.buffer_data"):
            aliases[statement.buffer] = data.args[0]

    tvm_ffi.structural_walk(function.body, (tirx.DeclBuffer, declared), order="post")

    def root(buffer: Any) -> Any:
        for _ in range(len(aliases) + 1):
            if buffer not in aliases:
                break
            buffer = aliases[buffer]
        return buffer

    def noted(statement: tirx.Evaluate) -> tirx.Stmt:
        if not _is_call(statement.value, "tirx.call_ffi_kernel"):
            return statement
        notes = []
        for argument in statement.value.args[1:]:
            if _is_call(argument, "tirx.buffer_data"):
                buffer = root(argument.args[0])
                notes.append(tirx.Evaluate(tirx.call_packed(NOTE, buffer.name, buffer)))
        return tirx.SeqStmt([*notes, statement]) if notes else statement

    body = tvm_ffi.structural_map(function.body, (tirx.Evaluate, noted), order="post")
    return function.with_body(body)


def _is_call(value: Any, name: str) -> bool:
    return isinstance(value, tvm.ir.Call) and getattr(value.op, "name", None) == name
