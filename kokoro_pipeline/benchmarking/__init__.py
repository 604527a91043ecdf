"""Benchmarks: speed and memory of an artifact, the efficiency of the kernels, and peers.

Every runtime is measured in a separate process, called a contender, so that neither thread pools
nor memory are shared; the comparing process lets them take turns. Our own contender is part of the
running half; the peers (`peers/`) need torch and the `bench` extra.
"""
