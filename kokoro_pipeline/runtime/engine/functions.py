"""The compiled functions as Python callables that check their arguments before a kernel runs.

Kernels do not check anything: with a wrong shape they read beyond a buffer, and with an id out of
range beyond the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kokoro_pipeline.artifact.manifest import FunctionSpec, TensorSpec
from kokoro_pipeline.config import MAX_TOKENS
from kokoro_pipeline.errors import ArtifactError, InputError

from .arrays import Array, kernel_ready
from .resident import Resident
from .shapes import Bindings, ShapeError

MAX_FRAMES = 8192
"""Maximum number of frames per chunk (204.8 s).

This is longer than any speech of 510 phonemes, and already takes gigabytes of buffers.
"""

SYMBOL_LIMITS: Mapping[str, int] = {"n": MAX_TOKENS, "t": MAX_FRAMES}

Call = Callable[[str, Mapping[str, int], Sequence[Any]], list[Any]]
"""(function, values of its symbols, arrays or `Resident`s) -> outputs of either type."""


class CompiledFunction:
    """One function of an artifact, to be called with numpy arrays in the order of `spec.inputs`.

    Returns one array, or a tuple of arrays if `spec.outputs` has several; they own their memory.
    Inputs may have any memory layout and are copied if a kernel cannot read them directly. The
    function is thread-safe.

    Raises InputError for a wrong number of arrays, a wrong dtype or shape, `input_ids` outside the
    vocabulary, and `lengths` outside 1..n.

    On a device, inputs can also be `Resident`s, and with `resident` the outputs stay there.
    """

    def __init__(
        self, name: str, spec: FunctionSpec, n_token: int, call: Call, resident: bool = False
    ) -> None:
        self.name = name
        self.spec = spec
        self._n_token = n_token
        self._call = call
        self._resident = resident

    def __call__(self, *arrays: Any) -> Any:
        bindings = self._check(arrays)
        inputs = [a if isinstance(a, Resident) else kernel_ready(a) for a in arrays]
        outputs = self._call(self.name, bindings.values, inputs)
        self._check_outputs(outputs, bindings)
        if not self._resident:
            outputs = [np.asarray(output) for output in outputs]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def __repr__(self) -> str:
        inputs = ", ".join(_describe(tensor) for tensor in self.spec.inputs)
        outputs = ", ".join(_describe(tensor) for tensor in self.spec.outputs)
        return f"<{self.name}({inputs}) -> {outputs}>"

    def _check(self, arrays: Sequence[Array]) -> Bindings:
        expected = self.spec.inputs
        if len(arrays) != len(expected):
            names = ", ".join(tensor.name for tensor in expected)
            raise InputError(
                f"{self.name} takes {len(expected)} arrays ({names}), got {len(arrays)}"
            )
        bindings = Bindings()
        for index, (tensor, array) in enumerate(zip(expected, arrays, strict=True)):
            self._check_array(index, tensor, array, bindings)
        for symbol, limit in SYMBOL_LIMITS.items():
            if bindings.values.get(symbol, 0) > limit:
                raise InputError(
                    f"{self.name}: {symbol}={bindings.values[symbol]} (from "
                    f"'{bindings.givers[symbol]}') is over the limit of {limit}"
                )
        for tensor, array in zip(expected, arrays, strict=True):
            self._check_values(tensor, array, bindings)
        return bindings

    def _check_array(
        self, index: int, tensor: TensorSpec, array: Array, bindings: Bindings
    ) -> None:
        where = f"{self.name}: argument {index} '{tensor.name}'"
        if not isinstance(array, np.ndarray | Resident):
            raise InputError(
                f"{where} is {_type_name(array)}, expected a numpy array {_describe(tensor)}"
            )
        if array.dtype != np.dtype(tensor.dtype):
            raise InputError(f"{where} is {array.dtype}, expected {tensor.dtype}")
        try:
            bindings.bind(tensor.name, tensor.shape, array.shape)
        except ShapeError as mismatch:
            raise InputError(f"{where} has shape {list(array.shape)}, {mismatch}") from None

    def _check_values(self, tensor: TensorSpec, array: Array, bindings: Bindings) -> None:
        if tensor.name == "input_ids":
            self._check_range(tensor, array, 0, self._n_token - 1)
        elif tensor.name == "lengths":
            self._check_range(tensor, array, 1, bindings.values["n"])

    def _check_range(self, tensor: TensorSpec, array: Array, low: int, high: int) -> None:
        array = np.asarray(array)
        outside = (array < low) | (array > high)
        if outside.any():
            place = tuple(int(i) for i in np.argwhere(outside)[0])
            raise InputError(
                f"{self.name}: argument '{tensor.name}' is {array[place]} at {list(place)}, "
                f"expected values from {low} to {high}"
            )

    def _check_outputs(self, outputs: Sequence[Array], bindings: Bindings) -> None:
        expected = [
            (np.dtype(tensor.dtype), bindings.evaluate(tensor.shape))
            for tensor in self.spec.outputs
        ]
        got = [(array.dtype, array.shape) for array in outputs]
        if got != expected:
            raise ArtifactError(
                f"{self.name} returned {_shapes(got)} where the manifest has {_shapes(expected)}: "
                "library and manifest do not belong together; build the artifact anew"
            )


def _describe(tensor: TensorSpec) -> str:
    return f"{tensor.name}[{', '.join(str(size) for size in tensor.shape)}] {tensor.dtype}"


def _shapes(tensors: Sequence[tuple[np.dtype[Any], tuple[int, ...]]]) -> str:
    return ", ".join(f"{dtype} {list(shape)}" for dtype, shape in tensors)


def _type_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
