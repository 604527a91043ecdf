"""What is timed: the artifact, and the plain PyTorch model eager, compiled and as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kokoro_pipeline.benchmarking.chunk_inputs import Case
from kokoro_pipeline.benchmarking.timed_functions import speak
from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.speech.alignment import token_of_frame
from kokoro_pipeline.runtime.speech.synthesizer import Synthesizer

from .plain_model import PlainKokoro

PEERS = {
    "eager": "PyTorch eager, float32",
    "compile": "torch.compile for the length, float32",
    "graphs": "PyTorch eager as two CUDA graphs, float32",
    "graphs-tf32": "the same with TF32 products",
}
_WARM_UPS = 3
"""Runs before a capture: libraries choose their algorithms in them."""


class Contender(Protocol):
    """Speaks one prepared case; the audio comes back to the host."""

    def speak(self) -> NDArray[np.float32]:
        """Audio [B, 600t]."""


class Ours:
    """The artifact, by the functions that `Synthesizer.synthesize` calls."""

    def __init__(self, synthesizer: Synthesizer, case: Case) -> None:
        self._functions: Any = synthesizer.chain
        self._case = case

    def speak(self) -> NDArray[np.float32]:
        """Audio [1, 600t]; the noise is copied to the device in every call."""
        return speak(self._functions, self._case)[None]


class Plain:
    """The plain model on `batch` equal rows of a case.

    What could favour us is given to it: noise and weights are on the device before, shapes are
    fixed, and cuDNN may try its algorithms. It predicts durations and brings them to the host, as
    it must, then the case's are used.
    """

    def __init__(self, name: str, model: PlainKokoro, case: Case, batch: int = 1) -> None:
        if name not in PEERS:
            raise InputError(f"unknown contender {name!r}: the known are {', '.join(PEERS)}")
        self._device = next(model.parameters()).device
        if name.startswith("graphs") and self._device.type != "cuda":
            raise InputError(f"{name} needs a CUDA device, and this runs on {self._device}")
        self._tf32 = name.endswith("tf32")
        self._model = model

        def rows(array: NDArray[Any]) -> NDArray[Any]:
            return np.repeat(array, batch, axis=0)

        self._ids, self._style = rows(case.input_ids), rows(case.style)
        self._tokens = rows(token_of_frame(case.frames)[None])
        self._noise = torch.from_numpy(rows(case.noise)).to(self._device)
        timing: Callable[..., Any] = model.timing
        render: Callable[..., Any] = model.render
        if name == "compile":
            # Another length is another program: nothing counts towards the limit of recompilations,
            # beyond which a function would run eager without a word.
            torch.compiler.reset()
            timing = torch.compile(timing, dynamic=False)
            render = torch.compile(render, dynamic=False)
        self._timing, self._render = timing, render
        with settings(self._tf32):
            if name.startswith("graphs"):
                self._capture()
            else:
                self.speak()

    def speak(self) -> NDArray[np.float32]:
        """Audio [B, 600t]."""
        with settings(self._tf32):
            ids, style = self._put(self._ids), self._put(self._style)
            frames, d = self._timing(ids, style)
            frames.cpu()
            audio = self._render(ids, d, self._put(self._tokens), style, self._noise)
            return audio.cpu().numpy()

    def _put(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def _capture(self) -> None:
        """Put graphs in place of the two halves; their inputs are copied to where they read."""
        ids, style = self._put(self._ids), self._put(self._style)
        first = _Graph(self._model.timing, [ids, style])
        _, d = first(ids, style)
        inputs = [ids, d.clone(), self._put(self._tokens), style, self._noise]
        second = _Graph(self._model.render, inputs)
        self._timing, self._render = first, second


class _Graph:
    """A function of tensors of fixed shapes, captured; the result is overwritten by the next call.

    An input that is given as the very tensor of the capture is not copied.
    """

    def __init__(self, function: Callable[..., Any], inputs: list[Tensor]) -> None:
        self._inputs = inputs
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM_UPS):
                function(*inputs)
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._result = function(*inputs)

    def __call__(self, *values: Tensor) -> Any:
        for place, value in zip(self._inputs, values, strict=True):
            if place is not value:
                place.copy_(value)
        self._graph.replay()
        return self._result


@contextmanager
def settings(tf32: bool) -> Iterator[None]:
    """Inside, no gradients, products in TF32 or not, and cuDNN may try its algorithms."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    with torch.inference_mode():
        yield
