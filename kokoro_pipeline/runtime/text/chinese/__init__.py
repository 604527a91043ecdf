"""Mandarin Chinese: words by jieba, pinyin by pypinyin, phonemes by misaki."""
