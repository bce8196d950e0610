"""The broad world: the same tasks whoever asks, draws that follow the truth, bounds that hold."""

from itertools import pairwise

import numpy as np
import pytest

from amortized_kde.tasks.broad import KINDS, broad_batch

ARRAYS = ("values", "offsets", "draws", "lower", "upper", "kinds", "told", "units", "resampled")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_tasks_depend_neither_on_threads_nor_on_chunks(threads):
    whole = broad_batch(300, seed=5, first=7, threads=1)
    parts = [broad_batch(b - a, seed=5, first=7 + a, threads=threads) for a, b in pairwise([0, 1, 40, 41, 300])]
    for name in ("values", "draws", "lower", "upper", "kinds", "told", "units", "resampled"):
        assert np.array_equal(getattr(whole, name), np.concatenate([getattr(p, name) for p in parts])), name


def test_everything_is_finite_and_inside_the_bounds():
    batch = broad_batch(3000, seed=2)
    rows = np.repeat(np.arange(len(batch)), batch.sizes)
    assert ((batch.values >= batch.lower[rows]) & (batch.values <= batch.upper[rows])).all()
    assert ((batch.draws >= batch.lower[:, None]) & (batch.draws <= batch.upper[:, None])).all()
    assert np.isfinite(batch.values).all()
    assert np.isfinite(batch.true_logpdf(batch.draws)).all()
    assert set(batch.kinds) == set(range(len(KINDS)))
