"""The broken axes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.research.reproduction.axes import BrokenScale, fit_scale, round_ticks

scales = st.builds(BrokenScale, end=st.floats(-5.0, 50.0), width=st.floats(1e-3, 1e3))
values = st.lists(st.floats(-100.0, 1e6), min_size=2, max_size=20)


@given(scales, values)
def test_the_scale_is_monotone_and_invertible(scale, found):
    v = np.unique(found)
    s = scale.forward(v)
    assert np.all(np.diff(s) >= 0.0)
    np.testing.assert_allclose(scale.inverse(s), v, rtol=1e-6, atol=1e-6)


@given(scales)
def test_it_is_linear_below_and_goes_on_with_the_same_slope(scale):
    below = np.array([scale.end - 7.0, scale.end])
    assert scale.forward(below).tolist() == below.tolist()
    step = 1e-6 * scale.width
    rise = float(scale.forward(scale.end + step) - scale.forward(scale.end))
    assert rise == pytest.approx(step, rel=1e-2, abs=1e-12)


def test_above_it_is_a_logarithm():
    scale = BrokenScale(end=4.5, width=0.5)
    rise = np.diff(scale.forward(np.array([4.5 + 1e3, 4.5 + 1e4, 4.5 + 1e5])))
    np.testing.assert_allclose(rise, 0.5 * np.log(10.0), rtol=1e-3)


@given(st.floats(5.0, 1e6), st.floats(0.2, 0.9))
def test_the_linear_part_takes_its_fraction(high, fraction):
    scale = fit_scale(2.0, 4.5, high, fraction=fraction)
    part = 2.5 / (scale.forward(high) - 2.0)
    assert part >= fraction - 1e-6
    # More than its fraction only if it takes more even without compression.
    assert part <= fraction + 1e-6 or scale.width > 100.0 * (high - 4.5)


@given(st.floats(5.0, 1e6))
def test_ticks_stand_apart_and_inside(high):
    scale = fit_scale(1.9, 4.5, high, fraction=0.6)
    ticks = round_ticks(scale, low=1.9, high=high, step=0.5)
    assert ticks[:6] == [2.0, 2.5, 3.0, 3.5, 4.0, 4.5]
    assert max(ticks) <= high
    assert np.diff(scale.forward(np.array(ticks))).min() > 0.33
