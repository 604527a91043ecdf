"""A self-contained benchmark folder for a machine that only has a GPU and PyTorch.

`folder.py` creates the folder: library, runtime libraries, references, and a recipe for recreating
the parameters of the artifact from the synthetic weights. `run.py` runs on the other machine; it
only needs numpy, torch, and packaging, which the folder includes.
"""
