"""The building half: torch export, import through TVM's frontend, passes, code, link, artifact.

Needs the `build` extra. The running half imports nothing from here.
"""
