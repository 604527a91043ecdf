"""Measuring: an artifact's speed and memory, the kernels' share of the machine's peak, and peers.

Every runtime that is measured lives in a process of its own, a contender, so that neither thread
pools nor memory mix; the process that compares them lets them take turns. Our own contender is of
the running half; the peers (`peers/`) need torch and the `bench` extra.
"""
