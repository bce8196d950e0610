"""One world for all data: densities of eleven kinds, each with bounds of its own that an estimator is told.

A number of tasks and a seed enter, a `BroadBatch` leaves. Nothing here is taken from, or tuned on, a benchmark.
"""
