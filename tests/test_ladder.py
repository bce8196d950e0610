"""What adaptive models read off a sample: the same whatever the units, the sign and the order."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.anchors import ranks_of as ranks
from amortized_kde.ladder import POINT_FEATURES, SAMPLE_FEATURES, describe
from amortized_kde.sample import read_sample

OPEN = (-math.inf, math.inf)


def one(x, bounds=OPEN):
    return describe(read_sample(x).as_batch(), np.array([bounds[0]]), np.array([bounds[1]]))


samples = st.lists(st.floats(-50.0, 50.0).map(lambda v: round(v, 3)), min_size=2, max_size=40).filter(
    lambda values: max(values) > min(values)
)


@given(samples, st.sampled_from([OPEN, (-60.0, math.inf), (-60.0, 75.0)]), st.sampled_from([1e-6, 1.0, 3.0, 1e6]))
def test_shift_and_scale_change_no_feature(values, bounds, scale):
    x = np.array(values)
    first = one(x, bounds)
    moved = one(7.0 * scale + scale * x, tuple(7.0 * scale + scale * b for b in bounds))
    np.testing.assert_allclose(moved.wholes, first.wholes, atol=1e-7)
    np.testing.assert_allclose(moved.points, first.points, atol=1e-7)
    np.testing.assert_allclose(moved.bandwidths, scale * first.bandwidths, rtol=1e-12)


@given(samples, st.sampled_from([OPEN, (-60.0, math.inf), (-60.0, 75.0)]))
def test_the_mirror_image_has_the_same_features(values, bounds):
    x = np.array(values)
    first, mirrored = one(x, bounds), one(-x, (-bounds[1], -bounds[0]))
    np.testing.assert_allclose(mirrored.wholes, first.wholes, atol=1e-9)
    np.testing.assert_allclose(mirrored.points[::-1], first.points, atol=1e-9)


def test_names_and_numbers():
    found = one([1.0, 2.0, 4.0, 4.0])
    assert found.wholes.shape == (1, len(SAMPLE_FEATURES))
    assert found.points.shape == (4, len(POINT_FEATURES))
    assert found.wholes[0, SAMPLE_FEATURES.index("log n")] == pytest.approx(math.log(4.0))
    assert found.wholes[0, SAMPLE_FEATURES.index("ties")] == pytest.approx(1.0 / 3.0)
    assert np.isfinite(found.wholes).all()
    assert np.isfinite(found.points).all()


def test_bounds_far_away_are_as_good_as_none():
    x = np.random.default_rng(1).normal(1.0, 0.3, 30)
    far, none = one(x, (-1e9, 1e9)), one(x)
    np.testing.assert_allclose(far.wholes, none.wholes, atol=1e-9)
    np.testing.assert_allclose(far.points, none.points, atol=1e-9)


@pytest.mark.parametrize(
    ("x", "bounds", "scale"),
    [
        ([3.0], (0.0, math.inf), 3.0),
        ([3.0], (-math.inf, 5.0), 2.0),
        ([3.0], (0.0, 10.0), 2.5),
        ([2.0, 2.0], OPEN, None),
        ([3.0], OPEN, None),
        ([3.0], (3.0, math.inf), None),
    ],
)
def test_a_constant_sample_has_the_scale_of_its_bounds(x, bounds, scale):
    found = one(x, bounds)
    assert found.usable[0] == (scale is not None)
    if scale is not None:
        assert found.scales[0] == pytest.approx(scale)
        assert np.isfinite(found.wholes).all()


@pytest.mark.parametrize("n", [1, 5, 256, 257, 1000, 4097, 1_000_000])
def test_anchors_are_mirror_symmetric_and_reach_the_ends(n):
    places, masses = ranks(n)
    assert places[0] == 0
    assert places[-1] == n - 1
    np.testing.assert_array_equal(n - 1 - places[::-1], places)
    assert np.all(np.diff(places) > 0)
    assert masses.sum() == pytest.approx(1.0)
    assert places.size <= 300


def test_a_batch_holds_what_each_sample_gives_alone():
    from amortized_kde.sample import read_samples

    rng = np.random.default_rng(2)
    rows = [rng.normal(size=n) for n in (3, 40, 200, 700)]
    batch = describe(read_samples(rows, axis=-1), np.full(4, -math.inf), np.full(4, math.inf))
    for t, row in enumerate(rows):
        alone = one(row)
        np.testing.assert_allclose(batch.wholes[t], alone.wholes[0], atol=1e-12)
        np.testing.assert_allclose(batch.points[batch.offsets[t] : batch.offsets[t + 1]], alone.points, atol=1e-12)
