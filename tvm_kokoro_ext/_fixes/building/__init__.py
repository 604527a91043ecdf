"""Building an imported program: targets, reshapes, the names of kernels."""
