"""Blend voices: by name and weight, or by your own arithmetic on voice packs.

    python examples/blend_voices.py ARTIFACT blend.npy

A voice pack is float32 [510, 1, 256]: one row for each number of phonemes in a chunk.
"""

import sys
from pathlib import Path

import numpy as np

import kokoro_pipeline
from kokoro_pipeline.runtime.voices import load_voice, write_voice

artifact, output = Path(sys.argv[1]), Path(sys.argv[2])
phonemes = "həlˈoʊ wˈɜːld"

with kokoro_pipeline.load(artifact) as tts:
    first, second = tts.voices[:2]
    blend = f"{first}:0.75,{second}:0.25"
    by_name = tts.synthesize(phonemes, voice=blend)

    # The same blend, computed here and written to a file that --voice and voice= take.
    packs = [load_voice(name, artifact).astype(np.float64) for name in (first, second)]
    write_voice(output, (0.75 * packs[0] + 0.25 * packs[1]).astype(np.float32))
    by_file = tts.synthesize(phonemes, voice=output)

    for share in (0.0, 0.5, 1.0):
        pack = ((1 - share) * packs[0] + share * packs[1]).astype(np.float32)
        frames = tts.predict_durations(phonemes, voice=pack)
        print(f"{share:.0%} {second}: {frames.sum()} frames")

print(f"{blend} and {output} give the same audio:", np.array_equal(by_name.audio, by_file.audio))
