"""The paper's protocol: sizes, balance, independence of sizes, and one set of tasks for all scales."""

import numpy as np
import pytest

from amortized_kde.research.reproduction.columns import make_tasks
from amortized_kde.research.reproduction.protocol import BEDS, SCALES, SIZES, BalancedWorld, Chunk, chunks_of
from amortized_kde.research.tasks import FAMILIES, MixtureWorld, draw_tasks, make_pool
from amortized_kde.selection import SELECTORS


def test_sizes_and_numbers_are_the_papers():
    assert len(SIZES) == 31
    assert (SIZES[0], SIZES[15], SIZES[16], SIZES[-1]) == (5, 20, 25, 256)
    assert SCALES["paper"].tasks == 30_000
    assert {name: bed.draws for name, bed in BEDS.items()} == {"gaussian": 0, "multifamily": 1024, "gmm": 1024}
    assert len({bed.seed for bed in BEDS.values()}) == 3
    for bed in BEDS.values():
        assert set(bed.methods) - {"truth", "oracle"} <= set(SELECTORS)


@pytest.mark.parametrize("scale", SCALES.values(), ids=lambda scale: scale.name)
def test_chunks_cover_every_task_once(scale):
    for bed in BEDS.values():
        for n in SIZES:
            tasks = [i for c in chunks_of(bed, scale) if c.n == n for i in range(c.first, c.first + c.count)]
            assert tasks == list(range(scale.tasks))
    assert scale.chunk % len(FAMILIES) == 0


def test_every_family_has_the_same_number_of_tasks():
    pool = make_pool(7)
    truths = BalancedWorld(pool).truths(40, seed=5, first=30)
    rows = np.concatenate([pool.family(name).origins for name in FAMILIES])
    for i, origin in enumerate(truths.origins):
        family = (30 + i) % 10
        assert origin in rows[7 * family : 7 * family + 7]
    later = BalancedWorld(pool).truths(10, seed=5, first=60)
    np.testing.assert_array_equal(truths.origins[30:], later.origins)


def test_tasks_of_two_sizes_share_nothing():
    world = MixtureWorld(32)
    five, six = (make_tasks(Chunk("gmm", n, 0, 20), world).judge for n in (5, 6))
    assert not np.isin(five.points, six.points).any()
    assert not np.isin(five.values, six.values).any()
    indices = [Chunk("gmm", n, 0, 30_000).first_index for n in SIZES]
    assert np.diff(indices).min() >= 30_000


def test_a_chunk_is_a_run_of_the_beds_tasks():
    world = MixtureWorld(32)
    whole = make_tasks(Chunk("gmm", 9, 0, 20), world).judge
    part = make_tasks(Chunk("gmm", 9, 10, 10), world).judge
    np.testing.assert_array_equal(part.values, whole.values[90:])
    np.testing.assert_array_equal(part.points, whole.points[10:])
    first = Chunk("gmm", 9, 0, 20).first_index
    raw = draw_tasks(world, 20, seed=BEDS["gmm"].seed, first=first, sizes=9)
    np.testing.assert_array_equal(np.sort(raw.draws, axis=1), whole.points)
