"""One world for all data: densities of eleven kinds, with known and unknown bounds, rounded and tied samples.

Nothing here is taken from, or tuned on, a benchmark.
"""
