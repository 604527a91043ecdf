"""Normalizations: layer, group and instance norm."""
