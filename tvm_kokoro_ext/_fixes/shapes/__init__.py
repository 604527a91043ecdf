"""Shapes: axes that come and go, tensors without dimensions or without elements."""
