"""The peers: other runtimes with the same model, weights, tokens, frames and noise.

Peers get every advantage: weight norms are folded, shapes are fixed for each length, alignment is a
gather, and denormals are flushed. Needs torch, kokoro and the `bench` extra.
"""
