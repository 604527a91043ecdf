"""Reading and writing at indices: slices, masks, gathers, scatters, diagonals, windows."""
