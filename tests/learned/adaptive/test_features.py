"""Features of the adaptive models: independent of the units, the sign and the order of a sample."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from amortized_kde.data.reading import read_sample
from amortized_kde.learned.adaptive.anchors import LARGEST_TRAINED, anchors_of_size, place_anchors, thinned
from amortized_kde.learned.adaptive.features import POINT_FEATURES, SAMPLE_FEATURES, describe

OPEN = (-math.inf, math.inf)


def one(x, bounds=OPEN, weights=None):
    return describe(read_sample(x, weights=weights).as_batch(), np.array([bounds[0]]), np.array([bounds[1]]))


samples = st.lists(st.floats(-50.0, 50.0).map(lambda v: round(v, 3)), min_size=2, max_size=40).filter(
    lambda values: max(values) > min(values)
)


@given(samples, st.sampled_from([OPEN, (-60.0, math.inf), (-60.0, 75.0)]), st.sampled_from([1e-6, 1.0, 3.0, 1e6]))
def test_shift_and_scale_change_no_feature(values, bounds, scale):
    x = np.array(values)
    first = one(x, bounds)
    moved = one(7.0 * scale + scale * x, tuple(7.0 * scale + scale * b for b in bounds))
    np.testing.assert_allclose(moved.of_samples, first.of_samples, atol=1e-7)
    np.testing.assert_allclose(moved.of_points, first.of_points, atol=1e-7)
    np.testing.assert_allclose(moved.bandwidths, scale * first.bandwidths, rtol=1e-12)


@given(samples, st.sampled_from([OPEN, (-60.0, math.inf), (-60.0, 75.0)]))
def test_the_mirror_image_has_the_same_features(values, bounds):
    x = np.array(values)
    first, mirrored = one(x, bounds), one(-x, (-bounds[1], -bounds[0]))
    np.testing.assert_allclose(mirrored.of_samples, first.of_samples, atol=1e-9)
    np.testing.assert_allclose(mirrored.of_points[::-1], first.of_points, atol=1e-9)


def test_names_and_numbers():
    found = one([1.0, 2.0, 4.0, 4.0])
    assert found.of_samples.shape == (1, len(SAMPLE_FEATURES))
    assert found.of_points.shape == (4, len(POINT_FEATURES))
    assert found.of_samples[0, SAMPLE_FEATURES.index("log n")] == pytest.approx(math.log(4.0))
    spacings = np.array([1.0, 2.0, 0.0]) * 4.0 / found.scales[0]
    assert found.of_samples[0, SAMPLE_FEATURES.index("ties")] == pytest.approx(np.mean(0.01 / (0.01 + spacings)))
    assert np.isfinite(found.of_samples).all()
    assert np.isfinite(found.of_points).all()


def test_bounds_far_away_are_as_good_as_none():
    x = np.random.default_rng(1).normal(1.0, 0.3, 30)
    far, none = one(x, (-1e12, 1e12)), one(x)
    np.testing.assert_allclose(far.of_samples, none.of_samples, atol=1e-9)
    np.testing.assert_allclose(far.of_points, none.of_points, atol=1e-9)


def test_a_bound_fades_out_as_it_recedes():
    x, column = np.random.default_rng(1).normal(1.0, 0.3, 30), SAMPLE_FEATURES.index("nearer bound")
    found = [one(x, (x.min() - 10.0**k, math.inf)).of_samples[0, column] for k in np.arange(-2.0, 6.0, 0.25)]
    steps = np.diff(found)
    # Up to some tens of spreads it follows the logarithm of the distance; then the steps shrink to nothing.
    assert np.all(steps > 0.0)
    assert steps[0] == pytest.approx(0.25 * math.log(10.0), rel=0.01)
    assert steps[-1] < 1e-4
    assert found[-1] == pytest.approx(one(x).of_samples[0, column], abs=1e-4)


def test_features_move_gradually_where_a_tie_opens():
    x = np.round(np.random.default_rng(2).normal(size=41), 1)
    moved = x.copy()
    moved[np.flatnonzero(x == np.median(x))[0]] += 1e-6 * x.std()
    np.testing.assert_allclose(one(moved).of_samples, one(x).of_samples, atol=0.02)
    np.testing.assert_allclose(np.sort(one(moved).of_points, axis=0), np.sort(one(x).of_points, axis=0), atol=0.02)


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
def test_the_cross_validated_bandwidth_is_near_that_of_all_bandwidths(draw):
    x = getattr(np.random.default_rng(3), draw)(size=1000)
    found = one(x)
    h = found.scales[0] * 2.0 ** found.of_samples[0, SAMPLE_FEATURES.index("cross-validated bandwidth")]
    grid = h * 2.0 ** np.arange(-2.0, 2.1, 0.25)

    def left_out(bandwidth):
        kernels = norm.pdf((x[:, None] - x) / bandwidth) / bandwidth
        np.fill_diagonal(kernels, 0.0)
        return np.mean(np.log(0.02 / bandwidth / math.sqrt(2.0 * math.pi) + kernels.sum(axis=1)))

    best = grid[np.argmax([left_out(bandwidth) for bandwidth in grid])]
    assert abs(math.log2(h / best)) <= 0.5


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
        assert np.isfinite(found.of_samples).all()


@pytest.mark.parametrize("n", [1, 5, 256, 257, 1000, 4097, 1_000_000])
def test_anchors_are_mirror_symmetric_and_reach_the_ends(n):
    places, masses = anchors_of_size(n)
    assert places[0] == 0
    assert places[-1] == n - 1
    np.testing.assert_array_equal(n - 1 - places[::-1], places)
    assert np.all(np.diff(places) > 0)
    assert masses.sum() == pytest.approx(1.0)
    assert places.size <= 300


def test_a_batch_holds_what_each_sample_gives_alone():
    from amortized_kde.data.reading import read_samples

    rng = np.random.default_rng(2)
    rows = [rng.normal(size=n) for n in (3, 40, 200, 700)]
    batch = describe(read_samples(rows, axis=-1), np.full(4, -math.inf), np.full(4, math.inf))
    for t, row in enumerate(rows):
        alone = one(row)
        np.testing.assert_allclose(batch.of_samples[t], alone.of_samples[0], atol=1e-12)
        np.testing.assert_allclose(
            batch.of_points[batch.offsets[t] : batch.offsets[t + 1]], alone.of_points, atol=1e-12
        )


NUMBERS = ("usable", "narrow", "sizes", "locations", "scales", "bandwidths", "anchors", "offsets", "masses")


@pytest.mark.parametrize("n", [2, 40, 700, 6000])
def test_equal_weights_are_described_as_none_to_the_last_bit(n):
    from amortized_kde.data.reading import read_samples

    rng = np.random.default_rng(n)
    x, other = np.round(rng.standard_normal(n), 2), rng.standard_normal(n)
    x[0] += 1.0
    plain, equal = one(x), one(x, weights=np.full(n, 0.3))
    # Beside a sample with unequal weights too.
    samples = read_samples([x, other], axis=-1, weights=[np.ones(n), rng.gamma(1.0, 1.0, n)])
    mixed = describe(samples, np.full(2, -math.inf), np.full(2, math.inf))
    for name in (*NUMBERS, "of_points", "of_samples"):
        np.testing.assert_array_equal(getattr(equal, name), getattr(plain, name))
    np.testing.assert_array_equal(mixed.of_samples[:1], plain.of_samples)
    for name in ("of_points", "masses", "anchors"):
        np.testing.assert_array_equal(getattr(mixed, name)[: plain.offsets[1]], getattr(plain, name))


@pytest.mark.parametrize("n", [3, 50, 200])
def test_local_densities_of_weighted_points(n):
    rng = np.random.default_rng(n)
    x, w = np.sort(rng.gamma(2.0, 1.0, n)), rng.gamma(1.0, 1.0, n)
    found, w = one(x, (0.0, math.inf), w), w / w.sum()
    size = 1.0 / np.sum(w**2)
    assert found.sizes[0] == pytest.approx(size)
    assert found.of_samples[0, SAMPLE_FEATURES.index("log n")] == pytest.approx(math.log(size))
    np.testing.assert_allclose(found.masses, w, rtol=1e-12)
    for exponent in (1, -2, -5):
        h = found.scales[0] * 2.0**exponent
        kernels = np.exp(-0.5 * ((x[:, None] - x) / h) ** 2) / norm.cdf(x / h)
        np.fill_diagonal(kernels, 0.0)
        densities = np.log(0.02 + size * kernels @ w)
        column = found.of_points[:, POINT_FEATURES.index(f"local density at 2^{exponent}")]
        np.testing.assert_allclose(column, densities, atol=1e-10)
        mean = found.of_samples[0, SAMPLE_FEATURES.index(f"mean local density at 2^{exponent}")]
        assert mean == pytest.approx(w @ densities, abs=1e-10)


@pytest.mark.parametrize("n", [3, 40, 257, 900, 5000])
@pytest.mark.parametrize("kind", ["gamma", "whole", "to one end"])
def test_weighted_features_of_the_mirror_image(n, kind):
    rng = np.random.default_rng(n)
    x = np.round(rng.standard_t(4, n), 2)
    weights = {"gamma": rng.gamma(0.7, 1.0, n), "whole": rng.integers(1, 4, n), "to one end": np.exp(x)}
    first, mirrored = one(x, (-60.0, math.inf), weights[kind]), one(-x, (-math.inf, 60.0), 3.0 * weights[kind])
    np.testing.assert_allclose(mirrored.of_samples, first.of_samples, atol=1e-9)
    np.testing.assert_allclose(mirrored.of_points[::-1], first.of_points, atol=1e-8)
    np.testing.assert_allclose(mirrored.masses[::-1], first.masses, atol=1e-12)
    assert first.masses.sum() == pytest.approx(1.0)


def test_points_that_hardly_count_hardly_matter():
    rng = np.random.default_rng(8)
    for n in (60, 700):
        x, faint = rng.gamma(3.0, 1.0, n), rng.gamma(3.0, 1.0, n)
        both = one(np.append(x, faint), weights=np.repeat([1.0, 1e-10], n))
        np.testing.assert_allclose(both.of_samples, one(x).of_samples, atol=1e-6)


def test_anchors_lie_where_the_weight_is():
    given_x = np.linspace(-3.0, 3.0, 3000)
    samples = read_sample(given_x, weights=norm.pdf(given_x, 1.0, 0.2)).as_batch()
    x, n = samples.values, samples.values.size
    placed = place_anchors(samples, samples.counts)
    assert placed.ranks[[0, -1]].tolist() == [0, n - 1]
    assert placed.ranks.size <= 400
    assert np.mean(np.abs(x[placed.ranks] - 1.0) < 0.8) > 0.9
    assert placed.masses.sum() == pytest.approx(1.0)
    # A mean over anchors is the mean of what lies linearly between them, in places.
    places = np.cumsum(samples.counts) - 0.5 * samples.counts - 0.5
    np.testing.assert_allclose(placed.positions, places[placed.ranks], atol=1e-9)
    shares = np.cos(placed.positions / 100.0)
    whole = samples.weights @ np.interp(places, placed.positions, shares)
    assert placed.masses @ shares == pytest.approx(whole, abs=1e-10)


def test_of_many_weighted_points_some_are_described_by_weight():
    rng = np.random.default_rng(9)
    x, w = rng.standard_normal(30_000), rng.gamma(0.5, 1.0, 30_000)
    w[:3] = w.sum() / 100.0
    samples = read_sample(x, weights=w).as_batch()
    thin, chosen = thinned(samples)
    assert np.array_equal(thin.values, samples.values[chosen[0]])
    assert thin.weights.sum() == pytest.approx(1.0)
    assert thin.effective_sizes[0] <= LARGEST_TRAINED
    # Heavy points count as often as they are met; most others once.
    for heavy in x[:3]:
        assert thin.weights[thin.values == heavy][0] == pytest.approx(1.0 / 103.0, rel=0.5)
    assert np.mean(thin.weights == 1.0 / LARGEST_TRAINED) > 0.9
    # Its distribution is that of the whole.
    levels = np.linspace(-2.0, 2.0, 9)
    of_the_whole = [samples.weights[samples.values < level].sum() for level in levels]
    np.testing.assert_allclose([thin.weights[thin.values < level].sum() for level in levels], of_the_whole, atol=0.03)
