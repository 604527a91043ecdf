"""Kernels for CUDA and Metal, a file each: explicit thread bindings, symbolic lengths, float32.

They know shapes and a target's kind, not the model. Sequences lie as torch lays them out,
[B, C, L], so that neighbouring threads read neighbouring samples; token features as [B, n, C].
"""
