"""What estimators know of the bounds of broad tasks: no more than is true, no less than was promised."""

import numpy as np
import pytest

from amortized_kde.research.tasks.broad.batch import broad_batch
from amortized_kde.research.tasks.broad.kinds import BOTH, KINDS, NONE, ONE, WIDE


def ranges(batch):
    """Smallest and largest of sample and draws together."""
    first, last = batch.values[batch.offsets[:-1]], batch.values[batch.offsets[1:] - 1]
    return np.minimum(first, batch.draws.min(axis=1)), np.maximum(last, batch.draws.max(axis=1))


def test_open_and_closed_sides_are_those_known():
    batch = broad_batch(5000, seed=1, draws=8)
    closed = np.isfinite(batch.lower).astype(int) + np.isfinite(batch.upper)
    assert np.array_equal(closed, np.array([2, 1, 0, 2])[batch.known_bounds])


@pytest.mark.parametrize("kind", ["mixture", "family"])
def test_known_bounds_of_bounded_kinds_are_those_of_the_truth(kind):
    batch = broad_batch(2000, seed=2, kinds=[kind], sizes=50)
    both = batch.known_bounds == BOTH
    assert (batch.lower[both] == -1.0).all()
    assert (batch.upper[both] == 1.0).all()
    one = batch.known_bounds == ONE
    assert np.isin(batch.lower[one], [-1.0, -np.inf]).all()
    assert 0.4 < np.isfinite(batch.lower[one]).mean() < 0.6


@pytest.mark.parametrize("known_bounds", [ONE, NONE, WIDE])
@pytest.mark.parametrize("kind", ["mixture", "family"])
def test_half_of_the_unknown_sides_are_not_cut(kind, known_bounds):
    batch = broad_batch(2000, seed=3, kinds=[kind], known_bounds=[known_bounds], sizes=50, draws=0)
    open_side = batch.upper != 1.0
    assert 0.45 < (batch.truths.high[open_side] == 1.0).mean() < 0.55
    assert (batch.truths.high[~open_side] == 1.0).all()


@pytest.mark.parametrize("kind", ["lognormal", "gamma", "pareto", "exponentials"])
def test_one_sided_kinds_end_at_zero_on_either_side(kind):
    batch = broad_batch(3000, seed=4, kinds=[kind], known_bounds=[ONE], sizes=50)
    above = np.isfinite(batch.lower)
    assert 0.46 < above.mean() < 0.54
    assert (batch.draws[above] > 0.0).all()
    assert (batch.draws[~above] < 0.0).all()
    bound = np.where(above, -batch.lower, batch.upper)
    assert (bound >= 0.0).all()
    # 0.15 of the bounds lie at a distance; of Pareto's half do, and 0.15 of the rest.
    assert (bound > 0.0).mean() == pytest.approx(0.575 if kind == "pareto" else 0.15, abs=0.03)


def test_wide_bounds_are_far_from_the_data():
    batch = broad_batch(3000, seed=5, known_bounds=[WIDE], sizes=50)
    low, high = ranges(batch)
    q = np.quantile(batch.draws, [0.25, 0.75], axis=1)
    distance = np.maximum(low - batch.lower, batch.upper - high) / (q[1] - q[0])
    # Spreads are estimated from 33 draws, and tails may reach far towards the bound.
    assert np.mean(distance > 5.0) > 0.97
    assert np.median(distance) > 1e3
    kept = (batch.truths.low == batch.lower) | (batch.truths.high == batch.upper)
    bounded = np.isin(batch.kinds, [KINDS.index("mixture"), KINDS.index("family")])
    near = np.minimum(np.abs(batch.lower + 1.0), np.abs(batch.upper - 1.0))[bounded] == 0.0
    assert 0.45 < near.mean() < 0.55
    assert kept.any()


def test_the_truth_is_cut_at_known_bounds():
    batch = broad_batch(5000, seed=6, draws=0)
    assert (batch.truths.low >= batch.lower).all()
    assert (batch.truths.high <= batch.upper).all()


@pytest.mark.parametrize("known_bounds", [None, [NONE]])
def test_one_value_has_a_known_bound_and_lies_inside(known_bounds):
    batch = broad_batch(4000, seed=7, sizes=1, draws=4, known_bounds=known_bounds)
    assert (np.isfinite(batch.lower) | np.isfinite(batch.upper)).all()
    assert (batch.known_bounds != NONE).all()
    assert ((batch.values > batch.lower) & (batch.values < batch.upper)).all()


def test_known_bounds_can_be_chosen():
    for known_bounds in range(4):
        assert (
            broad_batch(300, seed=8, known_bounds=[known_bounds], sizes=10, draws=0).known_bounds == known_bounds
        ).all()
