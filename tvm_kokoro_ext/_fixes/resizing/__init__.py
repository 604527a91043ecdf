"""Resizing: nearest and linear, with and without antialiasing."""
