"""Normal and gamma variates against their distribution functions, tails included."""

import numba
import numpy as np
import pytest
from scipy import stats

from amortized_kde.numerics import streams
from amortized_kde.research.tasks import variates


@numba.njit
def normals(words, count):
    state = np.empty(4, np.uint64)
    streams.start_stream(state, words, 0)
    return np.array([variates.normal_variate(state) for _ in range(count)])


@numba.njit
def gammas(words, shape, count, logarithm):
    state = np.empty(4, np.uint64)
    streams.start_stream(state, words, 0)
    out = np.empty(count)
    for i in range(count):
        out[i] = variates.log_gamma_variate(state, shape) if logarithm else variates.gamma_variate(state, shape)
    return out


def test_normal_variates_follow_the_normal_law():
    x = normals(streams.stream_words(1, 0), 1_000_000)
    assert stats.kstest(x, "norm").pvalue > 0.01
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 4.0 / np.sqrt(x.size)


def test_normal_tails_have_their_weight():
    x = np.abs(normals(streams.stream_words(2, 0), 2_000_000))
    for edge in (3.3, 3.442619855899, 3.6, 4.0):
        expected = 2.0 * stats.norm.sf(edge) * x.size
        assert abs(np.count_nonzero(x > edge) - expected) < 4.0 * np.sqrt(expected)


@pytest.mark.parametrize("shape", [0.05, 0.4, 0.99, 1.0, 1.5, 10.0, 200.0])
@pytest.mark.parametrize("logarithm", [False, True])
def test_gamma_variates_follow_the_gamma_law(shape, logarithm):
    x = gammas(streams.stream_words(3, 0), shape, 100_000, logarithm)
    assert stats.kstest(np.exp(x) if logarithm else x, stats.gamma(shape).cdf).pvalue > 0.002


def test_logarithms_stay_finite_where_the_variate_underflows():
    assert np.isfinite(gammas(streams.stream_words(4, 0), 1e-8, 1000, True)).all()
