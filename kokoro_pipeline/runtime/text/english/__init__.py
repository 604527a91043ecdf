"""English: from its spelling to words, their parts of speech, and phonemes."""
