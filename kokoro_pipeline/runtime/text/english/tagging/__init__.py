"""A part-of-speech tagger of rules, for the choices that English pronunciation depends on."""
