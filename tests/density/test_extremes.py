"""Densities at the ends of float64: arguments 1e200 bandwidths away, bandwidths below its spacing, subnormal units."""

import math

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde import KernelDensity
from amortized_kde.data.reading import read_sample
from amortized_kde.data.support import Bounds
from amortized_kde.errors import InvalidParameterError, PrecisionError

LOWEST = -np.finfo(np.float64).max
ULP = 2.0**-52
FAR = [1e155, 1e200, 1e300, 1.7e308]


@pytest.mark.parametrize("make", [lambda x, **k: KernelDensity(x, 0.5, **k), akde.fit], ids=["one", "adaptive"])
@pytest.mark.parametrize("bounds", [None, (-1e300, 1e300), (-1e300, None), (None, 1e299), (-10, None)])
def test_far_tails_are_numbers(make, bounds):
    d = make([0.0, 1.0, 1.5, 4.0], bounds=bounds)
    lower, upper = d.support()
    for y in (*FAR, *(-y for y in FAR)):
        at = d.cdf(y), d.sf(y), d.logcdf(y), d.logsf(y)
        assert not np.isnan(at).any()
        assert at[0] + at[1] == pytest.approx(1.0, abs=1e-15)
        assert math.isfinite(d.logpdf(y)) == (lower <= y <= upper)
        assert math.isfinite(at[2]) == (y > lower)
        assert math.isfinite(at[3]) == (y < upper)
    assert d.logpdf([math.inf, -math.inf]).tolist() == [-math.inf, -math.inf]


def test_a_logarithm_below_the_lowest_number_is_the_lowest():
    d = KernelDensity([0.0, 1.0], 0.5)
    assert d.logpdf(1e153) == pytest.approx(-0.5 * 2e153**2, rel=1e-12)
    assert (d.logpdf(1e155), d.logcdf(-1e155), d.logsf(1e200)) == (LOWEST, LOWEST, LOWEST)


@pytest.mark.parametrize("bounds", [(-1e300, 1e300), (-1e300, None), (None, 1e299), (-1e160, 1e160)])
def test_moments_between_far_bounds(bounds):
    d, open_sides = KernelDensity([0.0, 1.0], 0.5, bounds=bounds), KernelDensity([0.0, 1.0], 0.5)
    assert (d.mean(), d.std()) == (open_sides.mean(), open_sides.std())
    assert akde.fit([0.0, 1.0, 3.0, 4.0], bounds=bounds).mean() == pytest.approx(2.0, abs=1.0)


def test_a_variance_that_is_not_representable_is_infinite():
    assert KernelDensity([-1e200, 1e200], 1.0).var() == math.inf
    assert KernelDensity([-1e200, 1e200], 1.0).std() == pytest.approx(1e200, rel=1e-15)


def ties(n):
    return np.sort(1.0 + np.random.default_rng(0).integers(0, 300, n) * ULP)


COARSE = {
    "one value": np.array([1.0]),
    "neighbours": 1.0 + np.arange(5000) * ULP,
    "ties": ties(9000),
    "many": ties(70_000),
    "large": 1e15 + np.arange(50.0),
}


@pytest.mark.parametrize("name", COARSE)
@pytest.mark.parametrize("h", [1e-20, 1e-18, 1e-16, 1e-15, 1e-14, 0.1])
def test_tails_sum_to_one_where_bandwidths_are_near_the_spacing_of_numbers(name, h):
    x = COARSE[name]
    d = KernelDensity(x, h)
    y = np.unique(np.concatenate([x[:: max(1, x.size // 200)], np.nextafter(x[[0, -1]], [0.0, 1e16])]))
    lower, upper, p = d.cdf(y), d.sf(y), np.linspace(0.01, 0.99, 25)
    np.testing.assert_allclose(lower + upper, 1.0, atol=1e-12)
    assert np.diff(lower).min() >= -1e-13
    assert np.diff(d.ppf(p)).min() >= 0.0
    # Below the spacing, a kernel at an argument counts half and the others not at all or wholly.
    if h < 0.05 * np.spacing(x[0]):
        np.testing.assert_allclose(lower, [np.mean(x < a) + 0.5 * np.mean(x == a) for a in y], atol=1e-12)


def test_a_large_sample_near_the_spacing_of_numbers_has_the_direct_sum():
    x, at = COARSE["many"], COARSE["many"][::7000]
    d = KernelDensity(x, 1e-15)
    direct = np.mean(np.exp(-0.5 * ((at[:, None] - x) / 1e-15) ** 2), axis=1) / (1e-15 * math.sqrt(2.0 * math.pi))
    np.testing.assert_allclose(d.pdf(at), direct, rtol=1e-6)
    np.testing.assert_allclose(d.logpdf(at), np.log(direct), rtol=1e-12)
    ladder = akde.fit(x)
    np.testing.assert_allclose(ladder.cdf(at) + ladder.sf(at), 1.0, atol=1e-12)
    np.testing.assert_allclose(ladder.pdf(at), np.exp(ladder.logpdf(at)), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-310, 2.0**-1040, 1e-300, 1e280])
@pytest.mark.parametrize("bounds", [(None, None), (0.0, None), (0.0, 20.0)])
def test_a_density_of_tiny_or_huge_numbers_is_that_of_ordinary_ones(scale, bounds):
    x = np.arange(1.0, 20.0)
    ends = tuple(None if end is None else end * scale for end in bounds)
    for d, there in (
        (KernelDensity(x, 2.0, bounds=bounds), KernelDensity(x * scale, 2.0 * scale, bounds=ends)),
        (akde.fit(x, bounds=bounds), akde.fit(x * scale, bounds=ends)),
    ):
        p, log = np.array([0.01, 0.3, 0.9]), math.log(scale)
        # A subnormal number has few digits.
        near = {"rtol": max(1e-9, 2e-323 / scale), "atol": 1e-9}
        np.testing.assert_allclose(there.cdf(x * scale), d.cdf(x), **near)
        np.testing.assert_allclose(there.logpdf(x * scale) + log, d.logpdf(x), **near)
        np.testing.assert_allclose(there.ppf(p) / scale, d.ppf(p), **near)
        np.testing.assert_allclose(there.sample(5, rng=1) / scale, d.sample(5, rng=1), **near)
        found = [there.mean() / scale, there.std() / scale, there.entropy() - log, there.bandwidth / scale]
        np.testing.assert_allclose(found, [d.mean(), d.std(), d.entropy(), d.bandwidth], **near)
        np.testing.assert_allclose(there.modes().places / scale, d.modes().places, rtol=1e-4)
        np.testing.assert_allclose(there.region(0.8) / scale, d.region(0.8), rtol=1e-4)
        np.testing.assert_allclose(there.grid(5) / scale, d.grid(5), **near)


# R's bins make it depend on the scale.
@pytest.mark.parametrize("method", [name for name in akde.selectors() if name != "sheather-jones-r"])
@pytest.mark.parametrize("scale", [1e-310, 2.0**-1040, 1e280])
def test_bandwidths_of_tiny_and_huge_samples(method, scale):
    x = np.arange(1.0, 20.0) ** 1.5
    expected, near = akde.bandwidth(x, method=method), max(1e-9, 1e-322 / scale)
    assert akde.bandwidth(x * scale, method=method) / scale == pytest.approx(expected, rel=near)
    both = akde.bandwidth(np.stack([x, x * scale]), method=method, axis=-1)
    assert both[0] == expected
    assert both[1] == akde.bandwidth(x * scale, method=method)


def test_the_smallest_numbers_of_all():
    x = np.arange(1.0, 20.0) * 5e-324
    d = akde.fit(x)
    assert d.cdf(x[9]) == pytest.approx(0.5, abs=1e-9)
    assert d.bandwidths[0] > 0.0
    assert akde.bandwidth([0.0, 5e-324]) == round(akde.bandwidth([0.0, 1.0])) * 5e-324
    one = KernelDensity([0.0, 1.0], 5e-324)
    assert one.cdf([0.0, 0.5, 1.0]).tolist() == [0.25, 0.5, 0.75]
    assert one.logpdf(0.0) == pytest.approx(math.log(0.5) - math.log(5e-324) - 0.5 * math.log(2.0 * math.pi))
    assert (one.mean(), one.std()) == (0.5, 0.5)


def test_bandwidths_far_wider_than_the_bounds_are_flat():
    for h, width in ((1e308, 1e-310), (1e290, 1e-20), (1e30, 1.0)):
        d = KernelDensity([0.25 * width], h, bounds=(0, width))
        np.testing.assert_allclose(d.cdf(np.array([0.0, 0.5, 1.0]) * width), [0.0, 0.5, 1.0], rtol=1e-12)
        assert d.mean() == pytest.approx(0.5 * width, rel=1e-12)
        assert d.std() == pytest.approx(width / math.sqrt(12.0), rel=1e-9)


def test_a_bandwidth_of_1e308_has_quantiles():
    d = KernelDensity([0.0], 1e308)
    assert d.ppf(0.5) == 0.0
    assert d.isf(0.2) == pytest.approx(0.8416212335729143e308, rel=1e-12)


def test_a_bandwidth_that_no_unit_makes_ordinary_gets_a_sentence():
    with pytest.raises(InvalidParameterError, match="too small relative to 1e\\+300"):
        KernelDensity([1e300], 5e-324)


def test_moments_between_bounds_that_are_more_than_1e308_bandwidths_away():
    d = akde.KernelDensity([0.0, 1e-6, 2e-6], 1e-9, bounds=(-1e300, 1e300))
    assert d.mean() == pytest.approx(1e-6)
    assert d.std() == pytest.approx(1e-6 * np.sqrt(2.0 / 3.0))


def test_quantiles_between_needles_narrower_than_any_spacing():
    weights = [1e-18, 1e-18, 1.0]
    d = akde.KernelDensity([0.0, 1e100, 2e100], 5e-324, bounds=(0, 2e100), weights=weights)
    np.testing.assert_allclose(d.ppf([0.01, 0.5, 0.99]), 2e100)
    np.testing.assert_allclose(d.ppf([1.5e-18]), 1e100)


def test_places_that_underflow_in_ordinary_units_stay_inside_the_bounds():
    low = 1.66e-105
    d = akde.KernelDensity([low], 1e300, bounds=(low, None))
    assert d.modes().places.tolist() == [low]
    assert d.ppf(0.0) == low
    assert d.sample(5, rng=0).min() >= low
    assert d.std() > 0.0


def test_quantiles_inside_a_needle_do_not_decrease():
    d = KernelDensity([0.0, 1.0, 1.0, 1.0], 1e-300, bounds=(0, None))
    p = np.linspace(0.01, 0.99, 99)
    assert np.diff(d.ppf(p)).min() >= 0.0
    assert d.ppf(0.55) == d.isf(0.45) == 1.0


def test_a_kernel_at_a_bound_is_halved_though_its_width_is_below_the_spacing():
    x = 2.0**28 + np.repeat([0.0, 1.0, 2.0], [5, 2, 1]) * 2.0**-24
    shares = np.full((2, x.size), 0.5)
    for ends in ((x[0], np.inf), (-np.inf, x[-1]), (x[0], x[-1])):
        d = KernelDensity.from_ladder(read_sample(x), [6e-10, 5e-6], shares, bounds=Bounds(*ends))
        y = np.append(x, x + 1e-5)
        np.testing.assert_allclose(d.cdf(y) + d.sf(y), 1.0, rtol=0.0, atol=1e-12)


def test_a_region_between_far_bounds_is_that_without_bounds():
    for x in ([-6e-101, -1e-101], [0.0, 1.0, 1.5, 4.0]):
        far, free = akde.fit(x, bounds=(-1e300, 1e300)).region(0.5), akde.fit(x).region(0.5)
        np.testing.assert_allclose(far, free, rtol=1e-6)


def test_needles_below_the_spacing_have_no_region():
    with pytest.raises(PrecisionError, match="the region has no accurate digit"):
        KernelDensity([1.0, 2.0], 1e-300).region(0.5)


def test_quantiles_next_to_a_bound_hundreds_of_decades_below_the_values():
    d = KernelDensity([0.0, 0.0, 0.0, 1e6, 1e6, 1e6, 2e6], 5e-324, bounds=(0, 2e6))
    for p in (0.1, 0.25, 0.29):
        q = d.ppf(p)
        assert d.cdf(np.nextafter(q, -np.inf)) <= p <= d.cdf(np.nextafter(q, np.inf))


def test_probabilities_of_weights_over_hundreds_of_decades_far_from_a_bound():
    d = KernelDensity([-4e101, -9e100, 9e100], 5e-324, bounds=(-5e103, 5e103), weights=[2e-297, 1e-292, 1.0])
    np.testing.assert_allclose(d.cdf([-1e102, -2e101, 0.0]), [0.0, 2e-297, 1e-292], rtol=1e-4)
    np.testing.assert_allclose(d.sf([-2e101, 2e101]), [1.0, 0.0])


def test_log_densities_of_needles_are_those_of_the_nearest():
    x = np.array([0.1, 0.2, 0.4])
    d = KernelDensity(x, 1e-27, weights=[1e-200, 1.0, 1e-5])
    at = np.array([0.11, 0.29, 0.35, 0.5])
    nearest = np.abs(at[:, None] - x).min(axis=1)
    np.testing.assert_allclose(d.logpdf(at), -0.5 * (nearest / 1e-27) ** 2, rtol=1e-14)
