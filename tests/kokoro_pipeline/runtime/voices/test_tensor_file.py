"""The .pt reader supports what torch.save writes, and nothing else that a pickle could do."""

from __future__ import annotations

import collections
import os
import pickle
import pickletools
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.voices.tensor_file import read_tensor_file

# ---- files of the real torch


def torch_tensors(torch: Any) -> dict[str, Any]:
    base = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    return {
        "plain": base,
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 4),
        "transposed": base.transpose(0, 2),
        "offset": base[1, 1:],
        "strided": base[:, ::2, 1],
        "expanded": torch.ones(1, 3).expand(5, 3),
        "float64": base.double(),
        "float16": base.half(),
        "bfloat16": (base * 1.5).bfloat16(),
        "int64": base.long(),
        "int32": base.int(),
        "int16": base.short(),
        "int8": base.to(torch.int8),
        "uint8": base.to(torch.uint8),
        "bool": base > 3,
        "grad": base.clone().requires_grad_(),
    }


def as_numpy(tensor: Any) -> np.ndarray:
    detached = tensor.detach()
    return (detached.float() if str(detached.dtype) == "torch.bfloat16" else detached).numpy()


def test_what_torch_writes(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    for name, tensor in torch_tensors(torch).items():
        file = tmp_path / f"{name}.pt"
        torch.save(tensor, file)
        read, expected = read_tensor_file(file), as_numpy(tensor)
        assert read.dtype == expected.dtype, name
        assert read.shape == expected.shape, name
        assert read.flags.c_contiguous, name
        assert read.flags.owndata or read.base.flags.owndata, name
        np.testing.assert_array_equal(read, expected, err_msg=name)


def test_containers_and_shared_storages(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    base = torch.arange(6.0)
    content = {
        "list": [base, base[2:]],
        "tuple": (1, -2, 2**40, 2.5, None, True, False, "text", ()),
        "ordered": collections.OrderedDict(x=base),
    }
    torch.save(content, tmp_path / "x.pt")
    read = read_tensor_file(tmp_path / "x.pt")
    assert read["tuple"] == content["tuple"]
    assert isinstance(read["ordered"], collections.OrderedDict)
    np.testing.assert_array_equal(read["list"][1], [2, 3, 4, 5])
    np.testing.assert_array_equal(read["ordered"]["x"], np.arange(6))


def test_legacy_format_is_refused_with_the_conversion_that_works(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    legacy = tmp_path / "old one.pt"
    torch.save(torch.arange(3.0), legacy, _use_new_zipfile_serialization=False)
    with pytest.raises(InputError, match="legacy format") as caught:
        read_tensor_file(legacy)
    command = str(caught.value).split("installed: ")[1].replace("python", sys.executable, 1)
    subprocess.run(command, shell=True, check=True, capture_output=True)
    np.testing.assert_array_equal(read_tensor_file(tmp_path / "old one.new.pt"), [0, 1, 2])


def test_objects_of_torch_are_refused_by_name(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    refused = {
        "module": torch.nn.Linear(2, 2),
        "parameter": torch.nn.Parameter(torch.zeros(2)),
        "dtype": torch.float32,
        "sparse": torch.eye(2).to_sparse(),
        "complex": torch.zeros(2, dtype=torch.complex64),
        "state": torch.nn.Linear(2, 2).state_dict(),  # carries _metadata as an attribute
    }
    for name, content in refused.items():
        torch.save(content, tmp_path / "x.pt")
        with pytest.raises(InputError, match="more than tensors") as caught:
            read_tensor_file(tmp_path / "x.pt")
        assert "torch" in str(caught.value) or "BUILD" in str(caught.value), name


# ---- files made by hand, so that they can be wrong in every way

FLOATS = np.arange(12, dtype="<f4")


class Global:
    """Pickles as a reference to a name, which need not exist."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Storage:
    """Pickles as a persistent id."""

    def __init__(self, *identity: Any) -> None:
        self.identity = identity


def storage(key: str = "0", count: int = 12, kind: str = "FloatStorage") -> Storage:
    return Storage("storage", Global("torch", kind), key, "cpu", count)


class Call:
    """Pickles as a call: GLOBAL, arguments, REDUCE."""

    def __init__(self, function: Global, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments


REBUILD = Global("torch._utils", "_rebuild_tensor_v2")


def tensor(
    source: Any, offset: Any = 0, shape: Any = (3, 4), strides: Any = (4, 1), *rest: Any
) -> Call:
    return Call(REBUILD, source, offset, shape, strides, *(rest or (False, None)))


def encode(value: Any) -> bytes:
    """Opcodes of protocol 2 for the classes above and plain values, without a memo."""
    if isinstance(value, Global):
        return f"c{value.module}\n{value.name}\n".encode()
    if isinstance(value, Storage):
        return encode(value.identity) + b"Q"
    if isinstance(value, Call):
        return encode(value.function) + encode(value.arguments) + b"R"
    if isinstance(value, tuple):
        return b"(" + b"".join(map(encode, value)) + b"t"
    if isinstance(value, str):
        return b"X" + struct.pack("<I", len(value.encode())) + value.encode()
    if isinstance(value, bytes):  # opcodes as they are
        return value
    plain = pickle.dumps(value, protocol=2)
    return plain[2:-1]


def write_file(
    path: Path,
    content: Any,
    storages: dict[str, bytes] | None = None,
    compression: int = zipfile.ZIP_STORED,
    extra: dict[str, bytes] | None = None,
) -> Path:
    pickled = content if isinstance(content, bytes) else b"\x80\x02" + encode(content) + b"."
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("voice/data.pkl", pickled)
        for key, data in ({"0": FLOATS.tobytes()} if storages is None else storages).items():
            archive.writestr(f"voice/data/{key}", data)
        for name, data in (extra or {}).items():
            archive.writestr(name, data)
    return path


def test_the_hand_made_file_is_sound(tmp_path: Path) -> None:
    """Otherwise the errors below would prove nothing."""
    file = write_file(tmp_path / "x.pt", tensor(storage()))
    np.testing.assert_array_equal(read_tensor_file(file), FLOATS.reshape(3, 4))
    file = write_file(
        tmp_path / "big.pt",
        tensor(storage()),
        {"0": FLOATS.astype(">f4").tobytes()},
        extra={"voice/byteorder": b"big"},
    )
    np.testing.assert_array_equal(read_tensor_file(file), FLOATS.reshape(3, 4))


BAD_TENSORS: list[tuple[str, Any]] = [
    ("reaches element 12 of 12", tensor(storage(), 1)),
    ("reaches element", tensor(storage(), 0, (3, 4), (5, 1))),
    ("reaches element", tensor(storage(), 0, (2,), (2**62,))),
    ("over 1073741824 bytes", tensor(storage(), 0, (2**40, 2**40), (0, 0))),
    ("numbers from 0 up", tensor(storage(), -1)),
    ("numbers from 0 up", tensor(storage(), 0, (3, 4), (-4, 1))),
    ("numbers from 0 up", tensor(storage(), 0, (-3, 4))),
    ("numbers from 0 up", tensor(storage(), 0, (3,), (4, 1))),
    ("numbers from 0 up", tensor(storage(), 0, (3.0, 4), (4, 1))),
    ("numbers from 0 up", tensor(storage(), True)),
    ("numbers from 0 up", tensor(storage(), 0, 12, 1)),
    ("numbers from 0 up", tensor("text")),
    ("hooks", tensor(storage(), 0, (3, 4), (4, 1), False, (1,))),
    ("does not unpickle", Call(REBUILD, storage())),
    ("does not name a storage", tensor(Storage("storage"))),
    (
        "does not name a storage",
        tensor(Storage("other", Global("torch", "FloatStorage"), "0", "cpu", 12)),
    ),
    ("does not name a storage", tensor(Storage("storage", "FloatStorage", "0", "cpu", 12))),
    (
        "does not name a storage",
        tensor(Storage("storage", Global("torch", "FloatStorage"), 0, "cpu", 12)),
    ),
    ("has 48 bytes for 13", tensor(storage(count=13))),
    ("does not name a storage", tensor(storage(count=-1))),
    ("has 48 bytes for 12 of f8", tensor(storage(kind="DoubleStorage"))),
    ("lacks voice/data/1", tensor(storage("1"))),
    ("lacks voice/data/../../x", tensor(storage("../../x"))),
    ("refers to torch.ComplexFloatStorage", tensor(storage(kind="ComplexFloatStorage"))),
]


@pytest.mark.parametrize(("message", "content"), BAD_TENSORS)
def test_tensors_that_do_not_fit_their_storage(tmp_path: Path, message: str, content: Any) -> None:
    file = write_file(tmp_path / "x.pt", content)
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        read_tensor_file(file)


MALICIOUS: list[tuple[str, Callable[[Path], Any]]] = [
    ("os.mkdir", lambda mark: Call(Global("os", "mkdir"), str(mark))),
    ("posix.system", lambda mark: Call(Global("posix", "system"), f"mkdir {mark}")),
    ("builtins.eval", lambda mark: Call(Global("builtins", "eval"), "1")),
    ("builtins.getattr", lambda mark: Call(Global("builtins", "getattr"), "x", "y")),
    ("torch.load", lambda mark: Call(Global("torch", "load"), str(mark))),
    ("torch._utils._rebuild_tensor", lambda m: Call(Global("torch._utils", "_rebuild_tensor"), 1)),
    ("torch.FloatStorage.__class__", lambda m: Global("torch", "FloatStorage.__class__")),
    ("collections.OrderedDict.fromkeys", lambda m: Global("collections", "OrderedDict.fromkeys")),
    ("numpy.load", lambda mark: Call(Global("numpy", "load"), str(mark))),
    ("uses INST", lambda mark: b"(" + encode(str(mark)) + b"ios\nmkdir\n"),
    ("uses STACK_GLOBAL", lambda mark: encode("os") + encode("mkdir") + b"\x93"),
    ("uses OBJ", lambda mark: b"(cos\nmkdir\n" + encode(str(mark)) + b"o"),
    ("uses NEWOBJ", lambda mark: b"cos\nmkdir\n" + encode((str(mark),)) + b"\x81"),
    ("uses EXT1", lambda mark: b"\x82\x01"),
    ("uses BUILD", lambda mark: b"ccollections\nOrderedDict\n)R}b"),
    ("uses PERSID", lambda mark: b"Pstorage\n"),
    ("stores 4294967295 before 0", lambda mark: b"Nr\xff\xff\xff\xff"),
]


@pytest.mark.parametrize(("message", "content"), MALICIOUS, ids=[name for name, _ in MALICIOUS])
def test_a_pickle_that_does_anything_else_is_refused(
    tmp_path: Path, message: str, content: Callable[[Path], Any]
) -> None:
    mark = tmp_path / "mark"
    file = write_file(tmp_path / "x.pt", content(mark))
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        read_tensor_file(file)
    assert not mark.exists()


def test_the_attack_would_work_on_plain_pickle(tmp_path: Path) -> None:
    """This shows that the test above rejects a real attack."""
    mark = tmp_path / "mark"
    pickle.loads(b"\x80\x02" + encode(Call(Global("os", "mkdir"), str(mark))) + b".")
    assert mark.exists()


def test_reduce_calls_nothing_but_the_known(tmp_path: Path) -> None:
    for content in (Call(Global("torch", "FloatStorage"), 12), Call(tensor(storage()), 1)):  # type: ignore[arg-type]
        with pytest.raises(InputError, match="does not unpickle"):
            read_tensor_file(write_file(tmp_path / "x.pt", content))


@pytest.mark.parametrize(
    "content", [b"", b"\x80\x02", b"\x80\x02.", b"\x80\x02t.", b"\x80\x02h\x05.", b"\xff" * 9]
)
def test_no_pickle(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="more than tensors or is damaged"):
        read_tensor_file(write_file(tmp_path / "x.pt", content))


def test_unfit_archives(tmp_path: Path) -> None:
    sound = tensor(storage())
    with pytest.raises(InputError, match="is compressed"):
        read_tensor_file(write_file(tmp_path / "x.pt", sound, compression=zipfile.ZIP_DEFLATED))
    with pytest.raises(InputError, match=r"no single data\.pkl"):
        read_tensor_file(write_file(tmp_path / "x.pt", sound, extra={"b/data.pkl": b""}))
    with pytest.raises(InputError, match="bytes, over"):
        read_tensor_file(write_file(tmp_path / "x.pt", bytes(5 << 20)))
    with zipfile.ZipFile(tmp_path / "y.pt", "w") as archive:
        archive.writestr("voice/other", b"")
    with pytest.raises(InputError, match=r"no single data\.pkl"):
        read_tensor_file(tmp_path / "y.pt")


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04" + bytes(50), b"\x93NUMPY"])
def test_no_zip(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.pt"):
        read_tensor_file(tmp_path / "x.pt")


def test_every_truncation_and_bit_flip_is_refused_or_harmless(tmp_path: Path) -> None:
    """A flip of the content breaks the checksum; some bytes of a zip file mean nothing."""
    file = write_file(tmp_path / "x.pt", tensor(storage()))
    content = file.read_bytes()
    for length in range(0, len(content), 5):
        file.write_bytes(content[:length])
        with pytest.raises(InputError):
            read_tensor_file(file)
    refused = 0
    for position in range(len(content)):
        for bit in (0x01, 0x80):
            damaged = bytearray(content)
            damaged[position] ^= bit
            file.write_bytes(damaged)
            try:
                read = read_tensor_file(file)
            except InputError:
                refused += 1
                continue
            np.testing.assert_array_equal(read, FLOATS.reshape(3, 4))
    assert refused > len(content)


def test_reading_needs_no_torch(tmp_path: Path) -> None:
    file = write_file(tmp_path / "x.pt", tensor(storage()))
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from kokoro_pipeline.runtime.voices.tensor_file import read_tensor_file\n"
        "print(read_tensor_file(Path(sys.argv[1])).sum())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout == "66.0\n"


def test_the_opcodes_torch_uses_are_known(tmp_path: Path) -> None:
    """This test detects a new torch that pickles differently."""
    torch = pytest.importorskip("torch")
    from kokoro_pipeline.runtime.voices import tensor_file

    torch.save({"x": [torch.zeros(300, 2), 1 << 40]}, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        used = {op.name for op, _, _ in pickletools.genops(archive.read("x/data.pkl"))}
    assert used <= tensor_file._OPCODES
