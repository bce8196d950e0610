"""Density-estimation tasks with a known truth: the worlds that selectors are trained and judged in.

A world and a seed determine batches of tasks: samples, evaluation draws, exact true densities (paper, sections 3.1 to
3.3).
"""

from amortized_kde.research.tasks.batch import SIZES, TaskBatch, Truths, World, draw_tasks
from amortized_kde.research.tasks.broad.batch import BroadBatch, broad_batch
from amortized_kde.research.tasks.densities import Densities, stack
from amortized_kde.research.tasks.families import FAMILIES, Family, draw_settings, parameters
from amortized_kde.research.tasks.mixtures import Construction
from amortized_kde.research.tasks.own import OwnTasks, own_world
from amortized_kde.research.tasks.pictures import draw_broad, draw_worlds, reproduce_worlds
from amortized_kde.research.tasks.ranges import reproduce_ranges
from amortized_kde.research.tasks.worlds import (
    WORLDS,
    GaussianWorld,
    MixtureWorld,
    MultifamilyWorld,
    Pool,
    UntruncatedWorld,
    load_pool,
    make_pool,
    save_pool,
    world,
)

__all__ = [
    "FAMILIES",
    "SIZES",
    "WORLDS",
    "BroadBatch",
    "Construction",
    "Densities",
    "Family",
    "GaussianWorld",
    "MixtureWorld",
    "MultifamilyWorld",
    "OwnTasks",
    "Pool",
    "TaskBatch",
    "Truths",
    "UntruncatedWorld",
    "World",
    "broad_batch",
    "draw_broad",
    "draw_settings",
    "draw_tasks",
    "draw_worlds",
    "load_pool",
    "make_pool",
    "own_world",
    "parameters",
    "reproduce_ranges",
    "reproduce_worlds",
    "save_pool",
    "stack",
    "world",
]
