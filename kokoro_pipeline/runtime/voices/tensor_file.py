"""Read tensors written by `torch.save`, without torch and without executing anything.

Only the zip format is supported: a pickle that describes the tensors, and their storages as plain
bytes. The pickle may only contain the few opcodes that describe containers and tensors, and may
only refer to storage types, `torch._utils._rebuild_tensor_v2` and `collections.OrderedDict`.
Everything else is rejected, so a malicious file cannot name a function to call.
"""

from __future__ import annotations

import collections
import io
import math
import pickle
import pickletools
import shlex
import struct
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kokoro_pipeline.errors import InputError

_STORAGES = {
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}
"""torch's storage types to numpy's dtype codes."""

_OPCODE_NAMES = (
    "PROTO STOP MARK GLOBAL REDUCE BINPERSID BINPUT LONG_BINPUT BINGET LONG_BINGET "
    "NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT BINUNICODE "
    "EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_LIST APPEND APPENDS "
    "EMPTY_DICT SETITEM SETITEMS"
)
_OPCODES = frozenset(_OPCODE_NAMES.split())
"""The opcodes for containers, numbers, strings and tensors in pickle protocol 2.

BUILD is excluded, since it would set the state of an object.
"""

_LARGEST_PICKLE = 4 << 20
_LARGEST_TENSOR = 1 << 30
"""Limit in bytes; without it, a small file could describe a huge tensor with zero strides."""

_LEGACY_START = b"\x80"

# RuntimeError is raised for encryption or an unknown version, the others for inconsistent headers.
_ZIP_ERRORS = (zipfile.BadZipFile, RuntimeError, EOFError, ValueError, OverflowError, struct.error)


@dataclass(frozen=True)
class _StorageType:
    """Represents a class such as `torch.FloatStorage` while unpickling."""

    code: str


@dataclass(frozen=True)
class _Storage:
    """The flat elements of a storage; bfloat16 is stored as its bits, uint16."""

    values: np.ndarray
    is_bfloat16: bool


def read_tensor_file(path: Path) -> Any:
    """Like `torch.load(path, map_location="cpu")`, but with numpy arrays instead of tensors.

    Tensors may have any strides and offset. bfloat16 is converted to float32, everything else keeps
    its dtype. Big-endian files are supported.

    Raises InputError for a file that cannot be read, is damaged, contains anything but tensors in
    lists, tuples and dictionaries, or has the format of torch before 1.6.
    """
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
            if start[:2] != b"PK":
                raise InputError(_no_zip(path, start))
            with zipfile.ZipFile(stream) as archive:
                return _Archive(path, archive).load()
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except _ZIP_ERRORS as error:
        raise InputError(f"{path} is damaged: {error}") from error


def _no_zip(path: Path, start: bytes) -> str:
    if not start.startswith(_LEGACY_START):
        return f"{path} is not a file of torch.save: it starts with {start.hex(' ') or 'nothing'}"
    return (
        f"{path} is in torch's legacy format, which only torch can read. Convert it where torch is "
        "installed: python -c 'import sys, torch; torch.save(torch.load(sys.argv[1], "
        f"weights_only=True), sys.argv[2])' {shlex.quote(str(path))} "
        f"{shlex.quote(str(path.with_suffix('.new.pt')))}"
    )


class _Archive:
    """An open zip file of torch.save: `NAME/data.pkl`, `NAME/data/KEY`, `NAME/byteorder`."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self.archive = archive
        pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise self.refusal("it has no single data.pkl")
        self.prefix = pickles[0].removesuffix("data.pkl")
        self.storages: dict[str, _Storage] = {}
        self.order: Literal["<", ">"] = "<"
        if f"{self.prefix}byteorder" in archive.namelist():
            self.order = ">" if self.member("byteorder") == b"big" else "<"

    def refusal(self, what: str) -> InputError:
        return InputError(f"{self.path} holds more than tensors or is damaged: {what}")

    def member(self, name: str, limit: int = _LARGEST_PICKLE) -> bytes:
        """The bytes of a member, after verifying its checksum."""
        try:
            info = self.archive.getinfo(self.prefix + name)
        except KeyError:
            raise self.refusal(f"it lacks {self.prefix}{name}") from None
        if info.compress_type != zipfile.ZIP_STORED:  # torch.save never compresses
            raise self.refusal(f"{info.filename} is compressed")
        if info.file_size > limit:
            raise self.refusal(f"{info.filename} has {info.file_size} bytes, over {limit}")
        return self.archive.read(info)

    def load(self) -> Any:
        data = self.member("data.pkl")
        self.check_opcodes(data)
        try:
            return _TensorUnpickler(data, self).load()
        except (
            pickle.UnpicklingError,
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            EOFError,
        ) as error:
            if isinstance(error, InputError):
                raise
            raise self.refusal(f"its data.pkl does not unpickle ({error})") from error
        except (AttributeError, OverflowError, RecursionError, MemoryError) as error:
            raise self.refusal(f"its data.pkl does not unpickle ({error!r})") from error

    def check_opcodes(self, data: bytes) -> None:
        stores = 0
        try:
            for opcode, argument, _ in pickletools.genops(data):
                if opcode.name not in _OPCODES:
                    raise self.refusal(f"its data.pkl uses {opcode.name}")
                if opcode.name in ("BINPUT", "LONG_BINPUT"):
                    # Picklers number these consecutively; a huge number would exhaust the memory.
                    number = int(argument or 0)
                    if number > stores:
                        raise self.refusal(f"its data.pkl stores {number} before {stores}")
                    stores += number == stores
        except InputError:
            raise
        except ValueError as error:
            raise self.refusal(f"its data.pkl is not a pickle ({error})") from error

    def storage(self, identity: Any) -> _Storage:
        """The storage for a persistent id `("storage", type, key, location, numel)`."""
        if not (
            isinstance(identity, tuple)
            and len(identity) == 5
            and identity[0] == "storage"
            and isinstance(identity[1], _StorageType)
            and isinstance(identity[2], str)
            and _is_count(identity[4])
        ):
            raise self.refusal(f"{identity!r} does not name a storage")
        _, kind, key, _, count = identity
        if key not in self.storages:
            is_bfloat16 = kind.code == "bfloat16"
            dtype = np.dtype("u2" if is_bfloat16 else kind.code).newbyteorder(self.order)
            raw = self.member(f"data/{key}", _LARGEST_TENSOR)
            if len(raw) != count * dtype.itemsize:
                raise self.refusal(f"storage {key} has {len(raw)} bytes for {count} of {kind.code}")
            self.storages[key] = _Storage(np.frombuffer(raw, dtype), is_bfloat16)
        return self.storages[key]

    def rebuild(
        self,
        storage: Any,
        offset: Any,
        shape: Any,
        strides: Any,
        requires_grad: Any = False,
        hooks: Any = None,
        metadata: Any = None,
    ) -> np.ndarray:
        """Replaces `torch._utils._rebuild_tensor_v2`: a view of a storage, here as a copy."""
        if not (
            isinstance(storage, _Storage)
            and _is_count(offset)
            and _are_counts(shape)
            and _are_counts(strides)
            and len(shape) == len(strides)
        ):
            raise self.refusal("a tensor's offset, shape or strides are not numbers from 0 up")
        if hooks or metadata:
            raise self.refusal("a tensor carries hooks or metadata")
        values = storage.values
        count = math.prod(shape)
        if count * values.itemsize > _LARGEST_TENSOR:
            raise self.refusal(f"a tensor of shape {shape} has over {_LARGEST_TENSOR} bytes")
        if not count:
            result = np.empty(shape, values.dtype)
        else:
            last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
            if last >= values.size:
                raise self.refusal(f"a tensor reaches element {last} of {values.size}")
            steps = [step * values.itemsize for step in strides]
            result = np.lib.stride_tricks.as_strided(values[offset:], shape, steps)
        native = np.array(result, values.dtype.newbyteorder("="), order="C")
        if storage.is_bfloat16:
            return (native.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return native


class _TensorUnpickler(pickle.Unpickler):
    """Unpickler that only resolves the names that a pickle of tensors refers to."""

    def __init__(self, data: bytes, archive: _Archive) -> None:
        super().__init__(io.BytesIO(data))
        self._archive = archive

    def find_class(self, module: str, name: str) -> _StorageType | Callable[..., Any]:
        if module == "torch" and name in _STORAGES:
            return _StorageType(_STORAGES[name])
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self._archive.rebuild
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        raise self._archive.refusal(f"it refers to {module}.{name}")

    def persistent_load(self, identity: Any) -> _Storage:
        return self._archive.storage(identity)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_counts(value: Any) -> bool:
    return isinstance(value, tuple) and all(_is_count(item) for item in value)


def encode_tensor(array: np.ndarray) -> bytes:
    """A float32 array as the .pt file of one tensor, which `torch.load` reads.

    The format is that of torch 1.6 and newer: an archive with a pickle and the storage's bytes.
    """
    values = np.ascontiguousarray(array, "<f4")
    strides = [stride // values.itemsize for stride in values.strides]
    pickled = b"".join(
        (
            b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((",
            *(_unicode(text) for text in ("storage",)),
            b"ctorch\nFloatStorage\n",
            *(_unicode(text) for text in ("0", "cpu")),
            _integer(values.size),
            b"tQ",
            _integer(0),
            _integers(values.shape),
            _integers(strides),
            b"\x89ccollections\nOrderedDict\n)RtR.",
        )
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("voice/data.pkl", pickled)
        archive.writestr("voice/byteorder", b"little")
        archive.writestr("voice/data/0", values.tobytes())
        archive.writestr("voice/version", b"3\n")
    return file.getvalue()


def _unicode(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode("ascii")


def _integer(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def _integers(values: Sequence[int]) -> bytes:
    return b"(" + b"".join(map(_integer, values)) + b"t"
