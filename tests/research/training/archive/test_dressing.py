"""Fitted dressings recover the three numbers that made the data, for several kinds of density."""

import numpy as np
import pytest

from amortized_kde.learned.store import load_model
from amortized_kde.research.training.archive.scores import fit_dressing, gaussian_scores, model_scores

NUMBERS = (3.0, 0.8, 1.7)


def errors(pairs, numbers):
    """Standard errors of a least squares fit of level at the centre and slope, and of a ratio of spreads."""
    mean = pairs.members.mean(axis=1)
    rest = np.std(pairs.observations - numbers[0] - numbers[1] * mean)
    count = len(pairs)
    return rest / np.sqrt(count), rest / mean.std() / np.sqrt(count), numbers[2] / np.sqrt(2.0 * count)


@pytest.mark.parametrize("kind", ["gaussian", "single"])
def test_the_numbers_are_recovered(made, kind):
    pairs = made(4, numbers=NUMBERS, steps=100, places=20)
    scorer = gaussian_scores if kind == "gaussian" else model_scores(load_model(kind))
    a, b, c = fit_dressing(pairs, scorer, seed=0)
    centre = pairs.members.mean()
    level, slope, spread = errors(pairs, NUMBERS)
    assert a + b * centre == pytest.approx(NUMBERS[0] + NUMBERS[1] * centre, abs=4.0 * level)
    assert b == pytest.approx(NUMBERS[1], abs=4.0 * slope)
    # A density of twenty members is not exactly that of which they are draws: a twentieth of c may go there.
    assert c == pytest.approx(NUMBERS[2], abs=4.0 * spread + 0.05 * NUMBERS[2])


def test_a_lower_score_is_not_near(made):
    pairs = made(5, numbers=NUMBERS, steps=60, places=10)
    best = fit_dressing(pairs, gaussian_scores, seed=0)
    reached = gaussian_scores(pairs.dressed(best)).mean()
    for move in np.diag([0.2, 0.02, 0.2]):
        for sign in (-1.0, 1.0):
            assert gaussian_scores(pairs.dressed(best + sign * move)).mean() > reached
    assert reached < gaussian_scores(pairs).mean() - 0.3


def test_means_that_do_not_differ_are_no_trouble(made):
    pairs = made(6, steps=60, places=2)
    flat = pairs.members - pairs.members.mean(axis=1, keepdims=True)
    found = fit_dressing(
        type(pairs)(flat, pairs.observations, pairs.times, pairs.steps, None, (), {}), gaussian_scores, seed=0
    )
    assert np.isfinite(found).all()
