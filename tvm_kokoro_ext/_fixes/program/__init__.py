"""The program as a whole: what is decomposed, its branches, its outputs, its name."""
