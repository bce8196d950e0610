import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import t as student

from amortized_kde.numerics.cells import Kernels
from amortized_kde.numerics.crps import Outcomes, crps_pair_cells, crps_panel_cells

OPEN = (-math.inf, math.inf)
PLACES, BANDWIDTHS = np.array([-1.0, 0.3, 0.4, 2.0]), np.array([0.5, 0.2, 0.02, 1.0])


def made_kernels(bounds=OPEN, whole=1.0, bandwidths=BANDWIDTHS):
    """Four kernels of one density, which have mass `whole` between the bounds, with a bandwidth each."""
    kept = ndtr((bounds[1] - PLACES) / bandwidths) - ndtr((bounds[0] - PLACES) / bandwidths)
    masses = np.array([0.1, 0.4, 0.3, 0.2])
    masses *= whole / (masses * kept).sum()
    return Kernels(PLACES, 1.0 / bandwidths, masses, np.array([0]), np.array([4]), True)


def background_below(x, bounds, location, scale):
    low, high, at = (student.cdf((end - location) / scale, 3) for end in (*bounds, np.clip(x, *bounds)))
    return (at - low) / (high - low)


def slow_crps(kernels, y, bounds=OPEN, window=OPEN, background=(0.0, 0.0, 1.0), atoms=()):
    """The integral of (F - 1{y <= t})^2, piece by piece."""
    epsilon, h = background[0], 1.0 / kernels.rates

    def distribution(x):
        inside = np.clip(x, *bounds)
        f = kernels.masses @ (ndtr((inside - kernels.places) / h) - ndtr((bounds[0] - kernels.places) / h))
        f += epsilon * background_below(x, bounds, *background[1:]) if epsilon else 0.0
        return f * (1.0 - sum(p for _, p in atoms)) + sum(p for place, p in atoms if place < x)

    far = 3000.0 if epsilon else 60.0
    low, high = (max(-far, min(bounds[0], y)), min(far, max(bounds[1], y)))
    low, high = min([low, *(a for a, _ in atoms)]), max([high, *(a for a, _ in atoms)])
    low, high = max(low, window[0]), min(high, window[1])
    kinks = [*(kernels.places[:, None] + h[:, None] * np.linspace(-6, 6, 9)).ravel(), *np.geomspace(2, far, 12)]
    kinks += [*(-k for k in kinks), *bounds, y, *(a for a, _ in atoms)]
    edges = np.unique([low, *(k for k in kinks if low < k < high), high])
    pieces = itertools.pairwise(edges)
    return sum(quad(lambda t: (distribution(t) - (y < t)) ** 2, a, b, epsabs=1e-12)[0] for a, b in pieces)


def by_panels(kernels, y, bounds=OPEN, window=OPEN, background=(0.0, 0.0, 1.0), atoms=(), slack=0.0):
    outcomes = Outcomes(
        np.array([0]), np.array([[y, *(place for place, _ in atoms)]]), np.array([[p for _, p in atoms]]).reshape(1, -1)
    )
    out = np.empty(1)
    crps_panel_cells(kernels, outcomes, bounds, window, np.array([background]), np.array([slack]), out, 0, 1)
    return out[0]


@pytest.mark.parametrize("y", [-7.0, -1.0, 0.41, 1.5, 30.0])
@pytest.mark.parametrize("bounds", [OPEN, (-1.2, math.inf), (-math.inf, 2.5), (-1.2, 2.5)])
def test_panels_agree_with_the_integral(bounds, y):
    kernels = made_kernels(bounds)
    assert by_panels(kernels, y, bounds) == pytest.approx(slow_crps(kernels, y, bounds), abs=2e-8)


@pytest.mark.parametrize("window", [(-0.5, 0.9), (0.35, math.inf), (-math.inf, 0.35), (5.0, 6.0), (2.0, 1.0)])
def test_thresholds_in_a_window(window):
    kernels = made_kernels()
    for y in (0.2, 5.5):
        expected = slow_crps(kernels, y, window=window) if window[0] < window[1] else 0.0
        assert by_panels(kernels, y, window=window) == pytest.approx(expected, abs=2e-8)


@pytest.mark.parametrize("bounds", [OPEN, (-1.2, 4.0)])
@pytest.mark.parametrize("y", [0.7, 3.0, 9.0])
@pytest.mark.parametrize("location", [-0.5, 0.5])
def test_background(bounds, y, location):
    kernels, background = made_kernels(bounds, whole=0.9), (0.1, location, 1.5)
    expected = slow_crps(kernels, y, bounds, background=background)
    assert by_panels(kernels, y, bounds, background=background) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("y", [-3.0, 0.0, 1.7])
@pytest.mark.parametrize("bounds", [OPEN, (0.0, math.inf)])
def test_atoms(bounds, y):
    atoms, kernels = ((0.0, 0.3), (8.0, 0.05)), made_kernels(bounds)
    expected = slow_crps(kernels, y, bounds, atoms=atoms)
    assert by_panels(kernels, y, bounds, atoms=atoms) == pytest.approx(expected, abs=2e-8)


def test_pairs_agree_with_panels():
    rng = np.random.default_rng(1)
    for n in (1, 2, 9):
        x, h, y = np.sort(rng.normal(size=n)), rng.uniform(0.1, 2.0), rng.normal(0.0, 3.0)
        one = Kernels(x, np.array([1.0 / h]), np.array([1.0 / n]), np.array([0]), np.array([n]), False)
        out = np.empty(1)
        crps_pair_cells(one, np.array([y]), out, 0, 1)
        assert out[0] == pytest.approx(by_panels(one, y), abs=2e-8)
        assert out[0] == pytest.approx(slow_crps(one.spread(), y), abs=2e-8)


def test_cells_are_those_asked_for():
    places = np.array([0.0, 5.0, 5.5])
    two = Kernels(places, np.array([1.0, 2.0]), np.array([1.0, 0.5]), np.array([0, 1]), np.array([1, 3]), False)
    out = np.full(4, -1.0)
    outcomes = Outcomes(np.array([1, 0, 1, 0]), np.array([[5.2], [5.2], [math.nan], [0.0]]), np.empty((4, 0)))
    crps_panel_cells(two, outcomes, OPEN, OPEN, np.zeros((2, 3)), np.zeros(2), out, 0, 3)
    # Of a standard normal density at 0: (sqrt(2) - 1) / sqrt(pi).
    assert math.isnan(out[2])
    assert out[3] == -1.0
    crps_panel_cells(two, outcomes, OPEN, OPEN, np.zeros((2, 3)), np.zeros(2), out, 3, 4)
    assert out[3] == pytest.approx((math.sqrt(2.0) - 1.0) / math.sqrt(math.pi), abs=2e-8)
    pairs = np.empty(2)
    crps_pair_cells(two, np.array([5.2, 5.2]), pairs, 0, 2)
    np.testing.assert_allclose(pairs, [out[1], out[0]], atol=2e-8)


def test_a_density_without_kernels_has_no_score():
    none = Kernels(np.empty(0), np.array([1.0]), np.array([1.0]), np.array([0]), np.array([0]), False)
    assert math.isnan(by_panels(none, 0.0))


def test_steps_of_slight_kernels_may_stay_unresolved():
    kernels = made_kernels(bandwidths=np.array([0.5, 0.2, 1e-7, 1.0]))
    exact = slow_crps(kernels, 0.0)
    assert by_panels(kernels, 0.0) == pytest.approx(exact, abs=2e-8)
    assert by_panels(kernels, 0.0, slack=1e-4) == pytest.approx(exact, abs=1e-4)
