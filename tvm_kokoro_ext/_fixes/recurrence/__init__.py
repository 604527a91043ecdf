"""Recurrent layers, as loops over time."""
