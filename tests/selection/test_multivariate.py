import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import gaussian_kde, multivariate_normal

import amortized_kde as akde
from amortized_kde.errors import InvalidParameterError, MissingExtraError
from amortized_kde.learned import store

X = np.random.default_rng(1).multivariate_normal([0.0, 5.0], [[1.0, 0.8], [0.8, 2.0]], size=60)


@pytest.mark.parametrize("rule", ["scott", "silverman"])
@pytest.mark.parametrize("weights", [None, np.linspace(1.0, 3.0, 60)])
def test_rules_are_those_of_scipy(rule, weights):
    d = akde.fit(X, method=rule, weights=weights)
    np.testing.assert_allclose(d.logpdf(X), gaussian_kde(X.T, bw_method=rule, weights=weights).logpdf(X.T), atol=1e-10)


def left_out(x, sizes):
    """The mean leave-one-out log-density with kernel covariances sizes^2 times the sample's, by SciPy."""
    covariance = np.cov(x.T)
    logs = np.array([multivariate_normal(m, s**2 * covariance).logpdf(x) for m, s in zip(x, sizes, strict=True)])
    np.fill_diagonal(logs, -math.inf)
    return float(np.mean(logsumexp(logs, axis=0))) - math.log(len(x) - 1)


@pytest.mark.parametrize("method", ["lcv", "abramson"])
def test_scales_have_the_highest_leave_one_out_likelihood(method):
    (part,) = akde.fit(X, method=method).parts
    order = [int(np.flatnonzero((m == X).all(axis=1))[0]) for m in part.components.means]
    sizes = np.empty(len(X))
    sizes[order] = part.components.sizes
    best = left_out(X, sizes)
    for factor in (0.5, 0.9, 0.97, 1.03, 1.1, 2.0):
        assert left_out(X, factor * sizes) < best
    assert np.ptp(sizes) > 0.0 if method == "abramson" else np.ptp(sizes) == 0.0


def test_abramson_is_wider_where_the_density_is_lower():
    (part,) = akde.fit(X, method="abramson").parts
    pilot = akde.fit(X, method="lcv").logpdf(part.components.means)
    np.testing.assert_allclose(np.polyfit(pilot, np.log(part.components.sizes), 1)[0], -0.5, atol=1e-6)


def test_equal_rows_do_not_predict_each_other():
    d = akde.fit(np.round(X, 0), method="lcv")
    assert d.parts[0].components.sizes[0] > 0.1


def test_a_large_sample_is_judged_at_some_points():
    x = np.random.default_rng(2).normal(size=(3000, 2))
    (part,) = akde.fit(x, method="lcv").parts
    assert 0.2 < part.components.sizes[0] < 0.45


def test_the_mixture_finds_two_clusters():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(0.0, 1.0, (80, 2)), rng.normal(8.0, [0.5, 2.0], (40, 2))])
    d = akde.fit(x, method="mixture")
    assert len(d.parts[0].components) == 2
    np.testing.assert_allclose(np.sort(d.parts[0].components.weights), [1 / 3, 2 / 3], atol=0.01)
    turned = akde.fit(x[::-1, ::-1], method="mixture")
    np.testing.assert_allclose(turned.logpdf(x[:, ::-1]), d.logpdf(x), atol=1e-3)
    with pytest.raises(InvalidParameterError, match="takes no weights"):
        akde.fit(x, method="mixture", weights=np.arange(1.0, 121.0))


def test_a_model_of_your_own_is_given_by_its_folder():
    folder = Path(store.__file__).parent / "multivariate" / "weights" / "multivariate"
    d = akde.fit(X, method=f"amortized:{folder}")
    np.testing.assert_array_equal(d.logpdf(X), akde.fit(X).logpdf(X))
    with pytest.raises(InvalidParameterError, match="is for samples of several variables"):
        akde.fit(X[:, 0], method=f"amortized:{folder}")
    single = folder.parents[2] / "adaptive" / "weights" / "single"
    with pytest.raises(InvalidParameterError, match="is for one variable"):
        akde.fit(X, method=f"amortized:{single}")


def test_without_scikit_learn_there_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.mixture", None)
    with pytest.raises(MissingExtraError, match="'mixture' needs scikit-learn"):
        akde.fit(X, method="mixture")


@pytest.mark.parametrize(
    ("name", "message"),
    [("sheather-jones", "is for one variable"), ("scot", "Did you mean 'scott'"), (3, "there is no method '3'")],
)
def test_unknown_methods_get_a_sentence(name, message):
    with pytest.raises(InvalidParameterError, match=message):
        akde.fit(X, method=name)


def test_bounds_keep_the_density_inside_and_better():
    rng = np.random.default_rng(4)
    x, held_out = rng.exponential(size=(150, 2)), rng.exponential(size=(2000, 2))
    bounded, free = akde.fit(x, method="lcv", bounds=[(0, None)] * 2), akde.fit(x, method="lcv")
    assert bounded.sample(1000, rng=1).min() >= 0.0
    assert np.mean(akde.log_score(bounded, held_out)) < np.mean(akde.log_score(free, held_out)) - 0.2


def test_methods_side_by_side():
    found = akde.compare({"a": X[:, 0], "b": X[:, 1]}, methods=["scott", "lcv", "scott"], bounds={"b": (-5, None)})
    assert {row.method for row in found} == {"scott", "lcv"}
    assert found.rows[0].score.value <= found.rows[1].score.value
    assert found.rows[0].bandwidth is None
    assert found.names == ("a", "b")
    assert "10-fold" in repr(found)
    with pytest.raises(InvalidParameterError, match="no curves"):
        found.curves()
    assert found.plot().get_title() in ("scott", "lcv")
