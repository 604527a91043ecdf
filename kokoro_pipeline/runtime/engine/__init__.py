"""The engine: an artifact's compiled functions on arrays, by one dispatcher, on a CPU or a GPU."""
