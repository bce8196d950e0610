"""The densities of many cells: sums of Gaussian kernels and, if adaptive, a background. Atoms play no part here."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from amortized_kde._outcome import OK, TOO_FEW
from amortized_kde._types import Array, Index
from amortized_kde.data.sample import Sample, Samples
from amortized_kde.data.support import OPEN, Bounds
from amortized_kde.density import background
from amortized_kde.ensembles.options import Ensembles
from amortized_kde.learned.adaptive.prediction import in_runs, smooth
from amortized_kde.learned.model import Model
from amortized_kde.numerics.cells import (
    Arguments,
    Kernels,
    inverse_mass_cells,
    log_density_cells,
    probability_cells,
)
from amortized_kde.numerics.crps import Outcomes, crps_pair_cells, crps_panel_cells
from amortized_kde.numerics.ladders import Ladders, ladder_kernels
from amortized_kde.numerics.tails import invert_each
from amortized_kde.numerics.threads import Scratch, run_in_pieces

# Members in a run of estimates with one bandwidth, which need less memory than adaptive ones.
_MEMBERS_AT_ONCE = 250_000
# Beyond this many bandwidths there is less probability than the smallest positive float64.
_FARTHEST_QUANTILE = 40.0
# Steps of the distribution function may stay unresolved over a panel by this fraction of the sample's scale.
_CRPS_SLACK = 2e-6


@dataclass(frozen=True, eq=False)
class Estimates:
    """The densities of a run of cells; arrays have the shape (densities,), unless noted."""

    kernels: Kernels
    density: Index  # (cells,), the number of each cell's density.
    bounds: Bounds
    widest: Array  # Largest bandwidths.
    epsilons: Array  # Probabilities of the backgrounds, 0 for a density with one bandwidth.
    locations: Array  # Of the backgrounds.
    scales: Array  # Of the backgrounds.
    threads: int | None

    def log_density(self, arguments: Arguments) -> Array:
        """Return natural log-densities."""
        at, out = arguments.at, np.empty(arguments.at.size)
        self._in_pieces(lambda i, j: log_density_cells(self.kernels, arguments, out, i, j), arguments)
        outside = (at < self.bounds.lower) | (at > self.bounds.upper)
        out[outside & ~np.isnan(out)] = -math.inf
        return self._with_background(out, arguments, background.log_density, np.logaddexp)

    def probability(self, arguments: Arguments, *, above: bool = False) -> Array:
        """Return probabilities below, or above, the arguments; to a small relative error even in the tails."""
        sign, bound = (-1.0, self.bounds.upper) if above else (1.0, self.bounds.lower)
        inside, out = np.clip(arguments.at, *self.bounds), np.empty(arguments.at.size)
        clipped = arguments._replace(at=inside)
        self._in_pieces(lambda i, j: probability_cells(self.kernels, clipped, bound, sign, out, i, j), arguments)
        tail = background.log_sf if above else background.log_cdf
        found = self._with_background(out, clipped, tail, lambda kernels, log: kernels + np.exp(log))
        end = self.bounds.lower if above else self.bounds.upper
        # At the bounds the answer is known, even of a density that could not be made.
        return np.asarray(np.where(inside == end, 1.0, np.where(inside == bound, 0.0, np.minimum(found, 1.0))))

    def _in_pieces(self, loop: Callable[[int, int], object], arguments: Arguments) -> None:
        kernels = self.kernels.places.size / max(self.kernels.starts.size, 1)
        operations = 2.0 * arguments.at.size * kernels
        run_in_pieces(loop, arguments.edges.size - 1, operations=operations, threads=self.threads)

    def _with_background(
        self, kernels: Array, arguments: Arguments, part: Callable[..., Array], add: Callable[[Array, Array], Array]
    ) -> Array:
        """Add the logarithm `part` of the background, times its probability, where there is one."""
        if not self.epsilons.any():
            return kernels
        density = np.repeat(arguments.density, np.diff(arguments.edges))
        epsilon = self.epsilons[density]
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.log(epsilon) + part(arguments.at, **self._background(density))
            return np.asarray(np.where(epsilon > 0.0, add(kernels, log), kernels))

    def _background(self, density: Index) -> dict[str, Array | float]:
        """Return the parameters of the backgrounds of these densities."""
        lower, upper = self.bounds
        return {"lower": lower, "upper": upper, "location": self.locations[density], "scale": self.scales[density]}

    def quantiles(self, p: Array, density: Index) -> Array:
        """Return quantiles of probabilities `p` in [0, 1], one of each of these densities; NaN if it has no kernels.

        Each is searched from the side with less probability, so that upper tails are as accurate as lower ones.
        """
        found = np.where(p <= 0.0, *self.bounds)
        nonempty = self.kernels.stops[density] > self.kernels.starts[density]
        found[~nonempty | np.isnan(p)] = np.nan
        for above in (False, True):
            here = np.flatnonzero(nonempty & ((p > 0.5) & (p < 1.0) if above else (p > 0.0) & (p <= 0.5)))
            if here.size:
                found[here] = self._tail_quantiles(1.0 - p[here] if above else p[here], density[here], above)
        return found

    def _tail_quantiles(self, p: Array, density: Index, above: bool) -> Array:
        """Return quantiles of tail probabilities of at most 1/2."""
        # The upper tail is mirrored, so that one search serves both.
        sign = -1.0 if above else 1.0

        def arguments(x: Array, which: Index) -> Arguments:
            return Arguments(sign * x, density[which], np.arange(x.size + 1))

        def log_probability(x: Array, which: Index) -> Array:
            with np.errstate(divide="ignore"):
                return np.log(self.probability(arguments(x, which), above=above))

        def log_density(x: Array, which: Index) -> Array:
            return self.log_density(arguments(x, which))

        brackets = self._brackets(p, density, above)
        return sign * invert_each(log_probability, log_density, np.log(p), *brackets, mirrored=above)

    def _brackets(self, p: Array, density: Index, above: bool) -> tuple[Array, Array, Array]:
        """Return a first guess of tail quantiles and two ends that enclose them; mirrored if `above`."""
        kernels, sign = self.kernels, -1.0 if above else 1.0
        first, count = kernels.starts[density], kernels.stops[density] - kernels.starts[density]
        rank = np.minimum((p * count).astype(np.int64), count - 1)
        guess = kernels.places[first + (count - 1 - rank if above else rank)]
        reach = _FARTHEST_QUANTILE * self.widest[density]
        low, high = kernels.places[first] - reach, kernels.places[first + count - 1] + reach
        epsilon = self.epsilons[density]
        if epsilon.any():
            parameters, divisor = self._background(density), np.where(epsilon > 0.0, epsilon, 1.0)
            # For p below epsilon the background alone reaches p, no nearer than the sum does.
            far, alone = (
                background.quantile(1.0 - q if above else q, **parameters) for q in (np.minimum(p / divisor, 1.0), p)
            )
            broad = epsilon > 0.0
            guess = np.where(broad, np.maximum(guess, far) if above else np.minimum(guess, far), guess)
            low, high = np.where(broad, np.minimum(low, alone), low), np.where(broad, np.maximum(high, alone), high)
        low, high = np.clip(low, *self.bounds), np.clip(high, *self.bounds)
        return (sign * guess, -high, -low) if above else (guess, low, high)

    def crps(self, y: Array, atoms: Array, atom_probabilities: Array, window: Bounds = OPEN) -> Array:
        """Return the CRPS of each cell at its outcome, in data units, with atoms (a,) of probabilities (cells, a).

        Only thresholds in the window are integrated over.
        """
        kernels, out = self.kernels, np.empty(y.size)
        count = (kernels.stops - kernels.starts).astype(np.float64)
        if not kernels.each and self.bounds == window == OPEN and not atoms.size:
            loop, operations = partial(crps_pair_cells, kernels, y, out), float(np.sum(count * count))
            run_in_pieces(loop, y.size, operations=operations, threads=self.threads)
            return out
        backgrounds = np.stack([self.epsilons, self.locations, self.scales], axis=1)
        jumps = np.concatenate([y[:, None], np.broadcast_to(atoms, (y.size, atoms.size))], axis=1)
        outcomes = Outcomes(self.density, jumps, np.ascontiguousarray(atom_probabilities))
        slack, bounds = _CRPS_SLACK * self.scales, (self.bounds.lower, self.bounds.upper)
        ends = (window.lower, window.upper)
        loop = partial(crps_panel_cells, kernels, outcomes, bounds, ends, backgrounds, slack, out)
        run_in_pieces(loop, y.size, operations=1e3 * float(np.sum(count)), threads=self.threads)
        return out

    def with_density(self, other: "Estimates", cells: Index) -> "Estimates":
        """Return the estimates with the first density of `other` for these cells."""
        ours, theirs = self.kernels.spread(), other.kernels.spread()
        kernels = Kernels(
            np.append(ours.places, theirs.places),
            np.append(ours.rates, theirs.rates),
            np.append(ours.masses, theirs.masses),
            np.append(ours.starts, theirs.starts + ours.places.size),
            np.append(ours.stops, theirs.stops + ours.places.size),
            True,
        )
        density = self.density.copy()
        density[cells] = self.kernels.starts.size
        return replace(
            self,
            kernels=kernels,
            density=density,
            widest=np.append(self.widest, other.widest),
            epsilons=np.append(self.epsilons, other.epsilons),
            locations=np.append(self.locations, other.locations),
            scales=np.append(self.scales, other.scales),
        )


def estimate_runs(ensembles: Ensembles, work: Callable[[Estimates, slice], None]) -> Index:
    """Call ``work(estimates, cells)`` on runs of cells that together are all, several side by side.

    Returns the selector's codes (`_outcome.py`), (cells,).
    """
    adaptive = ensembles.selector.adaptive if ensembles.bandwidths is None else None
    codes = np.zeros(len(ensembles.samples), np.int64)
    climatology, bounds = _climatology_estimate(ensembles), ensembles.options.bounds

    def run(start: int, stop: int, threads: int | None, scratch: Scratch) -> None:
        cells, samples = slice(start, stop), ensembles.samples.between(start, stop)
        if ensembles.kernels_alone:
            made = _without_kernels(len(samples), bounds, threads)
        elif adaptive is not None:
            made, codes[cells] = _adaptive(adaptive(), samples, bounds, threads, scratch)
        else:
            h, codes[cells] = _bandwidths(ensembles, samples, cells, threads)
            made = _one_bandwidth(samples, h, bounds, threads)
        without = np.flatnonzero((codes[cells] < OK) & ~ensembles.invalid[cells])
        if climatology is not None and without.size:
            made = made.with_density(climatology, without)
        work(made, cells)

    size = {} if adaptive is not None else {"values_per_run": _MEMBERS_AT_ONCE}
    in_runs(run, ensembles.samples, threads=ensembles.options.threads, **size)
    return codes


def _without_kernels(cells: int, bounds: Bounds, threads: int | None) -> Estimates:
    """Return estimates of cells that get their kernels by `mixing.mix` alone."""
    none, starts = np.zeros(cells), np.zeros(cells, np.int64)
    kernels = Kernels(np.empty(0), np.empty(0), np.empty(0), starts, starts, True)
    return Estimates(kernels, np.arange(cells), bounds, none, none, none, none, threads)


def _climatology_estimate(ensembles: Ensembles) -> Estimates | None:
    """Return the density of the climatology, if one was given."""
    options, selector = ensembles.options, ensembles.selector
    if not options.climatology.size:
        return None
    batch = Sample(options.climatology).as_batch()
    if selector.adaptive is not None:
        return _adaptive(selector.adaptive(), batch, options.bounds, 1, Scratch())[0]
    return _one_bandwidth(batch, selector.select(batch, options.bounds, threads=1).bandwidths, options.bounds, 1)


def _adaptive(
    model: Model, samples: Samples, bounds: Bounds, threads: int | None, scratch: Scratch
) -> tuple[Estimates, Index]:
    """Return adaptive estimates, and the codes of the samples."""
    ends = np.full(len(samples), bounds.lower), np.full(len(samples), bounds.upper)
    answer = smooth(model, samples, *ends, threads=threads, scratch=scratch)
    rungs = answer.bandwidths.shape[1]
    places, rates, masses = scratch.take("kernels", 3, samples.values.size * rungs)
    starts, stops = np.empty((2, len(samples)), np.int64)
    kernels, widest = Kernels(places, rates, masses, starts, stops, True), np.empty(len(samples))
    ladders = Ladders(answer.bandwidths, answer.shares, answer.anchors, answer.offsets, answer.epsilons)
    given = (samples.values, samples.offsets, (bounds.lower, bounds.upper), ladders)
    ladder_kernels(*given, kernels, widest, 0, len(samples))
    # A density that could not be made has no kernels.
    failed = answer.codes < OK
    stops[failed] = starts[failed]
    epsilons = np.where(failed, 0.0, answer.epsilons)
    numbers = np.arange(len(samples))
    made = Estimates(kernels, numbers, bounds, widest, epsilons, answer.locations, answer.scales, threads)
    return made, answer.codes


def _bandwidths(ensembles: Ensembles, samples: Samples, cells: slice, threads: int | None) -> tuple[Array, Index]:
    """Return given or selected bandwidths of a run of cells, and codes."""
    if ensembles.bandwidths is None:
        selection = ensembles.selector.select(samples, ensembles.options.bounds, threads=threads)
        return selection.bandwidths, selection.codes
    h = ensembles.bandwidths[cells]
    return h, np.where((h > 0.0) & (h < math.inf) & (samples.sizes > 0), OK, TOO_FEW)


def _one_bandwidth(samples: Samples, h: Array, bounds: Bounds, threads: int | None) -> Estimates:
    """Return estimates with one bandwidth each."""
    masses = 1.0 / np.maximum(samples.sizes, 1)
    if bounds != OPEN:
        inverse_mass_cells(samples.values, samples.offsets, h, *bounds, masses, 0, len(samples))
    starts, stops = samples.offsets[:-1], samples.offsets[1:]
    # A density that could not be made has no kernels.
    stops = np.where((h > 0.0) & (h < math.inf), stops, starts)
    none = np.zeros(len(samples))
    with np.errstate(divide="ignore"):
        kernels = Kernels(samples.values, 1.0 / h, masses, starts, stops, False)
    return Estimates(kernels, np.arange(len(samples)), bounds, h, none, none, none, threads)
