"""Voice packs: float32 [510, 1, 256], one style row for each number of phonemes.

A row holds the decoder's half of the style, `[:128]`, and the predictor's, `[128:]`.
"""

from .packs import (
    PACK_SHAPE,
    check_pack,
    list_voices,
    load_voice,
    read_voice_file,
    style_row,
    write_voice,
)

__all__ = [
    "PACK_SHAPE",
    "check_pack",
    "list_voices",
    "load_voice",
    "read_voice_file",
    "style_row",
    "write_voice",
]
