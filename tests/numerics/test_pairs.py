import numba
import numpy as np
import pytest

from amortized_kde.numerics.pairs import lag_counts, lag_sum, pair_sum, squared_kernel_sums


def all_sums(ascending, counts, factors, h, c):
    sums = squared_kernel_sums(ascending, counts, factors, h)
    return pair_sum(ascending, counts, h, c[0], c[1], c[2], c[3]), sums


# In Python the sums run in NumPy.
WAYS = pytest.mark.parametrize("all_sums", [numba.njit(all_sums), all_sums], ids=["compiled", "NumPy"])


@numba.njit
def counts_by_lag(ascending, counts, factors, step, longest):
    return lag_counts(ascending, counts, factors, step, longest)


@numba.njit
def sum_by_lag(lags, step, h, c, farthest):
    return lag_sum(lags[0], lags[1], step, h, c[0], c[1], c[2], c[3], farthest)


# Polynomials of the sixth and fourth derivative of the normal density, and the density itself.
POLYNOMIALS = [(1.0, -15.0, 45.0, -15.0), (0.0, 1.0, -6.0, 3.0), (0.0, 0.0, 0.0, 1.0)]
SAMPLES = {
    "normal": np.sort(np.random.default_rng(1).standard_normal(150)),
    "ties": np.sort(np.random.default_rng(2).integers(0, 9, 150) * 0.25),
    "outlier": np.append(np.sort(np.random.default_rng(3).standard_normal(99)), 1e9),
    "two": np.array([0.0, 1.0]),
}


def counts_and_factors(ascending):
    rng = np.random.default_rng(ascending.size)
    return rng.gamma(0.5, 1.0, ascending.size), rng.uniform(0.5, 2.0, ascending.size)


def squared_distances(ascending, h):
    i, j = np.triu_indices(ascending.size, 1)
    return ((ascending[j] - ascending[i]) / h) ** 2


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("h", [0.01, 0.3, 2.0, 50.0])
@WAYS
def test_sums_over_pairs_against_every_pair(name, h, all_sums):
    d = squared_distances(SAMPLES[name], h)
    for c in POLYNOMIALS:
        exact = np.sum(np.exp(-0.5 * d) * np.polyval(c, d))
        size = np.sum(np.exp(-0.5 * d) * np.polyval(np.abs(c), d))
        total, (wide, narrow) = all_sums(SAMPLES[name], None, None, h, np.array(c))
        assert abs(total - exact) <= 1e-14 * size + 1e-15
        np.testing.assert_allclose(wide, np.sum(np.exp(-0.25 * d)), rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(narrow, np.sum(np.exp(-0.5 * d)), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("h", [0.01, 0.3, 2.0, 50.0])
@WAYS
def test_pairs_count_by_the_product_of_their_counts(name, h, all_sums):
    d, (m, f) = squared_distances(SAMPLES[name], h), counts_and_factors(SAMPLES[name])
    i, j = np.triu_indices(m.size, 1)
    for c in POLYNOMIALS:
        size = np.sum(m[i] * m[j] * np.exp(-0.5 * d) * np.polyval(np.abs(c), d))
        total, (wide, narrow) = all_sums(SAMPLES[name], m, f, h, np.array(c))
        assert abs(total - np.sum(m[i] * m[j] * np.exp(-0.5 * d) * np.polyval(c, d))) <= 1e-14 * size + 1e-15
        np.testing.assert_allclose(wide, np.sum(m[i] * m[j] * np.exp(-0.25 * d)), rtol=1e-13, atol=1e-15)
        both = 0.5 * (f[i] + f[j]) * m[i] * m[j]
        np.testing.assert_allclose(narrow, np.sum(both * np.exp(-0.5 * d)), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize(("step", "longest"), [(0.01, 50), (0.25, 100), (3.0, 4)])
def test_counts_of_pairs_by_distance_of_their_bins(name, step, longest):
    ascending = SAMPLES[name]
    bins = np.rint((ascending - np.median(ascending)) / step)
    centroids = np.array([ascending[bins == b].mean() for b in bins])
    i, j = np.triu_indices(ascending.size, 1)
    lags, distances = bins[j] - bins[i], (centroids[j] - centroids[i]) / step
    counts, means, same = counts_by_lag(ascending, None, None, step, longest)
    assert np.array_equal(counts, [np.sum(lags == lag) for lag in range(longest + 1)])
    assert np.array_equal(counts, same)
    for lag in np.flatnonzero(counts):
        assert means[lag] == pytest.approx(distances[lags == lag].mean(), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", SAMPLES)
def test_counts_by_lag_are_sums_of_products(name):
    ascending, step = SAMPLES[name], 0.25
    m, f = counts_and_factors(ascending)
    bins = np.rint((ascending - np.median(ascending)) / step)
    centroids = np.array([np.average(ascending[bins == b], weights=m[bins == b]) for b in bins])
    i, j = np.triu_indices(ascending.size, 1)
    lags, pairs, both = bins[j] - bins[i], m[i] * m[j], 0.5 * (f[i] + f[j]) * m[i] * m[j]
    counts, means, others = counts_by_lag(ascending, m, f, step, 40)
    for lag in range(41):
        at = lags == lag
        assert counts[lag] == pytest.approx(pairs[at].sum(), rel=1e-12, abs=1e-14)
        assert others[lag] == pytest.approx(both[at].sum(), rel=1e-12, abs=1e-14)
        if at.any():
            expected = np.average((centroids[j] - centroids[i])[at] / step, weights=pairs[at])
            assert means[lag] == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_values_on_a_lattice_keep_their_distances():
    ascending = np.sort(np.random.default_rng(5).integers(0, 30, 400) * 0.1)
    counts, means, _ = counts_by_lag(ascending, None, None, 0.0137, 100)
    whole = means[counts > 0] * 0.0137 / 0.1
    np.testing.assert_allclose(whole, np.round(whole), atol=1e-10)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_mirrored_row_has_the_same_counts(name):
    ascending = SAMPLES[name]
    mirrored = counts_by_lag(-ascending[::-1].copy(), None, None, 0.13, 60)
    counts, means, _ = counts_by_lag(ascending, None, None, 0.13, 60)
    assert np.array_equal(mirrored[0], counts)
    np.testing.assert_allclose(mirrored[1], means, rtol=1e-12, atol=1e-12)


def test_outliers_beyond_every_integer_are_counted_apart():
    ascending = np.array([-1e300, -1e26, 0.0, 0.6, 1e25, 1e300])
    assert np.array_equal(counts_by_lag(ascending, None, None, 0.1, 10)[0], [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])


@pytest.mark.parametrize("farthest", [1000.0, 110.0, 4.0])
@pytest.mark.parametrize("h", [0.02, 0.5, 40.0])
def test_sum_over_lags_stops_at_the_farthest(h, farthest):
    rng, step = np.random.default_rng(4), 0.05
    counts, means = rng.integers(0, 20, 300), np.arange(300) + rng.uniform(-0.5, 0.5, 300)
    d, by_lag = (means * step / h) ** 2, (np.arange(300) * step / h) ** 2
    lags = np.array([counts, means])
    for c in POLYNOMIALS:
        terms = counts * np.exp(-0.5 * d) * np.polyval(c, d)
        scale = np.sum(np.abs(terms))
        assert abs(sum_by_lag(lags, step, h, np.array(c), farthest) - np.sum(terms[by_lag < farthest])) <= 1e-14 * scale
