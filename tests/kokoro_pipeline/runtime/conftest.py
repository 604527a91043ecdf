"""A stand-in artifact: functions of the right names, shapes and symbols, compiled in seconds.

Every output depends on every input and parameter, and `ToyReference` computes it in numpy, so that
tests detect swapped, stale or misread arguments.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kokoro_pipeline
from kokoro_pipeline.artifact.manifest import (
    FunctionSpec,
    Manifest,
    TargetInfo,
    TensorSpec,
    WeightsInfo,
)
from kokoro_pipeline.artifact.parameter_file import write_parameters
from kokoro_pipeline.artifact.writer import ArtifactWriter
from kokoro_pipeline.config import default_config
from kokoro_pipeline.normals import standard_normals

N_TOKEN = 178

SIGNATURES: dict[str, tuple[list[TensorSpec], list[TensorSpec]]] = {
    "bert_forward": (
        [TensorSpec("input_ids", "int64", ("B", "n")), TensorSpec("lengths", "int64", ("B",))],
        [TensorSpec("d_en", "float32", ("B", 512, "n"))],
    ),
    "duration_forward": (
        [
            TensorSpec("d_en", "float32", ("B", 512, "n")),
            TensorSpec("style", "float32", ("B", 128)),
            TensorSpec("lengths", "int64", ("B",)),
        ],
        [
            TensorSpec("duration", "float32", ("B", "n", 50)),
            TensorSpec("d", "float32", ("B", "n", 640)),
        ],
    ),
    "text_encoder_forward": (
        [TensorSpec("input_ids", "int64", ("B", "n")), TensorSpec("lengths", "int64", ("B",))],
        [TensorSpec("t_en", "float32", ("B", 512, "n"))],
    ),
    "f0n_forward": (
        [TensorSpec("en", "float32", (1, 640, "t")), TensorSpec("style", "float32", (1, 128))],
        [TensorSpec("F0", "float32", (1, "2*t")), TensorSpec("N", "float32", (1, "2*t"))],
    ),
    "noise_forward": (
        [TensorSpec("frames", "int64", ("t",)), TensorSpec("key", "int64", (2,))],
        [TensorSpec("noise", "float32", (1, "600*t", 9))],
    ),
    "source_forward": (
        [TensorSpec("F0", "float32", (1, "2*t")), TensorSpec("noise", "float32", (1, "600*t", 9))],
        [TensorSpec("har", "float32", (1, 22, "120*t+1"))],
    ),
    "decoder_forward": (
        [
            TensorSpec("asr", "float32", (1, 512, "t")),
            TensorSpec("F0", "float32", (1, "2*t")),
            TensorSpec("N", "float32", (1, "2*t")),
            TensorSpec("style", "float32", (1, 128)),
            TensorSpec("har", "float32", (1, 22, "120*t+1")),
        ],
        [TensorSpec("audio", "float32", (1, "600*t"))],
    ),
}

PARAMETERS: dict[str, dict[str, tuple[int, ...]]] = {
    "bert_forward": {"table": (N_TOKEN,), "channels": (512,)},
    "duration_forward": {"steps": (50,)},
    "text_encoder_forward": {"table": (N_TOKEN,), "channels": (512,)},
    "f0n_forward": {"gain": (640,)},
    "noise_forward": {},
    "source_forward": {"harmonics": (22,)},
    "decoder_forward": {"window": (600,), "gain": (512,)},
}


def toy_parameters() -> dict[str, dict[str, np.ndarray]]:
    generator = np.random.Generator(np.random.Philox(7))
    return {
        function: {
            name: generator.standard_normal(shape, dtype=np.float32)
            for name, shape in shapes.items()
        }
        for function, shapes in PARAMETERS.items()
    }


class ToyReference:
    """The expected results of the compiled functions, in float64."""

    def __init__(self) -> None:
        self.parameters = toy_parameters()

    def __getitem__(self, name: str) -> Callable[..., Any]:
        parameters = [value.astype(np.float64) for value in self.parameters[name].values()]
        return lambda *arrays: getattr(self, name)(*arrays, *parameters)

    def bert_forward(self, ids, lengths, table, channels):
        return (table[ids] + 0.01 * lengths[:, None])[:, None, :] * channels[None, :, None]

    text_encoder_forward = bert_forward

    def duration_forward(self, d_en, style, lengths, steps):
        level = np.tanh(200 * d_en.mean(1)) + (style.mean(1) + 0.001 * lengths)[:, None] - 3
        duration = 1 / (1 + np.exp(-(level[:, :, None] + steps)))
        b, _, n = d_en.shape
        wide = np.broadcast_to(style[:, None, :], (b, n, 128))
        return duration, np.concatenate([d_en.swapaxes(1, 2), wide], 2)

    def f0n_forward(self, en, style, gain):
        base = np.repeat((en * gain[None, :, None]).mean(1), 2, 1)
        return base + style.mean(), style[:, :1] - base

    def noise_forward(self, frames, key):
        return standard_normals(key, 0, 5400 * len(frames)).reshape(1, -1, 9)

    def source_forward(self, f0, noise, harmonics):
        wave = noise.sum(2).reshape(1, -1, 5).mean(2) + np.repeat(f0, 60, 1)
        return np.pad(wave, ((0, 0), (0, 1)))[:, None, :] * harmonics[None, :, None]

    def decoder_forward(self, asr, f0, energy, style, har, window, gain):
        frame = (asr * gain[None, :, None]).mean(1)
        audio = (frame[:, :, None] * window).reshape(1, -1)
        audio = audio + np.repeat(har.mean(1)[:, :-1], 5, 1)
        audio = audio + np.repeat(0.2 * f0 - 0.3 * energy, 300, 1)
        return audio + style.mean()


class ToyOperators:
    """The same computation in Relax."""

    def __init__(self, builder: Any, normals: Any) -> None:
        from tvm import relax

        self.builder, self.normals = builder, normals
        self.relax = relax
        self.op = relax.op

    def bert_forward(self, ids, lengths, table, channels):
        op = self.op
        token = op.take(table, ids, axis=0)
        length = op.multiply(op.astype(lengths, "float32"), self.number(0.01))
        token = op.add(token, op.expand_dims(length, [1]))
        return op.multiply(op.expand_dims(token, [1]), op.expand_dims(channels, [0, 2]))

    text_encoder_forward = bert_forward

    def duration_forward(self, d_en, style, lengths, steps):
        op, number = self.op, self.number
        shift = op.multiply(op.astype(lengths, "float32"), number(0.001))
        shift = op.subtract(op.add(op.mean(style, [1]), shift), number(3))
        level = op.tanh(op.multiply(op.mean(d_en, [1]), number(200)))
        level = op.add(level, op.expand_dims(shift, [1]))
        duration = op.sigmoid(op.add(op.expand_dims(level, [2]), steps))
        b, _, n = d_en.ty.shape.values
        wide = op.broadcast_to(op.expand_dims(style, [1]), (b, n, 128))
        d = op.concat([op.permute_dims(d_en, [0, 2, 1]), wide], 2)
        return self.relax.Tuple([duration, d])

    def f0n_forward(self, en, style, gain):
        op = self.op
        base = op.repeat(op.mean(op.multiply(en, op.expand_dims(gain, [0, 2])), [1]), 2, 1)
        first = op.strided_slice(style, [1], [0], [1])
        f0 = op.add(base, op.mean(style, [1], keepdims=True))
        return self.relax.Tuple([f0, op.subtract(first, base)])

    def noise_forward(self, frames, key):
        from kokoro_pipeline.compiler.lowering.program_lowering import under_root_block

        kernel = under_root_block(self.normals)
        drawn = self.relax.TensorType([1, frames.ty.shape.values[0] * 600, 9], "float32")
        name = self.builder.add_func(kernel, "standard_normals")
        return self.relax.call_tir(name, [frames, key], out_ty=drawn)

    def source_forward(self, f0, noise, harmonics):
        op = self.op
        s = f0.ty.shape.values[1]
        wave = op.mean(op.reshape(op.sum(noise, [2]), (1, s * 60, 5)), [2])
        wave = op.add(wave, op.repeat(f0, 60, 1))
        wave = op.concat([wave, op.zeros((1, 1), "float32")], 1)
        return op.multiply(op.expand_dims(wave, [1]), op.expand_dims(harmonics, [0, 2]))

    def decoder_forward(self, asr, f0, energy, style, har, window, gain):
        op, number = self.op, self.number
        t = asr.ty.shape.values[2]
        frame = op.mean(op.multiply(asr, op.expand_dims(gain, [0, 2])), [1])
        audio = op.reshape(op.multiply(op.expand_dims(frame, [2]), window), (1, t * 600))
        spectrum = op.strided_slice(op.mean(har, [1]), [1], [0], [t * 120])
        audio = op.add(audio, op.repeat(spectrum, 5, 1))
        prosody = op.subtract(op.multiply(f0, number(0.2)), op.multiply(energy, number(0.3)))
        audio = op.add(audio, op.repeat(prosody, 300, 1))
        return op.add(audio, op.mean(style, [1], keepdims=True))

    def number(self, value: float) -> Any:
        return self.relax.const(value, "float32")


def toy_module(normals: Any = None) -> Any:
    """The functions as a module of Relax; `normals` is the kernel of the noise, else a CPU's."""
    from tvm import relax, tirx

    from kokoro_pipeline.compiler.kernels.cpu.normals import standard_normals
    from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget
    from kokoro_pipeline.compiler.lowering.parameter_table import PARAMETER_NAMES

    builder = relax.BlockBuilder()
    operators = ToyOperators(builder, normals or standard_normals(VectorTarget(4, 16), (600, 9)))
    for name, (inputs, _) in SIGNATURES.items():
        t, s = tirx.Var("t", "int64"), tirx.Var("s", "int64")
        # A signature needs the bare variable: where no input has a bare t, s is 2t.
        sizes: dict[str, Any] = {"B": tirx.Var("B", "int64"), "n": tirx.Var("n", "int64")}
        if name == "source_forward":
            sizes |= {"2*t": s, "600*t": s * 300}
        else:
            sizes |= {"t": t, "2*t": t * 2, "120*t+1": t * 120 + 1}
        arguments = [
            relax.Var(
                spec.name, relax.TensorType([sizes.get(d, d) for d in spec.shape], spec.dtype)
            )
            for spec in inputs
        ]
        arguments += [
            relax.Var(parameter, relax.TensorType(shape, "float32"))
            for parameter, shape in PARAMETERS[name].items()
        ]
        attributes = {"num_input": len(inputs), PARAMETER_NAMES: list(PARAMETERS[name])}
        with builder.function(name, arguments, attrs=attributes):
            with builder.dataflow():
                result = builder.emit_output(getattr(operators, name)(*arguments))
            builder.emit_func_output(result)
    return builder.get()


def compile_toy(output: Path) -> None:
    import tvm

    target = tvm.target.Target({"kind": "llvm"})
    tvm.compile(toy_module(), target=target).export_library(str(output))


def write_toy_artifact(
    output: Path,
    library: Path,
    target: TargetInfo = TargetInfo("llvm", ""),  # noqa: B008 -- immutable
    more: Mapping[str, FunctionSpec] | None = None,
) -> None:
    """An artifact of the compiled library with two voices, flagged synthetic; `more` are functions
    beyond these."""
    with ArtifactWriter(output) as writer:
        folder = writer.directory
        (folder / "model.so").write_bytes(library.read_bytes())
        (folder / "config.json").write_bytes(
            Path(kokoro_pipeline.__file__).with_name("data").joinpath("config.json").read_bytes()
        )
        (folder / "voices").mkdir()
        generator = np.random.Generator(np.random.Philox(11))
        for voice in ("af_bella", "af_heart"):
            pack = 0.3 * generator.standard_normal((510, 1, 256), dtype=np.float32)
            np.save(folder / "voices" / f"{voice}.npy", pack)
        flat = [
            (f"{function}.{name}", value)
            for function, values in toy_parameters().items()
            for name, value in values.items()
        ]
        specs = {spec.name: spec for spec in write_parameters(folder / "params.bin", flat)}
        functions = {
            function: FunctionSpec(
                tuple(inputs),
                tuple(outputs),
                tuple(specs[f"{function}.{name}"] for name in PARAMETERS[function]),
            )
            for function, (inputs, outputs) in SIGNATURES.items()
        }
        writer.commit(
            Manifest(
                package_version=kokoro_pipeline.__version__,
                weights=WeightsInfo("toy", None, "0" * 64, synthetic=True, seed=7),
                versions={
                    name: importlib.metadata.version(name)
                    for name in ("apache-tvm", "apache-tvm-ffi")
                },
                target=target,
                opt_level=0,
                functions={**functions, **(more or {})},
            )
        )


@pytest.fixture(scope="session")
def toy_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("toy") / "model.so"
    compile_toy(library)
    return library


@pytest.fixture(scope="session")
def toy_artifact(toy_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact's folder; not to be changed (copy it)."""
    output = tmp_path_factory.mktemp("toy_artifact") / "kokoro"
    write_toy_artifact(output, toy_library)
    return output


@pytest.fixture(scope="session")
def toy_reference() -> ToyReference:
    return ToyReference()


@pytest.fixture(scope="session")
def symbols() -> str:
    """Every symbol of the vocabulary that is no space, in the order of ids."""
    return "".join(symbol for symbol in default_config().vocab if not symbol.isspace())


@pytest.fixture
def run_fresh() -> Callable[..., str]:
    """Run a program in a fresh interpreter, with `arguments` in sys.argv[1:]; its stdout."""

    def run(program: str, *arguments: object, environment: dict[str, str] | None = None) -> str:
        root = str(Path(kokoro_pipeline.__file__).parents[1])
        result = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            env=None if environment is None else environment,
            cwd=root,
            check=False,
        )
        assert result.returncode == 0, f"exit {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout

    return run
