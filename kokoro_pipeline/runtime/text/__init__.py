"""From text to the model's input: normalisation, phonemes, token ids and chunks.

Importing this package only needs the standard library; `phonemize` loads the packages of the `text`
extra when it is called.
"""

from .chunking import PhonemeSpan, split_phonemes
from .languages import LANGUAGES, Language, find_language
from .phonemize import Phonemized, phonemize, read_sentences
from .reading import Sentence, Word
from .vocabulary import Encoded, UnknownSymbol, Vocabulary

__all__ = [
    "LANGUAGES",
    "Encoded",
    "Language",
    "PhonemeSpan",
    "Phonemized",
    "Sentence",
    "UnknownSymbol",
    "Vocabulary",
    "Word",
    "find_language",
    "phonemize",
    "read_sentences",
    "split_phonemes",
]
