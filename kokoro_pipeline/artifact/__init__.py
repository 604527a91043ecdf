"""Artifact folders: manifest, parameters, atomic writing, checked reading, CPU needs, cache."""
