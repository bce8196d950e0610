"""Densities with several bandwidths and a background; what they share with all is in contracts."""

import copy
import math
import pickle
import sys

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp, ndtr

from amortized_kde import KernelDensity
from amortized_kde.data.reading import read_sample
from amortized_kde.data.support import Bounds
from amortized_kde.density.background import Background
from amortized_kde.errors import InvalidBoundsError, InvalidParameterError, InvalidSampleError

X = np.random.default_rng(1).gamma(2.0, 1.0, 40)
LIMITS = [Bounds(), Bounds(0.0), Bounds(-math.inf, 12.0), Bounds(0.0, 12.0)]
RUNGS = np.array([0.003, 0.1, 0.5, 4.0])


def shares_for(x, rungs=RUNGS, seed=2):
    """Random shares, a third of them zero."""
    rng = np.random.default_rng(seed)
    shares = rng.gamma(0.5, 1.0, (rungs.size, x.size)) * (rng.random((rungs.size, x.size)) > 0.3)
    shares[rng.integers(0, rungs.size, x.size), np.arange(x.size)] += 0.05
    return shares / shares.sum(axis=0)


def ladder(x=X, *, bounds=LIMITS[0], epsilon=0.01, weights=None, rungs=RUNGS):
    background = Background(*bounds, location=1.5, scale=1.2)
    sample = read_sample(x, weights=weights)
    return KernelDensity.from_ladder(
        sample, rungs, shares_for(sample.values, rungs), epsilon=epsilon, background=background, bounds=bounds
    )


def slow_logpdf(d, bounds, y):
    """Every term of the formula."""
    h = d.bandwidths[:, None]
    inside = ndtr((bounds.upper - d.points) / h) - ndtr((bounds.lower - d.points) / h)
    peaks = (1.0 - d.epsilon) * d.weights * d.shares / inside / h / math.sqrt(2.0 * math.pi)
    log = np.array([logsumexp(-0.5 * ((v - d.points) / h) ** 2, b=peaks) for v in y])
    return np.logaddexp(log, math.log(d.epsilon) + d.background.log_density(y)) if d.epsilon else log


def normal_mass(low, high):
    return mpmath.ncdf(-low) - mpmath.ncdf(-high) if low > 0 else mpmath.ncdf(high) - mpmath.ncdf(low)


def precise_logs(d, bounds, y):
    """Log-density and both log-tails in 60 digits."""
    one, (lower, upper) = mpmath.mpf(1), map(mpmath.mpf, bounds)
    density = below = above = mpmath.mpf(0)
    for k, h in enumerate(map(mpmath.mpf, d.bandwidths.tolist())):
        for x, v, w in zip(d.points.tolist(), d.weights.tolist(), d.shares[k].tolist(), strict=True):
            a, b, u = ((mpmath.mpf(end) - mpmath.mpf(x)) / h for end in (lower, upper, y))
            c = (one - d.epsilon) * v * w / normal_mass(a, b)
            density += c * mpmath.npdf(u) / h
            below += c * normal_mass(a, u)
            above += c * normal_mass(u, b)
    if d.epsilon:
        parts = (d.background.log_density(y), d.background.log_cdf(y), d.background.log_sf(y))
        density, below, above = (
            part + d.epsilon * mpmath.exp(mpmath.mpf(float(log)))
            for part, log in zip((density, below, above), parts, strict=True)
        )
    return [float(mpmath.log(part)) for part in (density, below, above)]


@pytest.mark.parametrize("epsilon", [0.0, 0.01])
@pytest.mark.parametrize("bounds", LIMITS)
def test_log_density_against_every_term(bounds, epsilon):
    for x in (X, X[:1], np.round(X), np.full(5, 2.0)):
        d = ladder(x, bounds=bounds, epsilon=epsilon)
        y = np.concatenate([np.linspace(-9.0, 20.0, 301), d.points, d.points + 0.002])
        y = y[(y >= bounds.lower) & (y <= bounds.upper)]
        np.testing.assert_allclose(d.logpdf(y), slow_logpdf(d, bounds, y), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("epsilon", [0.0, 0.01])
@pytest.mark.parametrize("bounds", LIMITS)
def test_density_and_tails_against_mpmath(bounds, epsilon):
    d = ladder(X[:7], bounds=bounds, epsilon=epsilon, weights=np.arange(1.0, 8.0))
    with mpmath.workdps(60):
        for y in (1e-9, 1e-3, 0.7, 2.0, 11.999, -0.5, -30.0, -900.0, 13.0, 800.0):
            if bounds.lower < y < bounds.upper:
                exact = precise_logs(d, bounds, y)
                np.testing.assert_allclose([d.logpdf(y), d.logcdf(y), d.logsf(y)], exact, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("bounds", LIMITS)
def test_quantiles_far_into_both_tails(bounds):
    p = np.concatenate([[1e-300, 1e-30, 1e-12, 1e-5], np.linspace(0.001, 0.999, 301)])
    for epsilon in (0.0, 0.01):
        d = ladder(bounds=bounds, epsilon=epsilon)
        x = d.ppf(p)
        assert np.all(np.diff(x) > 0.0)
        # A quantile 1e-300 above a bound other than 0 is that bound; elsewhere the logarithm comes back.
        np.testing.assert_allclose(d.logcdf(x), np.log(p), rtol=1e-12, atol=1e-12)
        assert np.max(np.abs(d.cdf(x) - p)) <= 1e-12
        assert np.max(np.abs(d.sf(d.ppf(1.0 - p)) - p)) <= 1e-12
        assert np.array_equal(d.ppf([0.0, 1.0]), bounds)


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("bounds", LIMITS)
def test_draws_follow_the_distribution_function(bounds, epsilon):
    d = ladder(bounds=bounds, epsilon=epsilon, weights=np.arange(1.0, 41.0))
    draws = d.sample(20_000, rng=5)
    assert np.all((draws >= bounds.lower) & (draws <= bounds.upper))
    assert stats.kstest(draws, d.cdf).pvalue > 1e-3


@pytest.mark.parametrize("bounds", LIMITS)
def test_mean_against_the_quantiles(bounds):
    d = ladder(bounds=bounds, epsilon=0.05)
    # Without the background's heavy tail, a short sum suffices.
    kernels = ladder(bounds=bounds, epsilon=0.0)
    assert d.mean() == pytest.approx(0.95 * kernels.mean() + 0.05 * d.background.mean(), rel=1e-13)
    p = (np.arange(2000) + 0.5) / 2000.0
    assert kernels.mean() == pytest.approx(np.mean(kernels.ppf(p)), abs=3e-3)


def test_one_rung_without_limits_is_the_density_with_one_bandwidth():
    plain = KernelDensity(X, bandwidth=0.4)
    d = KernelDensity.from_ladder(read_sample(X), [0.4], np.ones((1, 40)), bounds=Bounds())
    y = np.linspace(-5.0, 15.0, 101)
    for name in ("logpdf", "logcdf", "logsf"):
        np.testing.assert_allclose(getattr(d, name)(y), getattr(plain, name)(y), rtol=1e-14)
    assert d.bandwidth == pytest.approx(0.4, rel=1e-15)
    assert d.mean() == pytest.approx(plain.mean(), rel=1e-14)
    # Between limits each kernel is renormalised by itself: every point keeps its weight.
    d = KernelDensity.from_ladder(read_sample([0.0, 0.5]), [0.1], np.ones((1, 2)), bounds=Bounds(0.0, 1.0))
    np.testing.assert_allclose(d.pdf(0.0) / d.pdf(0.5), 2.0, rtol=1e-4)


def test_a_rung_that_no_point_uses_changes_nothing():
    rungs, shares = np.array([1e-9, 0.1, 0.5]), np.stack([np.zeros(40), np.full(40, 0.25), np.full(40, 0.75)])
    sample = read_sample(X)
    with_it = KernelDensity.from_ladder(sample, rungs, shares, bounds=Bounds())
    without = KernelDensity.from_ladder(sample, rungs[1:], shares[1:], bounds=Bounds())
    y = np.linspace(-1.0, 9.0, 50)
    for act in ("logpdf", "cdf"):
        assert np.array_equal(getattr(with_it, act)(y), getattr(without, act)(y))
    assert np.array_equal(with_it.sample(9, rng=1), without.sample(9, rng=1))
    assert with_it.bandwidth == pytest.approx(without.bandwidth, rel=1e-15)


def test_properties():
    d = ladder([2.0, 1.0, 3.0], rungs=np.array([0.1, 0.4]), bounds=Bounds(0.0))
    assert d.points.tolist() == [1.0, 2.0, 3.0]
    assert d.bandwidths.tolist() == [0.1, 0.4]
    assert (d.epsilon, d.background) == (0.01, Background(0.0, math.inf, 1.5, 1.2))
    np.testing.assert_allclose(d.weights, 1 / 3)
    np.testing.assert_allclose(d.shares.sum(axis=0), 1.0, rtol=1e-15)
    np.testing.assert_allclose(d.local_bandwidths, 0.1 ** d.shares[0] * 0.4 ** d.shares[1], rtol=1e-14)
    assert d.bandwidth == pytest.approx(np.prod(d.local_bandwidths) ** (1 / 3), rel=1e-14)
    assert repr(d).startswith("KernelDensity(n=3, bandwidth=0.")
    assert repr(d).endswith(", rungs=2, epsilon=0.01, bounds=(0.0, None), method='given')")
    for array in (d.points, d.weights, d.bandwidths, d.shares, d.local_bandwidths):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    plain = KernelDensity([3.0, 1.0], bandwidth=0.5)
    assert (plain.epsilon, plain.background, plain.bandwidths.tolist()) == (0.0, None, [0.5])
    assert plain.shares.tolist() == [[1.0, 1.0]]
    assert plain.local_bandwidths.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("bounds", LIMITS)
def test_smoother_and_rougher(bounds):
    d = ladder(bounds=bounds)
    wider, y = d.smoothed(1.5), np.linspace(0.1, 11.0, 7)
    assert np.array_equal(wider.bandwidths, 1.5 * RUNGS)
    assert wider.bandwidth == pytest.approx(1.5 * d.bandwidth, rel=1e-12)
    assert np.allclose(wider.logpdf(y), slow_logpdf(wider, bounds, y), rtol=1e-12)
    assert (wider.bounds, wider.domain, wider.epsilon, wider.method) == (d.bounds, d.domain, d.epsilon, "given")
    assert np.array_equal(wider.shares, d.shares)
    assert np.array_equal(d.bandwidths, RUNGS)


@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, math.inf, 1e-323, "2", [1.0, 2.0, 3.0, 4.0], None])
def test_a_factor_keeps_bandwidths_positive_and_finite(factor):
    with pytest.raises((InvalidParameterError, InvalidSampleError)):
        ladder().smoothed(factor)


def test_weights_count_in_the_overall_bandwidth():
    sample = read_sample([0.0, 1.0], weights=[3.0, 1.0])
    d = KernelDensity.from_ladder(sample, [1.0, 16.0], np.eye(2), bounds=Bounds())
    assert d.bandwidth == pytest.approx(2.0, rel=1e-15)


def test_grid_reaches_four_local_bandwidths_beyond():
    d = KernelDensity.from_ladder(read_sample([0.0, 10.0]), [0.1, 1.0], np.eye(2), bounds=Bounds(-0.2))
    np.testing.assert_allclose(d.grid(3), [-0.2, 6.9, 14.0], rtol=1e-15)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"bandwidths": [0.1, 0.1]}, "must be positive, finite and ascending"),
        ({"bandwidths": [-0.1, 0.1]}, "must be positive, finite and ascending"),
        ({"bandwidths": [0.1, math.inf]}, "must be positive, finite and ascending"),
        ({"bandwidths": [[0.1, 0.2]]}, "must be positive, finite and ascending"),
        ({"shares": np.full((3, 2), 1 / 3)}, r"not \(3, 2\)"),
        ({"shares": [[1.0, 0.4], [0.0, 0.5]]}, "must sum to 1"),
        ({"shares": [[1.5, 0.5], [-0.5, 0.5]]}, "must not be negative"),
        ({"shares": [[math.nan, 0.5], [1.0, 0.5]]}, "must sum to 1"),
        ({"epsilon": 1.0}, r"epsilon must lie in \[0, 1\)"),
        ({"epsilon": -0.1}, r"epsilon must lie in \[0, 1\)"),
        ({"epsilon": math.nan}, r"epsilon must lie in \[0, 1\)"),
        ({"background": None}, "needs a background"),
        ({"background": Background(0.0, 3.0, 0.0, 1.0)}, "bounds are not those of the density"),
    ],
)
def test_bad_parts(change, sentence):
    parts = {
        "bandwidths": [0.1, 0.2],
        "shares": np.full((2, 2), 0.5),
        "epsilon": 0.01,
        "background": Background(-math.inf, math.inf, 0.0, 1.0),
        "bounds": Bounds(),
    }
    KernelDensity.from_ladder(read_sample([1.0, 2.0]), **parts)
    with pytest.raises(InvalidParameterError, match=sentence):
        KernelDensity.from_ladder(read_sample([1.0, 2.0]), **(parts | change))


def test_points_outside_the_bounds():
    with pytest.raises(InvalidBoundsError, match="outside the bounds"):
        KernelDensity.from_ladder(read_sample([1.0, 2.0]), [0.1], np.ones((1, 2)), bounds=Bounds(1.5))


def test_shares_of_a_float32_softmax_are_made_exact_and_the_given_array_stays():
    shares = shares_for(X).astype(np.float32)
    kept = shares.copy()
    d = KernelDensity.from_ladder(read_sample(X), RUNGS, shares, bounds=Bounds())
    np.testing.assert_allclose(d.shares.sum(axis=0), 1.0, rtol=1e-15)
    assert np.array_equal(shares, kept)
    given = shares_for(X)
    d = KernelDensity.from_ladder(read_sample(X), RUNGS, given, bounds=Bounds())
    before = d.logpdf(X)
    given[:] = 0.25
    assert np.array_equal(d.logpdf(X), before)


def same(a, b):
    y = np.linspace(-1.0, 13.0, 57)
    return (
        np.array_equal(a.logpdf(y), b.logpdf(y))
        and np.array_equal(a.ppf([0.1, 0.9]), b.ppf([0.1, 0.9]))
        and np.array_equal(a.sample(5, rng=1), b.sample(5, rng=1))
        and (repr(a), a.domain, a.background) == (repr(b), b.domain, b.background)
        and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("points", "weights", "shares"))
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.01])
@pytest.mark.parametrize("bounds", LIMITS)
def test_file_pickle_and_copy_keep_every_bit(bounds, epsilon, tmp_path):
    d = ladder(bounds=bounds, epsilon=epsilon, weights=np.arange(40.0))
    d.save(tmp_path / "density")
    for twin in (KernelDensity.load(tmp_path / "density"), pickle.loads(pickle.dumps(d)), copy.deepcopy(d)):
        assert same(twin, d)
        assert not twin.shares.flags.writeable
    bare = KernelDensity.from_ladder(read_sample(X), RUNGS, shares_for(X), bounds=Bounds())
    bare.save(tmp_path / "bare")
    assert same(KernelDensity.load(tmp_path / "bare"), bare)


RANKS = np.array([0, 1, 7, 20, 39])


def anchored(bounds=LIMITS[0], epsilon=0.01, weights=None):
    background = Background(*bounds, location=1.5, scale=1.2)
    sample, shares = read_sample(X, weights=weights), shares_for(X[:5])
    return KernelDensity.from_ladder(
        sample, RUNGS, shares, epsilon=epsilon, background=background, bounds=bounds, anchors=RANKS
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.01])
@pytest.mark.parametrize("bounds", LIMITS)
def test_shares_at_anchors_lie_linearly_between_them(bounds, epsilon, tmp_path):
    d = anchored(bounds, epsilon, weights=np.arange(1.0, 41.0))
    between = np.stack([np.interp(np.arange(40), RANKS, row) for row in shares_for(X[:5])])
    np.testing.assert_allclose(d.shares, between, rtol=1e-15)
    np.testing.assert_allclose(d.local_bandwidths, np.exp(np.log(RUNGS) @ between), rtol=1e-13)
    y = np.linspace(max(bounds.lower, -300.0), min(bounds.upper, 300.0), 203)[1:-1]
    np.testing.assert_allclose(d.logpdf(y), slow_logpdf(d, bounds, y), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(d.pdf(y), np.exp(d.logpdf(y)), rtol=1e-6)
    reach = np.min(d.points - 4.0 * d.local_bandwidths), np.max(d.points + 4.0 * d.local_bandwidths)
    np.testing.assert_allclose(d.grid(2), np.clip(reach, *bounds), rtol=1e-13)
    d.save(tmp_path / "density")
    for twin in (KernelDensity.load(tmp_path / "density"), pickle.loads(pickle.dumps(d)), copy.deepcopy(d)):
        assert same(twin, d)
        assert np.array_equal(twin.pdf(y), d.pdf(y))
        assert not twin.shares.flags.writeable


@pytest.mark.parametrize(
    ("anchors", "sentence"),
    [
        ([0, 1, 2, 3, 38], "the last 39, not 0 and 38"),
        ([1, 2, 3, 4, 39], "must be 0 and the last 39, not 1"),
        ([0, 2, 2, 3, 39], "ascending whole numbers"),
        ([0.0, 1.0, 2.0, 3.0, 39.0], "ascending whole numbers"),
        ([[0, 1, 2, 3, 39]], "ascending whole numbers"),
        ([0, 1, 39], r"not \(4, 5\)"),
    ],
)
def test_bad_anchors(anchors, sentence):
    with pytest.raises(InvalidParameterError, match=sentence):
        KernelDensity.from_ladder(read_sample(X), RUNGS, shares_for(X[:5]), bounds=Bounds(), anchors=anchors)


def test_single_arguments_of_a_binned_density():
    d = anchored(Bounds(0.0))
    assert isinstance(d.pdf(1.0), float)
    assert d.pdf(-1.0) == 0.0
    assert math.isnan(d.pdf(math.nan))
    assert d.pdf([[1.0, 2.0]]).shape == (1, 2)
    assert d.pdf(1.0) == d.pdf([[0.5, 1.0, 400.0]])[0, 1]
    assert d.pdf(1e9) == pytest.approx(math.exp(d.logpdf(1e9)), rel=1e-12)


@pytest.mark.parametrize("bounds", LIMITS)
def test_modes_and_region(bounds):
    d = ladder(X[:12], bounds=bounds, rungs=np.array([0.05, 0.4, 2.0]))
    low, high = max(bounds.lower, -20.0), min(bounds.upper, 25.0)
    y = np.linspace(low, high, 400_001)
    log = np.concatenate([[-math.inf], d.logpdf(y), [-math.inf]])
    peaks = y[(log[1:-1] > log[:-2]) & (log[1:-1] >= log[2:])]
    # A uniform background leaves the density level to the last bit where there is nothing else.
    np.testing.assert_allclose(d.modes(prominence=1e-9).places, peaks[d.pdf(peaks) > 1e-3], atol=2e-4)
    region = d.region(0.8)
    assert np.sum(d.cdf(region[:, 1]) - d.cdf(region[:, 0])) == pytest.approx(0.8, abs=1e-10)
    edges = region.ravel()[(region.ravel() > low) & (region.ravel() < high)]
    np.testing.assert_allclose(d.logpdf(edges), d.logpdf(edges[0]), atol=1e-8)
    a, b = d.interval(0.8, kind="highest-density")
    assert d.cdf(b) - d.cdf(a) == pytest.approx(0.8, abs=1e-12)
    assert np.sum(region[:, 1] - region[:, 0]) <= b - a + 1e-7


@pytest.mark.parametrize("bounds", LIMITS)
def test_condensed_sums_agree_with_every_term(bounds):
    x = np.random.default_rng(3).gamma(1.0, 1.0, 30_000)
    x = x[x < 12.0]
    d = ladder(x, bounds=bounds, epsilon=0.0, rungs=np.array([1e-4, 0.05, 0.3, 6.0]))
    y = np.concatenate([np.linspace(-9.0, 20.0, 60), d.points[::3000]])
    y = y[(y > bounds.lower) & (y < bounds.upper)]
    np.testing.assert_allclose(d.logpdf(y), slow_logpdf(d, bounds, y), rtol=1e-13, atol=1e-12)
    p = np.linspace(0.01, 0.99, 21)
    assert np.max(np.abs(d.cdf(d.ppf(p)) - p)) <= 1e-12
    # The distribution function against every term too.
    h = d.bandwidths[:, None]
    inside = ndtr((bounds.upper - d.points) / h) - ndtr((bounds.lower - d.points) / h)
    below = [
        np.sum(d.weights * d.shares / inside * (ndtr((v - d.points) / h) - ndtr((bounds.lower - d.points) / h)))
        for v in y
    ]
    np.testing.assert_allclose(d.cdf(y), below, atol=1e-12)
    np.testing.assert_allclose(d.sf(y), 1.0 - np.array(below), atol=1e-12)


def test_condensed_sums_never_gather_all_kernels():
    x = np.random.default_rng(3).gamma(1.0, 1.0, 30_000)
    d = ladder(x, bounds=Bounds(0.0), rungs=np.array([0.05, 0.3, 6.0]))
    d.logpdf(d.grid()), d.cdf(d.grid()), d.ppf([0.0, 0.1, 0.9]), d.sample(5, rng=1), d.mean()
    assert "complete" not in vars(d._kernels)


def test_plots():
    from matplotlib import pyplot

    d = ladder(bounds=Bounds(0.0))
    _, (above, below) = pyplot.subplots(2, 1)
    assert d.plot(above) is above
    drawn = above.get_lines()[0].get_xdata()
    assert np.all(np.isin(d.grid(), drawn))
    # Quantiles between the grid's arguments: no peak of 0.003 is missed.
    assert drawn.size > d.grid().size
    assert np.all(np.diff(drawn) > 0.0)
    assert d.plot_bandwidth(below) is below
    dots, line = below.get_lines()[:2]
    assert np.array_equal(dots.get_ydata(), d.local_bandwidths)
    assert np.allclose(line.get_ydata(), d.bandwidth)
    assert below.get_yscale() == "log"
    assert KernelDensity(X, bandwidth=0.3).plot_bandwidth() is pyplot.gca()
    pyplot.close("all")


def test_no_plots_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="amortized-kde"):
        ladder().plot_bandwidth()
