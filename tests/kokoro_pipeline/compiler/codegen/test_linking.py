"""Finding a linker in order of preference, and reporting its errors."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import tvm
from tvm import relax

from kokoro_pipeline.compiler.codegen import linking
from kokoro_pipeline.compiler.codegen import target as targets
from kokoro_pipeline.compiler.codegen.linking import Linker, export_library, find_linker
from kokoro_pipeline.compiler.codegen.target import HOSTS
from kokoro_pipeline.errors import EnvironmentFault

posix = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with the named programs only; each is a shell script of the given body."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(linking.importlib.util, "find_spec", lambda _name: None)

    def install(name: str, body: str = "exit 0") -> Path:
        program = folder / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        return program

    return install


@posix
@pytest.mark.parametrize(
    ("installed", "found"),
    [
        (["g++", "clang++", "ld"], "g++"),
        (["clang++", "cc"], "clang++"),
        (["cc", "ld"], "cc"),
        (["gcc"], "gcc"),
        (["ld"], "ld"),
        (["ld.lld"], "ld.lld"),
    ],
    ids=str,
)
def test_the_next_linker_is_taken_where_one_is_missing(installed, found, machine):
    for name in installed:
        machine(name)
    assert find_linker().name == found


@posix
def test_cxx_comes_first_with_its_options(machine, monkeypatch):
    machine("g++")
    machine("my compiler")
    monkeypatch.setenv("CXX", "'my compiler' --sysroot=/x")
    linker = find_linker()
    assert (linker.name, linker.command[:2]) == ("$CXX", ("my compiler", "--sysroot=/x"))


@posix
def test_cxx_that_is_not_there_is_passed_over(machine, monkeypatch):
    machine("g++")
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert find_linker().name == "g++"


@posix
def test_ziglang_from_pypi_is_the_last_resort(machine, monkeypatch):
    monkeypatch.setattr(linking.importlib.util, "find_spec", lambda name: name == "ziglang")
    linker = find_linker()
    assert linker.name == "ziglang"
    assert linker.command[:4] == (sys.executable, "-m", "ziglang", "cc")


@posix
def test_no_linker_names_what_was_tried_and_what_to_install(machine):
    with pytest.raises(EnvironmentFault) as caught:
        find_linker()
    for words in ("g++", "ld.lld", "apt install g++", "xcode-select", "pip install ziglang"):
        assert words in str(caught.value)


@pytest.fixture
def elsewhere(monkeypatch):
    """Pretend that this machine is a Linux on x86-64."""
    monkeypatch.setattr(targets, "_system", lambda: "linux")
    monkeypatch.setattr(targets, "host_architecture", lambda: "x86_64")


@posix
@pytest.mark.parametrize(
    ("host", "installed", "zig", "found"),
    [
        ("linux-aarch64", ["g++", "aarch64-linux-gnu-g++"], True, "aarch64-linux-gnu-g++"),
        ("linux-aarch64", ["g++", "aarch64-linux-gnu-gcc"], True, "aarch64-linux-gnu-gcc"),
        ("linux-aarch64", ["g++", "ld"], True, "aarch64-linux-gnu.2.28"),
        ("macos-arm64", ["g++", "ld", "clang++"], True, "aarch64-macos.11.0"),
        ("linux-x86_64", ["g++"], True, "g++"),
    ],
    ids=str,
)
def test_a_linker_for_another_machine(host, installed, zig, found, machine, elsewhere, monkeypatch):
    """$CXX is ignored, since it generates code for this machine."""
    for name in installed:
        machine(name)
    monkeypatch.setenv("CXX", "g++" if host == "linux-x86_64" else "clang++")
    monkeypatch.setattr(linking.importlib.util, "find_spec", lambda name: zig or None)
    linker = find_linker(HOSTS[host])
    assert found in linker.command
    assert (linker.name == "$CXX") == (host == "linux-x86_64")


@posix
@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("linux-aarch64", ("apt install g++-aarch64-linux-gnu", "pip install ziglang")),
        ("macos-arm64", ("pip install ziglang", "or build on macos-arm64")),
    ],
)
def test_no_linker_for_another_machine_names_what_to_install(host, words, machine, elsewhere):
    machine("g++")
    with pytest.raises(EnvironmentFault) as caught:
        find_linker(HOSTS[host])
    for said in (f"nothing here links for {host}", *words):
        assert said in str(caught.value)


@posix
def test_a_failing_linker_shows_its_words(machine, tmp_path):
    machine("g++", "echo 'undefined reference to joy' >&2; exit 3")
    with pytest.raises(EnvironmentFault) as caught:
        find_linker().link(str(tmp_path / "model.so"), ["a.o"])
    for words in ("g++", "model.so", "exit status 3", "undefined reference to joy"):
        assert words in str(caught.value)


@posix
def test_a_linker_gets_output_and_objects(machine, tmp_path):
    machine("g++", f'echo "$@" > {tmp_path}/said')
    find_linker().link("model.so", ["a.o", "b.o"])
    words = (tmp_path / "said").read_text().split()
    assert "-shared" in words
    assert words[-4:] == ["-o", "model.so", "a.o", "b.o"]


@posix
def test_a_program_that_cannot_be_run_is_no_traceback(machine, tmp_path):
    program = machine("g++")
    linker = find_linker()
    program.unlink()
    with pytest.raises(EnvironmentFault, match=r"g\+\+ could not be started"):
        linker.link(str(tmp_path / "model.so"), ["a.o"])


REAL = {
    "ld": Linker("ld", ("ld", "-shared")),
    "ld.lld": Linker("ld.lld", ("ld.lld", "-shared")),
    "cc": Linker("cc", ("cc", "-shared", "-fPIC")),
    "g++": Linker("g++", ("g++", "-shared", "-fPIC")),
    "clang++": Linker("clang++", ("clang++", "-shared", "-fPIC")),
}


@pytest.mark.parametrize("name", REAL)
def test_a_library_linked_by_each_runs(name, tmp_path, compile_program):
    """`ld` alone needs no compiler and no C library."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    x = torch.linspace(-3, 3, 4096)[None]
    program = compile_program(torch.nn.Tanh(), [x])
    library = tmp_path / "model.so"
    executable = program.executable
    export_library(executable, library, REAL[name])
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(library)), tvm.cpu())
    result = machine["program"](tvm.runtime.tensor(x.numpy())).numpy()
    np.testing.assert_allclose(result, np.tanh(x.numpy()), atol=1e-6)


@pytest.mark.parametrize("with_cxx", [False, True])
def test_the_linker_that_is_found_links(with_cxx, tmp_path, monkeypatch, compile_program):
    monkeypatch.delenv("CXX", raising=False)
    if with_cxx:
        compiler = next(filter(shutil.which, ("g++", "clang++", "c++")), None)
        if compiler is None:
            pytest.skip("no C++ compiler is installed")
        monkeypatch.setenv("CXX", f"{compiler} -O1")
    linker = find_linker()
    assert (linker.name == "$CXX") == with_cxx
    x = torch.linspace(-3, 3, 64)[None]
    program = compile_program(torch.nn.Tanh(), [x])
    export_library(program.executable, tmp_path / "model.so", linker)
    assert (tmp_path / "model.so").stat().st_size > 0
