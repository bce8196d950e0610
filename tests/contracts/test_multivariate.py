"""The laws that every density of several variables obeys, for every method, with and without bounds and weights."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import amortized_kde as akde
from amortized_kde import MultivariateDensity

METHODS = [name for name in akde.selectors(multivariate=True) if name != "mixture"]
BOUNDS = {"open": None, "bounded": [(0.0, None), (-1.0, 1.0)]}


def make(seed, n=40):
    """A sample of two dependent variables, one skewed and positive, one between -1 and 1, and weights."""
    rng = np.random.default_rng(seed)
    x = rng.gamma(2.0, size=n)
    return np.stack([x, np.tanh(0.5 * x - 1.0 + 0.5 * rng.standard_normal(n))], axis=1), rng.gamma(2.0, size=n)


def moved(bounds, shift, factor):
    pairs = [(None, None)] * 2 if bounds is None else bounds
    return [
        tuple(None if end is None else s + f * end for end in pair)
        for pair, s, f in zip(pairs, shift, factor, strict=True)
    ]


seeds = st.integers(0, 10_000)
# The default and two others stand for all with bounds, where every fit has its margins fitted too.
laws = pytest.mark.parametrize(
    ("method", "bounds"),
    [*((method, "open") for method in METHODS), ("amortized", "bounded"), ("lcv", "bounded"), ("abramson", "bounded")],
)


@laws
@settings(max_examples=2)
@given(seed=seeds, weighted=st.booleans())
def test_total_mass_is_one(method, bounds, seed, weighted):
    """By cubature: Gauss-Legendre in cells between quantiles of the margins."""
    x, weights = make(seed)
    d = akde.fit(x, method=method, bounds=BOUNDS[bounds], weights=weights if weighted else None)
    tail = 10.0 ** -np.arange(9.0, 2.4, -0.5)
    p = np.concatenate([tail, np.linspace(0.005, 0.995, 50), 1.0 - tail[::-1]])
    nodes, masses = np.polynomial.legendre.leggauss(5)
    axes, widths = [], []
    for axis in range(2):
        edges = d.marginal(axis).ppf(p)
        half = 0.5 * np.diff(edges)
        axes.append((edges[:-1, None] + half[:, None] * (1.0 + nodes)).ravel())
        widths.append((half[:, None] * masses).ravel())
    heights = d.pdf(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1))
    assert widths[0] @ heights @ widths[1] == pytest.approx(1.0, abs=1e-3)


@laws
@settings(max_examples=2)
@given(seed=seeds, weighted=st.booleans())
def test_order_of_rows_and_columns_does_not_matter(method, bounds, seed, weighted):
    x, weights = make(seed)
    rng = np.random.default_rng(seed)
    rows, limits = rng.permutation(len(x)), BOUNDS[bounds]
    given_weights = weights if weighted else None
    d = akde.fit(x, method=method, bounds=limits, weights=given_weights)
    other = akde.fit(x[rows], method=method, bounds=limits, weights=None if given_weights is None else weights[rows])
    turned = akde.fit(x[:, ::-1], method=method, bounds=None if limits is None else limits[::-1], weights=given_weights)
    at = d.sample(20, rng=1)
    # Margins may be computed in NumPy once and by compiled loops the next time.
    np.testing.assert_allclose(other.logpdf(at), d.logpdf(at), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(turned.logpdf(at[:, ::-1]), d.logpdf(at), atol=1e-7)


@laws
@settings(max_examples=2)
@given(
    seed=seeds,
    shift=st.tuples(st.floats(-1e3, 1e3), st.floats(-1e6, 1e6)),
    powers=st.tuples(st.floats(-6.0, 6.0), st.floats(-6.0, 6.0)),
)
def test_each_axis_can_be_shifted_and_scaled(method, bounds, seed, shift, powers):
    x, _ = make(seed)
    factor = 10.0 ** np.array(powers)
    d = akde.fit(x, method=method, bounds=BOUNDS[bounds])
    other = akde.fit(factor * (x + shift), method=method, bounds=moved(BOUNDS[bounds], factor * shift, factor))
    at = x[:20]
    # Values are rounded to 1e-16 of the offset; the map of normal scores has knots of 1e-5.
    np.testing.assert_allclose(other.logpdf(factor * (at + shift)) + np.log(factor).sum(), d.logpdf(at), atol=2e-4)


# The trained density also has candidates of normal scores, which follow each axis only.
@pytest.mark.parametrize("method", [method for method in METHODS if method != "amortized"])
@settings(max_examples=2)
@given(seed=seeds, angle=st.floats(0.0, 6.0), stretch=st.floats(0.1, 10.0))
def test_without_bounds_all_affine_maps_are_followed(method, seed, angle, stretch):
    x, _ = make(seed)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ np.diag([1.0, stretch])
    d, other = akde.fit(x, method=method), akde.fit(x @ turn, method=method)
    np.testing.assert_allclose(other.logpdf(x @ turn) + np.log(stretch), d.logpdf(x), atol=1e-6)


@laws
@settings(max_examples=2)
@given(seed=seeds, axis=st.integers(0, 1))
def test_marginal_is_the_density_of_that_axis(method, bounds, seed, axis):
    x, _ = make(seed)
    d = akde.fit(x, method=method, bounds=BOUNDS[bounds])
    margin, p = d.marginal(axis), np.linspace(0.05, 0.95, 10)
    draws = d.sample(20_000, rng=seed)[:, axis]
    at = margin.ppf(p)
    np.testing.assert_allclose(margin.cdf(at), p, atol=1e-12)
    np.testing.assert_allclose(np.mean(draws[:, None] <= at, axis=0), p, atol=0.02)
    step = 1e-5 * margin.std()
    slope = (margin.cdf(at + step) - margin.cdf(at - step)) / (2.0 * step)
    np.testing.assert_allclose(slope, margin.pdf(at), rtol=1e-4)
    # The joint density over the other variable, by quadrature, is the marginal one.
    other = d.marginal(1 - axis)
    edges = other.ppf(np.concatenate([[1e-8, 1e-6, 1e-4], np.linspace(0.002, 0.998, 80), [1 - 1e-4, 1 - 1e-6]]))
    nodes, masses = np.polynomial.legendre.leggauss(5)
    half = 0.5 * np.diff(edges)
    y = (edges[:-1, None] + half[:, None] * (1.0 + nodes)).ravel()
    points = np.stack(np.broadcast_arrays(at[:, None], y), axis=-1)
    heights = d.pdf(points if axis == 0 else points[..., ::-1])
    np.testing.assert_allclose(heights @ (half[:, None] * masses).ravel(), margin.pdf(at), rtol=2e-3)


@laws
@settings(max_examples=2)
@given(seed=seeds, axis=st.integers(0, 1))
def test_conditional_is_the_joint_over_the_marginal_density(method, bounds, seed, axis):
    x, _ = make(seed)
    d = akde.fit(x, method=method, bounds=BOUNDS[bounds])
    value = float(d.sample(rng=seed)[axis])
    conditional = d.conditional({axis: value})
    p = np.concatenate([[1e-4, 3e-4, 1e-3], np.linspace(0.002, 0.998, 120), 1.0 - np.array([1e-3, 3e-4, 1e-4])])
    nodes, masses = np.polynomial.legendre.leggauss(7)
    edges = conditional.ppf(p)
    half = 0.5 * np.diff(edges)
    inside = conditional.pdf(edges[:-1, None] + half[:, None] * (1.0 + nodes)) @ masses @ half
    assert inside == pytest.approx(p[-1] - p[0], abs=1e-4)
    at = conditional.ppf(np.linspace(0.01, 0.99, 9))
    points = np.stack(np.broadcast_arrays(value, at) if axis == 0 else np.broadcast_arrays(at, value), axis=-1)
    expected = d.logpdf(points) - d.marginal(axis).logpdf(value)
    np.testing.assert_allclose(conditional.logpdf(at), expected, atol=1e-9)


@laws
@settings(max_examples=2)
@given(seed=seeds)
def test_draws_lie_inside_and_have_the_moments(method, bounds, seed):
    x, _ = make(seed)
    limits = BOUNDS[bounds]
    d = akde.fit(x, method=method, bounds=limits)
    draws = d.sample((2, 10_000), rng=seed)
    assert draws.shape == (2, 10_000, 2)
    np.testing.assert_array_equal(draws, d.sample((2, 10_000), rng=seed))
    assert np.isfinite(d.logpdf(draws)).all()
    if limits is not None:
        assert draws[..., 0].min() >= 0.0
        assert np.abs(draws[..., 1]).max() <= 1.0
    flat, sd = draws.reshape(-1, 2), np.sqrt(np.diag(d.cov()))
    np.testing.assert_allclose((flat.mean(axis=0) - d.mean()) / sd, 0.0, atol=0.04)
    if method != "amortized":
        # Some of its candidates are t densities without a fourth moment, so that variances of draws scatter widely.
        np.testing.assert_allclose((np.cov(flat.T) - d.cov()) / np.outer(sd, sd), 0.0, atol=0.1)


@laws
def test_files_and_pickles_keep_every_bit(method, bounds, tmp_path):
    x, weights = make(7)
    d = akde.fit(x, method=method, bounds=BOUNDS[bounds], weights=weights)
    d.save(tmp_path / "d.npz")
    at = d.sample(50, rng=1)
    for twin in (pickle.loads(pickle.dumps(d)), MultivariateDensity.load(tmp_path / "d.npz")):
        np.testing.assert_array_equal(twin.logpdf(at), d.logpdf(at))
        assert (twin.names, twin.bounds, twin.method) == (d.names, d.bounds, d.method)
        np.testing.assert_array_equal(twin.points, d.points)
        np.testing.assert_array_equal(twin.weights, d.weights)


@laws
def test_outside_there_is_no_density_and_far_away_it_is_finite(method, bounds):
    d = akde.fit(make(1)[0], method=method, bounds=BOUNDS[bounds])
    assert np.isnan(d.logpdf([np.nan, 0.0]))
    assert np.isfinite(d.logpdf([1e6, 0.5]))
    if bounds == "bounded":
        np.testing.assert_array_equal(d.logpdf([[-1e-9, 0.0], [1.0, 1.1], [np.inf, 0.0]]), -np.inf)
