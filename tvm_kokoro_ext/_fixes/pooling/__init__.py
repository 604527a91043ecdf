"""Pooling: maxima with their indices, averages, adaptive sizes."""
