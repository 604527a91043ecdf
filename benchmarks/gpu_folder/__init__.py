"""A benchmark that a folder takes to a machine with a GPU and PyTorch, where nothing else is.

`folder.py` makes the folder here: library, runtime libraries, references, and the recipe by which
the synthetic weights become the artifact's parameters again there. `run.py` is what runs there; it
and what it imports need numpy and torch, and packaging, which the folder brings.
"""
