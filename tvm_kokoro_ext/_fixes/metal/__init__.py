"""Metal: matrix products and the names of functions."""
