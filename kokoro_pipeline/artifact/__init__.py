"""Artifact folders: manifest, parameters, atomic writing, checked reading, CPU features, cache."""
