"""Symbolic sizes: arithmetic on them, inputs that depend on them, outputs that are sizes."""
