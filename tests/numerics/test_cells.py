import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

from amortized_kde.numerics.cells import Arguments, Kernels, inverse_mass_cells, log_density_cells, probability_cells


def three(each):
    """Three densities of 4, 0 and 2 kernels; the third is evaluated first."""
    places = np.array([1.0, 0.5, 3.0, 2.0, 7.0, 9.0])
    rates = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 0.1]) if each else np.array([1.0, 5.0, 2.0])
    masses = np.array([0.1, 0.4, 0.2, 0.3, 0.5, 0.5]) if each else np.array([0.25, 0.0, 0.5])
    return Kernels(places, rates, masses, np.array([0, 4, 4]), np.array([4, 4, 6]), each)


AT = np.array([6.5, 12.0, 0.0, 2.2, 90.0, 1.0])
ROWS = Arguments(AT, np.array([2, 0, 1]), np.array([0, 2, 5, 6]))
DENSITY = [2, 2, 0, 0, 0, 1]


def slow(kernels, x, d, term):
    k = slice(kernels.starts[d], kernels.stops[d])
    rates, masses = (part[k] if kernels.each else np.full(k.stop - k.start, part[d]) for part in kernels[1:3])
    return np.sum(masses * term(x, kernels.places[k], rates))


@pytest.mark.parametrize("each", [False, True])
def test_log_densities_are_sums_over_kernels(each):
    kernels, out = three(each), np.empty(6)
    log_density_cells(kernels, ROWS, out, 0, 3)
    expected = [
        slow(kernels, x, d, lambda x, p, r: r * norm.pdf((x - p) * r)) for x, d in zip(AT, DENSITY, strict=True)
    ]
    np.testing.assert_allclose(np.exp(out[[0, 1, 2, 3]]), expected[:4], rtol=1e-13)
    # Far out the nearest kernel is all there is.
    far = (
        math.log(0.2 * 0.5 if each else 0.25) - 0.5 * (87.0 * (0.5 if each else 1.0)) ** 2 - 0.5 * math.log(2 * math.pi)
    )
    assert out[4] == pytest.approx(far, rel=1e-12)
    assert math.isnan(out[5])


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("bound", [0.0, math.inf])
def test_probabilities_are_sums_over_kernels(each, sign, bound):
    kernels, out = three(each), np.empty(6)
    bound = -sign * bound if bound else (-1.0 if sign > 0.0 else 95.0)
    probability_cells(kernels, ROWS, bound, sign, out, 0, 3)

    def between(x, p, r):
        return ndtr(sign * (x - p) * r) - ndtr(sign * (bound - p) * r)

    expected = [slow(kernels, x, d, between) for x, d in zip(AT, DENSITY, strict=True)]
    np.testing.assert_allclose(out[:5], np.minimum(expected[:5], 1.0), rtol=1e-12, atol=1e-300)
    assert math.isnan(out[5])


def test_an_infinite_or_missing_argument():
    kernels, out = three(False), np.empty(3)
    rows = Arguments(np.array([math.inf, -math.inf, math.nan]), np.array([0]), np.array([0, 3]))
    log_density_cells(kernels, rows, out, 0, 1)
    assert out[:2].tolist() == [-math.inf, -math.inf]
    assert math.isnan(out[2])
    probability_cells(kernels, rows, -math.inf, 1.0, out, 0, 1)
    assert out[:2].tolist() == [1.0, 0.0]
    assert math.isnan(out[2])


def test_masses_inside_bounds_add_up_to_one():
    values, offsets, h, out = np.array([0.1, 0.5, 0.9, 0.3]), np.array([0, 3, 4]), np.array([0.2, 2.0]), np.empty(2)
    inverse_mass_cells(values, offsets, h, 0.0, 1.0, out, 0, 2)
    inside = ndtr((1.0 - values) / np.repeat(h, [3, 1])) - ndtr(-values / np.repeat(h, [3, 1]))
    np.testing.assert_allclose(out, [1.0 / inside[:3].sum(), 1.0 / inside[3]], rtol=1e-14)


def test_spreading_rates_and_masses_changes_nothing():
    kernels, out, other = three(False), np.empty(6), np.empty(6)
    log_density_cells(kernels, ROWS, out, 0, 3)
    log_density_cells(kernels.spread(), ROWS, other, 0, 3)
    assert np.array_equal(out, other, equal_nan=True)
    assert three(True).spread().each


@pytest.mark.parametrize("rate", [0.01, 5.0])
def test_far_from_all_kernels_in_units_of_any_bandwidth(rate):
    one = Kernels(np.array([0.0, 1.0]), np.array([rate]), np.array([0.5]), np.array([0]), np.array([2]), False)
    far, out = 300.0 / rate, np.empty(1)
    log_density_cells(one, Arguments(np.array([far]), np.array([0]), np.array([0, 1])), out, 0, 1)
    logs = norm.logpdf((far - one.places) * rate) + math.log(0.5 * rate)
    assert out[0] == pytest.approx(np.logaddexp(*logs), rel=1e-13)
