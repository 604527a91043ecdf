"""CPU kernels as tirx PrimFuncs, symbolic in length and written once for all vector widths."""
