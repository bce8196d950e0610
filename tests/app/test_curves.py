"""What a picture shows."""

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.app.curves import brushed_limits, compute_drawing, is_spread_out, window
from amortized_kde.data.reading import read_sample

X = np.sort(np.random.default_rng(1).gamma(2.0, 1.0, 300))


def test_the_window():
    low, high = window(X, (None, None), near=False)
    assert low < X[0] < X[-1] < high
    assert window(X, (0.0, None), near=False)[0] == 0.0
    assert window(X, (None, 20.0), near=False)[1] < 20.0
    inner = window(X, (None, None), near=True)
    assert low < inner[0] < inner[1] < high
    assert window(X, (None, None), near=False, tails=True)[1] > high


def test_a_window_without_width_has_the_room_of_the_whole():
    low, high = window(np.sort(np.concatenate([np.zeros(1000), [1.0]])), (None, None), near=True)
    assert (low, high) == (-0.06, 0.06)


def test_outliers_spread_a_sample_out():
    assert not is_spread_out(X)
    assert is_spread_out(np.append(X, 1e4))
    assert is_spread_out(np.append(X[:19], 1e12))
    assert not is_spread_out(np.append(X[:18], 1e12))
    assert window(np.append(X[:19], 1e12), (None, None), near=True)[1] < 20.0
    assert not is_spread_out(np.array([1.0, 1.0, 1.0]))


@pytest.mark.parametrize("bounds", [(None, None), (0.0, None), (0.0, 50.0)])
@pytest.mark.parametrize("near", [False, True])
def test_a_drawing(bounds, near):
    densities = {name: akde.fit(X, bounds=bounds, method=name) for name in ("silverman", "scott")}
    drawing = compute_drawing(densities, read_sample(X), bounds, name="x", near=near)
    low, high = window(X, bounds, near=near)
    assert (drawing.grid[0], drawing.grid[-1], drawing.edges[0], drawing.edges[-1]) == (low, high, low, high)
    assert np.all(np.diff(drawing.grid) > 0.0)
    for name, density in densities.items():
        assert np.array_equal(drawing.curves[name], density.pdf(drawing.grid))
    inside = np.mean((low <= X) & (high >= X))
    assert np.sum(drawing.heights * np.diff(drawing.edges)) == pytest.approx(inside)
    assert drawing.ticks.size == round(inside * X.size)


def test_no_narrow_peak_is_missed():
    x = np.sort(np.concatenate([np.linspace(0.0, 100.0, 50), np.full(50, 33.3333) + np.linspace(0.0, 1e-3, 50)]))
    density = akde.KernelDensity(x, 0.001)
    drawing = compute_drawing({"a": density}, read_sample(x), (None, None), name="x")
    assert drawing.curves["a"].max() > 0.9 * density.modes(prominence=0.5).heights.max()


def test_many_points_have_no_rug():
    many = np.linspace(0.0, 1.0, 5000)
    drawing = compute_drawing({"a": akde.fit(many, method="silverman")}, read_sample(many), (None, None), name="x")
    assert drawing.ticks.size == 0
    assert drawing.heights.size <= 120
    assert drawing.grid.size < 600


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e280])
@pytest.mark.parametrize("tails", [False, True])
def test_numbers_that_no_axis_can_show_are_drawn_in_their_unit(scale, tails):
    points = np.sort(np.random.default_rng(1).normal(size=300).round(2) * scale)
    bounds = (float(points[0]), 1e10 if scale < 1.0 else None)
    density = akde.fit(points, bounds=bounds)
    drawn = compute_drawing({"a": density}, read_sample(points), bounds, name="x", tails=tails)
    unit = float(drawn.name.removeprefix("x, in units of "))
    assert 0.1 * unit < points[-1] - points[0] < 100.0 * unit
    for numbers in (drawn.grid, drawn.curves["a"], drawn.edges, drawn.heights, drawn.ticks):
        assert np.isfinite(numbers).all()
    assert np.abs(drawn.grid).max() < 100.0
    assert np.trapezoid(drawn.curves["a"], drawn.grid) == pytest.approx(1.0, abs=0.05)
    assert np.sum(drawn.heights * np.diff(drawn.edges)) == pytest.approx(1.0)
    assert drawn.bounds == (pytest.approx(points[0] / unit, rel=1e-2), None)


def test_neighbouring_numbers_are_drawn():
    points = 1e15 + 0.125 * np.arange(40.0)
    drawn = compute_drawing({"a": akde.fit(points)}, read_sample(points), (None, None), name="x")
    assert (drawn.name, round(np.sum(drawn.heights * np.diff(drawn.edges)))) == ("x", 1)


def test_axis_limits_replace_the_window():
    density = akde.fit(X, bounds=(0, None))
    drawn = compute_drawing({"a": density}, read_sample(X), (0.0, None), name="x", limits=(1.0, 2.5))
    assert (drawn.grid[0], drawn.grid[-1]) == (1.0, 2.5)
    assert np.array_equal(drawn.curves["a"], density.pdf(drawn.grid))
    assert drawn.ticks.min() >= 1.0
    assert drawn.ticks.max() <= 2.5
    half = compute_drawing({"a": density}, read_sample(X), (0.0, None), name="x", limits=(None, 2.5))
    assert (half.grid[0], half.grid[-1]) == (0.0, 2.5)
    far = compute_drawing({"a": density}, read_sample(X), (None, None), name="x", limits=(1e6, None))
    assert far.grid[0] == 1e6 < far.grid[-1]


def test_a_histogram_of_weighted_values():
    points = np.array([1.0, 2.0, 3.0, 4.0])
    drawn = compute_drawing({}, read_sample(points, weights=[1, 1, 1, 5]), (None, None), name="x")
    assert np.sum(drawn.heights * np.diff(drawn.edges)) == pytest.approx(1.0)
    assert (drawn.heights * np.diff(drawn.edges))[-1] == pytest.approx(0.625)


@pytest.mark.parametrize("shift", [0.0, 1e6, -1e12])
def test_a_brushed_range_keeps_the_digits_that_it_needs(shift):
    points = np.sort(np.random.default_rng(1).normal(size=50)) + shift
    drawn = compute_drawing({}, read_sample(points), (None, None), name="x")
    low, high = map(float, brushed_limits(drawn, shift + 0.25, shift + 0.5))
    assert low == pytest.approx(shift + 0.25, abs=1e-3)
    assert high == pytest.approx(shift + 0.5, abs=1e-3)


def test_a_brushed_range_of_tiny_numbers_is_in_data_units():
    drawn = compute_drawing({}, read_sample([1e-310, 2e-310, 5e-310]), (None, None), name="x")
    assert drawn.exponent < 0
    low, high = map(float, brushed_limits(drawn, 1.5, 2.5))
    assert (low, high) == pytest.approx((1.5 * 10.0**drawn.exponent, 2.5 * 10.0**drawn.exponent), rel=1e-3)
