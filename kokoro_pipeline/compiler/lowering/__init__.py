"""Lowering: from Relax operators to kernels, by a walk over the program and tables of rules."""
