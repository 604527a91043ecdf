"""The passes between import and code generation, one file each, ordered by `pipeline`.

A pass matches patterns and calls kernels. It refers to weights by name and never reads their
values.
"""
