"""The peers: other runtimes on the same model, weights, tokens, frames and noise.

Everything that could favour us goes to the peer: weight norms are folded, shapes are fixed to each
length, alignment is a gather, denormals are flushed. Needs torch, kokoro and the `bench` extra.
"""
