"""The passes between import and code, a file each. `compiler.pipeline` puts them in order.

A pass knows patterns and kernels; of weights it knows the names, never the values.
"""
