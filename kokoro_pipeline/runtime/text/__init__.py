"""From text to what the model reads: normalisation, phonemes, token ids and chunks.

Importing this package needs nothing but the standard library; `phonemize` loads the extra `text`
when it is called.
"""

from .chunking import PhonemeSpan, split_phonemes
from .phonemize import LANGUAGES, Phonemized, Word, phonemize
from .vocabulary import Encoded, UnknownSymbol, Vocabulary

__all__ = [
    "LANGUAGES",
    "Encoded",
    "PhonemeSpan",
    "Phonemized",
    "UnknownSymbol",
    "Vocabulary",
    "Word",
    "phonemize",
    "split_phonemes",
]
