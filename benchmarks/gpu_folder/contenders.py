"""The contenders: the artifact, and the plain PyTorch model eager, compiled and as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.peers.chunk_inputs import Case
from benchmarks.peers.speaking import speak
from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.speech.alignment import token_of_frame
from kokoro_pipeline.runtime.speech.noise import draw_noise
from kokoro_pipeline.runtime.speech.synthesizer import Synthesizer

from .plain_model import PlainKokoro

PEERS = {
    "eager": "PyTorch eager, float32",
    "compile": "torch.compile for the length, float32",
    "graphs": "PyTorch eager as two CUDA graphs, float32",
    "graphs-tf32": "the same with TF32 products",
}
SEED = 0
"""The seed of the noise of every case."""

_WARM_UPS = 3
"""Runs before a capture, in which libraries choose their algorithms."""


class Contender(Protocol):
    """Synthesizes one prepared case; the audio is copied to the host."""

    def speak(self) -> NDArray[np.float32]:
        """Audio [B, 600t]."""


class Ours:
    """The artifact, run by the functions that `Synthesizer.synthesize` calls."""

    def __init__(self, synthesizer: Synthesizer, case: Case) -> None:
        self._synthesizer = synthesizer
        self._case = case

    def speak(self) -> NDArray[np.float32]:
        """Audio [1, 600t]; the noise is drawn on the device in every call, as that of the case."""
        return self._synthesizer.in_turn(self._speak)[None]

    def _speak(self) -> NDArray[np.float32]:
        functions: Any = self._synthesizer.chain
        noise = draw_noise(functions, SEED, 0, int(self._case.frames.sum()))
        return speak(functions, replace(self._case, noise=noise))


class Plain:
    """The plain model on `batch` equal rows of a case.

    It gets every advantage: noise and weights are already on the device, shapes are fixed, and
    cuDNN may benchmark its algorithms. It predicts durations and copies them to the host, as
    required, but those of the case are used.
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
            # Every length is a new program. Reset the count of recompilations, since beyond its
            # limit a function would silently run in eager mode.
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
        """Replace the two halves by graphs, to whose inputs the arguments are copied."""
        ids, style = self._put(self._ids), self._put(self._style)
        first = _Graph(self._model.timing, [ids, style])
        _, d = first(ids, style)
        inputs = [ids, d.clone(), self._put(self._tokens), style, self._noise]
        second = _Graph(self._model.render, inputs)
        self._timing, self._render = first, second


class _Graph:
    """A captured function of tensors with fixed shapes; the next call overwrites the result.

    An input that is the same tensor as during the capture is not copied.
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
    """Context without gradients, with or without TF32, in which cuDNN may benchmark algorithms."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    with torch.inference_mode():
        yield
