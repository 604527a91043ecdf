"""Kokoro as one graph in an ONNX file: reading it, cutting it where durations are known, importing.

The package `onnx` is imported by the functions that need it, and torch by none.
"""
