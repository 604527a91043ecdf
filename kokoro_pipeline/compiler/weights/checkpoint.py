"""Read a checkpoint without executing code from it, and check it against the architecture."""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_pipeline.errors import InputError

from .architecture import COMPONENTS, Shapes, may_be_absent
from .requirements import building_module

if TYPE_CHECKING:
    from torch import Tensor

State = dict[str, dict[str, "Tensor"]]
"""Component to tensor name to tensor."""

_PREFIX = "module."
_LISTED = 8
"""The number of faults of a checkpoint that an error lists."""

# The exceptions of torch's readers for bytes that are not a checkpoint; which one is raised depends
# on where the data is broken.
_UNREADABLE = (
    RuntimeError,
    pickle.UnpicklingError,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
    AssertionError,
    struct.error,
)


def load_tensors(path: Path) -> Any:
    """Load a `.pt` or `.pth` file of tensors and plain containers, on the CPU.

    Raises InputError if it cannot be read or contains anything else.
    """
    torch = building_module("torch")
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except _UNREADABLE as error:
        first = str(error).strip().splitlines()
        raise InputError(
            f"{path} cannot be read as tensors: it is truncated, damaged or holds something else "
            f"({type(error).__name__}: {first[0] if first else ''}). Fetch or write it again"
        ) from error


def check_sums(path: Path) -> None:
    """Verify the checksums that torch stores in a file, but does not check itself.

    A file in torch's old format has no checksums and passes. Raises InputError, which names the
    damaged part.
    """
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
        raise InputError(f"{path} is damaged ({error}): fetch or write it again") from error
    if damaged is not None:
        raise InputError(
            f"{path} is damaged: the content of {damaged} does not match its checksum. "
            "Fetch or write it again"
        )


def read_checkpoint(path: Path) -> State:
    """Read the tensors of a checkpoint, without the prefix `module.` that some checkpoints have.

    Raises InputError if the file cannot be read or is not a dictionary of components, each a
    dictionary of tensors.
    """
    torch = building_module("torch")
    raw = load_tensors(path)
    if not isinstance(raw, Mapping):
        raise InputError(f"{path} is not a checkpoint: it holds a {type(raw).__name__}")
    state: State = {}
    for component, tensors in raw.items():
        if not isinstance(tensors, Mapping):
            raise InputError(
                f"{path} is not a Kokoro checkpoint: {component!r} holds a "
                f"{type(tensors).__name__} instead of the tensors of one of {', '.join(COMPONENTS)}"
            )
        named = state[str(component)] = {}
        for name, tensor in tensors.items():
            canonical = str(name).removeprefix(_PREFIX)
            if not isinstance(tensor, torch.Tensor):
                raise InputError(
                    f"{path}: {component}.{name} is a {type(tensor).__name__}, not a tensor"
                )
            if canonical in named:
                raise InputError(
                    f"{path} has {component}.{canonical} twice, with and without {_PREFIX!r}"
                )
            named[canonical] = tensor
    return state


def fingerprint(state: State, config: bytes) -> str:
    """SHA-256, lower-case hex, of the names, dtypes, shapes and bytes of the tensors and of the
    bytes of the configuration.
    """
    torch = building_module("torch")
    digest = hashlib.sha256()
    for component, tensors in sorted(state.items()):
        for name, tensor in sorted(tensors.items()):
            dtype = str(tensor.dtype).removeprefix("torch.")
            head = [f"{component}.{name}", dtype, list(tensor.shape)]
            digest.update(json.dumps(head).encode() + b"\n")
            digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    digest.update(config)
    return digest.hexdigest()


def complete_state(state: State, expected: Shapes, where: object) -> State:
    """Fill in missing affine parameters of AdaIN as the identity, and check the shapes.

    `norm.weight` and `norm.bias` of an AdaIN may both be missing, as in the real checkpoint.

    Raises InputError, which lists every other tensor that is missing, unexpected, of a wrong shape
    or not float32; `where` is the file that the message names.
    """
    torch = building_module("torch")
    faults = [f"missing {name}" for name in expected.keys() - state.keys()]
    faults += [f"unexpected {name}" for name in state.keys() - expected.keys()]
    complete: State = {}
    for component in expected.keys() & state.keys():
        shapes, tensors = expected[component], state[component]
        faults += [f"unexpected {component}.{name}" for name in tensors.keys() - shapes.keys()]
        filled = complete[component] = {}
        for name, shape in shapes.items():
            tensor = tensors.get(name)
            if tensor is None and may_be_absent(name) and _partner(name) not in tensors:
                identity = torch.ones if name.endswith("weight") else torch.zeros
                filled[name] = identity(shape)
            elif tensor is None:
                faults.append(f"missing {component}.{name}")
            elif tuple(tensor.shape) != shape:
                faults.append(
                    f"{component}.{name} has shape {list(tensor.shape)}, not {list(shape)}"
                )
            elif tensor.dtype != torch.float32:
                faults.append(f"{component}.{name} is {tensor.dtype}, not torch.float32")
            else:
                filled[name] = tensor
    if faults:
        shown = "; ".join(sorted(faults)[:_LISTED])
        more = f"; and {len(faults) - _LISTED} more" if len(faults) > _LISTED else ""
        raise InputError(f"{where} does not fit the architecture of its config.json: {shown}{more}")
    return {component: complete[component] for component in expected}


def _partner(name: str) -> str:
    """The name of the other affine parameter: the bias for a weight and vice versa."""
    stem, half = name.rsplit(".", 1)
    return f"{stem}.{'bias' if half == 'weight' else 'weight'}"
