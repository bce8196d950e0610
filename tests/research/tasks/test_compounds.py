"""Compound densities: scipy's parts as slow twins, exact draws, truncation to an interval of each task's own."""

import pickle

import numpy as np
import pytest
from scipy import stats

from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.streams import stream_words
from amortized_kde.research.tasks.compounds import truncate
from amortized_kde.research.tasks.sampling import empty_parts
from amortized_kde.research.tasks.standard import FORMS

SHAPES = {"student": (1.5, 1.0), "gamma": (0.4, 1.0), "beta": (0.6, 2.5), "lognormal": (1.2, 1.0)}
SHAPES |= {"pareto": (0.9, 1.0), "weibull": (0.5, 1.0), "folded": (2.0, 1.0)}
TWINS = {
    "normal": lambda a, b: stats.norm(),
    "laplace": lambda a, b: stats.laplace(),
    "student": lambda a, b: stats.t(a),
    "gamma": lambda a, b: stats.gamma(a),
    "beta": lambda a, b: stats.beta(a, b),
    "logistic": lambda a, b: stats.logistic(),
    "lognormal": lambda a, b: stats.lognorm(a),
    "pareto": lambda a, b: stats.lomax(a),
    "weibull": lambda a, b: stats.weibull_min(a),
}


def compounds(*rows, low=None, high=None):
    """Each row a list of (form, weight, origin, slope)."""
    parts = empty_parts(len(rows))
    codes = [form.name for form in FORMS]
    for t, row in enumerate(rows):
        parts.used[t] = len(row)
        for k, (name, weight, origin, slope) in enumerate(row):
            parts.codes[t, k], parts.weights[t, k] = codes.index(name), weight
            parts.origins[t, k], parts.slopes[t, k] = origin, slope
            parts.shapes[t, k] = SHAPES.get(name, (1.0, 1.0))
    open_ends = np.full(len(rows), np.inf)
    return truncate(parts, -open_ends if low is None else low, open_ends if high is None else high)


ROWS = [[(form.name, 1.0, 0.3, slope)] for form in FORMS for slope in (0.7, -0.7)]
ROWS += [[("normal", 0.3, -1.0, 0.1), ("normal", 0.7, 1.0, -2.0)]]
ROWS += [[("gamma", 0.4, 0.0, 1.0), ("laplace", 0.25, 2.0, 0.1), ("beta", 0.35, -1.0, -3.0)]]
ROWS += [[("folded", 0.4, 0.5, -0.8), ("folded", 0.6, 0.5, 1.2)]]


def draw(f, count, *, seed=1, first=0, start=0, stop=None):
    out, offsets = np.full(len(f) * count, np.nan), np.arange(len(f) + 1) * count
    f.fill(out, offsets, words=stream_words(seed, 9), first=first, start=start, stop=len(f) if stop is None else stop)
    return out.reshape(len(f), count)


def slow_pdf(row, x):
    total = np.zeros(x.shape)
    for name, weight, origin, slope in row:
        y = (x - origin) / slope
        if name == "folded":
            pdf = np.where(y > 0.0, 2.0 * stats.t(SHAPES[name][0]).pdf(y), 0.0)
        else:
            pdf = TWINS[name](*SHAPES.get(name, (1.0, 1.0))).pdf(y)
        total += weight * pdf / abs(slope)
    return total


def test_densities_are_sums_of_their_parts():
    f = compounds(*ROWS)
    x = np.linspace(-4.0, 4.0, 400)
    for t, row in enumerate(ROWS):
        assert np.allclose(np.exp(f.logpdf(x)[t]), slow_pdf(row, x), rtol=1e-10, atol=1e-300), row


def test_truncation_renormalises():
    whole = compounds(*ROWS)
    low, high = whole_quantiles = np.quantile(draw(whole, 4000), [0.2, 0.7], axis=1)
    f = compounds(*ROWS, low=low, high=high)
    below = np.array([whole.cdf(ends)[t] for t, ends in enumerate(whole_quantiles.T)])
    assert np.allclose(f.masses, below[:, 1] - below[:, 0], rtol=1e-12)
    x = low[:, None] + (high - low)[:, None] * np.linspace(0.001, 0.999, 9)
    assert np.allclose(f.logpdf(x), whole.logpdf(x) - np.log(f.masses)[:, None], atol=1e-12)
    assert np.allclose(f.cdf(x), (whole.cdf(x) - below[:, :1]) / f.masses[:, None], atol=1e-12)
    assert (f.logpdf(np.stack([low - 1e-9, high + 1e-9], axis=1)) == -np.inf).all()


@pytest.mark.parametrize("cut", [False, True])
def test_draws_follow_the_cdf(cut):
    ends = np.quantile(draw(compounds(*ROWS), 2000, seed=5), [0.2, 0.7], axis=1) if cut else (None, None)
    f = compounds(*ROWS, low=ends[0], high=ends[1])
    x = draw(f, 20_000)
    assert np.isfinite(f.logpdf(x)).all()
    # The smallest of 23 p-values is below 1e-4 once in 400 times.
    assert min(stats.kstest(p, "uniform").pvalue for p in f.cdf(x)) > 1e-4


def test_the_draws_of_a_task_depend_on_its_address_only():
    f = compounds(*ROWS)
    whole = draw(f, 30, first=100)
    piece = draw(f, 30, first=100, start=4, stop=7)
    assert np.array_equal(piece[4:7], whole[4:7])
    assert np.isnan(piece[:4]).all()


def test_uniform_numbers_and_ramps_are_betas():
    parts = empty_parts(2)
    parts.used[:], parts.codes[:, 0], parts.weights[:, 0] = 1, 4, 1.0
    parts.shapes[1, 0, 0] = 2.0
    f = truncate(parts, [-1.0, -1.0], [2.0, 2.0])
    x = draw(f, 20_000)
    assert stats.kstest(x[0], "uniform").pvalue > 1e-3
    assert stats.kstest(x[1] ** 2, "uniform").pvalue > 1e-3


def test_arguments():
    f = compounds(*ROWS[:3])
    assert np.array_equal(f.logpdf([0.4, 0.5]), f.logpdf(np.tile([0.4, 0.5], (3, 1))))
    assert np.isnan(f.logpdf([np.nan])).all()
    assert (f.logpdf([np.inf]) == -np.inf).all()
    with pytest.raises(InvalidParameterError, match="one row for each"):
        f.logpdf(np.zeros((2, 2)))


def test_far_from_all_parts_the_log_density_is_finite():
    f = compounds([("normal", 0.5, 0.0, 1.0), ("laplace", 0.5, 0.0, 1.0)], [("normal", 1.0, 0.0, 1.0)])
    assert np.allclose(f.logpdf([1e4]), [[-1e4 - np.log(4.0)], [-0.5e8 - 0.5 * np.log(2 * np.pi)]], rtol=1e-14)


def test_pickle_round_trip():
    f = compounds(*ROWS)
    assert np.array_equal(pickle.loads(pickle.dumps(f)).logpdf([0.1]), f.logpdf([0.1]))
