"""Call compiled functions of an artifact by name, with numpy arrays in and numpy arrays out.

    python examples/call_function.py ARTIFACT

The first two of the model's six functions predict how long each token lasts.
"""

import sys

import numpy as np

import kokoro_pipeline
from kokoro_pipeline.errors import InputError

with kokoro_pipeline.load(sys.argv[1]) as tts:
    for function in tts.functions.values():
        print(function)

    # A batch of two rows; the second has 6 valid tokens and 3 of padding, whose ids do not matter.
    input_ids = np.random.default_rng(0).integers(1, 100, (2, 9))
    lengths = np.array([9, 6])
    style = np.zeros((2, 128), np.float32)  # the predictor's half of a row of a voice

    d_en = tts.functions["bert_forward"](input_ids, lengths)
    duration, d = tts.functions["duration_forward"](d_en, style, lengths)
    frames = np.maximum(np.rint(duration.sum(-1)), 1).astype(int)
    for row, length in zip(frames, lengths, strict=True):
        print("frames:", *row[:length])

    try:  # arguments are checked before any kernel runs
        tts.functions["bert_forward"](input_ids.astype(np.int32), lengths)
    except InputError as error:
        print("refused:", error)
