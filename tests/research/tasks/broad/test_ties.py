"""Rounded and resampled samples."""

import numpy as np
import pytest

from amortized_kde.numerics.streams import stream_words
from amortized_kde.research.tasks.broad.batch import broad_batch
from amortized_kde.research.tasks.broad.ties import Ties, tie_samples


def tie(sample, *, unit=0.0, anchor=0.0, resampled=False, bounds=(-np.inf, np.inf), seed=1):
    values = np.array(sample, dtype=float)
    ties = Ties(np.array([unit]), np.array([anchor]), np.array([resampled]))
    lower, upper = (np.array([b]) for b in bounds)
    tie_samples(values, np.array([0, values.size]), ties, lower, upper, stream_words(seed, 0), 0, 0, 1)
    return values, ties


def test_rounding_is_to_the_nearest_multiple():
    x = np.sort(np.random.default_rng(1).normal(size=200))
    values, ties = tie(x, unit=0.3, anchor=0.05)
    assert np.allclose(values, 0.05 + 0.3 * np.rint((x - 0.05) / 0.3), rtol=0.0, atol=1e-15)
    assert ties.units[0] == 0.3


def test_rounding_stays_within_the_bounds():
    values, _ = tie([0.01, 0.5, 0.99], unit=1.0 / 3.0, bounds=(0.0, np.nextafter(1.0, 0.0)))
    assert values.tolist() == pytest.approx([0.0, 2.0 / 3.0, 1.0])
    assert values[2] < 1.0


def test_a_sample_without_bounds_is_not_made_constant():
    values, ties = tie([0.1, 0.2, 0.3], unit=1.0)
    assert values.tolist() == [0.1, 0.2, 0.3]
    assert ties.units[0] == 0.0
    values, ties = tie([0.1, 0.2, 0.3], unit=1.0, bounds=(-5.0, np.inf))
    assert values.tolist() == [0.0, 0.0, 0.0]
    assert ties.units[0] == 1.0


def test_resampling_draws_with_replacement():
    x = np.arange(2000.0)
    values, _ = tie(x, resampled=True)
    assert (np.diff(values) >= 0.0).all()
    assert np.isin(values, x).all()
    # A bootstrap sample holds 1 - 1/e of the values.
    assert np.unique(values).size == pytest.approx(2000 * (1.0 - np.exp(-1.0)), rel=0.03)
    assert values.mean() == pytest.approx(999.5, abs=4 * 577 / np.sqrt(2000))


def test_resampling_never_makes_a_sample_constant():
    outcomes = set()
    for seed in range(50):
        values, ties = tie([1.0, 2.0], resampled=True, seed=seed)
        assert values.tolist() == [1.0, 2.0]
        outcomes.add(bool(ties.resampled[0]))
    assert outcomes == {True, False}


def test_one_task_in_ten_is_rounded_and_one_in_fifty_resampled():
    batch = broad_batch(20_000, seed=2, sizes=30, draws=0)
    assert (batch.units > 0.0).mean() == pytest.approx(0.10, abs=0.01)
    assert batch.resampled.mean() == pytest.approx(0.02, abs=0.005)
    assert not (batch.resampled & (batch.units > 0.0)).any()


def test_rounded_samples_are_multiples_and_draws_are_not():
    batch = broad_batch(4000, seed=3)
    rounded = np.flatnonzero(batch.units > 0.0)
    for t in rounded:
        sample, unit = batch.values[batch.offsets[t] : batch.offsets[t + 1]], batch.units[t]
        steps = (sample - sample[0]) / unit
        assert np.allclose(steps, np.rint(steps), rtol=1e-9, atol=1e-6)
        steps = (batch.draws[t] - sample[0]) / unit
        assert not np.allclose(steps, np.rint(steps), rtol=0.0, atol=1e-3)


def test_units_are_between_a_hundredth_and_one_spread():
    batch = broad_batch(20_000, seed=4, sizes=30)
    q = np.quantile(batch.draws, [0.25, 0.75], axis=1)
    ratio = (batch.units * 1.349 / (q[1] - q[0]))[batch.units > 0.0]
    # Spreads are estimated from 33 draws.
    assert np.quantile(ratio, [0.02, 0.98]) == pytest.approx([0.011, 0.95], rel=0.35)
    assert np.median(ratio) == pytest.approx(0.1, rel=0.15)


def test_natural_bounds_are_multiples_of_the_unit():
    batch = broad_batch(6000, seed=5, kinds=["mixture", "family"], known_bounds=[0], sizes=30, draws=0)
    steps = 2.0 / batch.units[batch.units > 0.0]
    assert np.allclose(steps, np.rint(steps), rtol=1e-12)


def test_constant_samples_lie_strictly_between_bounds():
    batch = broad_batch(40_000, seed=6, sizes=2, draws=0)
    first, last = batch.values.reshape(-1, 2).T
    constant = first == last
    assert constant.sum() > 50
    assert (np.isfinite(batch.lower) | np.isfinite(batch.upper))[constant].all()
    assert ((first > batch.lower) & (first < batch.upper))[constant].all()
    assert (batch.units[constant] > 0.0).all()
