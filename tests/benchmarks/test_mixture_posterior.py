"""Draws from the posterior of the paper's mixtures, held to laws and to weighted draws from the prior."""

import numpy as np
import pytest

from amortized_kde.data.sample import Samples
from amortized_kde.errors import InvalidParameterError
from amortized_kde.numerics.streams import stream_words
from amortized_kde.research.tasks import draw_tasks, world
from amortized_kde.research.tasks.densities import stack
from amortized_kde.research.tasks.mixtures import Construction, draw_mixtures
from contests.mixture_posterior import mean_densities, posterior_mixtures


def densities(shapes):
    ends = np.zeros(len(shapes)), np.ones(len(shapes))
    return stack("mixture", shapes, origins=ends[0], slopes=ends[1], bounds=(-1.0, 1.0))


def read_off(shapes, samples):
    """Numbers that a wrong weight, location, scale or truncation would move."""
    count = shapes.shape[1] // 3
    weights, locations, logs = shapes[:, :count], shapes[:, count : 2 * count], np.log(shapes[:, 2 * count :])
    likelihood = densities(shapes).logpdf(samples.values.reshape(len(samples), -1)).sum(axis=1)
    return {
        "largest weight": weights.max(axis=1),
        "even weights": (weights**2).sum(axis=1),
        "small weights": np.log(weights + 1e-20).mean(axis=1),
        "scales": logs.mean(axis=1),
        "spread of scales": logs.std(axis=1),
        "weighted scales": (weights * logs).sum(axis=1),
        "locations": locations.mean(axis=1),
        "far locations": (locations**2).mean(axis=1),
        "weighted locations": (weights * locations**2).sum(axis=1),
        "mass at the edge": (weights * (np.abs(locations) > 0.9)).sum(axis=1),
        "likelihood": likelihood,
    }


@pytest.fixture(scope="module")
def batch():
    return draw_tasks(world("gmm8"), 8000, seed=31, sizes=6, draws=0)


def test_a_drawn_mixture_is_like_the_true_one(batch):
    """A truth is a draw from its sample's posterior, so after some sweeps nothing on average may have changed."""
    before = read_off(batch.truths.shapes, batch.samples)
    after = read_off(posterior_mixtures(batch.samples, batch.truths.shapes, sweeps=12, seed=1), batch.samples)
    for name, values in before.items():
        moved = after[name] - values
        assert abs(moved.mean()) < 4.0 * moved.std() / np.sqrt(len(moved)), name
        assert 0.93 < after[name].std() / values.std() < 1.07, name


def test_a_drawn_mixture_is_another_one(batch):
    after = posterior_mixtures(batch.samples, batch.truths.shapes, sweeps=12, seed=1)
    for name in ("locations", "small weights"):
        before = read_off(batch.truths.shapes, batch.samples)[name]
        assert np.corrcoef(before, read_off(after, batch.samples)[name])[0, 1] < 0.5


def test_the_mean_density_is_that_of_weighted_draws_from_the_prior():
    """The obvious way: many mixtures from the prior, each weighted by its likelihood of the sample."""
    prior = densities(draw_mixtures(8, 200_000, words=stream_words(7, 0)).shapes)
    cells, chains = 40, 24
    middles = (np.arange(cells) + 0.5) * (2.0 / cells) - 1.0
    possible = prior.pdf(middles)
    for sample in ([0.2], [-0.95, 0.1]):
        weights = np.exp(prior.logpdf(sample).sum(axis=1))
        weights /= weights.sum()
        wanted = weights @ possible
        offsets = np.arange(chains + 1) * len(sample)
        samples = Samples(np.tile(sample, chains), offsets, (chains,), np.zeros(chains, bool))
        given = mean_densities(samples, prior.shapes[:chains], sweeps=8000, cells=cells, seed=3)
        noise = np.hypot(given.std(axis=0) / np.sqrt(chains), np.sqrt(weights**2 @ (possible - wanted) ** 2))
        assert (noise < 0.06 * wanted).all()
        assert (np.abs(given.mean(axis=0) - wanted) < 4.0 * noise).all()


def test_densities_sum_to_one_and_threads_change_nothing(batch):
    part, truths = batch.samples.between(0, 60), batch.truths.shapes[:60]
    asked = {"sweeps": 8, "cells": 2000, "seed": 5}
    one, two = (mean_densities(part, truths, threads=threads, **asked) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one.mean(axis=1) * 2.0, 1.0, rtol=1e-4)
    assert not np.array_equal(one, mean_densities(part, truths, **asked | {"seed": 6}))


def test_other_constructions(batch):
    for construction in (Construction(concentration=(np.inf, np.inf)), Construction(location_sd=0.5)):
        with pytest.raises(InvalidParameterError, match="Dirichlet"):
            posterior_mixtures(batch.samples, batch.truths.shapes, sweeps=1, seed=0, construction=construction)
    with pytest.raises(InvalidParameterError, match="as many rows"):
        posterior_mixtures(batch.samples, batch.truths.shapes[:3], sweeps=1, seed=0)
