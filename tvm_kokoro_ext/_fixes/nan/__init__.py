"""Not-a-number and infinities, in maxima, comparisons, pooling and constants."""
