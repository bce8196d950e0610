"""What the paper compares on what (Appendix C.4): methods, sizes, beds, numbers of tasks, seeds.

A bed is a world of tasks with the way to judge them and the methods that compete. Task i of size n has an index that
no other size shares, so that tasks of different sizes are independent; all methods see the same tasks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from amortized_kde.density.plotting import COLOURS
from amortized_kde.numerics.streams import indexed_uniforms, stream_words
from amortized_kde.research.reproduction.judge import Judge, judge_by_draws, judge_by_nodes
from amortized_kde.research.tasks import Densities, GaussianWorld, MixtureWorld, Pool, TaskBatch, World, make_pool
from amortized_kde.research.tasks.batch import SETTING

# Okabe and Ito's colours, which colour-blind readers can tell apart, and Paul Tol's wine red, darker than the others;
# line styles and markers tell the methods apart in grey.
_BLUE, _VERMILION, _GREEN, _PURPLE, _ORANGE, _SKY, _BLACK = COLOURS
_GREY, _WINE = "#666666", "#882255"

TRUTH, ORACLE, MULTIFAMILY = "truth", "oracle", "amortized:multifamily"
CLASSICAL = ("silverman", "sheather-jones-r", "lscv")
GMM_TRAINED = ("amortized:gmm8", "amortized:gmm16", "amortized:gmm32")
NOT_IN_PAPER = ("lcv", ORACLE)


@dataclass(frozen=True)
class Method:
    """Label and line style of a method. `turn` says at which third of the points its marker stands."""

    label: str
    colour: str
    dashes: str | tuple[int, tuple[float, ...]]
    marker: str
    turn: int


METHODS: dict[str, Method] = {
    TRUTH: Method("true density", _BLACK, "-", "", 0),
    "silverman": Method("Silverman", _ORANGE, (0, (5, 1.5)), "s", 0),
    "sheather-jones-r": Method("Sheather–Jones (R)", _SKY, (0, (6, 1.5, 1, 1.5)), "^", 1),
    "lscv": Method("LSCV", _GREEN, (0, (1.2, 1.2)), "D", 2),
    "lcv": Method("leave-one-out likelihood (LCV)", _GREY, (0, (3, 1, 1, 1, 1, 1)), "x", 0),
    "amortized:gaussian": Method("amortized, Gaussian-trained", _BLUE, "-", "X", 1),
    MULTIFAMILY: Method("amortized, multi-family-trained", _BLUE, "-", "o", 0),
    "amortized:gmm8": Method("amortized, GMM-trained, K = 8", _PURPLE, (0, (1.2, 1.2)), "v", 0),
    "amortized:gmm16": Method("amortized, GMM-trained, K = 16", _WINE, (0, (4, 1.5)), "P", 1),
    "amortized:gmm32": Method("amortized, GMM-trained, K = 32", _VERMILION, "-", "*", 2),
    ORACLE: Method("oracle: best single bandwidth", _BLACK, (0, (1, 2)), "", 0),
}

SIZES = (*range(5, 21), 25, 30, 35, 40, 50, 60, 75, 90, 110, 130, 150, 175, 200, 225, 256)
# Where claims read trends and tables show scores: the sizes nearest to these.
STEPS = (5, 10, 20, 50, 100, 256)
# The paper names no seed for its test tasks. This one and the next two, one a bed, serve nothing else: neither
# training nor validation nor any other table.
SEED = 6_000_000_000
# Every size begins at a multiple of this index, which leaves enough for its tasks.
_TASKS_A_SIZE = 1_000_000


@dataclass(frozen=True)
class BalancedWorld:
    """Tasks from a pool of settings, the families by turns: task i is of family i mod 10."""

    pool: Pool
    name: str = "multifamily, balanced"

    @property
    def bounds(self) -> tuple[float, float]:
        """The reference interval [-1, 1]."""
        return self.pool.densities.bounds

    def truths(self, count: int, *, seed: int, first: int = 0, threads: int | None = None) -> Densities:
        """Return the densities of tasks first .. first + count - 1; a draw chooses the setting."""
        family = np.arange(first, first + count) % len(self.pool.families)
        u = indexed_uniforms(stream_words(seed, SETTING), first, count)
        return self.pool.densities[family * self.pool.size + (u * self.pool.size).astype(np.int64)]


@dataclass(frozen=True)
class Bed:
    """One of the paper's comparisons: a world, evaluation draws a task (0: nodes), how to judge, and who competes.

    `costs` are the microseconds (constant, by n, by n^2) that all methods together take for a task on one core, for
    progress bars; `balanced` says that its tasks deal the ten families out by turns.
    """

    name: str
    make_world: Callable[[], World]
    draws: int
    judge: Callable[[TaskBatch], Judge]
    learned: tuple[str, ...]
    seed: int
    costs: tuple[float, float, float]
    balanced: bool = False

    @property
    def methods(self) -> tuple[str, ...]:
        """Every column of the bed's tables."""
        return (TRUTH, ORACLE, *CLASSICAL, "lcv", *self.learned)


# Costs are fits to one run on an AVX-512 machine.
_COSTS_BY_NODES, _COSTS_BY_DRAWS = (80.0, 7.7, 0.115), (360.0, 20.0, 0.094)
_BOUNDED = (MULTIFAMILY, *GMM_TRAINED)
BEDS = {
    bed.name: bed
    for bed in (
        Bed("gaussian", GaussianWorld, 0, judge_by_nodes, ("amortized:gaussian",), SEED, _COSTS_BY_NODES),
        Bed(
            "multifamily",
            lambda: BalancedWorld(make_pool()),
            1024,
            judge_by_draws,
            _BOUNDED,
            SEED + 1,
            _COSTS_BY_DRAWS,
            balanced=True,
        ),
        Bed("gmm", lambda: MixtureWorld(32), 1024, judge_by_draws, _BOUNDED, SEED + 2, _COSTS_BY_DRAWS),
    )
}


@dataclass(frozen=True)
class Scale:
    """How many tasks of each size, in chunks of how many; both are multiples of ten, for the ten families.

    `checked` tasks of each size are integrated tightly, the `worst` of each method computed with 50 digits.
    """

    name: str
    tasks: int
    chunk: int
    checked: int
    worst: int


# 30,000 tasks a size are the paper's. The quick scale has the first few of the same tasks.
SCALES = {scale.name: scale for scale in (Scale("quick", 300, 30, 10, 2), Scale("paper", 30_000, 1_000, 200, 20))}


@dataclass(frozen=True, order=True)
class Chunk:
    """Tasks first .. first + count - 1 of size n of a bed: what is computed, stored and verified at a time."""

    bed: str
    n: int
    first: int
    count: int

    @property
    def first_index(self) -> int:
        """The first task's index under the bed's seed."""
        return SIZES.index(self.n) * _TASKS_A_SIZE + self.first

    @property
    def cost(self) -> float:
        """Estimated microseconds on one core."""
        constant, linear, quadratic = BEDS[self.bed].costs
        return self.count * (constant + linear * self.n + quadratic * self.n**2)


def chunks_of(bed: Bed, scale: Scale) -> list[Chunk]:
    """Return all chunks of a bed, small sizes first."""
    return [
        Chunk(bed.name, n, first, min(scale.chunk, scale.tasks - first))
        for n in SIZES
        for first in range(0, scale.tasks, scale.chunk)
    ]
