"""Read a checkpoint, running none of it; name its tensors; hold it to the architecture."""

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
"""How many of a checkpoint's faults an error names."""

# What torch's readers raise for bytes that are no checkpoint: which one depends on where they are
# broken.
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
    """What a `.pt` or `.pth` file holds: tensors and plain containers, on the CPU.

    Raises InputError where it cannot be read or holds anything else.
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
    """Compare the file's content with the check sums that torch stores in it (torch itself does
    not).

    A file in torch's old format has none and passes. Raises InputError naming the damaged part.
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
            f"{path} is damaged: the content of {damaged} does not match its check sum. "
            "Fetch or write it again"
        )


def read_checkpoint(path: Path) -> State:
    """A checkpoint's tensors, the `module.` that some checkpoints put before every name removed.

    Raises InputError where the file cannot be read or is no dictionary of components of tensors.
    """
    torch = building_module("torch")
    raw = load_tensors(path)
    if not isinstance(raw, Mapping):
        raise InputError(f"{path} is no checkpoint: it holds a {type(raw).__name__}")
    state: State = {}
    for component, tensors in raw.items():
        if not isinstance(tensors, Mapping):
            raise InputError(
                f"{path} is no Kokoro checkpoint: {component!r} holds a {type(tensors).__name__}, "
                f"where the tensors of one of {', '.join(COMPONENTS)} belong"
            )
        named = state[str(component)] = {}
        for name, tensor in tensors.items():
            canonical = str(name).removeprefix(_PREFIX)
            if not isinstance(tensor, torch.Tensor):
                raise InputError(
                    f"{path}: {component}.{name} is a {type(tensor).__name__}, no tensor"
                )
            if canonical in named:
                raise InputError(
                    f"{path} has {component}.{canonical} twice, with and without {_PREFIX!r}"
                )
            named[canonical] = tensor
    return state


def fingerprint(state: State, config: bytes) -> str:
    """SHA-256, lower-case hex, of the tensors' names, dtypes, shapes and bytes and of the
    configuration's bytes.
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
    """The state with absent AdaIN affines filled in as the identity, held to the expected shapes.

    An AdaIN's `norm.weight` and `norm.bias` may be absent together, as the real checkpoint has it.
    Raises InputError naming every other tensor that is missing, unexpected, of another shape or not
    float32; `where` is the file that the message names.
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
    """The other half of an affine."""
    stem, half = name.rsplit(".", 1)
    return f"{stem}.{'bias' if half == 'weight' else 'weight'}"
