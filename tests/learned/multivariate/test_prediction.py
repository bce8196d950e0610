"""The trained density of several variables: it is the weighed sum of its candidates, and obeys its laws."""

import numpy as np
import pytest
from scipy.special import logsumexp

import amortized_kde as akde
from amortized_kde.learned.multivariate import prediction
from amortized_kde.learned.multivariate.features import describe, features_of, stack
from amortized_kde.learned.multivariate.frames import frame_of
from amortized_kde.learned.multivariate.network import log_weights
from amortized_kde.learned.multivariate.prediction import predict
from amortized_kde.learned.store import load_model


def load_arrays():
    return load_model("multivariate").arrays


def sample(n=40, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    x[:, 1] = 0.5 * x[:, 1] + x[:, 0] ** 2
    return x


def margins_of(x):
    return tuple(akde.fit(column) for column in x.T)


def log_density(parts, x):
    return logsumexp([np.log(part.weight) + part.log_density(x) for part in parts], axis=0)


def test_the_density_is_the_weighed_sum_of_its_candidates():
    x, w = sample(), np.full(40, 1 / 40)
    margins = margins_of(x)
    described = [describe(x, w, frame_of(x, w)), describe(x, w, frame_of(x, w, margins))]
    inputs, stacked = features_of(np.concatenate([one.left_out for one in described], axis=1), w, 40.0, 2)
    shares = np.exp(log_weights(load_arrays(), inputs[None], stacked[None])[0])
    shares[shares < 1e-4] = 0.0
    places = sample(30, seed=1)
    with np.errstate(divide="ignore"):
        logs = np.concatenate([one.logs(places) for one in described], axis=1) + np.log(shares / shares.sum())
    found = log_density(predict(x, w, margins, raw=True, arrays=load_arrays()), places)
    # Normal scores are read from a table that is accurate to 1e-5.
    np.testing.assert_allclose(found, logsumexp(logs, axis=1), atol=1e-3)


def test_the_raw_frame_does_not_depend_on_affine_maps():
    x, w = sample(), np.full(40, 1 / 40)
    matrix = np.array([[2.0, 1.0], [-0.5, 1e3]])
    one = describe(x, w, frame_of(x, w))
    other = describe(x @ matrix.T + 5.0, w, frame_of(x @ matrix.T + 5.0, w))
    np.testing.assert_allclose(one.left_out - np.log(np.abs(np.linalg.det(matrix))), other.left_out, atol=1e-6)


@pytest.mark.parametrize("n", [5, 40, 700])
def test_order_of_rows_and_columns_shift_and_scale_change_nothing(n):
    x = sample(n)
    d = akde.fit(x)
    places = sample(20, seed=2)
    logs = d.logpdf(places)
    rows = np.random.default_rng(3).permutation(n)
    np.testing.assert_allclose(akde.fit(x[rows]).logpdf(places), logs, atol=1e-6)
    np.testing.assert_allclose(akde.fit(x[:, ::-1]).logpdf(places[:, ::-1]), logs, atol=1e-6)
    scaled = akde.fit(x * [1e3, 0.01] + [5.0, -1.0]).logpdf(places * [1e3, 0.01] + [5.0, -1.0])
    np.testing.assert_allclose(scaled + np.log(10.0), logs, atol=1e-5)


def test_known_bounds_hold_all_mass():
    rng = np.random.default_rng(0)
    x = rng.exponential(size=(100, 2))
    d = akde.fit(x, bounds=[(0, None), (0, None)])
    assert d.sample(2000, rng=1).min() >= 0.0
    assert d.logpdf([-0.1, 1.0]) == -np.inf
    assert all(part.margins is not None for part in d.parts)


def test_large_samples_are_described_by_a_part_and_use_all_points(monkeypatch):
    x, places = sample(5000), sample(2000, seed=9)
    d = akde.fit(x)
    assert d.logpdf(places).mean() > akde.fit(x, method="lcv").logpdf(places).mean()
    monkeypatch.setattr(prediction, "_JOINED_FROM", np.inf)
    every = akde.fit(x)
    kernels, joined = (sum(part.components.weights.size for part in one.parts) for one in (every, d))
    assert 5000 < joined < kernels
    assert np.abs(d.logpdf(places) - every.logpdf(places)).mean() < 1e-3
    np.testing.assert_allclose(d.cov(), every.cov(), atol=5e-3)


def test_joined_kernels_keep_weight_mean_and_covariance():
    rng = np.random.default_rng(3)
    weights, means, label = rng.random(500), rng.standard_normal((500, 2)), rng.integers(2, size=500)
    factors = np.array([np.eye(2), [[2.0, 0.0], [1.0, 0.5]]])
    joined = prediction._join_close(prediction.Kernels(weights, means, label, 0.8), factors)
    assert joined.weights.size < 400
    assert 0.8 < joined.size < 0.85
    for k in range(2):
        own, kept = label == k, joined.label == k
        np.testing.assert_allclose(joined.weights[kept].sum(), weights[own].sum())
        np.testing.assert_allclose(joined.weights[kept] @ joined.means[kept], weights[own] @ means[own])


def test_stacked_weights_maximise_the_left_out_likelihood():
    logs = np.random.default_rng(0).standard_normal((50, 4))
    masses = np.full(50, 1 / 50)
    weights, reference = stack(logs, masses, 1e9)
    np.testing.assert_allclose(reference, logsumexp(logs + np.log(weights), axis=1))
    for k in range(4):
        tilted = 0.99 * weights + 0.01 * np.eye(4)[k]
        assert masses @ logsumexp(logs + np.log(tilted), axis=1) <= masses @ reference + 1e-4


def test_the_network_knows_candidates_that_do_not_exist():
    arrays = load_arrays()
    stacked = np.zeros((1, arrays["bias"].size))
    stacked[0, :3] = 1.0 / 3.0
    inputs = np.zeros((1, 4 * stacked.size + 4))
    logs = log_weights(arrays, inputs, stacked)
    assert np.isneginf(logs[0, 3:]).all()
    assert np.exp(logs).sum() == pytest.approx(1.0)
