"""Voice packs: float32 [510, 1, 256], one style vector for each number of phonemes.

A style vector consists of the decoder's half, `[:128]`, and the predictor's half, `[128:]`.
"""

from .packs import (
    PACK_SHAPE,
    check_pack,
    check_voice,
    list_voices,
    load_voice,
    read_voice_file,
    style_row,
    write_voice,
)

__all__ = [
    "PACK_SHAPE",
    "check_pack",
    "check_voice",
    "list_voices",
    "load_voice",
    "read_voice_file",
    "style_row",
    "write_voice",
]
