"""One world for all data: densities of eleven kinds, each with bounds of its own that an estimator is told.

A number of tasks and a seed enter, a `BroadBatch` leaves. Nothing here is taken from, or tuned on, a benchmark.
"""

from amortized_kde.research.tasks.broad.batch import BroadBatch, broad_batch
from amortized_kde.research.tasks.broad.pictures import draw_broad
from amortized_kde.research.tasks.broad.shares import KINDS, TOLD

__all__ = ["KINDS", "TOLD", "BroadBatch", "broad_batch", "draw_broad"]
