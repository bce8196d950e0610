"""Random Gaussian mixtures: the paper's law of weights, locations and scales, for any K."""

import math

import numpy as np
import pytest
from scipy import stats

from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.streams import stream_words
from amortized_kde.research.tasks.mixtures import Construction, draw_mixtures
from amortized_kde.research.tasks.standard import components

COUNT = 4000


def obvious_mixture(k, rng):
    """One mixture, as section 3.3 reads."""
    alpha = np.exp(rng.uniform(np.log(0.5), np.log(4.0)))
    weights = rng.dirichlet(np.full(k, alpha / k))
    reference, dispersion = np.exp(rng.uniform(np.log(0.025), np.log(0.22))), rng.uniform(0.1, 1.0)
    scales = np.zeros(k)
    while (outside := (scales < 0.015) | (scales > 0.45)).any():
        scales[outside] = np.exp(rng.normal(np.log(reference), dispersion, outside.sum()))
    return weights, rng.uniform(-1.0, 1.0, k), scales


@pytest.mark.parametrize("k", [8, 32])
def test_weights_locations_and_scales_follow_the_paper(k):
    weights, locations, scales = components(draw_mixtures(k, COUNT, words=stream_words(3, 0)).shapes)
    rng = np.random.default_rng(17)
    twins = [obvious_mixture(k, rng) for _ in range(COUNT)]
    pairs = {
        "largest weight": (weights.max(axis=1), [w.max() for w, _, _ in twins]),
        "sum of squared weights": ((weights**2).sum(axis=1), [(w**2).sum() for w, _, _ in twins]),
        "location": (locations[:, 0], [m[0] for _, m, _ in twins]),
        "scale": (scales[:, 1], [s[1] for _, _, s in twins]),
        "spread of scales": (np.log(scales).std(axis=1), [np.log(s).std() for _, _, s in twins]),
        "mean log scale": (np.log(scales).mean(axis=1), [np.log(s).mean() for _, _, s in twins]),
    }
    for what, (ours, theirs) in pairs.items():
        assert stats.ks_2samp(ours, theirs).pvalue > 1e-3, what


def test_scales_are_truncated_not_clipped():
    _, _, scales = components(draw_mixtures(32, COUNT, words=stream_words(4, 0)).shapes)
    assert 0.015 <= scales.min() < 0.01501
    assert 0.449 < scales.max() <= 0.45
    # Clipping would put more than a tenth of all scales onto the limits.
    assert np.isin(scales, [0.015, 0.45]).mean() < 1e-6


@pytest.mark.parametrize("k", [1, 2, 3000, 100_000])
def test_weights_are_never_lost(k):
    weights, _, _ = components(draw_mixtures(k, 8, words=stream_words(5, 0)).shapes)
    assert np.isfinite(weights).all()
    assert np.allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    assert (weights.max(axis=1) > 1e-3).all()


def test_at_least_half_of_every_component_lies_inside():
    f = draw_mixtures(1, COUNT, words=stream_words(6, 0))
    # A centre on the bound and the widest scale leave Phi(2 / 0.45) - 1/2.
    assert f.masses.min() >= 0.4999


def test_a_mixture_needs_a_component():
    with pytest.raises(InvalidParameterError, match="at least one component"):
        draw_mixtures(0, 5, words=stream_words(0, 0))


def varied(k=32, **constants):
    return components(draw_mixtures(k, COUNT, words=stream_words(7, 0), construction=Construction(**constants)).shapes)


def test_the_papers_construction_is_the_default():
    ours = draw_mixtures(32, 50, words=stream_words(8, 0)).shapes
    same = draw_mixtures(32, 50, words=stream_words(8, 0), construction=Construction()).shapes
    assert np.array_equal(ours, same)


def test_an_infinite_concentration_gives_equal_weights():
    weights, locations, _ = varied(concentration=(math.inf, math.inf))
    assert (weights == 1.0 / 32).all()
    assert stats.kstest(locations[:, 0], "uniform", args=(-1.0, 2.0)).pvalue > 1e-3


def test_a_fixed_concentration_is_that_dirichlet_law():
    weights, _, _ = varied(concentration=(32.0, 32.0))
    twins = np.random.default_rng(2).dirichlet(np.ones(32), COUNT)
    assert stats.ks_2samp(weights.max(axis=1), twins.max(axis=1)).pvalue > 1e-3


def test_no_dispersion_gives_every_component_the_tasks_scale():
    _, _, scales = varied(dispersion=(0.0, 0.0))
    assert np.ptp(scales, axis=1).max() == 0.0
    law = stats.loguniform(0.025, 0.22)
    assert stats.kstest(scales[:, 0], law.cdf).pvalue > 1e-3


def test_scales_keep_to_their_own_limits():
    _, _, scales = varied(reference=(0.0125, 0.44), scales=(0.0075, 0.9))
    assert 0.0075 <= scales.min() < 0.00755
    assert 0.89 < scales.max() <= 0.9


def test_normal_locations_are_restricted_to_the_interval():
    _, locations, _ = varied(location_sd=0.5)
    assert stats.kstest(locations[:, 3], stats.truncnorm(-2.0, 2.0, scale=0.5).cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"concentration": (4.0, 0.5)}, "concentration"),
        ({"concentration": (0.0, 0.5)}, "concentration"),
        ({"concentration": (0.5, math.inf)}, "concentration"),
        ({"dispersion": (-0.1, 1.0)}, "dispersion"),
        ({"dispersion": (0.5, 0.1)}, "dispersion"),
        ({"reference": (0.001, 0.22)}, "reference"),
        ({"scales": (0.03, 0.45)}, "reference"),
        ({"location_sd": 0.0}, "location_sd"),
        ({"location_sd": 1e6}, "location_sd"),
        ({"location_sd": math.nan}, "location_sd"),
    ],
)
def test_constants_out_of_range_are_refused(wrong, sentence):
    with pytest.raises(InvalidParameterError, match=sentence):
        Construction(**wrong)
