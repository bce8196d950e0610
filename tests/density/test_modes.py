"""A very fine grid and SciPy's peaks judge the search for modes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import find_peaks

import amortized_kde as akde
from amortized_kde import KernelDensity
from amortized_kde.data.reading import read_sample
from amortized_kde.data.support import Bounds
from amortized_kde.density import Background, Mode, Modes
from amortized_kde.density.modes import PROMINENCE
from amortized_kde.errors import InvalidParameterError

# Steps of the judge's grid, per bandwidth.
STEPS = 60
SIZES = (2, 3, 5, 10, 30, 100, 300, 1000, 3000)


def normal(rng, n):
    return rng.standard_normal(n)


def far_apart(rng, n):
    return rng.standard_normal(n) + rng.choice([0.0, 3.0, 1e6], n)


def tied(rng, n):
    return np.round(rng.gamma(1.5, 2.0, n), 1)


def exponential(rng, n):
    return rng.exponential(1.0, n)


def heavy_tailed(rng, n):
    return rng.standard_cauchy(n)


def spiked(rng, n):
    return rng.choice([0.0, 1.0, 4.0], n) + rng.choice([1e-3, 0.1, 1.0]) * rng.random(n)


def spread(x):
    """Standard deviation of the central values."""
    away = np.abs(x - np.median(x))
    return max(float(np.std(x[away <= np.quantile(away, 0.8)])), 1e-3)


def bounds_for(rng, x):
    return [(None, None), (x.min(), None), (None, x.max() + 0.1), (x.min() - 0.5, x.max())][rng.integers(4)]


def single(rng, x, bounds):
    return KernelDensity(x, bandwidth=spread(x) * math.exp(rng.uniform(-4.0, 1.0)), bounds=bounds)


def several(rng, x, bounds):
    """Four bandwidths with shares at random, most of them small, and a background."""
    lower, upper = -math.inf if bounds[0] is None else bounds[0], math.inf if bounds[1] is None else bounds[1]
    bandwidths = spread(x) * np.exp(np.sort(rng.uniform(-4.0, 1.0, 4)))
    shares = rng.dirichlet(np.full(4, 0.3), x.size).T
    background = Background(lower, upper, location=float(np.median(x)), scale=spread(x))
    return KernelDensity.from_ladder(
        read_sample(x), bandwidths, shares, bounds=Bounds(lower, upper), epsilon=0.02, background=background
    )


def adaptive(rng, x, bounds):
    return akde.fit(x, bounds=bounds)


def fine_grid(d):
    """Arguments all over the data, and a fraction of each bandwidth apart near the points."""
    low, high = d.points[0], d.points[-1]
    if d.epsilon > 0.0 and None in d.bounds:
        location = np.clip(d.background.location, *d.support())
        low, high = min(low, location), max(high, location)
    steps = STEPS if d.points.size < 400 else 8
    parts = [np.linspace(low, high, 20_001), d.points]
    for h in d.bandwidths:
        cells = np.unique(np.floor((d.points - low) * steps / h))
        around = np.arange(-4 * steps, 4 * steps + 1) if cells.size < 800 else np.arange(-steps, steps + 1)
        parts.append(np.unique((cells[:, None] + around).ravel()) * (h / steps) + low)
    return np.unique(np.clip(np.concatenate(parts), low, high)), 1.0 / steps


def slow_modes(grid, density, prominence):
    """Places and prominences of the peaks of a density on a very fine grid, 0 outside it."""
    height = np.concatenate([[0.0], density, [0.0]])
    # Of two peaks of the same height the first is the higher one.
    height *= (1.0 - 1e-9 * np.linspace(0.0, 1.0, height.size)) / height.max()
    peaks, found = find_peaks(height, prominence=prominence)
    return grid[peaks - 1], found["prominences"]


def is_near(places, others, tolerance):
    return np.all(np.min(np.abs(places[:, None] - others), axis=1, initial=math.inf) <= tolerance)


@pytest.mark.parametrize("make", [single, several, adaptive])
@pytest.mark.parametrize("draw", [normal, far_apart, tied, exponential, heavy_tailed, spiked])
@pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")
def test_the_search_finds_what_a_very_fine_grid_shows(make, draw):
    # With two dozen bandwidths the judge takes long.
    for seed, n in enumerate(SIZES if make is not adaptive or draw is normal else SIZES[:7]):
        rng = np.random.default_rng(seed)
        x = draw(rng, n)
        d = make(rng, x, bounds_for(rng, x))
        grid, step = fine_grid(d)
        density, everything = d.pdf(grid), d.modes(prominence=0.0)
        for prominence in (0.0, 0.02, PROMINENCE, 0.3):
            # The grid is no judge of ripples that are smaller than its own errors.
            least, modes = max(prominence, 1e-6), d.modes(prominence=prominence)
            places, prominences = slow_modes(grid, density, least)
            clear, found = prominences > 1.01 * least + 1e-5, modes.prominences > 1.01 * least + 1e-5
            assert clear.sum() <= len(modes)
            assert found.sum() <= places.size
            # Where two peaks are equal, the grid's error decides which of them is the higher one.
            assert is_near(places[clear], everything.places, 1.5 * step * d.bandwidths.max())
            assert is_near(modes.places, everything.places, 1e-7 * d.bandwidths.max())
            count = min(clear.sum(), found.sum())
            theirs, ours = np.sort(prominences)[::-1], np.sort(modes.prominences)[::-1]
            np.testing.assert_allclose(ours[:count], theirs[:count], atol=2e-3)
            assert modes.heights.max() >= density.max() * (1.0 - 1e-9)
            assert modes.masses.sum() == pytest.approx(1.0, abs=1e-12)


SAMPLES = st.lists(st.integers(-50, 50), min_size=2, max_size=20).map(lambda x: 0.1 * np.array(x))
BANDWIDTHS = st.sampled_from([0.02, 0.1, 0.3, 2.0])
PROMINENCES = st.sampled_from([0.0, 0.02, 0.05, 0.3, 1.0])


@given(SAMPLES, BANDWIDTHS, PROMINENCES, st.sampled_from([(None, None), (-5.0, None), (-5.0, 5.0)]))
def test_masses_sum_to_one_and_columns_agree(x, h, prominence, bounds):
    d = KernelDensity(x, bandwidth=h, bounds=bounds)
    modes = d.modes(prominence=prominence)
    assert modes.masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(modes.masses > 0.0)
    assert np.array_equal(modes.heights, d.pdf(modes.places))
    assert np.all(np.diff(modes.places) > 0.0)
    assert modes.prominences.max() == 1.0
    assert np.all(modes.prominences >= prominence)
    assert np.all((modes.places >= x.min()) & (modes.places <= x.max()))


@given(SAMPLES, BANDWIDTHS, PROMINENCES)
def test_a_larger_prominence_gives_a_subset(x, h, prominence):
    d = KernelDensity(x, bandwidth=h)
    everything, modes = d.modes(prominence=0.0), d.modes(prominence=prominence)
    assert is_near(modes.places, everything.places, 1e-6 * h)
    # Twice the errors of rounding: a prominence that is exactly the least one may be on either side of it.
    count = np.sum(everything.prominences >= prominence)
    assert len(modes) == count or np.any(np.abs(everything.prominences - prominence) < 1e-9)


@given(SAMPLES, BANDWIDTHS, st.sampled_from([1e-6, 1.0, 1e6]), st.sampled_from([0.0, 1e3, -1e6]))
def test_modes_move_with_the_data(x, h, scale, offset):
    here = KernelDensity(x, bandwidth=h).modes(prominence=0.0)
    there = KernelDensity(scale * (x + offset), bandwidth=scale * h).modes(prominence=0.0)
    assert len(there) == len(here)
    # Rounding of the data moves modes by as much, and more on flat tops.
    np.testing.assert_allclose(there.places / scale - offset, here.places, atol=1e-4 * h)
    np.testing.assert_allclose(there.heights * scale, here.heights, rtol=1e-6)
    np.testing.assert_allclose(there.masses, here.masses, atol=1e-4)


@given(SAMPLES, BANDWIDTHS)
def test_modes_of_mirrored_data_are_mirrored(x, h):
    here = KernelDensity(x, bandwidth=h, bounds=(-5.0, None)).modes(prominence=0.0)
    there = KernelDensity(-x, bandwidth=h, bounds=(None, 5.0)).modes(prominence=0.0)
    assert len(there) == len(here)
    np.testing.assert_allclose(-there.places[::-1], here.places, atol=1e-4 * h)
    np.testing.assert_allclose(there.heights[::-1], here.heights, rtol=1e-9)
    np.testing.assert_allclose(there.masses[::-1], here.masses, atol=1e-6)


def test_masses_of_clusters_far_apart():
    x = np.concatenate([np.linspace(-1.0, 1.0, 30), np.linspace(-1.0, 1.0, 10) + 1e6, [2e6]])
    modes = KernelDensity(x, bandwidth=1.0).modes(prominence=0.02)
    np.testing.assert_allclose(modes.places, [0.0, 1e6, 2e6], atol=1e-6)
    np.testing.assert_allclose(modes.masses, np.array([30, 10, 1]) / 41, rtol=1e-12)


def test_of_two_equal_modes_the_first_is_the_higher_one():
    modes = KernelDensity([0.0, 3.0], bandwidth=1.0).modes()
    valley = KernelDensity([0.0, 3.0], bandwidth=1.0).pdf(1.5)
    np.testing.assert_allclose(modes.prominences, [1.0, 1.0 - valley / modes.heights[0]], rtol=1e-9)
    np.testing.assert_allclose(modes.masses, 0.5, rtol=1e-9)


def test_a_large_sample_has_the_modes_of_all_its_kernels():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0.0, 1.0, 50_000), rng.normal(6.0, 1.0, 30_000)])
    d = KernelDensity(x, bandwidth=0.5)
    modes = d.modes()
    assert len(modes) == 2
    for place, height in zip(modes.places, modes.heights, strict=True):
        near = place + np.linspace(-1e-3, 1e-3, 21)
        log = d.logpdf(near)
        assert abs(near[np.argmax(log)] - place) <= 1e-4
        assert height == pytest.approx(math.exp(log.max()), rel=1e-6)
    np.testing.assert_allclose(modes.masses, [0.625, 0.375], atol=0.01)


def test_modes_are_a_sequence():
    modes = KernelDensity([5.0, 20.0, 20.0], bandwidth=1.0).modes()
    assert isinstance(modes, Modes)
    assert [mode.place for mode in modes] == modes.places.tolist()
    assert modes[1] == Mode(modes.places[1], modes.heights[1], modes.prominences[1], modes.masses[1])
    assert repr(modes).splitlines()[0].split() == list(Mode._fields)
    assert len(repr(modes).splitlines()) == 3


@pytest.mark.parametrize("prominence", [-0.1, 1.5, math.nan, [0.1, 0.2], "high"])
def test_a_prominence_that_is_none(prominence):
    with pytest.raises(InvalidParameterError, match="between 0 and 1"):
        KernelDensity([0.0, 1.0], bandwidth=1.0).modes(prominence=prominence)
