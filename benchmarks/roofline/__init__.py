"""An estimate of a GPU's time in every kernel, from what the kernel does."""
