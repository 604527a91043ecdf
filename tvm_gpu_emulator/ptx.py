"""Convert supported inline PTX to calls of `native/tensor_cores.h` and of the scheduler.

TVM writes one instruction per statement, in a separate device function:

    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, …}, {%4, …}, …;"
                 : "=f"(d0), … : "r"(a0), …);

Operands are in the order of PTX, independently of their names. Unsupported instructions are not
changed, and are rejected by the compiler or `kernel_text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_STATEMENT = re.compile(
    r"\b(?:asm|__asm__)\s+(?:volatile|__volatile__)\s*\(\s*"
    r'"(?P<instruction>[a-z0-9_.]+)(?P<operands>[^"]*)"\s*'
    r':(?P<out>[^;:]*):(?P<in>[^;:]*)(?::\s*"memory"\s*)?\)\s*;'
)
_OPERAND = re.compile(r'"[=+]?\w"\((\w+)\)')
_MMA = re.compile(r"mma\.sync\.aligned\.m16n8k(\d+)\.row\.col\.f32\.(tf32|bf16|f16)\.\2\.f32")

_COPY = re.compile(r"cp\.async\.(?:cg|ca)\.shared\.global")
_COPIED = re.compile(r" \[%0\], \[%1\], (4|8|16);")
_WAIT = re.compile(r" (\d+);")
_RELAXED = re.compile(r"(ld|st)\.relaxed\.gpu\.global\.[bu]32")

_PER_WORD = {"tf32": 1, "bf16": 2, "f16": 2}
_CONVERSIONS: dict[str, Callable[[Sequence[str]], str]] = {
    "cvt.rna.tf32.f32": lambda names: "{} = emulator::round_tf32({});".format(*names),
    "cvt.rn.bf16x2.f32": lambda names: _pair("bf16", names),
    "cvt.rn.f16x2.f32": lambda names: _pair("f16", names),
}


def emulate_ptx(source: str) -> str:
    """Replace every supported instruction by C++, keeping line numbers."""
    return _STATEMENT.sub(_translate, source)


def _translate(match: re.Match[str]) -> str:
    names = [*_OPERAND.findall(match["out"]), *_OPERAND.findall(match["in"])]
    # Each operand must occur once and in order, since they are matched by position.
    numbers = [int(number) for number in re.findall(r"%(\d+)", match["operands"])]
    if numbers != list(range(len(names))):
        return match[0]
    instruction = match["instruction"]
    if instruction in _CONVERSIONS:
        return _on_as_many_lines(match[0], _CONVERSIONS[instruction](names))
    memory = _memory(instruction, match["operands"], names)
    if memory is not None:
        return _on_as_many_lines(match[0], memory)
    product = _MMA.fullmatch(instruction)
    words = int(product[1]) // _PER_WORD[product[2]] if product else 0
    if product is None or words not in (4, 8) or len(names) != 8 + words // 2 + words // 4:
        return match[0]
    first, second = 4 + words // 2, 4 + words // 2 + words // 4
    arrays = (
        _array("const uint32_t", "a", names[4:first])
        + _array("const uint32_t", "b", names[first:second])
        + _array("const float", "c", names[second:])
    )
    results = " ".join(f"{name} = d[{i}];" for i, name in enumerate(names[:4]))
    element = product[2].capitalize()
    call = f"float d[4]; EMULATOR_MMA({element}, {words}, d, a, b, c); {results}"
    return _on_as_many_lines(match[0], f"{{ {arrays}{call} }}")


def _memory(instruction: str, operands: str, names: Sequence[str]) -> str | None:
    """The call for an asynchronous copy, its group, a wait, or a relaxed access; else None."""
    if _COPY.fullmatch(instruction) and (size := _COPIED.fullmatch(operands)):
        destination, source = names
        return f"emulator::emulator_copy_async({destination}, {source}, {size[1]}, __LINE__);"
    if instruction == "cp.async.commit_group" and operands == ";":
        return "emulator::emulator_commit_copies();"
    if instruction == "cp.async.wait_group" and (groups := _WAIT.fullmatch(operands)):
        return f"emulator::emulator_wait_for_copies({groups[1]});"
    if (relaxed := _RELAXED.fullmatch(instruction)) and len(names) == 2:
        if relaxed[1] == "ld" and operands == " %0, [%1];":
            return f"{names[0]} = emulator::emulator_load_relaxed({names[1]}, __LINE__);"
        if relaxed[1] == "st" and operands == " [%0], %1;":
            return f"emulator::emulator_store_relaxed({names[0]}, {names[1]});"
    return None


def _array(type_: str, name: str, values: Sequence[str]) -> str:
    return f"{type_} {name}[{len(values)}] = {{{', '.join(values)}}}; "


def _pair(element: str, names: Sequence[str]) -> str:
    """A conversion of two values to one word; PTX's first source operand is the upper half."""
    result, upper, lower = names
    rounded = f"emulator::round_{element}"
    return f"{result} = {rounded}({upper}) << 16 | {rounded}({lower});"


def _on_as_many_lines(old: str, new: str) -> str:
    return new + "\n" * old.count("\n")
