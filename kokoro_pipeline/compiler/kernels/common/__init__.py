"""What kernels of the CPU and of GPUs share."""
