"""statsmodels must smooth with exactly our bandwidth."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from statsmodels.nonparametric.kde import KDEUnivariate, kdensity, kernel_switch

import amortized_kde as akde
from amortized_kde.errors import DegenerateSampleError, InvalidBoundsError, InvalidParameterError
from amortized_kde.integrations.statsmodels import BandwidthRule, bandwidth_rule

X = np.random.default_rng(1).gamma(2.0, 3.0, 60)


@pytest.mark.parametrize("fft", [True, False])
@pytest.mark.parametrize("bounds", [None, (0, None)])
@pytest.mark.parametrize("method", ["amortized", "amortized:gmm32", "silverman", "lcv"])
def test_statsmodels_smooths_with_our_bandwidth(method, bounds, fft):
    kde = KDEUnivariate(X).fit(bw=bandwidth_rule(method, bounds=bounds), fft=fft)
    h = akde.bandwidth(X, method=method, bounds=bounds)
    assert kde.bw == h
    # Its kernel is the Gaussian whose standard deviation is bw: the densities agree, by FFT as far as binning goes.
    ours = akde.KernelDensity(X, h).pdf(kde.support)
    assert_allclose(kde.density, ours, rtol=0, atol=(1e-3 if fft else 1e-12) * ours.max())


def test_the_function_takes_it_too():
    assert kdensity(X, bw=bandwidth_rule())[2] == akde.bandwidth(X)


def test_adjust_multiplies():
    assert KDEUnivariate(X).fit(bw=bandwidth_rule(), adjust=0.5).bw == 0.5 * akde.bandwidth(X)


def test_clipped_values_have_no_say():
    kde = KDEUnivariate(X).fit(bw=bandwidth_rule(), clip=(1.0, 8.0))
    assert kde.bw == akde.bandwidth(X[(X > 1.0) & (X < 8.0)])


@pytest.mark.parametrize("kernel", sorted(set(kernel_switch) - {"gau"}))
def test_other_kernels_are_refused(kernel):
    with pytest.raises(InvalidParameterError, match='kernel="gau"'):
        KDEUnivariate(X).fit(bw=bandwidth_rule(), kernel=kernel, fft=False)


def test_bad_bounds_and_samples_get_our_sentences():
    with pytest.raises(InvalidBoundsError, match="must be below"):
        bandwidth_rule(bounds=(1, 0))
    with pytest.raises(InvalidBoundsError, match="outside the bounds"):
        KDEUnivariate(X).fit(bw=bandwidth_rule(bounds=(0, 1)))
    with pytest.raises(DegenerateSampleError, match="no answer"):
        KDEUnivariate([1.0, 1.0, 1.0]).fit(bw=bandwidth_rule())


def test_it_is_a_frozen_value():
    rule = bandwidth_rule("lcv", bounds=[0, None])
    assert pickle.loads(pickle.dumps(rule)) == rule == BandwidthRule("lcv", (0.0, np.inf))
    assert len({rule, bandwidth_rule("lcv", bounds=(0, None))}) == 1
