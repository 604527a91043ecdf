"""The toy artifact of the runtime tests, whose own reference takes the place of PyTorch."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.peers.chunk_inputs import load_case
from kokoro_pipeline.runtime.speech.alignment import spread, token_of_frame


def _runtime_fixtures() -> Any:
    """tests/kokoro_pipeline/runtime/conftest.py, which pytest shows to its own folder only."""
    file = Path(__file__).parents[1] / "runtime" / "conftest.py"
    specification = importlib.util.spec_from_file_location("toy_artifact_fixtures", file)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


_toy = _runtime_fixtures()
toy_library = _toy.toy_library
toy_artifact = _toy.toy_artifact
toy_reference = _toy.toy_reference
run_fresh = _toy.run_fresh


@pytest.fixture
def write_reference(toy_reference: Any) -> Callable[[Path, Path], None]:
    """`write_reference(case, output)`: the file that `ReferenceRole.answer` would write."""

    def write(case: Path, output: Path) -> None:
        given = load_case(case)
        lengths = np.array([given.input_ids.shape[1]], np.int64)
        decoder_style, predictor_style = given.style[:, :128], given.style[:, 128:]
        tokens = token_of_frame(given.frames)
        d_en = toy_reference["bert_forward"](given.input_ids, lengths).astype(np.float32)
        duration, d = toy_reference["duration_forward"](d_en, predictor_style, lengths)
        d = d.astype(np.float32)
        t_en = toy_reference["text_encoder_forward"](given.input_ids, lengths).astype(np.float32)
        en, asr = spread(np.swapaxes(d, 1, 2), tokens), spread(t_en, tokens)
        f0, n = (
            curve.astype(np.float32) for curve in toy_reference["f0n_forward"](en, predictor_style)
        )
        har = toy_reference["source_forward"](f0, given.noise).astype(np.float32)
        audio = toy_reference["decoder_forward"](asr, f0, n, decoder_style, har)
        np.savez(
            output,
            input_ids=given.input_ids,
            lengths=lengths,
            predictor_style=predictor_style,
            decoder_style=decoder_style,
            noise=given.noise,
            d_en=d_en,
            duration=duration,
            d=d,
            t_en=t_en,
            en=en,
            F0=f0,
            N=n,
            asr=asr,
            har=har,
            audio=audio,
        )

    return write
