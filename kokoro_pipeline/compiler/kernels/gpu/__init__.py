"""Kernels for CUDA and Metal, one file each: explicit thread bindings, symbolic lengths, float32.

The kernels depend on shapes and on the kind of the target, not on the model. Sequences have
PyTorch's layout [B, C, L], so that neighbouring threads read neighbouring samples; token features
are [B, n, C].
"""
