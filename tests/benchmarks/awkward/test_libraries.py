import importlib.util

import numpy as np
import pytest
from scipy import stats

from amortized_kde.estimate import fit
from contests.awkward.judges import Answer, Refusal
from contests.awkward.libraries import LIBRARIES, ask, ask_r

SAMPLE = np.random.default_rng(8).normal(size=60)


@pytest.fixture(params=LIBRARIES)
def library(request):
    found = LIBRARIES[request.param]
    if found.version is None:
        pytest.skip(f"{found.package} is not installed (extra bench)")
    return found


def test_every_library_gives_a_density(library):
    grid = np.linspace(-12.0, 12.0, 24_001)
    reply = ask(library, SAMPLE, None, grid)
    assert isinstance(reply, Answer)
    assert np.trapezoid(np.exp(reply.log_density), grid) == pytest.approx(1.0, abs=0.01)


def test_no_library_changes_the_sample(library):
    before = SAMPLE.copy()
    ask(library, SAMPLE, None, np.array([0.0]))
    np.testing.assert_array_equal(SAMPLE, before)


def test_ours_and_scipys_are_as_they_are_called():
    at = np.linspace(0.0, 2.0, 5)
    inside, bounds = np.abs(SAMPLE), (0.0, None)
    np.testing.assert_array_equal(
        ask(LIBRARIES["amortized-kde"], inside, bounds, at).log_density, fit(inside, bounds=bounds).logpdf(at)
    )
    np.testing.assert_array_equal(
        ask(LIBRARIES["SciPy"], SAMPLE, None, at).log_density, stats.gaussian_kde(SAMPLE).logpdf(at)
    )


def test_an_error_and_a_warning_are_replies():
    reply = ask(LIBRARIES["SciPy"], np.array([1.0]), None, np.array([0.0]))
    assert reply == Refusal("ValueError", "`dataset` input should have multiple elements.")
    warned = ask(LIBRARIES["amortized-kde"], np.array(["a"]), None, np.array([0.0]))
    assert warned.kind == "InvalidSampleError"
    assert "\n" not in warned.message


@pytest.mark.skipif(importlib.util.find_spec("KDEpy") is None, reason="KDEpy is not installed (extra bench)")
def test_a_grid_is_extended_to_far_points_with_its_own_steps():
    near, far = np.array([0.3]), np.array([0.3, 30.0])
    library = LIBRARIES["KDEpy, ISJ"]
    alone, both = (ask(library, SAMPLE, None, at).log_density for at in (near, far))
    assert both[0] == pytest.approx(alone[0], abs=1e-3)
    # What it adds to every density.
    assert both[1] == pytest.approx(np.log(np.finfo(float).eps))


def test_r_is_asked_for_its_own_density(rscript):
    at = np.array([-1.0, 0.25])
    (expected,) = fit(SAMPLE, method="sheather-jones-r").logpdf(at[None])
    np.testing.assert_allclose(ask_r(SAMPLE, None, at), expected, atol=1e-2)
    reply = ask(LIBRARIES["R"], np.array([1.0]), None, at)
    assert reply.kind == "an error"
    assert "need at least 2 points" in reply.message
    assert "halted" not in reply.message
