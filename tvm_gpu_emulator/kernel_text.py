"""Split generated CUDA or Metal text into one C++ translation unit per kernel.

Line numbers are kept: by `#line` directives, compilers and debuggers refer to the generated text,
under the name `GENERATED`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .faults import UnsupportedKernel
from .ptx import emulate_ptx

GENERATED = "generated"
"""The file name of the generated text for compilers."""

MAX_PARAMETERS = 64
"""The value of kMaxArguments in launch.h."""

LAUNCH_TAGS = {
    "blockIdx.x": "kBlockX",
    "blockIdx.y": "kBlockY",
    "blockIdx.z": "kBlockZ",
    "threadIdx.x": "kThreadX",
    "threadIdx.y": "kThreadY",
    "threadIdx.z": "kThreadZ",
    "tirx.use_dyn_shared_memory": "kDynamicShared",
}
"""TVM's launch parameters to their names in launch.h."""

C_TYPES = {
    "bool": "bool",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "float32": "float",
    "float64": "double",
}
"""C++ types of scalar kernel parameters by TVM dtype."""

# Operations at which threads of a block have to wait for each other, and copies that the scheduler
# keeps for a thread; other kernels run without fibers.
_MEETING = re.compile(
    r"__sync|_sync\(|mma_sync|_barrier\(|simd_|__activemask|__any\b|__all\b|__ballot|cp_async"
    r"|_relaxed_gpu_"
)

# Loads by which a block waits for another one.
_WAITING = re.compile(r"_ld_relaxed_gpu_")

# Constructs that cannot be emulated, with a description.
_REFUSED = (
    (re.compile(r"\basm\b|\b__asm__\b"), "inline PTX assembly"),
    (re.compile(r"\bwmma::\w+|\bmma_sync\b|\bsimdgroup_(?:float|half|multiply|matrix)\w*"),
     "matrix (tensor core) instructions"),
    (re.compile(r"\batomic\w*"), "atomic operations"),
    (re.compile(r"\bcooperative_groups\b|\bcg::"), "cooperative groups"),
)  # fmt: skip

# A type that C++ has and Metal does not; headers cannot remove it.
_NOT_METAL = re.compile(r"\bdouble\b")

_CUDA_HEADER = re.compile(
    r'extern "C" __global__ void (?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(([^)]*)\)\s*([;{])'
)
_METAL_HEADER = re.compile(r"kernel void (\w+)\(([^{]*)\)\s*\{")
_SHARED = {
    "cuda": re.compile(
        r"(?:\bextern )?__shared__ (?:alignas\(\d+\) |__align__\(\d+\) )?"
        r"(?:volatile )?((?:\w+ )*\w+) (\w+)\[(\d*)\];"
    ),
    "metal": re.compile(r"\bthreadgroup (?:volatile )?((?:\w+ )*\w+) (\w+)\[(\d+)\];"),
}


@dataclass(frozen=True)
class KernelSpec:
    """The signature of a device function.

    `parameters` are names and dtypes; the dtype is None for a pointer. `launch` are TVM's tags of
    the values that follow the parameters in a launch.
    """

    name: str
    parameters: tuple[tuple[str, str | None], ...]
    launch: tuple[str, ...]


@dataclass(frozen=True)
class Unit:
    """One kernel as a complete C++ translation unit."""

    kernel: str
    text: str


@dataclass(frozen=True)
class _Shared:
    """A declared shared array; `elements` is None for dynamic memory."""

    type: str
    name: str
    elements: int | None
    line: int


def line_of(text: str, position: int) -> int:
    """The line number, from 1, of a position in a text."""
    return text.count("\n", 0, position) + 1


def units(source: str, kind: str, kernels: Sequence[KernelSpec], check: bool) -> list[Unit]:
    """The translation units of a generated text.

    `kind` is "cuda" or "metal". With `check`, shared arrays are allocated by the scheduler with
    guards. Raises UnsupportedKernel if the text contains unsupported constructs.
    """
    specs = {spec.name: spec for spec in kernels}
    if kind == "cuda":
        source = emulate_ptx(source)
    found = (_cuda if kind == "cuda" else _metal)(source, specs, check)
    missing = sorted(set(specs) - {unit.kernel for unit in found})
    if missing:
        raise UnsupportedKernel(
            f"the generated {kind} text has no kernel {', '.join(missing)} that the host launches"
        )
    return found


def _cuda(source: str, specs: dict[str, KernelSpec], check: bool) -> list[Unit]:
    headers = list(_CUDA_HEADER.finditer(source))
    spans: list[tuple[int, int]] = []
    definitions: list[tuple[re.Match[str], int]] = []
    for header in headers:
        end = header.end() if header[3] == ";" else _closing_brace(source, header.end())
        spans.append((header.start(), end))
        if header[3] == "{":
            definitions.append((header, end))
    # The text outside of kernels (the prelude, device functions) is part of every unit.
    common, position = [], 0
    for start, end in [*spans, (len(source), len(source))]:
        if source[position:start].strip():
            common.append(_lined(source, position, source[position:start]))
        position = end
    result = []
    for header, end in definitions:
        spec = _spec(specs, header[1])
        parameters = header[2].strip()
        opening = (
            f"static void {header[1]}(const emulator::Index3 threadIdx, "
            f"const emulator::Index3 blockIdx{', ' if parameters else ''}{parameters}) {{"
        )
        waits = _WAITING.search(source, header.end(), end) is not None
        body, shared = _body(source, header.end(), end, "cuda", check or waits)
        calls = _cuda_call(spec)
        result.append(
            _unit(
                '#include "cuda_builtins.h"\n', common, spec, shared, calls,
                f"{_line_directive(source, header.start())}{opening}{body}\n",
                _needs_fibers(body) or check, waits,
            )
        )  # fmt: skip
    return result


def _metal(source: str, specs: dict[str, KernelSpec], check: bool) -> list[Unit]:
    starts = [match.start() for match in re.finditer(r"^// Function: ", source, re.M)] or [0]
    result = []
    for start, stop in zip(starts, [*starts[1:], len(source)], strict=True):
        header = _METAL_HEADER.search(source, start, stop)
        if header is None:
            continue
        spec = _spec(specs, header[1])
        end = _closing_brace(source, header.end())
        if re.search(r"\S", source[end:stop]):
            raise UnsupportedKernel(
                f"line {line_of(source, end)} of the generated metal text follows a kernel "
                "without being one"
            )
        # Attributes are within one line, so line numbers do not change.
        parameters = re.sub(r"\[\[.*?\]\]", "", header[2])
        body, shared = _body(source, header.end(), end, "metal", check)
        common = [_lined(source, start, source[start : header.start()])]
        text = (
            f"{_line_directive(source, header.start())}"
            f"static void {header[1]}({parameters}) {{{body}\n"
        )
        result.append(
            _unit(
                '#include "metal.h"\n', common, spec, shared, _metal_call(spec, header[1]),
                text, _needs_fibers(body) or check,
            )
        )  # fmt: skip
    return result


def _spec(specs: dict[str, KernelSpec], name: str) -> KernelSpec:
    if name not in specs:
        raise UnsupportedKernel(f"the host launches no kernel {name}, which the text defines")
    spec = specs[name]
    unknown = [tag for tag in spec.launch if tag not in LAUNCH_TAGS]
    if unknown:
        raise UnsupportedKernel(f"{name} is launched with {unknown[0]}, which is not emulated")
    if len(spec.parameters) > MAX_PARAMETERS:
        raise UnsupportedKernel(
            f"{name} has {len(spec.parameters)} parameters, emulated are up to {MAX_PARAMETERS}"
        )
    for parameter, dtype in spec.parameters:
        if dtype is not None and dtype not in C_TYPES:
            raise UnsupportedKernel(f"{name} takes {parameter} of type {dtype}, not emulated")
    return spec


def _closing_brace(source: str, position: int) -> int:
    """The end of a block whose opening brace is before `position`."""
    depth = 1
    for brace in re.compile(r"[{}]").finditer(source, position):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    raise UnsupportedKernel(f"line {line_of(source, position)}: a kernel that does not end")


def _line_directive(source: str, position: int) -> str:
    return f'#line {line_of(source, position)} "{GENERATED}"\n'


def _lined(source: str, position: int, text: str) -> str:
    return f"{_line_directive(source, position)}{text}\n"


def _needs_fibers(body: str) -> bool:
    return _MEETING.search(body) is not None


def _body(source: str, start: int, end: int, kind: str, placed: bool) -> tuple[str, list[_Shared]]:
    """The body of a kernel with its shared arrays replaced by references, and these arrays.

    With `placed`, they are arrays that the scheduler allocates.
    """
    for pattern, what in _REFUSED:
        match = pattern.search(source, start, end)
        if match:
            raise UnsupportedKernel(
                f"{match[0]} in line {line_of(source, match.start())} of the generated {kind} "
                f"text: {what} are not emulated"
            )
    foreign = _NOT_METAL.search(source, start, end) if kind == "metal" else None
    if foreign:
        raise UnsupportedKernel(
            f"{foreign[0]} in line {line_of(source, foreign.start())} of the generated metal "
            "text: Metal has no such type"
        )
    shared: list[_Shared] = []

    def declare(match: re.Match[str]) -> str:
        number = len(shared)
        elements = int(match[3]) if match[3] else None
        line = line_of(source, start + match.start())
        shared.append(_Shared(match[1], match[2], elements, line))
        if elements is None:
            return f"auto* const {match[2]} = ({match[1]}*)emulator::emulator_shared({number});"
        if placed:
            return (
                f"auto& {match[2]} = "
                f"*({match[1]}(*)[{elements}])emulator::emulator_shared({number});"
            )
        return f"auto& {match[2]} = emulator_shared_{number};"

    return _SHARED[kind].sub(declare, source[start:end]), shared


def _values(spec: KernelSpec) -> tuple[list[int], list[int]]:
    """The positions of the pointers and of the scalars among the parameters."""
    pointers = [i for i, (_, dtype) in enumerate(spec.parameters) if dtype is None]
    scalars = [i for i, (_, dtype) in enumerate(spec.parameters) if dtype is not None]
    return pointers, scalars


def _scalar(spec: KernelSpec, position: int, number: int) -> str:
    dtype = spec.parameters[position][1]
    assert dtype is not None
    return f"emulator::scalar<{C_TYPES[dtype]}>(arguments.scalars[{number}])"


def _cuda_call(spec: KernelSpec) -> Callable[[str, str], str]:
    """A function that makes the call of a kernel from expressions for thread and block index."""
    pointers, scalars = _values(spec)
    values = []
    for i in range(len(spec.parameters)):
        if i in pointers:
            values.append(f"emulator::AnyPointer{{arguments.pointers[{pointers.index(i)}]}}")
        else:
            values.append(_scalar(spec, i, scalars.index(i)))
    return lambda thread, block: f"{spec.name}({', '.join([thread, block, *values])});"


def _metal_call(spec: KernelSpec, name: str) -> Callable[[str, str], str]:
    """Bind arguments like TVM's Metal runtime: buffers, then eight bytes for every scalar."""
    pointers, scalars = _values(spec)
    values = [f"emulator::AnyPointer{{arguments.pointers[{i}]}}" for i in range(len(pointers))]
    before = ""
    if scalars:
        packed = f"{name}_args_t"
        before = (
            f"alignas(8) char packed[{8 * len(scalars)}] = {{}}; "
            f'static_assert(sizeof({packed}) == sizeof packed, "8 bytes for every scalar"); '
        )
        for number, position in enumerate(scalars):
            dtype = spec.parameters[position][1]
            assert dtype is not None
            before += (
                f"{{ {C_TYPES[dtype]} value = {_scalar(spec, position, number)}; "
                f"__builtin_memcpy(packed + {8 * number}, &value, sizeof value); }} "
            )
        values.append(f"*reinterpret_cast<const {packed}*>(packed)")
    return lambda thread, block: (
        f"{before}{name}({', '.join(values)}{', ' if values else ''}"
        f"emulator_position{{{block}}}, emulator_position{{{thread}}});"
    )


def _dynamic_item(body: str, name: str) -> int:
    """Size in bytes of the smallest element that dynamic shared memory is accessed as."""
    types = set(re.findall(rf"\(\((?:volatile )?([\w ]+?)\s*\*\)\s*{name}\b", body))
    sizes = {"half": 2, "nv_bfloat16": 2, "short": 2, "ushort": 2}
    bytes_ = {"char", "uchar", "signed char", "unsigned char", "bool", "int8_t", "uint8_t"}
    return min([sizes.get(t, 1 if t in bytes_ else 4) for t in types] or [1])


def _unit(
    include: str,
    common: list[str],
    spec: KernelSpec,
    shared: list[_Shared],
    call: Callable[[str, str], str],
    text: str,
    fibers: bool,
    waits: bool = False,
) -> Unit:
    pointers, scalars = _values(spec)
    arrays, entries = [], []
    for number, array in enumerate(shared):
        if array.elements is None:
            item = str(_dynamic_item(text, array.name))
            entries.append(f'{{"{array.name}", nullptr, 0, {item}, {array.line}}}')
            continue
        # Unused where the scheduler allocates them.
        arrays.append(
            f"__attribute__((unused)) alignas(64) static "
            f"{array.type} emulator_shared_{number}[{array.elements}];\n"
        )
        entries.append(
            f'{{"{array.name}", emulator_shared_{number}, sizeof emulator_shared_{number}, '
            f"sizeof({array.type}), {array.line}}}"
        )
    block = ""
    if not fibers:
        block = (
            "static void emulator_block(const emulator::Arguments& all, emulator::Index3 block, "
            "emulator::Index3 extent) {\n"
            "  const emulator::Arguments arguments = all;\n"
            "  for (unsigned z = 0; z < extent.z; ++z)\n"
            "    for (unsigned y = 0; y < extent.y; ++y)\n"
            "      for (unsigned x = 0; x < extent.x; ++x) {\n"
            "        const emulator::Index3 thread = {x, y, z};\n"
            f"        {call('thread', 'block')}\n"
            "      }\n"
            "}\n"
        )
    lists: dict[str, Sequence[object]] = {
        "int emulator_pointers": pointers,
        "int emulator_scalars": scalars,
        "int emulator_tags": [f"emulator::{LAUNCH_TAGS[tag]}" for tag in spec.launch],
        "char* const emulator_names": [f'"{spec.parameters[i][0]}"' for i in pointers],
        "emulator::SharedArray emulator_arrays": entries,
    }
    tables = "".join(
        f"static const {name}[] = {{{', '.join(map(str, [*values, *_END[name]]))}}};\n"
        for name, values in lists.items()
    )
    glue = (
        f'#line 1 "glue"\n'
        "#undef device\n#undef thread\n#undef constant\n#undef threadgroup\n"
        "#undef threadIdx\n#undef blockIdx\n"
        "__attribute__((no_sanitize_thread, no_sanitize_undefined)) static void emulator_thread("
        "const emulator::Arguments& arguments, emulator::Index3 thread, emulator::Index3 block) "
        f"{{ {call('thread', 'block')} }}\n"
        f"{block}{tables}"
        f'static const emulator::Kernel emulator_kernel = {{"{spec.name}", {len(pointers)}, '
        f"{len(scalars)}, emulator_pointers, emulator_scalars, emulator_names, emulator_tags, "
        f"{len(spec.launch)}, emulator_thread, {'nullptr' if fibers else 'emulator_block'}, "
        f"emulator_arrays, {len(shared)}, {'true' if waits else 'false'}}};\n"
        'extern "C" __attribute__((visibility("default"))) int '
        f"__tvm_ffi_{spec.name}(void*, const emulator::Value* values, int32_t count, "
        "emulator::Value* result) {\n"
        "  result->type = 0; result->padding = 0; result->integer = 0;\n"
        "  return emulator::emulator_launch(&emulator_kernel, values, count);\n}\n"
    )
    return Unit(spec.name, "".join([include, *common, *arrays, text, glue]))


# Terminators, so that no table is empty: C++ does not have arrays without elements.
_END: dict[str, list[str]] = {
    "int emulator_pointers": ["-1"],
    "int emulator_scalars": ["-1"],
    "int emulator_tags": ["-1"],
    "char* const emulator_names": ["nullptr"],
    "emulator::SharedArray emulator_arrays": ["{}"],
}
