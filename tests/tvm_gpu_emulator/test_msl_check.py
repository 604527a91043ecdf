"""Checking Metal text with clang: accepted and rejected text, and the error without clang."""

from __future__ import annotations

import numpy as np
import pytest

from tvm_gpu_emulator import msl_check
from tvm_gpu_emulator.errors import EnvironmentFault
from tvm_gpu_emulator.lowering import RUNTIME_LOWERING, lower
from tvm_gpu_emulator.msl_check import check_metal, find_clang

try:
    find_clang()
    REASON = ""
except EnvironmentFault as fault:
    REASON = str(fault)
needs_clang = pytest.mark.skipif(bool(REASON), reason=REASON)

KERNELS = ("scale", "functions", "halves", "matmul", "row_sum", "shuffled_sum", "two_steps")


@pytest.fixture
def text(samples, make_target):
    """`text(name)`: the Metal text of a sample kernel."""

    def generate(name: str) -> str:
        function = getattr(samples, name)
        return lower(function, make_target("metal"), False, RUNTIME_LOWERING).source

    return generate


@needs_clang
@pytest.mark.parametrize("name", KERNELS)
def test_generated_text_is_accepted(text, name):
    assert check_metal(text(name)) == []


@needs_clang
@pytest.mark.parametrize(
    "name,old,new,message",
    [
        ("halves", "*(device half4*)(Y_ptr", "*(half4*)(Y_ptr", "address space"),
        ("halves", "  int cse_v1 = ", "  half* p = Y_ptr; int cse_v1 = ", "address space"),
        ("row_sum", "threadgroup float part", "float part[1]; threadgroup floot part", "floot"),
        ("scale", "* arg.factor[0]", "* atan2f(arg.factor[0], 1.0f)", "atan2f"),
        ("scale", "* arg.factor[0]", "* (double)arg.factor[0]", "double"),
        ("row_sum", "mem_flags::mem_threadgroup", "mem_flags::mem_shared", "mem_shared"),
        ("two_steps", "* 2.000000e+00f", "* two", "two"),
    ],
)
def test_faults_are_found_with_kernel_and_line(text, name, old, new, message):
    source = text(name)
    assert old in source
    edited = source.replace(old, new, 1)
    reports = check_metal(edited)
    assert reports
    assert reports[0].kind == "syntax"
    assert reports[0].kernel.startswith(f"{name}_kernel")
    assert message in reports[0].detail
    assert new.strip() in edited.splitlines()[reports[0].line - 1]


def test_without_clang_the_remedy_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(msl_check.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(EnvironmentFault, match="pip install ziglang, or apt-get install clang"):
        check_metal("kernel void f() {}")


def test_a_clang_that_fails_is_no_fault_of_the_text(monkeypatch, tmp_path):
    broken = tmp_path / "clang"
    broken.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(msl_check, "find_clang", lambda: (str(broken),))
    with pytest.raises(EnvironmentFault, match="broken"):
        check_metal("kernel void f() {}")


def test_the_checked_text_also_runs(run, samples):
    """The Metal header is used by both: clang reads the same text that g++ compiles."""
    x, y = np.ones(4, "float32"), np.zeros(4, "float32")
    run(samples.scale)["scale"](x, y, 2.0)
    np.testing.assert_array_equal(y, 3)
