"""The loudspeaker, by sounddevice (extra `audio`)."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from kokoro_pipeline.errors import EnvironmentFault
from kokoro_pipeline.extras import install_command


class Player:
    """Plays samples as they come. `write` returns when the device has taken them."""

    def __init__(self, sample_rate: int) -> None:
        """Open the default device at `sample_rate` samples per second.

        Raises EnvironmentFault if there is none.
        """
        sounddevice = _sounddevice()
        try:
            self._stream = sounddevice.OutputStream(
                samplerate=sample_rate, channels=1, dtype="float32"
            )
            self._stream.start()
        except sounddevice.PortAudioError as error:
            raise EnvironmentFault(
                f"the loudspeaker cannot be opened ({error}): write a file with -o FILE"
            ) from error

    def write(self, samples: np.ndarray) -> None:
        """Play samples, float32 [n]; those outside [-1, 1] are clipped."""
        self._stream.write(np.clip(samples, -1.0, 1.0, dtype=np.float32)[:, None])

    def finish(self) -> None:
        """Wait until everything is played."""
        self._stream.stop()
        self._stream.close()

    def stop(self) -> None:
        """Be silent at once."""
        self._stream.abort()
        self._stream.close()


def check_player() -> None:
    """Raises EnvironmentFault if there is no loudspeaker, or the extra is not installed."""
    sounddevice = _sounddevice()
    try:
        sounddevice.check_output_settings()
    except (sounddevice.PortAudioError, ValueError) as error:
        raise EnvironmentFault(
            f"there is no loudspeaker to play on ({error}): write a file with -o FILE"
        ) from error


def _sounddevice() -> Any:
    try:
        return importlib.import_module("sounddevice")
    except (ImportError, OSError) as error:  # OSError: PortAudio's library is missing
        raise EnvironmentFault(
            f"playing needs sounddevice with PortAudio ({error}): {install_command('audio')} "
            "(and on Debian: apt install libportaudio2), or write a file with -o FILE"
        ) from error
