import math

import numpy as np
import pytest

from amortized_kde.numerics import table
from amortized_kde.numerics.mixture import Rungs, log_density, peaks_of

RNG = np.random.default_rng(1)


def rungs_of(places, bandwidths, coefficients):
    """The same places on every rung, with a coefficient for each (bandwidth, place)."""
    n = places.size
    return Rungs(np.tile(places, bandwidths.size), coefficients.ravel(), n * np.arange(bandwidths.size + 1), bandwidths)


def exact(rungs, x):
    return np.exp(log_density(peaks_of(rungs), x, np.full(x.size, -math.inf)))


def evaluated(found, x):
    cell, s = found.locate(x)
    return table.polynomials(table.coefficients_of(found.values), cell, s), found.errors[cell]


def mixture(n, bandwidths, seed=1):
    rng = np.random.default_rng(seed)
    coefficients = rng.gamma(0.3, size=(len(bandwidths), n))
    return rungs_of(np.sort(rng.standard_normal(n)), np.array(bandwidths), coefficients / coefficients.sum())


@pytest.mark.parametrize("n", [1, 30, 2000])
@pytest.mark.parametrize("bandwidths", [[0.3], [0.001, 0.04, 0.2, 1.0, 50.0], [300.0]])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_values_and_bounds_of_their_errors(n, bandwidths, offset):
    rungs = mixture(n, bandwidths)
    moved = rungs._replace(places=rungs.places + offset)
    found = table.tabulate(moved, offset - 6.0, offset + 7.0, offset, 1.0)
    x = np.sort(np.concatenate([np.linspace(-6.0, 7.0, 3001), rungs.places[:100]])) + offset
    values, errors = evaluated(found, x)
    truth = exact(moved, x)
    # The truth has rounding errors too.
    assert np.all(np.abs(values - truth) <= 2.0 * errors + 1e-14 * truth)
    # Where the density is not tiny, the bound says that the table is accurate.
    high = truth > 1e-3 * truth.max()
    assert np.median((errors / values)[high]) < 2e-14


def test_negative_kernels():
    rungs = mixture(500, [0.1, 0.4])
    signed = rungs._replace(coefficients=rungs.coefficients * np.where(np.arange(1000) % 7 == 0, -0.1, 1.0))
    x = np.linspace(-2.0, 2.0, 301)
    values, errors = evaluated(table.tabulate(signed, -4.0, 4.0, 0.0, math.inf), x)
    assert np.all(np.abs(values - exact(signed, x)) <= 2.0 * errors + 1e-14 * values)


def test_cells_are_halved_around_the_centre_of_algebraic_tails():
    found = table.tabulate(mixture(3, [100.0]), -1e4, 1e4, 2.0, 0.01)
    away = np.maximum(np.abs(found.centre - 2.0) - found.half, 0.0)
    assert np.all(2.0 * found.half <= np.maximum(0.01, away))
    # Edges meet, from the first to the last.
    np.testing.assert_allclose(found.left[1:], (found.left + 2.0 * found.half)[:-1], rtol=1e-15, atol=1e-15)
    assert found.left[0] <= -1e4
    assert found.left[-1] + 2.0 * found.half[-1] >= 1e4


@pytest.mark.parametrize(
    ("bandwidth", "low", "high", "scale"),
    [(1e-13, 0.0, 1.0, 1.0), (0.1, 1.0, 1.0, 1.0), (0.1, 0.0, math.inf, 1.0), (0.1, 0.0, 1.0, 1e-17)],
)
def test_no_table_of_what_float64_cannot_resolve(bandwidth, low, high, scale):
    assert table.tabulate(mixture(5, [bandwidth]), low, high, 0.5, scale) is None


def test_no_table_of_too_many_cells_or_values(monkeypatch):
    rungs = mixture(300, [1e-4, 1e-3])
    assert table.tabulate(rungs, -5.0, 5.0, 0.0, 1.0) is not None
    for limit in ("_MOST_CELLS", "_MOST_VALUES"):
        with monkeypatch.context() as patch:
            patch.setattr(table, limit, 1000)
            assert table.tabulate(rungs, -5.0, 5.0, 0.0, 1.0) is None


def test_crowded_kernels_are_condensed():
    rungs = mixture(3000, [0.2])
    places, shifts, coefficients = table._condensed(rungs.places, rungs.coefficients, 0.1, -10.0)
    assert places.size < 1500
    x, order = np.linspace(-4.0, 4.0, 201), np.argsort(places + shifts)
    few = rungs_of((places + shifts)[order], rungs.bandwidths, coefficients[None, order])
    np.testing.assert_allclose(exact(few, x), exact(rungs, x), rtol=1e-13)
    alone = np.arange(300.0), np.full(300, 1.0 / 300)
    assert np.array_equal(table._condensed(*alone, 0.1, 0.0)[0], alone[0])
