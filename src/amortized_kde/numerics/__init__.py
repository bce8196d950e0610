"""Compiled loops over float64 arrays; the only package that deals with SIMD, threads and compilation."""
