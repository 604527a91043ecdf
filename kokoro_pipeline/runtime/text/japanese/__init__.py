"""Japanese: words and readings by fugashi with UniDic, phonemes by misaki."""
