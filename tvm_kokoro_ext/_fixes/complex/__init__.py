"""Complex tensors, carried as two real ones, and Fourier transforms."""
