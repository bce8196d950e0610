"""The densities of many cells: ensembles enter, run after run of them leaves as `Estimates`, which answer arrays.

A density is a sum of Gaussian kernels and, if it is adaptive, a background. What the atoms take is not known here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from amortized_kde._outcome import OK
from amortized_kde._types import Array, Index
from amortized_kde.data.sample import Sample, Samples
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.density import background
from amortized_kde.ensembles.reading import Ensembles
from amortized_kde.learned.adaptive.prediction import in_chunks, smooth
from amortized_kde.learned.store import Model
from amortized_kde.numerics.cells import Kernels, inverse_mass_cells, log_density_cells, probability_cells
from amortized_kde.numerics.ladder_kernels import ladder_kernel_rows
from amortized_kde.numerics.scratch import Scratch
from amortized_kde.numerics.threads import run_in_pieces

# Members at a time of estimates with one bandwidth, for which less has to be kept.
_AT_ONCE = 250_000
# No density could be made from the members.
_NONE = -1


@dataclass(frozen=True, eq=False)
class Estimates:
    """Densities of cells start .. stop - 1: kernels, backgrounds with their probability, and whose is whose.

    Cell r of the run has density ``own[r]``. `widest` is the largest bandwidth of each density; backgrounds have the
    probability `epsilons`, which is 0 of estimates with one bandwidth, and `locations` and `scales`.
    """

    start: int
    stop: int
    kernels: Kernels
    own: Index
    bounds: Bounds
    widest: Array
    epsilons: Array
    locations: Array
    scales: Array
    threads: int | None

    def log_density(self, at: Array, own: Index, edges: Index) -> Array:
        """Natural log-density at arguments: row r, ``at[edges[r]:edges[r + 1]]``, under density ``own[r]``."""
        out = np.empty(at.size)
        self._in_pieces(lambda i, j: log_density_cells(*self.kernels, own, at, edges, out, i, j), at, edges)
        outside = (at < self.bounds.lower) | (at > self.bounds.upper)
        out[outside & ~np.isnan(out)] = -math.inf
        return self._with_background(out, at, own, edges, background.log_density, np.logaddexp)

    def probability(self, at: Array, own: Index, edges: Index, *, above: bool = False) -> Array:
        """Probability below, or above, arguments; accurate where it is tiny."""
        sign, bound = (-1.0, self.bounds.upper) if above else (1.0, self.bounds.lower)
        inside, out = np.clip(at, *self.bounds), np.empty(at.size)
        self._in_pieces(
            lambda i, j: probability_cells(*self.kernels, own, inside, edges, bound, sign, out, i, j), at, edges
        )
        broad = background.log_sf if above else background.log_cdf
        found = self._with_background(out, inside, own, edges, broad, lambda kernels, log: kernels + np.exp(log))
        end = self.bounds.lower if above else self.bounds.upper
        # At the bounds the answer is known, even of a density that could not be made.
        return np.asarray(np.where(inside == end, 1.0, np.where(inside == bound, 0.0, np.minimum(found, 1.0))))

    def _in_pieces(self, loop: Callable[[int, int], object], at: Array, edges: Index) -> None:
        kernels = self.kernels.places.size / max(self.kernels.starts.size, 1)
        run_in_pieces(loop, edges.size - 1, operations=2.0 * at.size * kernels, threads=self.threads)

    def _with_background(
        self,
        kernels: Array,
        at: Array,
        own: Index,
        edges: Index,
        part: Callable[..., Array],
        add: Callable[[Array, Array], Array],
    ) -> Array:
        """Add the logarithm `part` of the background, times its probability, where there is one."""
        if not self.epsilons.any():
            return kernels
        density = np.repeat(own, np.diff(edges))
        epsilon = self.epsilons[density]
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.log(epsilon) + part(at, **self.placed(density))
            return np.asarray(np.where(epsilon > 0.0, add(kernels, log), kernels))

    def placed(self, density: Index) -> dict[str, Array | float]:
        """Bounds, location and scale of the backgrounds of densities with these numbers."""
        return {
            "lower": self.bounds.lower,
            "upper": self.bounds.upper,
            "location": self.locations[density],
            "scale": self.scales[density],
        }

    def without_background(self) -> "Estimates":
        """The kernels alone, whose probability is then less than 1."""
        return replace(self, epsilons=np.zeros_like(self.epsilons))

    def joined(self, other: "Estimates", cells: Index) -> "Estimates":
        """The same with one more density, the other's first, for these cells of the run."""
        ours, theirs = self.kernels.spread(), other.kernels.spread()
        kernels = Kernels(
            np.append(ours.places, theirs.places),
            np.append(ours.rates, theirs.rates),
            np.append(ours.masses, theirs.masses),
            np.append(ours.starts, theirs.starts + ours.places.size),
            np.append(ours.stops, theirs.stops + ours.places.size),
            True,
        )
        own = self.own.copy()
        own[cells] = self.kernels.starts.size
        return replace(
            self,
            kernels=kernels,
            own=own,
            widest=np.append(self.widest, other.widest),
            epsilons=np.append(self.epsilons, other.epsilons),
            locations=np.append(self.locations, other.locations),
            scales=np.append(self.scales, other.scales),
        )


def estimate_runs(ensembles: Ensembles, work: Callable[[Estimates], None]) -> Index:
    """Call `work` on the estimates of runs of cells that together are all, several side by side.

    Returns
    -------
    ndarray of shape (cells,)
        The selector's codes (`_outcome.py`).
    """
    adaptive = ensembles.selector.adaptive if ensembles.given is None else None
    codes = np.zeros(len(ensembles.samples), np.int64)
    past = _past_estimate(ensembles)

    def run(start: int, stop: int, threads: int | None, scratch: Scratch) -> None:
        part = ensembles.samples.between(start, stop)
        if adaptive is not None:
            made, codes[start:stop] = _adaptive(adaptive(), part, ensembles.bounds, start, threads, scratch)
        else:
            made, codes[start:stop] = _single(ensembles, part, start, threads)
        needy = np.flatnonzero((codes[start:stop] < OK) & ~ensembles.lost[start:stop])
        work(made if past is None or not needy.size else made.joined(past, needy))

    if adaptive is not None:
        in_chunks(run, ensembles.samples, threads=ensembles.threads)
    else:
        in_chunks(run, ensembles.samples, threads=ensembles.threads, at_once=_AT_ONCE)
    return codes


def _past_estimate(ensembles: Ensembles) -> Estimates | None:
    if not ensembles.past.size:
        return None
    batch, selector = Sample(ensembles.past).as_batch(), ensembles.selector
    if selector.adaptive is not None:
        return _adaptive(selector.adaptive(), batch, ensembles.bounds, 0, 1, Scratch())[0]
    h = selector.select(batch, ensembles.bounds, threads=1).bandwidths
    return _one_bandwidth(batch, h, ensembles.bounds, 0, 1)


def _adaptive(
    model: Model, samples: Samples, bounds: Bounds, start: int, threads: int | None, scratch: Scratch
) -> tuple[Estimates, Index]:
    ends = np.full(len(samples), bounds.lower), np.full(len(samples), bounds.upper)
    answer = smooth(model, samples, *ends, threads=threads, scratch=scratch)
    # Of a wide array only the columns that someone uses.
    used = np.flatnonzero(answer.shares.any(axis=0))
    shares = scratch.take("used", len(answer.shares), used.size)
    np.take(answer.shares, used, axis=1, out=shares, mode="clip")
    bandwidths = np.ascontiguousarray(answer.bandwidths[:, used])
    places, rates, masses = scratch.take("kernels", 3, samples.values.size * used.size)
    starts, stops = samples.offsets[:-1] * used.size, np.empty(len(samples), np.int64)
    ladder_kernel_rows(
        samples.values,
        samples.offsets,
        *bounds,
        bandwidths,
        answer.anchors,
        answer.offsets,
        shares,
        answer.epsilons,
        places,
        rates,
        masses,
        starts,
        stops,
        0,
        len(samples),
    )
    # A density that could not be made has no kernels.
    stops[answer.codes < OK] = starts[answer.codes < OK]
    epsilons = np.where(answer.codes < OK, 0.0, answer.epsilons)
    made = Estimates(
        start,
        start + len(samples),
        Kernels(places, rates, masses, starts, stops, True),
        np.arange(len(samples)),
        bounds,
        answer.bandwidths[:, used[0] if used.size else 0],
        epsilons,
        answer.locations,
        answer.scales,
        threads,
    )
    return made, answer.codes


def _single(ensembles: Ensembles, samples: Samples, start: int, threads: int | None) -> tuple[Estimates, Index]:
    if ensembles.given is None:
        h, codes, _ = ensembles.selector.select(samples, ensembles.bounds, threads=threads)
    else:
        h = ensembles.given[start : start + len(samples)]
        codes = np.where((h > 0.0) & (h < math.inf) & (samples.sizes > 0), OK, _NONE)
    return _one_bandwidth(samples, h, ensembles.bounds, start, threads), codes


def _one_bandwidth(samples: Samples, h: Array, bounds: Bounds, start: int, threads: int | None) -> Estimates:
    masses = 1.0 / np.maximum(samples.sizes, 1)
    if bounds != OPEN:
        inverse_mass_cells(samples.values, samples.offsets, h, *bounds, masses, 0, len(samples))
    starts, stops = samples.offsets[:-1], samples.offsets[1:]
    # A density that could not be made has no kernels.
    stops = np.where((h > 0.0) & (h < math.inf), stops, starts)
    none = np.zeros(len(samples))
    with np.errstate(divide="ignore"):
        kernels = Kernels(samples.values, 1.0 / h, masses, starts, stops, False)
    own = np.arange(len(samples))
    return Estimates(start, start + len(samples), kernels, own, bounds, h, none, none, none, threads)
