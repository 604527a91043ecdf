"""The examples that speak, with the stand-in artifact."""

from __future__ import annotations

import subprocess
import sys
import wave
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def run(name: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_speak(toy_artifact, tmp_path):
    said = run("speak.py", toy_artifact, tmp_path / "hello.wav")
    with wave.open(str(tmp_path / "hello.wav")) as file:
        assert (file.getframerate(), file.getnchannels()) == (24000, 1)
        assert f"{file.getnframes() / 24000:.2f} s of audio" in said
    assert "not speech" in said


def test_call_function(toy_artifact):
    said = run("call_function.py", toy_artifact)
    assert said.count("_forward(") == 7
    assert "refused: bert_forward: argument 0 'input_ids' is int32, expected int64" in said


def test_blend_voices(toy_artifact, tmp_path):
    said = run("blend_voices.py", toy_artifact, tmp_path / "blend.npy")
    assert "give the same audio: True" in said
    assert np.load(tmp_path / "blend.npy").shape == (510, 1, 256)
