"""Contests with rivals, on tasks, awkward data and real columns: what the scripts beside this folder run."""
