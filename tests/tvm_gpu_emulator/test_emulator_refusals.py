"""What the emulator does not support is rejected by name, and never run as something else."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tvm
from tvm import tirx

from tvm_gpu_emulator import UnsupportedKernel, compiling, emulate, lowering
from tvm_gpu_emulator.errors import EnvironmentFault, InputError
from tvm_gpu_emulator.kernel_text import KernelSpec, units


def inserted(statement: str):
    """Put a statement first into the kernel."""
    return lambda text: re.sub(r"\) \{\n(?=  )", f") {{ {statement}\n", text, count=1)


@pytest.mark.parametrize("installed", ["0.25.0", "0.26.0.post1"])
def test_an_older_tvm_is_named_with_the_remedy(run, samples, monkeypatch, installed):
    monkeypatch.setattr(lowering, "version", lambda distribution: installed)
    with pytest.raises(EnvironmentFault, match=rf"TVM {installed}: pip install 'apache-tvm>=0.27'"):
        run(samples.scale)


@pytest.mark.parametrize("check", [False, True])
def test_an_unknown_builtin_is_named_with_its_line(run, samples, check):
    edit = inserted("float x = mystery(1.0f);")
    with pytest.raises(UnsupportedKernel) as raised:
        run(samples.scale, check=check, edit_source=edit)
    first, text = str(raised.value).splitlines()
    number = int(re.fullmatch(r"line (\d+) of .*: the emulator does not have mystery", first)[1])
    edited = edit(run(samples.scale).source)
    assert "mystery" in edited.splitlines()[number - 1]
    assert text.strip() == edited.splitlines()[number - 1].strip()


@pytest.mark.parametrize("kind", ["metal"], indirect=True)
@pytest.mark.parametrize("name", ["atan2f", "log1pf", "nearbyint", "expf", "double"])
def test_names_that_metal_lacks_are_not_lent_to_it(run, samples, name):
    with pytest.raises(UnsupportedKernel, match=rf"line.*{name}|{name} in line"):
        run(samples.scale, edit_source=inserted(f"auto x = {name}(1.0f);"))


@pytest.mark.parametrize("kind", ["cuda"], indirect=True)
@pytest.mark.parametrize(
    "statement,named",
    [
        ('asm volatile("cp.async.wait_all;");', "asm.*inline PTX"),
        ("atomicAdd(X_ptr, 1.0f);", "atomicAdd.*atomic operations"),
        ("wmma::fragment f;", "wmma.*tensor core"),
        ("cooperative_groups::sync(g);", "cooperative_groups"),
    ],
)
def test_instructions_that_are_not_emulated(run, samples, statement, named):
    with pytest.raises(UnsupportedKernel, match=named) as raised:
        run(samples.scale, edit_source=inserted(statement))
    assert re.search(r"in line \d+ of the generated cuda text", str(raised.value))


BLOCKS = ("blockIdx.x", "threadIdx.x")
POINTERS = tuple((f"p{number}", None) for number in range(65))


@pytest.mark.parametrize(
    "parameters,launch,message",
    [
        ((), (*BLOCKS, "tirx.use_cooperative_launch"), "use_cooperative_launch"),
        ((("scale", "float8_e4m3fn"),), BLOCKS, "scale of type float8_e4m3fn"),
        (POINTERS, BLOCKS, "65 parameters, emulated are up to 64"),
    ],
)
def test_launches_that_are_not_emulated(parameters, launch, message):
    text = 'extern "C" __global__ void k(float* p0) {\n}\n'
    with pytest.raises(UnsupportedKernel, match=message):
        units(text, "cuda", [KernelSpec("k", parameters, launch)], check=False)


def test_a_kernel_that_the_text_lacks():
    with pytest.raises(UnsupportedKernel, match="has no kernel k that the host launches"):
        units("", "cuda", [KernelSpec("k", (), BLOCKS)], check=False)


def test_other_targets(samples):
    with pytest.raises(InputError, match="cuda and metal, not llvm"):
        emulate(samples.scale, tvm.target.Target("llvm"))


def test_a_module_that_runs_nothing_on_the_device(target):
    a = tvm.te.placeholder((4,), name="a")
    b = tvm.te.compute((4,), lambda i: a[i] + tirx.const(1, "float32"), name="b")
    module = tvm.IRModule({"add": tvm.te.create_prim_func([a, b])})
    with pytest.raises((InputError, RuntimeError), match=r"thread|memory"):
        emulate(module, target)


def test_no_compiler(samples, target, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(EnvironmentFault, match=r"g\+\+.*apt-get install g\+\+"):
        emulate(samples.scale, target)


def test_unknown_names_and_options(run, samples, target):
    with pytest.raises(KeyError, match="the functions are scale"):
        run(samples.scale)["other"]
    with pytest.raises(InputError, match="on_fault"):
        emulate(samples.scale, target, on_fault="ignore")


def test_wrong_arguments_are_tvms_own_error(run, samples):
    executable = run(samples.scale)
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        executable["scale"](np.ones(4, "float64"), np.ones(4, "float32"), 1.0)
    x, y = np.ones(4, "float32"), np.ones(4, "float32")
    executable["scale"](x, y, 1.0)
    np.testing.assert_array_equal(y, 2)


@pytest.mark.slow
def test_compiled_kernels_come_from_the_cache(samples, target, tmp_path, monkeypatch):
    first = emulate(samples.scale, target, cache=tmp_path)
    objects = sorted(tmp_path.glob("*.o"))
    assert len(objects) == 2  # the kernel and the scheduler
    commands = []
    original = compiling.subprocess.run
    monkeypatch.setattr(
        compiling.subprocess,
        "run",
        lambda command, **options: commands.append(command) or original(command, **options),
    )
    second = emulate(samples.scale, target, cache=tmp_path)
    assert sorted(tmp_path.glob("*.o")) == objects
    assert [command for command in commands if "-c" in command] == []
    # Two executables of one text share no state.
    x, y = np.ones(4, "float32"), np.ones(4, "float32")
    second["scale"](x, y, 1.0)
    assert first.launches == {}
    assert second.launches["scale_kernel"].count == 1


def test_tvms_own_compilation_is_as_before(run, samples):
    """The hooks into TVM are removed after a call."""
    before = tirx.transform.MakePackedAPI, tvm.get_global_func("tvm_callback_cuda_compile", True)
    run(samples.scale)
    after = tirx.transform.MakePackedAPI, tvm.get_global_func("tvm_callback_cuda_compile", True)
    assert before[0] is after[0]
    assert (before[1] is None) == (after[1] is None)
    if after[1] is not None:
        with pytest.raises(Exception, match=r"."):
            after[1]("not CUDA")
