"""How often the broad world holds what."""

import numpy as np
import pytest
from scipy import stats

from amortized_kde.research.tasks.broad.batch import broad_batch
from amortized_kde.research.tasks.broad.kinds import (
    KIND_PROBABILITIES,
    KINDS,
    KNOWN_BOUNDS,
    KNOWN_BOUNDS_PROBABILITIES,
    choose_sizes,
)

BATCH = broad_batch(30_000, seed=1, sizes=2, draws=0)


def test_shares_add_up():
    assert KIND_PROBABILITIES.sum() == pytest.approx(1.0)
    assert np.allclose(KNOWN_BOUNDS_PROBABILITIES.sum(axis=1), 1.0)
    assert KNOWN_BOUNDS_PROBABILITIES.shape == (len(KINDS), len(KNOWN_BOUNDS))


def test_kinds_have_their_weights():
    assert stats.chisquare(np.bincount(BATCH.kinds), KIND_PROBABILITIES * len(BATCH)).pvalue > 1e-3


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_known_bounds_are_as_frequent_as_said(kind):
    known_bounds, possible = BATCH.known_bounds[BATCH.kinds == kind], KNOWN_BOUNDS_PROBABILITIES[kind] > 0.0
    counts = np.bincount(known_bounds, minlength=len(KNOWN_BOUNDS))
    assert (counts[~possible] == 0).all()
    assert (
        stats.chisquare(counts[possible], KNOWN_BOUNDS_PROBABILITIES[kind][possible] * known_bounds.size).pvalue > 1e-3
    )


def test_restricting_keeps_the_rest_in_proportion():
    batch = broad_batch(10_000, seed=2, kinds=["mixture", "gamma"], known_bounds=[1, 2], sizes=2, draws=0)
    assert set(batch.kinds) == {KINDS.index("mixture"), KINDS.index("gamma")}
    assert set(batch.known_bounds) == {1, 2}
    assert (batch.kinds == KINDS.index("mixture")).mean() == pytest.approx(0.42 / 0.46, abs=0.02)
    gamma = batch.known_bounds[batch.kinds == KINDS.index("gamma")]
    assert (gamma == 1).mean() == pytest.approx(0.6 / 0.9, abs=0.05)


def test_sizes_are_log_uniform_and_uniform():
    u = (np.arange(1_000_000) + 0.5) / 1_000_000
    sizes = choose_sizes(u)
    assert (sizes.min(), sizes.max()) == (1, 4096)
    # P(n <= 63) is 1/2 for the log-uniform three quarters, and 59/252 for the uniform quarter.
    wanted = 0.75 * np.log(64.0) / np.log(4097.0) + 0.25 * 59 / 252
    assert (sizes <= 63).mean() == pytest.approx(wanted, abs=1e-5)
    assert (sizes == 1).mean() == pytest.approx(0.75 * np.log(2.0) / np.log(4097.0), abs=1e-5)
    assert (sizes == 200).mean() == pytest.approx(0.75 * np.log(201 / 200) / np.log(4097.0) + 0.25 / 252, abs=1e-5)


def test_large_sizes_can_be_made_rare():
    u = (np.arange(1_000_000) + 0.5) / 1_000_000
    sizes, usual = choose_sizes(u, large=0.2), choose_sizes(u)
    assert (sizes.min(), sizes.max()) == (1, 4096)
    assert (sizes > 256).mean() == pytest.approx(0.2 * (usual > 256).mean(), abs=1e-5)
    # Below and above the law stays what it was.
    for part in (lambda n: n <= 256, lambda n: n > 256):
        some, others = np.log(sizes[250_000:]), np.log(usual[250_000:])
        some, others = some[part(np.exp(some).round())], others[part(np.exp(others).round())]
        np.testing.assert_allclose(np.quantile(some, [0.1, 0.5, 0.9]), np.quantile(others, [0.1, 0.5, 0.9]), atol=0.01)
