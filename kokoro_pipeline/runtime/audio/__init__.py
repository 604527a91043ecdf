"""Writing audio piece by piece: WAV with the standard library, others with the extra `audio`."""

from .encoders import FORMATS, MEDIA_TYPES, make_encoder
from .files import AudioFile, AudioStream, check_writable, format_of, write_audio, write_wav
from .wav import encode_wav

__all__ = [
    "FORMATS",
    "MEDIA_TYPES",
    "AudioFile",
    "AudioStream",
    "check_writable",
    "encode_wav",
    "format_of",
    "make_encoder",
    "write_audio",
    "write_wav",
]
