"""Compiled loops over plain float64 arrays: sums of kernels, sums over pairs, root finding.

Arrays of validated, sorted, finite numbers enter; arrays of numbers leave. This room knows about SIMD,
threads and compilation, and nothing about samples, bounds objects, selectors or messages.
"""
