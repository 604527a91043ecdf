"""The building half: export from torch, import into Relax, passes, code generation and linking.

It needs the `build` extra. The running half imports nothing from here.
"""
