"""Every host that takes scipy's bw_method must smooth with exactly our bandwidth."""

import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import seaborn
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.mlab import GaussianKDE
from numpy.testing import assert_allclose
from scipy.stats import gaussian_kde

import amortized_kde as akde
from amortized_kde.errors import DegenerateSampleError, InvalidBoundsError, InvalidSampleError
from amortized_kde.integrations.scipy import BandwidthFactor, SingularSampleError, bandwidth_factor

X = np.random.default_rng(1).gamma(2.0, 3.0, 60)
METHODS = ["amortized", "amortized:gmm32", "silverman", "lcv"]


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


class Watch:
    """A bw_method that keeps the density objects it was asked for."""

    def __init__(self, factor):
        self.factor, self.seen = factor, []

    def __call__(self, kde):
        self.seen.append(kde)
        return self.factor(kde)

    def kernels(self):
        """Standard deviations of the kernels, after the host has finished."""
        assert self.seen, "the host never asked"
        return [float(kde.covariance[0, 0]) ** 0.5 for kde in self.seen]


@pytest.mark.parametrize("bounds", [None, (0, None), (0, 50)])
@pytest.mark.parametrize("method", METHODS)
def test_scipy_smooths_with_our_bandwidth(method, bounds):
    kde = gaussian_kde(X, bw_method=bandwidth_factor(method, bounds=bounds))
    h = akde.bandwidth(X, method=method, bounds=bounds)
    assert_allclose(kde.covariance, [[h * h]], rtol=1e-13)
    assert_allclose(kde(X), akde.KernelDensity(X, h).pdf(X), rtol=1e-10)


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=30, unique=True),
    st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_scipy_and_matplotlib_at_any_scale(x, scale):
    x = np.array(x) * scale
    h = akde.bandwidth(x, method="scott")
    for host in (gaussian_kde, GaussianKDE):
        assert_allclose(host(x, bw_method=bandwidth_factor("scott")).covariance, [[h * h]], rtol=1e-12)


def test_set_bandwidth_takes_it_too():
    kde = gaussian_kde(X)
    kde.set_bandwidth(bandwidth_factor())
    assert_allclose(kde.covariance, akde.bandwidth(X) ** 2, rtol=1e-13)


def test_equal_weights_are_no_weights():
    kde = gaussian_kde(X, bw_method=bandwidth_factor(), weights=np.full(X.size, 7.0))
    assert_allclose(kde.covariance, akde.bandwidth(X) ** 2, rtol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_the_hosts_weights_are_used(method):
    weights = np.random.default_rng(2).gamma(1.0, 1.0, X.size)
    kde = gaussian_kde(X, bw_method=bandwidth_factor(method), weights=weights)
    h = akde.bandwidth(X, weights=weights, method=method)
    assert_allclose(kde.covariance, h**2, rtol=1e-12)
    assert h != akde.bandwidth(X, method=method)
    assert_allclose(kde(X), akde.KernelDensity(X, h, weights=weights).pdf(X), rtol=1e-10)


def test_seaborn_hands_its_weights_on(ax):
    weights, watch = np.random.default_rng(2).gamma(1.0, 1.0, X.size), Watch(bandwidth_factor())
    seaborn.kdeplot(x=X, weights=weights, bw_method=watch, ax=ax)
    # Once without weights, for the range of the axis, and then with them.
    assert_allclose(watch.kernels(), [akde.bandwidth(X), akde.bandwidth(X, weights=weights)], rtol=1e-9)


def test_a_point_of_weight_zero_is_not_there():
    weights = np.ones(X.size)
    weights[:10] = 0.0
    kde = gaussian_kde(X, bw_method=bandwidth_factor(), weights=weights)
    assert_allclose(kde.covariance, akde.bandwidth(X[10:]) ** 2, rtol=1e-13)


def test_pandas(ax):
    watch = Watch(bandwidth_factor(bounds=(0, None)))
    series = pd.Series([*X, np.nan])
    series.plot.kde(bw_method=watch, ax=ax)
    h = akde.bandwidth(X, bounds=(0, None))
    assert_allclose(watch.kernels(), h, rtol=1e-13)
    grid, curve = ax.lines[0].get_data()
    assert_allclose(curve, akde.KernelDensity(X, h).pdf(grid), rtol=1e-9, atol=1e-300)


def test_seaborn_kdeplot(ax):
    watch = Watch(bandwidth_factor())
    seaborn.kdeplot(x=X, bw_method=watch, ax=ax)
    h = akde.bandwidth(X)
    assert_allclose(watch.kernels(), h, rtol=1e-13)
    grid, curve = ax.lines[0].get_data()
    assert_allclose(curve, akde.KernelDensity(X, h).pdf(grid), rtol=1e-9)


def test_seaborn_groups_have_bandwidths_of_their_own(ax):
    table = pd.DataFrame({"x": [*X, *(10.0 * X[:30])], "group": ["a"] * 60 + ["b"] * 30})
    watch = Watch(bandwidth_factor())
    seaborn.kdeplot(table, x="x", hue="group", common_norm=False, bw_method=watch, ax=ax)
    for kde, h in zip(watch.seen, watch.kernels(), strict=True):
        assert_allclose(h, akde.bandwidth(kde.dataset[0]), rtol=1e-12)
    assert {kde.n for kde in watch.seen} >= {60, 30}


def test_seaborn_bw_adjust_multiplies(ax):
    watch = Watch(bandwidth_factor())
    seaborn.kdeplot(x=X, bw_method=watch, bw_adjust=0.5, ax=ax)
    assert_allclose(watch.kernels(), 0.5 * akde.bandwidth(X), rtol=1e-13)


def test_on_a_logarithmic_axis_seaborn_shows_the_logarithms(ax):
    watch = Watch(bandwidth_factor())
    seaborn.kdeplot(x=X, log_scale=True, bw_method=watch, ax=ax)
    assert_allclose(watch.kernels(), akde.bandwidth(np.log10(X)), rtol=1e-9)


def test_seaborn_violinplot(ax):
    watch = Watch(bandwidth_factor())
    seaborn.violinplot(y=X, bw_method=watch, ax=ax)
    h = akde.bandwidth(X)
    assert_allclose(watch.kernels(), h, rtol=1e-13)
    check_shape(ax.collections[0].get_paths()[0].vertices, h)


def test_matplotlib_violinplot(ax):
    watch = Watch(bandwidth_factor())
    parts = ax.violinplot(X, bw_method=watch)
    h = akde.bandwidth(X)
    assert_allclose(watch.kernels(), h, rtol=1e-13)
    check_shape(parts["bodies"][0].get_paths()[0].vertices, h)


def check_shape(outline, h):
    """The outline of a violin is our density with this bandwidth, up to its width."""
    width = np.abs(outline[:, 0] - 0.5 * (outline[:, 0].min() + outline[:, 0].max()))
    drawn = width > 0.0
    density = akde.KernelDensity(X, h).pdf(outline[drawn, 1])
    assert drawn.sum() > 100
    assert_allclose(width[drawn] / width.max(), density / density.max(), rtol=1e-6)


def test_a_constant_group_does_not_end_a_violinplot(ax):
    table = pd.DataFrame({"y": [*X[:10], *([0.1] * 7)], "group": ["a"] * 10 + ["b"] * 7})
    seaborn.violinplot(table, x="group", y="y", bw_method=bandwidth_factor(), ax=ax)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b"]


@pytest.mark.parametrize("x", [[0.1] * 3, [0.0, 1e-200]], ids=["constant", "variance underflows"])
def test_no_scale_is_the_error_that_hosts_expect(x):
    with pytest.raises(np.linalg.LinAlgError) as caught:
        gaussian_kde(x, bw_method=bandwidth_factor("scott"))
    # SciPy says it in its own words, and ours are the cause.
    assert isinstance(caught.value.__cause__, SingularSampleError)
    assert isinstance(caught.value.__cause__, DegenerateSampleError)


@pytest.mark.parametrize("host", [gaussian_kde, GaussianKDE])
def test_two_variables_are_refused(host):
    with pytest.raises(InvalidSampleError, match="for one variable, but the data have 2"):
        host(X.reshape(2, -1), bw_method=bandwidth_factor())


def test_seaborn_with_two_variables_gets_our_sentence(ax):
    with pytest.raises(InvalidSampleError, match="for one variable"):
        seaborn.kdeplot(x=X, y=X[::-1], bw_method=bandwidth_factor(), ax=ax)


def test_missing_values_are_told():
    with pytest.raises(InvalidSampleError, match="missing value"):
        gaussian_kde([1.0, np.nan, 2.0], bw_method=bandwidth_factor())


def test_bounds_are_read_at_once():
    with pytest.raises(InvalidBoundsError, match="must be below"):
        bandwidth_factor(bounds=(1, 0))


def test_values_beyond_the_bounds_are_told():
    with pytest.raises(InvalidBoundsError, match="outside the bounds"):
        gaussian_kde(X, bw_method=bandwidth_factor(bounds=(0, 1)))


def test_it_is_a_frozen_value():
    factor = bandwidth_factor("lcv", bounds=[0, None])
    assert pickle.loads(pickle.dumps(factor)) == factor == BandwidthFactor("lcv", (0.0, np.inf))
    assert len({factor, bandwidth_factor("lcv", bounds=(0, None))}) == 1
    with pytest.raises(AttributeError):
        factor.method = "scott"
