"""Kernels as tirx PrimFuncs: symbolic in length, written once for every vector width."""
