"""From text to the model's input: normalisation, phonemes, token ids and chunks.

Importing this package only needs the standard library; `phonemize` loads the packages of the `text`
extra when it is called.
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
