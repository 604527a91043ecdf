"""A small ONNX graph with the interface of Kokoro's, and what torch's exporter writes into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

_GRAPH = """
<ir_version: 8, opset_import: ["" : {opset}]>
kokoro ({tokens} tokens, float[1,256] style, {speed} speed)
  => (float[samples] audio, int64[n] durations)
{{
  zero = Constant <value = int64 {{0}}> ()
  one = Constant <value = int64 {{1}}> ()
  first = Constant <value = int64[1] {{0}}> ()
  second = Constant <value = int64[1] {{1}}> ()
  third = Constant <value = int64[1] {{2}}> ()
  last = Constant <value = int64[1] {{-1}}> ()
  shape = Shape (tokens)
  count = Gather (shape, one)
  counts = Unsqueeze (count, first)
  longest, order = TopK (counts, second)
  ends = Cast <to = 6> (longest)
  at = Slice (positions, first, counts, second)
  rows = Gather (table, tokens)
  placed = Gather (table, at)
  x = Add (rows, placed)
  columns = Transpose <perm = [1, 0, 2]> (x)
  states, final, cell = LSTM <hidden_size = 16> (columns, kernel, recurrence, bias, ends)
  forward = Squeeze (states, second)
  features = Transpose <perm = [1, 0, 2]> (forward)
  two = Constant <value = float {{2.0}}> ()
  squares = Pow (features, two)
  lengths = ReduceSum <keepdims = 0> (squares, third)
  factor = Constant <value = float {{9.0}}> ()
  longer = Mul (lengths, factor)
  rate = Cast <to = 1> (speed)
  slower = Div (longer, rate)
  whole = Round (slower)
  least = Constant <value = float {{1.0}}> ()
  clipped = Clip (whole, least)
  frames = Cast <to = 7> (clipped)
  durations = Squeeze (frames)
  each = Range (zero, count, one)
  ones = ConstantOfShape <value = int64[1] {{1}}> (counts)
  repeats = SplitToSequence <axis = 0> (durations, ones)
  items = SplitToSequence <axis = 0> (each, ones)
  empty = SequenceEmpty <dtype = 7> ()
  go = Constant <value = bool {{1}}> ()
  pieces = Loop (count, go, empty) <body = repeating (int64 i, bool on, seq(int64[k]) had)
    => (bool more, seq(int64[k]) has)
  {{
    item = SequenceAt (items, i)
    times = SequenceAt (repeats, i)
    piece = Expand (item, times)
    has = SequenceInsert (had, piece)
    more = Identity (on)
  }}>
  index = ConcatFromSequence <axis = 0> (pieces)
  spread = Gather <axis = 1> (features, index)
  same = Identity (weight)
  frame = MatMul (spread, same)
  voiced = MatMul (style, voice)
  loud = Add (frame, voiced)
  wide = Tanh (loud)
  wave_shape = Constant <value = int64[3] {{1, -1, 1}}> ()
  wave = Reshape (wide, wave_shape)
  one_channel = Shape (wave)
  channels = Gather (one_channel, third)
  is_one = Equal (channels, second)
  flat = If (is_one) <
    then_branch = squeezed () => (float[1, m] thin) {{ thin = Squeeze (wave, third) }},
    else_branch = kept () => (float[1, m, c] thick) {{ thick = Identity (wave) }}
  >
  again = Unsqueeze (flat, third)
  harmonics = Mul (again, nine)
  phases = {phases}
  shifted = Add (harmonics, phases)
  noise = {noise}
  quiet = Constant <value = float {{0.01}}> ()
  level = Mul (noise, quiet)
  mixed = Add (shifted, level)
  sum = ReduceSum <keepdims = 0> (mixed, third)
  audio = Squeeze (sum)
}}
"""


def small_graph(**words: Any) -> onnx.ModelProto:
    """The model; `words` replace parts of its text: tokens, speed, opset, phases, noise."""
    given = {
        "tokens": "int64[1,n]",
        "speed": "float[1]",
        "opset": 17,
        "phases": "RandomUniformLike (nine)",
        "noise": "RandomNormalLike (shifted)",
    }
    model = parser.parse_model(_GRAPH.format(**given | words))
    draw = np.random.default_rng(0)

    def drawn(*shape: int) -> np.ndarray:
        return (draw.standard_normal(shape) * 0.3).astype(np.float32)

    weights = {
        "table": drawn(512, 8),
        "positions": np.arange(512)[None],
        "kernel": drawn(1, 64, 8) * 3,
        "recurrence": drawn(1, 64, 16),
        "bias": drawn(1, 128),
        "weight": drawn(16, 600),
        "voice": drawn(256, 600),
        "nine": np.ones((1, 1, 9), np.float32),
    }
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


def write_small(folder: Path, **words: Any) -> Path:
    """Write the model and two voices beside it; the path of the model."""
    path = folder / "kokoro.onnx"
    onnx.save(small_graph(**words), path)
    voices = folder / "voices"
    voices.mkdir()
    draw = np.random.default_rng(1)
    for name in ("af_heart", "af_bella"):
        pack = (draw.standard_normal((510, 1, 256)) * 0.1).astype(np.float32)
        np.save(voices / f"{name}.npy", pack)
    return path


def renamed(model: onnx.ModelProto, old: str, new: str) -> onnx.ModelProto:
    """The model with an input or output of another name."""
    for value in (*model.graph.input, *model.graph.output):
        if value.name == old:
            value.name = new
    for node in model.graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
        node.output[:] = [new if name == old else name for name in node.output]
    return model


__all__ = ["helper", "renamed", "small_graph", "write_small"]
