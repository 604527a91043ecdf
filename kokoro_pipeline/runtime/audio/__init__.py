"""Writing audio: WAV with the standard library, other formats with the `audio` extra."""

from .formats import check_writable, write_audio
from .wav import write_wav

__all__ = ["check_writable", "write_audio", "write_wav"]
