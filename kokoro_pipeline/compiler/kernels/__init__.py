"""Kernels as tirx PrimFuncs: they know shapes and targets, not the model."""
