"""Speak phonemes and write a WAV file.

    python examples/speak.py ARTIFACT hello.wav

This needs an artifact, numpy and the TVM runtime, and no PyTorch.
"""

import sys

import kokoro_pipeline
from kokoro_pipeline.runtime.audio import write_wav

artifact, output = sys.argv[1:]
with kokoro_pipeline.load(artifact) as tts:
    speech = tts.synthesize("həlˈoʊ wˈɜːld", voice="af_heart", speed=1.0, seed=0)
clipped = write_wav(output, speech.audio, speech.sample_rate)

print(f"{output}: {speech.seconds:.2f} s of audio, {clipped} samples clipped")
print("frames of each token, the two boundary tokens included:", *speech.durations)
if speech.unknown:
    print("not in the model's vocabulary, so left unspoken:", *speech.unknown)
if speech.synthetic:
    print("this artifact holds synthetic weights: the file is not speech")
