"""The server's application over stock kokoro in PyTorch, for comparison; see benchmarks.serving.

    python -m benchmarks.stock_server DIR --weights FOLDER [--threads N]

Requests, turns, text and encoders are those of `kokoro-pipeline serve`; the phonemes of each piece
are spoken by `kokoro.KPipeline.infer` with `KModel` on the CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import functools
from pathlib import Path

import numpy as np

from kokoro_pipeline.runtime.server.engines import Job
from kokoro_pipeline.runtime.speech.result import Speech
from kokoro_pipeline.runtime.speech.spans import ChunkSpans, Span


class StockEngine:
    """`kokoro.KPipeline` on the CPU."""

    def __init__(self, weights: Path, voices: Path, threads: int) -> None:
        import torch
        from kokoro import KPipeline

        from kokoro_pipeline.compiler.weights import load_model, open_folder

        torch.set_num_threads(threads)
        # Without a pipeline's own reader of text, which wants a model from the hub.
        self._infer = functools.partial(KPipeline.infer, load_model(open_folder(weights)))
        self._voices = voices

    async def run(self, job: Job) -> Speech | None:
        """The speech of a piece."""
        return await asyncio.to_thread(self._run, job)

    def _run(self, job: Job) -> Speech:
        import torch

        from kokoro_pipeline.runtime.voices import load_voice

        pack = torch.from_numpy(np.array(load_voice(job.voice, self._voices)))
        phonemes = job.piece.phonemes
        made = self._infer(phonemes, pack, job.speed)
        audio, durations = made.audio.numpy(), made.pred_dur.numpy()
        whole = ChunkSpans(Span(0, len(phonemes)), Span(0, len(durations)), Span(0, len(audio)))
        return dataclasses.replace(
            _EMPTY, audio=audio, durations=durations, phonemes=phonemes, chunks=(whole,)
        )

    def close(self) -> None:
        """Nothing is held."""


_EMPTY = Speech(
    audio=np.empty(0, np.float32),
    durations=np.empty(0, np.int64),
    phonemes="",
    chunks=(),
    unknown=(),
    unspoken=(),
    voice="af_heart",
    speed=1.0,
    seed=0,
    synthetic=True,
)


def main() -> None:
    """Serve until the process is ended; the first line of standard output is the address."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("artifact", type=Path, help="for its voices")
    parser.add_argument("--weights", type=Path, required=True, help="a folder of weights")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    import socket

    import uvicorn

    from kokoro_pipeline.runtime.server.app import make_app
    from kokoro_pipeline.runtime.server.settings import ServerSettings

    engine = StockEngine(args.weights, args.artifact / "voices", args.threads)
    app = make_app(ServerSettings(args.artifact), [engine])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main()
