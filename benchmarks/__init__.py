"""Benchmarks that a checkout runs and no wheel holds: peers, a folder for GPUs, a roofline."""
