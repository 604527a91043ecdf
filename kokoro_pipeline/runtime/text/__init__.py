"""From text to the model's input: normalisation, phonemes, token ids and chunks.

Importing this package only needs the standard library; `phonemize` loads the packages of the `text`
extra when it is called.
"""

from .chunking import PhonemeSpan, split_phonemes
from .languages import LANGUAGES, Language, find_language
from .lexicon import Lexicon, check_lexicon, lexicon_of, read_lexicon
from .phonemize import Phonemized, phonemize, read_runs, read_sentences, read_text
from .reading import Sentence, Word
from .runs import Manner, Mark, Pause, PlacedMark, Said, TextRun
from .ssml import Ssml, parse_ssml
from .vocabulary import Encoded, UnknownSymbol, Vocabulary

__all__ = [
    "LANGUAGES",
    "Encoded",
    "Language",
    "Lexicon",
    "Manner",
    "Mark",
    "Pause",
    "PhonemeSpan",
    "Phonemized",
    "PlacedMark",
    "Said",
    "Sentence",
    "Ssml",
    "TextRun",
    "UnknownSymbol",
    "Vocabulary",
    "Word",
    "check_lexicon",
    "find_language",
    "lexicon_of",
    "parse_ssml",
    "phonemize",
    "read_lexicon",
    "read_runs",
    "read_sentences",
    "read_text",
    "split_phonemes",
]
