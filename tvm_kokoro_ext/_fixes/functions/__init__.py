"""Elementwise functions of one tensor or two."""
