"""A library for macOS on arm64, linked on any machine: its header, the libraries that it loads, and
that the system or the TVM runtime defines each of its undefined symbols.

Nothing is run, since that requires a Mac.
"""

from __future__ import annotations

import importlib.util
import os
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest

from kokoro_pipeline.artifact.binary import library_machine
from kokoro_pipeline.compiler.codegen.linking import export_library, find_linker
from kokoro_pipeline.compiler.codegen.target import resolve_target

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None,
    reason="ziglang is not installed (411 MB): pip install ziglang",
)

_UNDEFINED, _EXTERNAL, _TYPE = 0x0, 0x1, 0x0E
LIBRARY_ID, LOAD_LIBRARY, BUILD_VERSION, SYMBOLS, SIGNATURE = 0xD, 0xC, 0x32, 0x2, 0x1D


@dataclass(frozen=True)
class MachO:
    """What a Mach-O library says of itself."""

    kind: int
    commands: dict[int, list[bytes]]
    undefined: dict[str, int]
    """Name to the number of the library that has it; 0 and 254 leave that to the loader."""
    defined: set[str]


def read_macho(path: Path) -> MachO:
    data = path.read_bytes()
    magic, _, _, kind, count = struct.unpack_from("<5I", data)
    assert magic == 0xFEEDFACF
    commands: dict[int, list[bytes]] = {}
    place = 32
    for _ in range(count):
        command, size = struct.unpack_from("<2I", data, place)
        commands.setdefault(command, []).append(data[place : place + size])
        place += size
    table, symbols, strings, _ = struct.unpack_from("<4I", commands[SYMBOLS][0], 8)
    undefined, defined = {}, set()
    for number in range(symbols):
        name_at, kind_of, _, description, _ = struct.unpack_from(
            "<IBBHQ", data, table + 16 * number
        )
        start = strings + name_at
        name = data[start : data.index(b"\0", start)].decode()
        if kind_of & _TYPE == _UNDEFINED and kind_of & _EXTERNAL:
            undefined[name] = description >> 8
        elif kind_of & _EXTERNAL:
            defined.add(name)
    return MachO(kind, commands, undefined, defined)


def text_of(command: bytes) -> str:
    (offset,) = struct.unpack_from("<I", command, 8)
    return command[offset:].split(b"\0")[0].decode()


@pytest.fixture(scope="module", params=["llvm", "metal"])
def library(request, tmp_path_factory, compile_wave) -> Path:
    target = resolve_target(request.param, None, "macos-arm64")
    folder = tmp_path_factory.mktemp("macos")
    os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(folder / "zig"))
    output = folder / target.host.library_name
    export_library(compile_wave(target), output, find_linker(target.host))
    return output


def test_it_is_a_library_for_macos_on_arm64(library):
    assert library.name == "model.dylib"
    assert library_machine(library) == ("darwin", "aarch64")
    macho = read_macho(library)
    assert macho.kind == 6  # MH_DYLIB
    platform, oldest, *_ = struct.unpack_from("<3I", macho.commands[BUILD_VERSION][0], 8)
    assert (platform, oldest >> 16) == (1, 11)
    assert SIGNATURE in macho.commands, "arm64 Macs load no unsigned code"


def test_it_names_no_place_of_this_machine_and_loads_the_system_alone(library):
    macho = read_macho(library)
    assert [text_of(command) for command in macho.commands[LIBRARY_ID]] == ["@rpath/model.dylib"]
    loaded = [text_of(command) for command in macho.commands[LOAD_LIBRARY]]
    assert loaded == ["/usr/lib/libSystem.B.dylib"]
    assert str(library.parent).encode() not in library.read_bytes()


def test_every_missing_symbol_is_the_systems_or_the_runtimes(library):
    macho = read_macho(library)
    from_loader = {name for name, where in macho.undefined.items() if where in (0, 254)}
    assert from_loader, "not even errors are reported through the runtime"
    # What libtvm_ffi.dylib of the macOS wheel exports for compiled code.
    assert all(name.startswith("_TVMFFI") for name in from_loader), from_loader
    assert "___tvm_ffi__library_bin" in macho.defined
