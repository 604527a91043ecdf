"""An artifact for CUDA on a machine whose driver, runtime and GPU are stand-ins.

TVM's own CUDA runtime runs the library that the builder's steps made. Other tests simulate
machines that lack a part.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kokoro_pipeline.artifact.manifest import FunctionSpec, TensorSpec

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="CUDA is for Linux"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="the stand-ins need g++"),
]

ALIGN = FunctionSpec(
    (
        TensorSpec("d", "float32", (1, "n", 640)),
        TensorSpec("t_en", "float32", (1, 512, "n")),
        TensorSpec("tokens", "int64", ("t",)),
    ),
    (TensorSpec("en", "float32", (1, 640, "t")), TensorSpec("asr", "float32", (1, 512, "t"))),
)


def add_alignment(module: Any) -> None:
    from tvm import relax, tirx

    from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES

    n, t = tirx.Var("n", "int64"), tirx.Var("t", "int64")
    arguments = [
        relax.Var(
            spec.name,
            relax.TensorType([{"n": n, "t": t}.get(d, d) for d in spec.shape], spec.dtype),
        )
        for spec in ALIGN.inputs
    ]
    builder = relax.BlockBuilder()
    with builder.function("f", arguments, attrs={"num_input": 3, PARAMETER_NAMES: []}):
        with builder.dataflow():
            d, t_en, tokens = arguments
            en = relax.op.permute_dims(relax.op.take(d, tokens, axis=1), [0, 2, 1])
            pair = relax.Tuple([en, relax.op.take(t_en, tokens, axis=2)])
            result = builder.emit_output(pair)
        builder.emit_func_output(result)
    module["align_forward"] = builder.get()["f"].with_attr("global_symbol", "align_forward")


@dataclass(frozen=True)
class Machine:
    """A folder of libraries, the artifact, and a way to run a program there."""

    libraries: Path
    artifact: Path

    def run(self, program: str, **said: object) -> Any:
        """What a program of a fresh process prints last, as JSON. `said` are FAKE_CUDA_ variables.

        The program finds the artifact in sys.argv[1]; an error of the package is its answer.
        """
        environment = os.environ | {f"FAKE_CUDA_{name.upper()}": str(v) for name, v in said.items()}
        environment["LD_LIBRARY_PATH"] = str(self.libraries)
        environment.pop("CUDA_HOME", None)
        environment["FAKE_CUDA_KERNELS"] = str(self.libraries / "kernels.so")
        text = (
            "import json, sys, warnings, numpy as np, kokoro_pipeline\n"
            "warnings.simplefilter('ignore')\ndir = sys.argv[1]\ntry:\n"
            + "".join(f"    {line}\n" for line in program.splitlines())
            + "except kokoro_pipeline.KokoroError as error:\n"
            "    answer = [type(error).__name__, str(error)]\n"
            "print(json.dumps(answer))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", text, str(self.artifact)],
            env=environment,
            cwd=HERE.parents[3],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])


def compile_cc(source: Path, output: Path, *options: str) -> None:
    command = ["g++", "-O1", "-w", "-shared", "-fPIC", "-o", str(output), str(source), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> Machine:
    from kokoro_pipeline.compiler.codegen.cuda_compiler import CudaBinary
    from kokoro_pipeline.compiler.codegen.fatbin import write_fatbin
    from kokoro_pipeline.compiler.codegen.linking import export_library, find_linker
    from kokoro_pipeline.compiler.codegen.packing import cuda_packer, device_code_kept_as_text
    from kokoro_pipeline.compiler.codegen.target import resolve_target
    from kokoro_pipeline.compiler.kernels.gpu.normals import standard_normals
    from kokoro_pipeline.compiler.lowering.parameter_table import ParameterTable
    from kokoro_pipeline.compiler.passes.pipeline import generate_code, phases, run_phases

    from ..conftest import SIGNATURES, toy_module, write_toy_artifact

    folder = tmp_path_factory.mktemp("cuda")
    for name, flag in (("libcuda.so.1", "-DDRIVER"), ("libcudart.so.13", "-DRUNTIME")):
        (folder / "version").write_text(f"{name} {{ global: *; }};\n")
        versioned = [] if flag == "-DDRIVER" else [f"-Wl,--version-script={folder / 'version'}"]
        compile_cc(
            HERE / "fake_cuda.cc", folder / name, flag, f"-Wl,-soname,{name}", *versioned, "-ldl"
        )
    target = resolve_target("cuda")
    module = toy_module(standard_normals((600, 9)))
    add_alignment(module)
    todo = phases(0, target.tvm, ParameterTable(), [*SIGNATURES, "align_forward"])
    lowered = run_phases(module, todo, target.tvm)
    with device_code_kept_as_text():
        executable = generate_code(lowered, target.tvm)
    texts: list[str] = []

    def keep(source: str) -> CudaBinary:
        texts.append(source)
        return CudaBinary(write_fatbin({80: b"\x7fELF"}, {80: b".version 9.0\n"}), (), "fake")

    pack, _ = cuda_packer(keep, str(target.host_tvm))
    export_library(executable, folder / "model.so", find_linker(), pack)
    write_toy_artifact(
        folder / "kokoro", folder / "model.so", target.info, {"align_forward": ALIGN}
    )
    (text,) = texts
    names = dict.fromkeys(re.findall(r'extern "C" __global__ void [^;{]*?(\w+)\([^)]*\) \{', text))
    (folder / "cuda.h").touch()
    (folder / "kernels.cc").write_text(
        f'#include "{HERE}/fake_kernels.h"\n{text}\n' + "".join(f"LAUNCH({n})\n" for n in names)
    )
    compile_cc(folder / "kernels.cc", folder / "kernels.so", f"-I{folder}", "-std=c++17")
    return Machine(folder, folder / "kokoro")


SPEAK = """
tts = kokoro_pipeline.load(dir, threads=1, device="{device}")
speech = tts.synthesize({phonemes!r}, "af_heart")
answer = [str(tts.device), speech.durations.tolist(), speech.audio.tolist()]
tts.close()
"""


@pytest.mark.parametrize("device", ["auto", "cuda", "cuda:1"])
def test_speech_is_that_of_the_cpu(device, machine, toy_artifact, symbols):
    import kokoro_pipeline

    phonemes = symbols[:12]
    index = 1 if device == "cuda:1" else 0
    name, durations, audio = machine.run(SPEAK.format(device=device, phonemes=phonemes), count=2)
    assert name == f"cuda:{index} (Fake GPU {index})"
    with kokoro_pipeline.load(toy_artifact, threads=1) as tts:
        expected = tts.synthesize(phonemes, "af_heart")
    np.testing.assert_array_equal(durations, expected.durations)
    np.testing.assert_allclose(audio, expected.audio, atol=2e-5 * np.abs(expected.audio).max())


def test_only_durations_and_audio_come_back(machine, symbols, tmp_path):
    """Intermediate results stay on the device, and parameters go there once."""
    log = tmp_path / "log"
    phonemes = symbols[:12]
    program = (
        "tts = kokoro_pipeline.load(dir, threads=1)\nimport pathlib\n"
        f"log = pathlib.Path({str(log)!r})\n"
        "loaded = log.read_text().splitlines()\n"
        f"speech = [tts.synthesize({phonemes!r}, 'af_heart') for _ in range(2)]\n"
        "spoken = log.read_text().splitlines()[len(loaded):]\n"
        "answer = [loaded, spoken, int(speech[0].durations.sum())]\n"
    )
    loaded, spoken, frames = machine.run(program, log=log)
    manifest = json.loads((machine.artifact / "manifest.json").read_text())
    parameters = {
        p["name"]: 4 * int(np.prod(p["shape"]))
        for function in manifest["functions"].values()
        for p in function["parameters"]
    }
    up = [line for line in loaded if line.startswith("up ")]
    assert sorted(up) == sorted(f"up {size}" for size in parameters.values())
    n = len(phonemes) + 2
    down = [line for line in spoken if line.startswith("down ")]
    assert down == 2 * [f"down {4 * n * 50}", f"down {4 * 600 * frames}"]
    # Ids twice, lengths three times, style thrice, the tokens of frames, and the key of the noise,
    # which is drawn on the device.
    up = [int(line.split()[1]) for line in spoken if line.startswith("up ")]
    once = [8 * n, 8, 4 * 128, 8, 8 * frames, 16, 8 * n, 8, 8 * frames, 4 * 128, 4 * 128]
    assert up == 2 * once
    # The program waits for the device only where it needs a result.
    assert sum(line.startswith("wait") for line in spoken) == len(down)


def test_arrays_that_the_device_may_still_read_do_not_pile_up(machine, tmp_path):
    """A caller who never asks for a result has their arrays kept up to a bound."""
    log = tmp_path / "log"
    program = f"""
import gc, pathlib
from kokoro_pipeline.runtime.engine.resident import PENDING, DeviceExecutable
log = pathlib.Path({str(log)!r})
tts = kokoro_pipeline.load(dir, threads=1)
(executable,) = [o for o in gc.get_objects() if isinstance(o, DeviceExecutable)]
before = len(log.read_text().splitlines())
ids, lengths, kept = np.arange(1, 8)[None], np.array([7]), []
for _ in range(PENDING):
    last = tts.chain["bert_forward"](ids, lengths)
    kept.append(len(executable._pending))
log = log.read_text().splitlines()[before:]
np.asarray(last)
answer = [kept, PENDING, log, len(executable._pending)]
"""
    kept, most, lines, after = machine.run(program, log=log)
    assert max(kept) == most
    assert lines.count("wait 1") == 1  # when it was full, after half of the calls
    assert after == 0


def test_a_length_that_comes_again_asks_for_no_memory(machine, symbols, tmp_path):
    log = tmp_path / "log"
    program = f"""
import pathlib
log = pathlib.Path({str(log)!r})
tts = kokoro_pipeline.load(dir, threads=1)
answer = []
for _ in range(3):
    before = len(log.read_text().splitlines())
    speech = tts.synthesize({symbols[:12]!r}, "af_heart")
    answer.append([log.read_text().splitlines()[before:], speech.audio.tolist()])
"""
    (first, a), (_, b), (third, c) = machine.run(program, log=log)
    assert any(line.startswith("malloc") for line in first)
    assert not any(line.startswith(("malloc", "free")) for line in third)
    assert a == b == c


def test_what_is_benchmarked_stays_on_the_device(machine, symbols, tmp_path):
    """Otherwise, copying features to the host and back would be timed as work of the kernels."""
    log = tmp_path / "log"
    program = f"""
import pathlib
from kokoro_pipeline.benchmarking.checkout import comparison
comparison()
from benchmarks.peers.ours import OurContender
log = pathlib.Path({str(log)!r})
role = OurContender("ours", 1, artifact=dir)
role.write_case({symbols[:12]!r}, "af_heart", {str(tmp_path / "case.npz")!r})
role.prepare({str(tmp_path / "case.npz")!r})
answer = []
for work in (role.run, lambda: role.steps({symbols[:12]!r}, "af_heart")):
    before = len(log.read_text().splitlines())
    sample = work()
    answer.append([log.read_text().splitlines()[before:], sorted(sample.steps)])
"""
    for lines, steps in machine.run(program, log=log):
        assert sum(line.startswith("down ") for line in lines) == 2
        assert len(steps) >= 7


def test_the_cuda_runtime_beside_tvm_serves(machine, tmp_path, monkeypatch):
    """A folder that is carried to another machine brings its own."""
    from kokoro_pipeline.runtime.engine.library import find_runtime_library

    runtime = find_runtime_library()
    beside, driver = tmp_path / "tvm", tmp_path / "driver"
    for folder in (beside, driver):
        folder.mkdir()
    for name in (runtime.name, "libtvm_runtime_cuda.so"):
        (beside / name).symlink_to(runtime.with_name(name))
    (beside / "libcudart.so.13").symlink_to(machine.libraries / "libcudart.so.13")
    for name in ("libcuda.so.1", "kernels.so"):
        (driver / name).symlink_to(machine.libraries / name)
    monkeypatch.setenv("TVM_LIBRARY_PATH", str(beside))
    program = """
tts = kokoro_pipeline.load(dir, threads=1)
maps = open("/proc/self/maps").read().split()
answer = [str(tts.device), sorted({path for path in maps if "libcudart" in path})]
"""
    device, loaded = Machine(driver, machine.artifact).run(program)
    assert device == "cuda:0 (Fake GPU 0)"
    assert loaded == [str((machine.libraries / "libcudart.so.13").resolve())]


def test_functions_take_and_give_numpy_arrays(machine, toy_reference):
    program = """
tts = kokoro_pipeline.load(dir, threads=1)
ids, lengths = np.arange(1, 8)[None], np.array([7])
d_en = tts.functions["bert_forward"](ids, lengths)
answer = [type(d_en).__name__, sorted(tts.functions), d_en.tolist()]
"""
    kind, names, d_en = machine.run(program)
    assert kind == "ndarray"
    assert "align_forward" not in names
    expected = toy_reference["bert_forward"](np.arange(1, 8)[None], np.array([7]))
    np.testing.assert_allclose(d_en, expected, rtol=1e-5, atol=1e-5)


# Bad input, one by one: what was asked for runs, or the error says why not

LOAD = 'answer = str(kokoro_pipeline.load(dir, device="{}").device)'

BAD: list[tuple[str, dict[str, int], str, tuple[str, ...]]] = [
    ("cuda:2", {"count": 2}, "InputError", ("no cuda:2", "cuda:1 (Fake GPU 1)")),
    ("cuda", {"count": 0}, "InputError", ("no cuda:0", "no GPU")),
    ("tpu", {}, "InputError", ("unknown device 'tpu'", "auto, cpu, cuda, cuda:N")),
    ("cuda:x", {}, "InputError", ("unknown device 'cuda:x'",)),
    ("metal:1", {}, "InputError", ("unknown device 'metal:1'",)),
    ("cpu", {}, "ArtifactError", ("compiled for cuda (sm_80 sm_90)", "--target llvm")),
    ("metal", {}, "ArtifactError", ("compiled for cuda", "--target metal")),
    ("cuda", {"init": 100}, "EnvironmentFault", ("sees no GPU", "CUDA_VISIBLE_DEVICES")),
    ("cuda", {"init": 34}, "EnvironmentFault", ("stub", "LD_LIBRARY_PATH")),
    ("cuda", {"init": 803}, "EnvironmentFault", ("different versions", "DRIVER_MISMATCH")),
    ("cuda", {"init": 999}, "EnvironmentFault", ("cuInit", "nvidia-smi")),
    (
        "auto",
        {"version": 12040},
        "EnvironmentFault",
        ("CUDA 12.4", "needs 13.0", "580", "cuda-compat-13-0"),
    ),
    ("cuda", {"arch": 75}, "ArtifactError", ("sm_80, sm_90", "is sm_75", '"arch": "sm_75"')),
    ("cuda", {"memory": 3000}, "EnvironmentFault", ("no room for the parameters", "--device")),
]

GOOD = [("auto", {}), *(("cuda", {"arch": arch}) for arch in (86, 89, 90, 120))]


@pytest.fixture(scope="module")
def answers(machine) -> list[Any]:
    """What `load` says in each of those cases, all in one process."""
    program = f"""
import os
answer = []
for device, said in {[(device, said) for device, said, *_ in [*BAD, *GOOD]]!r}:
    names = {{f"FAKE_CUDA_{{name.upper()}}": str(value) for name, value in said.items()}}
    os.environ.update(names)
    try:
        with kokoro_pipeline.load(dir, device=device) as tts:
            answer.append(["loaded", str(tts.device)])
    except kokoro_pipeline.KokoroError as error:
        answer.append([type(error).__name__, str(error)])
    for name in names:
        del os.environ[name]
"""
    found: list[Any] = machine.run(program)
    return found


@pytest.mark.parametrize("case", range(len(BAD)), ids=lambda case: str(BAD[case][:2]))
def test_what_was_asked_for_runs_or_the_error_says_why_not(case, answers):
    *_, error, words = BAD[case]
    kind, text = answers[case]
    assert kind == error, text
    for word in words:
        assert word in text


@pytest.mark.parametrize("case", range(len(GOOD)), ids=lambda case: str(GOOD[case]))
def test_gpus_run_the_code_of_their_generation_or_ptx(case, answers):
    assert answers[len(BAD) + case] == ["loaded", "cuda:0 (Fake GPU 0)"]


def test_no_driver_is_said(machine, tmp_path):
    kind, text = Machine(tmp_path, machine.artifact).run(LOAD.format("auto"))
    assert kind == "EnvironmentFault"
    assert "no NVIDIA driver" in text
    assert "--target llvm" in text


def test_out_of_memory_names_the_length_and_an_estimate(machine, symbols):
    program = f"""
tts = kokoro_pipeline.load(dir, threads=1)
tts.synthesize({symbols[:12]!r}, "af_heart", noise=None)
answer = "spoke"
"""
    kind, text = machine.run(program, memory=1_200_000)
    assert kind == "EnvironmentFault", text
    assert re.search(r"cuda:0 \(Fake GPU 0\) is out of memory in \w+_forward at ", text)
    assert re.search(r"t=\d+ \(\d+\.\d s of audio\)", text)
    assert re.search(r"an estimated \d+ MiB beside \d+ MiB of parameters", text)
    assert "the device has 1 MiB" in text


def test_memory_that_other_lengths_left_is_given_back_first(machine, symbols, tmp_path):
    """Lengths that fit one at a time but not together are all spoken."""
    program = f"""
tts = kokoro_pipeline.load(dir, threads=1)
answer = [len(tts.synthesize({symbols[:20]!r}[:n], "af_heart").audio) for n in (20, 18, 16, 19)]
"""
    whole = machine.run(program, log=tmp_path / "log")
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    kept = sum(int(size) for what, size in lines if what == "malloc")
    assert machine.run(program, memory=kept * 2 // 3) == whole


def test_a_library_for_the_cpu_runs_on_no_gpu(machine, toy_artifact):
    kind, text = Machine(machine.libraries, toy_artifact).run(LOAD.format("cuda:0"))
    assert kind == "ArtifactError"
    assert "compiled for cpu" in text
    assert "--target cuda" in text


def test_validate_and_say_pass_the_device_on(machine, tmp_path):
    program = f"""
from kokoro_pipeline.cli import main
out = {str(tmp_path / "x.wav")!r}
answer = [
    main(["say", "--phonemes", "abc", "--artifact", dir, "-o", out, "--device", device])
    for device in ("cuda", "cuda:7", "cpu", "nonsense")
]
"""
    assert machine.run(program) == [0, 3, 3, 2]
