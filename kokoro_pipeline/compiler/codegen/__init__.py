"""Code generation: what to compile for, CUDA machine code, packing and linking a library."""
