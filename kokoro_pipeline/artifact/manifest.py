"""The manifest of an artifact: its files, how it was built, and what it needs to run.

The manifest is written last and is the only entry point of the folder. It lists every other file
with its size and SHA-256, and contains the SHA-256 of its own canonical JSON, so that any change of
a listed file or of the manifest itself is detected.

Reading checks, in this order: JSON, schema version, self-hash, then every field. All failures are
reported as `ArtifactError`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from ..errors import ArtifactError

SCHEMA_VERSION = 5
"""The schema that this package writes and reads; no release has written an older one."""

MANIFEST_NAME = "manifest.json"
PARAMETERS_NAME = "params.bin"
CONFIG_NAME = "config.json"
VOICES_FOLDER = "voices"
LIBRARY_NAMES = ("model.so", "model.dylib")
"""Names of the compiled library: ELF and Mach-O."""

GRAPH_DURATIONS = "graph_durations"
GRAPH_SPEECH = "graph_speech"
"""The two functions of an artifact that was built from a graph in an ONNX file, in place of six."""

ALIGNMENT = 64
"""Alignment in bytes that kernels assume of every tensor; parameters are stored at multiples."""

DTYPES: Mapping[str, int] = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float16": 2,
    "float32": 4,
    "float64": 8,
}
"""The dtypes that tensors of an artifact may have, with their sizes in bytes."""

PRECISIONS = ("float32", "float32-fma", "tf32", "bfloat16", "float16")
"""What the operands of the decoder's products may be rounded to; the first two do not round.

With "float32" a matrix unit may multiply operands in parts, within float32's tolerances; with
"float32-fma" only threads multiply.
"""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_AFFINE = re.compile(
    r"(?:(?P<factor>[1-9]\d*)\*)?(?P<symbol>[A-Za-z_]\w*)(?:\+(?P<rest>[1-9]\d*))?"
)
_UNSAFE_IN_NAMES = re.compile(r'[\x00-\x1f\\:*?"<>|]')

T = TypeVar("T")


@dataclass(frozen=True)
class FileEntry:
    """A file of the folder. `sha256` is 64 lower-case hexadecimal digits, `size` is in bytes."""

    sha256: str
    size: int


@dataclass(frozen=True)
class WeightsInfo:
    """The origin of the parameters.

    `source` is a hub name, a folder or "synthetic"; `revision` is the commit on the hub, if any.
    `sha256` covers the tensors of the checkpoint and its configuration. `synthetic` marks random
    weights, whose output is not speech; `seed` is their seed.
    """

    source: str
    revision: str | None
    sha256: str
    synthetic: bool = False
    seed: int | None = None


@dataclass(frozen=True)
class TargetInfo:
    """The target that the library was compiled for.

    `kind` is the kind of the TVM target, `mcpu` LLVM's CPU name, and `features` are the vector
    features that the CPU must have (canonical names, see `cpu.vector_features`). `host` is the
    system ("linux-x86_64", "linux-aarch64", "macos-arm64"). `archs` are the CUDA architectures
    with machine code ("sm_80"), the oldest first; the PTX of the newest supports newer GPUs.
    `precision` is one of `PRECISIONS`.
    """

    kind: str
    mcpu: str
    features: tuple[str, ...] = ()
    host: str = ""
    archs: tuple[str, ...] = ()
    precision: str = "float32"

    @property
    def device(self) -> str:
        """Kind of the device that the functions run on: "cpu", "cuda" or "metal"."""
        return "cpu" if self.kind == "llvm" else self.kind


@dataclass(frozen=True)
class TensorSpec:
    """An input or output of a function.

    A dimension is a number or an expression in one symbol, such as "n", "2*t" or "120*t+1".
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class ParameterSpec:
    """A parameter. `offset` is its position in the parameter file, a multiple of `ALIGNMENT`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size(self) -> int:
        """Size of the values in bytes."""
        return math.prod(self.shape) * DTYPES[self.dtype]


@dataclass(frozen=True)
class FunctionSpec:
    """A compiled function. A call passes the inputs, then the parameters, in the given order."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    parameters: tuple[ParameterSpec, ...] = ()
    workspace: tuple[int, ...] = ()
    """Bytes of the intermediate results, as coefficients of a polynomial in s.

    s is the number of tokens or frames of the inputs. Empty if the bytes were not counted.
    """

    def workspace_bytes(self, symbols: Mapping[str, int]) -> int:
        """An estimate of the bytes of intermediate results of a call with these symbol values."""
        lengths = [size for symbol, size in symbols.items() if symbol != "B"]
        longest = max(lengths, default=0)
        rows = symbols.get("B", 1)
        return rows * sum(k * longest**power for power, k in enumerate(self.workspace))


@dataclass(frozen=True)
class ConvolutionChoice:
    """The algorithm of the convolutions of one shape, and what the measured ones took.

    `microseconds` are those of all convolutions of the shape in 4 s of audio, by algorithm; empty
    if nothing was measured for it.
    """

    algorithm: str
    microseconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Choices:
    """The algorithms of the convolutions for which there is a choice, by their shape.

    `measured_on` names the CPU that `build --tune` measured on; empty if the model of costs chose.
    """

    measured_on: str = ""
    convolutions: dict[str, ConvolutionChoice] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """The manifest of an artifact.

    `files` maps paths relative to the folder (with "/") to their entries, without the manifest
    itself. `versions` maps distributions ("apache-tvm", "apache-tvm-ffi", …) to the versions that
    built the artifact. `fixes` maps each fix of the extension to its state. `validation` holds the
    figures of the build's validation, and `choices` the algorithms of convolutions. `sha256` is the
    hash of everything else, empty until `sealed`.
    """

    package_version: str
    weights: WeightsInfo
    versions: dict[str, str]
    target: TargetInfo
    opt_level: int
    functions: dict[str, FunctionSpec]
    files: dict[str, FileEntry] = field(default_factory=dict)
    fixes: dict[str, str] = field(default_factory=dict)
    validation: dict[str, Any] = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)
    schema_version: int = SCHEMA_VERSION
    sha256: str = ""

    def to_json(self) -> dict[str, Any]:
        """The manifest as JSON values, in an order suited for reading."""
        return {
            "schema_version": self.schema_version,
            "package_version": self.package_version,
            "weights": {
                "source": self.weights.source,
                "revision": self.weights.revision,
                "sha256": self.weights.sha256,
                "synthetic": self.weights.synthetic,
                "seed": self.weights.seed,
            },
            "versions": dict(self.versions),
            "target": _target_json(self.target),
            "opt_level": self.opt_level,
            "functions": {name: _function_json(spec) for name, spec in self.functions.items()},
            "fixes": dict(self.fixes),
            "validation": self.validation,
            "choices": _choices_json(self.choices),
            "files": {
                path: {"sha256": entry.sha256, "size": entry.size}
                for path, entry in sorted(self.files.items())
            },
            "sha256": self.sha256,
        }

    def sealed(self) -> Manifest:
        """A copy of this manifest with its own hash filled in.

        Raises ArtifactError if a value cannot be stored as JSON (such as NaN in `validation`).
        """
        return replace(self, sha256=_self_hash(self.to_json()))

    def dumps(self) -> str:
        """The text of the sealed manifest file.

        Raises ArtifactError if the manifest could not be read back, for example because of a bad
        path, an unknown dtype or a misaligned parameter.
        """
        data = self.sealed().to_json()
        from_json(data)
        return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @property
    def is_graph(self) -> bool:
        """Whether the artifact was built from the graph of an ONNX file."""
        return {GRAPH_DURATIONS, GRAPH_SPEECH} <= self.functions.keys()

    @property
    def library(self) -> str:
        """Path of the compiled library within the folder."""
        return next(name for name in LIBRARY_NAMES if name in self.files)

    @property
    def voices(self) -> tuple[str, ...]:
        """Names of the voices in the folder, sorted."""
        prefix, suffix = f"{VOICES_FOLDER}/", ".npy"
        return tuple(
            sorted(
                path[len(prefix) : -len(suffix)]
                for path in self.files
                if path.startswith(prefix) and path.endswith(suffix)
            )
        )


def loads(text: str, where: str = MANIFEST_NAME) -> Manifest:
    """Parse the text of a manifest; `where` names the file in errors. Raises ArtifactError."""
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(
            f"{where} is damaged: not valid JSON ({error}); build the artifact anew"
        ) from None
    return from_json(data, where)


def from_json(data: Any, where: str = MANIFEST_NAME) -> Manifest:
    """Check JSON values and convert them to a Manifest; `where` names the file in errors.

    Raises ArtifactError for another schema, a wrong self-hash, or a missing, unknown or invalid
    field.
    """
    reader = _Reader(where)
    top = reader.mapping(data, "the manifest")
    version = reader.integer(top.get("schema_version"), "schema_version")
    if version > SCHEMA_VERSION:
        raise ArtifactError(
            f"{where} has schema {version}, this package reads up to {SCHEMA_VERSION}: "
            f"the artifact was made by a newer kokoro_pipeline ({top.get('package_version')}); "
            "upgrade with: pip install --upgrade tvm-kokoro, or build the artifact anew"
        )
    if version < SCHEMA_VERSION:
        raise ArtifactError(
            f"{where} has schema {version}, this package reads schema {SCHEMA_VERSION}: the "
            f"artifact was made by an older kokoro_pipeline ({top.get('package_version')}); "
            "build the artifact anew"
        )
    stored = top.get("sha256")
    actual = _self_hash(top)
    if stored != actual:
        raise reader.damaged(f"its content hashes to {actual}, it says {stored}")
    return reader.manifest(top)


def affine(dimension: str) -> tuple[int, str, int]:
    """Split the expression of a dimension: "120*t+1" gives (120, "t", 1), "n" gives (1, "n", 0).

    Raises ArtifactError for anything but `[factor*]symbol[+constant]`.
    """
    match = _AFFINE.fullmatch(dimension)
    if match is None:
        raise ArtifactError(
            f"{dimension!r} is not a dimension: expected [factor*]symbol[+constant]"
        )
    return int(match["factor"] or 1), match["symbol"], int(match["rest"] or 0)


def is_safe_path(path: str) -> bool:
    """Whether `path` names a file inside a folder on every system.

    It must be relative, with "/" between the parts, without empty, "." or ".." parts, and without
    characters that some system reserves.
    """
    parts = path.split("/")
    return not _UNSAFE_IN_NAMES.search(path) and all(part not in ("", ".", "..") for part in parts)


def _self_hash(data: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON (sorted keys, no spaces, UTF-8) without the hash itself."""
    rest = {key: value for key, value in data.items() if key != "sha256"}
    try:
        text = json.dumps(
            rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        return hashlib.sha256(text.encode("utf-8")).hexdigest()
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"a value of the manifest cannot be stored as JSON: {error}") from error


def _function_json(spec: FunctionSpec) -> dict[str, Any]:
    return {
        "workspace": list(spec.workspace),
        "inputs": [_tensor_json(tensor) for tensor in spec.inputs],
        "outputs": [_tensor_json(tensor) for tensor in spec.outputs],
        "parameters": [
            {**_tensor_json(parameter), "offset": parameter.offset} for parameter in spec.parameters
        ],
    }


def _choices_json(choices: Choices) -> dict[str, Any]:
    return {
        "measured_on": choices.measured_on,
        "convolutions": {
            shape: {"algorithm": choice.algorithm, "microseconds": dict(choice.microseconds)}
            for shape, choice in choices.convolutions.items()
        },
    }


def _target_json(target: TargetInfo) -> dict[str, Any]:
    return {
        "kind": target.kind,
        "mcpu": target.mcpu,
        "features": list(target.features),
        "host": target.host,
        "archs": list(target.archs),
        "precision": target.precision,
    }


def _tensor_json(tensor: TensorSpec | ParameterSpec) -> dict[str, Any]:
    return {"name": tensor.name, "dtype": tensor.dtype, "shape": list(tensor.shape)}


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class _Reader:
    """Typed access to parsed JSON; errors name the file and the field."""

    def __init__(self, where: str) -> None:
        self.where = where

    def damaged(self, what: str) -> ArtifactError:
        return ArtifactError(f"{self.where} is damaged: {what}; build the artifact anew")

    def manifest(self, top: dict[str, Any]) -> Manifest:
        top = self.fields(
            top,
            "the manifest",
            "schema_version package_version weights versions target opt_level functions fixes "
            "validation choices files sha256",
        )
        manifest = Manifest(
            schema_version=self.integer(top["schema_version"], "schema_version"),
            package_version=self.string(top["package_version"], "package_version"),
            weights=self.weights(top["weights"]),
            versions=self.table(top["versions"], "versions", self.string),
            target=self.target(top["target"]),
            opt_level=self.integer(top["opt_level"], "opt_level"),
            functions=self.table(top["functions"], "functions", self.function),
            fixes=self.table(top["fixes"], "fixes", self.string),
            validation=self.mapping(top["validation"], "validation"),
            choices=self.choices(top["choices"]),
            files=self.table(top["files"], "files", self.file),
            sha256=top["sha256"],
        )
        self.check_paths(manifest)
        return manifest

    def check_paths(self, manifest: Manifest) -> None:
        for path in manifest.files:
            if not is_safe_path(path) or path == MANIFEST_NAME:
                raise self.damaged(f"files: {path!r} does not name a file inside the folder")
        libraries = [name for name in LIBRARY_NAMES if name in manifest.files]
        if len(libraries) != 1:
            raise self.damaged(
                f"files: expected one of {', '.join(LIBRARY_NAMES)}, has {libraries}"
            )
        if PARAMETERS_NAME not in manifest.files:
            raise self.damaged(f"files: {PARAMETERS_NAME} is not listed")
        available = manifest.files[PARAMETERS_NAME].size
        for name, function in manifest.functions.items():
            for parameter in function.parameters:
                if parameter.offset + parameter.size > available:
                    raise self.damaged(
                        f"functions.{name}: parameter {parameter.name} ends at byte "
                        f"{parameter.offset + parameter.size} of a {PARAMETERS_NAME} of {available}"
                    )

    def weights(self, value: Any) -> WeightsInfo:
        data = self.fields(value, "weights", "source revision sha256 synthetic seed")
        if not isinstance(data["synthetic"], bool):
            raise self.damaged(f"weights.synthetic is {data['synthetic']!r}")
        return WeightsInfo(
            source=self.string(data["source"], "weights.source"),
            revision=self.optional(data["revision"], "weights.revision", self.string),
            sha256=self.sha256(data["sha256"], "weights.sha256"),
            synthetic=data["synthetic"],
            seed=self.optional(data["seed"], "weights.seed", self.integer),
        )

    def target(self, value: Any) -> TargetInfo:
        data = self.fields(value, "target", "kind mcpu features host archs precision")
        return TargetInfo(
            kind=self.string(data["kind"], "target.kind"),
            mcpu=self.string(data["mcpu"], "target.mcpu"),
            features=self.sequence(data["features"], "target.features", self.string),
            host=self.string(data["host"], "target.host"),
            archs=self.sequence(data["archs"], "target.archs", self.string),
            precision=self.precision(data["precision"]),
        )

    def choices(self, value: Any) -> Choices:
        data = self.fields(value, "choices", "measured_on convolutions")
        return Choices(
            measured_on=self.string(data["measured_on"], "choices.measured_on"),
            convolutions=self.table(data["convolutions"], "choices.convolutions", self.choice),
        )

    def choice(self, value: Any, field_name: str) -> ConvolutionChoice:
        data = self.fields(value, field_name, "algorithm microseconds")
        return ConvolutionChoice(
            algorithm=self.string(data["algorithm"], f"{field_name}.algorithm"),
            microseconds=self.table(
                data["microseconds"], f"{field_name}.microseconds", self.measure
            ),
        )

    def file(self, value: Any, field_name: str) -> FileEntry:
        data = self.fields(value, field_name, "sha256 size")
        return FileEntry(
            sha256=self.sha256(data["sha256"], f"{field_name}.sha256"),
            size=self.integer(data["size"], f"{field_name}.size"),
        )

    def function(self, value: Any, field_name: str) -> FunctionSpec:
        data = self.fields(value, field_name, "inputs outputs parameters workspace")
        return FunctionSpec(
            workspace=self.sequence(data["workspace"], f"{field_name}.workspace", self.integer),
            inputs=self.sequence(data["inputs"], f"{field_name}.inputs", self.tensor),
            outputs=self.sequence(data["outputs"], f"{field_name}.outputs", self.tensor),
            parameters=self.sequence(
                data["parameters"], f"{field_name}.parameters", self.parameter
            ),
        )

    def tensor(self, value: Any, field_name: str) -> TensorSpec:
        data = self.fields(value, field_name, "name dtype shape")
        return TensorSpec(
            name=self.string(data["name"], f"{field_name}.name"),
            dtype=self.dtype(data["dtype"], f"{field_name}.dtype"),
            shape=self.sequence(data["shape"], f"{field_name}.shape", self.dimension),
        )

    def parameter(self, value: Any, field_name: str) -> ParameterSpec:
        data = self.fields(value, field_name, "name dtype shape offset")
        offset = self.integer(data["offset"], f"{field_name}.offset")
        if offset % ALIGNMENT:
            raise self.damaged(f"{field_name}.offset is {offset}, not a multiple of {ALIGNMENT}")
        return ParameterSpec(
            name=self.string(data["name"], f"{field_name}.name"),
            dtype=self.dtype(data["dtype"], f"{field_name}.dtype"),
            shape=self.sequence(data["shape"], f"{field_name}.shape", self.integer),
            offset=offset,
        )

    def fields(self, value: Any, field_name: str, names: str) -> dict[str, Any]:
        data = self.mapping(value, field_name)
        expected = set(names.split())
        if data.keys() != expected:
            missing, unknown = expected - data.keys(), data.keys() - expected
            said = [f"lacks {', '.join(sorted(missing))}"] if missing else []
            said += [f"has unknown {', '.join(sorted(unknown))}"] if unknown else []
            raise self.damaged(f"{field_name} {' and '.join(said)}")
        return data

    def mapping(self, value: Any, field_name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.damaged(f"{field_name} is {type(value).__name__}, not an object")
        return value

    def table(self, value: Any, field_name: str, item: Callable[[Any, str], T]) -> dict[str, T]:
        data = self.mapping(value, field_name)
        return {key: item(entry, f"{field_name}.{key}") for key, entry in data.items()}

    def sequence(self, value: Any, field_name: str, item: Callable[[Any, str], T]) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise self.damaged(f"{field_name} is {type(value).__name__}, not a list")
        return tuple(item(entry, f"{field_name}[{i}]") for i, entry in enumerate(value))

    def optional(self, value: Any, field_name: str, item: Callable[[Any, str], T]) -> T | None:
        return None if value is None else item(value, field_name)

    def string(self, value: Any, field_name: str) -> str:
        if not isinstance(value, str):
            raise self.damaged(f"{field_name} is {value!r}, not a string")
        return value

    def integer(self, value: Any, field_name: str) -> int:
        if not _is_int(value) or value < 0:
            raise self.damaged(f"{field_name} is {value!r}, not a whole number from 0 up")
        return value

    def measure(self, value: Any, field_name: str) -> float:
        number: Any = value
        if not (_is_int(number) or isinstance(number, float)) or not 0 <= number < math.inf:
            raise self.damaged(f"{field_name} is {value!r}, not a number from 0 up")
        # As it was read: 20 and 20.0 are equal numbers, and their texts have different hashes.
        return cast(float, number)

    def sha256(self, value: Any, field_name: str) -> str:
        if not isinstance(value, str) or not _SHA256.fullmatch(value):
            raise self.damaged(f"{field_name} is {value!r}, not 64 hexadecimal digits")
        return value

    def dtype(self, value: Any, field_name: str) -> str:
        if not isinstance(value, str) or value not in DTYPES:
            raise self.damaged(f"{field_name} is {value!r}, not one of {', '.join(DTYPES)}")
        return value

    def precision(self, value: Any) -> str:
        if not isinstance(value, str) or value not in PRECISIONS:
            raise self.damaged(f"target.precision is {value!r}, not one of {', '.join(PRECISIONS)}")
        return value

    def dimension(self, value: Any, field_name: str) -> int | str:
        if not isinstance(value, str):
            return self.integer(value, field_name)
        if not _AFFINE.fullmatch(value):
            raise self.damaged(f"{field_name} is {value!r}, not [factor*]symbol[+constant]")
        return value
