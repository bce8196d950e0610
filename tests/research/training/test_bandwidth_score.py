"""The training objective's compiled loop against the density class, differences and automatic differentiation."""

import math

import numpy as np
import pytest

from amortized_kde.density import KernelDensity
from amortized_kde.research.tasks import draw_tasks, world
from amortized_kde.research.training.bandwidth_score import BoundedSamples, score_and_slope_rows
from amortized_kde.score import expected_score_under_normal, gauss_hermite


def ends(batch):
    return [np.full(len(batch), end) for end in batch.bounds]


def run(batch, h, *, single, at=None, weights=None):
    at = batch.draws if at is None else np.broadcast_to(at, (len(batch), at.size)).copy()
    weights = np.full(at.shape[1], 1.0 / at.shape[1]) if weights is None else weights
    scores, slopes = np.empty(len(batch)), np.empty(len(batch))
    samples = BoundedSamples(batch.values, batch.offsets, *ends(batch))
    score_and_slope_rows(samples, h, at, weights, single, scores, slopes, 0, len(batch))
    return scores, slopes


@pytest.fixture(scope="module", params=["gmm32", "multifamily"])
def batch(request):
    return draw_tasks(world(request.param), 24, seed=3, draws=200)


@pytest.fixture(scope="module")
def h(batch):
    return np.geomspace(0.004, 3.0, len(batch))


def test_score_is_the_mean_negative_log_density(batch, h):
    scores, _ = run(batch, h, single=False)
    for t in range(len(batch)):
        density = KernelDensity(batch.values[batch.offsets[t] : batch.offsets[t + 1]], h[t], bounds=(-1, 1))
        assert scores[t] == pytest.approx(-np.mean(density.logpdf(batch.draws[t])), abs=1e-11, rel=1e-12)


def test_slope_is_the_derivative_by_log_bandwidth(batch, h):
    _, slopes = run(batch, h, single=False)
    step = 1e-5
    up, down = run(batch, h * math.exp(step), single=False)[0], run(batch, h * math.exp(-step), single=False)[0]
    np.testing.assert_allclose(slopes, (up - down) / (2 * step), rtol=1e-6, atol=1e-6)


def test_float32_pass_agrees_with_float64_even_where_it_underflows(batch, h):
    scores, slopes = run(batch, h, single=False)
    fast_scores, fast_slopes = run(batch, h, single=True)
    np.testing.assert_allclose(fast_scores, scores, rtol=1e-4, atol=3e-6)
    np.testing.assert_allclose(fast_slopes, slopes, rtol=2e-4, atol=2e-5)
    assert scores.max() > 20.0, "no task is undersmoothed enough to underflow float32"


def test_gauss_hermite_weights_give_the_expected_score_under_the_normal():
    batch = draw_tasks(world("gaussian"), 4, seed=1, sizes=20, draws=0)
    nodes, weights = gauss_hermite(256)
    h = np.array([0.1, 0.3, 0.5, 1.0])
    scores, _ = run(batch, h, single=False, at=nodes, weights=weights)
    for t in range(4):
        density = KernelDensity(batch.values[20 * t : 20 * t + 20], h[t])
        assert scores[t] / math.log(2) == pytest.approx(expected_score_under_normal(density), rel=1e-12)


def test_slope_agrees_with_automatic_differentiation(batch, h):
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    with jax.enable_x64(True):
        from jax.scipy.special import erf

        def score(log_h, x, y):
            width = jnp.exp(log_h)
            u = (y[:, None] - x[None, :]) / width
            inside = 0.5 * (erf((1 - x) / (width * 2**0.5)) + erf((1 + x) / (width * 2**0.5)))
            log_sum = jax.scipy.special.logsumexp(-0.5 * u * u, axis=1)
            return jnp.log(jnp.sum(inside) * width) + 0.5 * jnp.log(2 * jnp.pi) - jnp.mean(log_sum)

        derivative = jax.grad(score)
        _, slopes = run(batch, h, single=False)
        for t in (6, 17):
            x = jnp.asarray(batch.values[batch.offsets[t] : batch.offsets[t + 1]])
            expected = derivative(jnp.log(h[t]), x, jnp.asarray(batch.draws[t]))
            assert slopes[t] == pytest.approx(float(expected), rel=1e-9, abs=1e-9)
