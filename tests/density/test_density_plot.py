"""Pictures of densities: what is drawn, what is in view, and what stays as it was."""

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde import KernelDensity
from amortized_kde.density.kernel_density import KernelDensity as Density
from amortized_kde.errors import InvalidParameterError

pytest.importorskip("matplotlib", reason="pictures need the plot extra")
from matplotlib.figure import Figure

X = np.random.default_rng(1).gamma(2.0, 1.0, 40)


@pytest.fixture
def ax():
    return Figure().add_subplot()


def test_a_curve_with_its_area_and_rug(ax):
    d = KernelDensity(X, bandwidth=0.3, bounds=(0, None))
    assert d.plot(ax, label="gamma", count=300) is ax
    curve, rug, bound = ax.get_lines()
    assert curve.get_label() == "gamma"
    np.testing.assert_array_equal(curve.get_xdata(), d.grid(300))
    np.testing.assert_array_equal(curve.get_ydata(), d.pdf(d.grid(300)))
    np.testing.assert_array_equal(rug.get_xdata(), d.points)
    assert rug.get_color() == curve.get_color()
    assert set(bound.get_xdata()) == {0.0}
    (area,) = ax.collections
    outline = area.get_paths()[0].vertices
    assert outline[:, 1].min() == 0.0
    assert outline[:, 1].max() == curve.get_ydata().max()
    assert ax.get_legend() is None
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("", "density")


def test_styles_go_to_matplotlib(ax):
    d = KernelDensity(X, bandwidth=0.3)
    d.plot(ax, color="red", linewidth=3.5, alpha=0.5, linestyle="--", fill=0.4)
    line, area = ax.get_lines()[0], ax.collections[0]
    assert (line.get_color(), line.get_linewidth(), line.get_alpha(), line.get_linestyle()) == ("red", 3.5, 0.5, "--")
    assert area.get_facecolor()[0] == pytest.approx((1.0, 0.0, 0.0, 0.2))
    d.plot(ax, lw=1.0, c="blue", fill=False)
    assert (ax.get_lines()[-2].get_color(), ax.get_lines()[-2].get_linewidth()) == ("blue", 1.0)
    assert len(ax.collections) == 1
    with pytest.raises(AttributeError, match="colour"):
        d.plot(ax, colour="red")


@pytest.mark.parametrize("fill", [True, False])
def test_no_curve_cuts_another(ax, fill):
    low, high = KernelDensity(X, bandwidth=1.0), KernelDensity(20.0 + 0.01 * X, bandwidth=0.01)
    ax.plot([-30.0, 0.0], [0.0, 0.1])
    low.plot(ax, fill=fill)
    high.plot(ax, fill=fill)
    left, right = ax.get_xlim()
    bottom, top = ax.get_ylim()
    assert left < -30.0
    assert right > high.points[-1]
    assert top > high.pdf(high.grid()).max()
    assert bottom == 0.0
    ax.plot([0.0], [2.0 * top], "o")
    assert ax.get_ylim()[1] > 2.0 * top


@pytest.mark.parametrize("n", [6, 60, 600])
@pytest.mark.parametrize("shape", ["standard_normal", "standard_exponential", "random"])
def test_the_data_fill_the_view(ax, n, shape):
    x = getattr(np.random.default_rng(n), shape)(n)
    for d in (akde.fit(x), KernelDensity(x, bandwidth=akde.bandwidth(x))):
        ax.clear()
        d.plot(ax)
        left, right = ax.get_xlim()
        assert left <= x.min() < x.max() <= right
        assert np.ptp(x) / (right - left) > (0.34 if n == 6 else 0.6)
        # What is beyond the view would be a line on the axis.
        peak = d.pdf(d.grid()).max()
        assert max(d.pdf(left), d.pdf(right)) < (0.11 if n == 6 else 0.03) * peak


def test_a_bound_that_is_far_away_is_out_of_view(ax):
    KernelDensity(X, bandwidth=0.3, bounds=(0, 1e6)).plot(ax)
    assert ax.get_xlim()[1] < 20.0


def test_bandwidths_of_two_densities_and_no_far_bound_are_in_view(ax):
    wide, narrow = KernelDensity(1e3 + X, bandwidth=50.0, bounds=(0, None)), akde.fit(1e3 + X)
    wide.plot_bandwidth(ax)
    narrow.plot_bandwidth(ax)
    bottom, top = ax.get_ylim()
    assert bottom < narrow.local_bandwidths.min() < 50.0 < top
    assert ax.get_xlim()[0] > 999.0
    assert ax.spines["top"].get_visible()
    assert not wide.plot_bandwidth().spines["top"].get_visible()


def test_a_comparison_shows_the_data_and_no_far_bound():
    compared = akde.compare(1e3 + X, methods=["scott", "silverman"], bounds=(0, None))
    left, right = compared.plot().get_xlim()
    assert 990.0 < left < right < 1030.0


def test_limits_of_the_callers_stay(ax):
    ax.set_xlim(1.0, 2.0)
    ax.set_ylim(0.0, 9.0)
    ax.set_xlabel("time")
    ax.set_ylabel("share")
    KernelDensity(X, bandwidth=0.3).plot(ax)
    assert (ax.get_xlim(), ax.get_ylim()) == ((1.0, 2.0), (0.0, 9.0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time", "share")
    assert ax.spines["top"].get_visible()


def test_a_band_is_shaded(ax):
    d = KernelDensity(X, bandwidth=0.3, bounds=(0, None))
    d.plot(ax, band=0.9)
    _, band = ax.collections
    shaded = band.get_paths()[0].vertices
    assert (shaded[:, 0].min(), shaded[:, 0].max()) == pytest.approx(d.interval(0.9))
    curve = ax.get_lines()[0]
    assert np.all(np.isin(d.interval(0.9), curve.get_xdata()))
    np.testing.assert_allclose(curve.get_ydata(), d.pdf(curve.get_xdata()))
    # All of it ends where the curve does.
    ax.clear()
    d.plot(ax, band=1.0)
    assert ax.collections[1].get_paths()[0].vertices[:, 0].max() == d.grid()[-1]
    with pytest.raises(InvalidParameterError, match="probabilities"):
        d.plot(ax, band=90)


def test_a_logarithmic_axis(ax):
    d = KernelDensity([0.0, 50.0], bandwidth=1.0)
    d.plot(ax, log=True, hist=True)
    peak = d.pdf(0.0)
    assert ax.get_yscale() == "log"
    assert ax.get_ylim()[0] == pytest.approx(1e-6 * peak, rel=0.01)
    assert ax.get_lines()[0].get_ydata().min() == pytest.approx(1e-6 * peak, rel=0.01)
    assert ax.get_ylim()[1] > peak
    # The tails of both ends are in view.
    shown = ax.dataLim.intervalx
    assert shown[0] < -5.0
    assert shown[1] > 55.0
    ax.clear()
    KernelDensity([0.0], bandwidth=1.0).plot(ax, log=True)
    # Where nothing shown is lower, the axis begins higher.
    assert 1e-4 * peak < ax.get_ylim()[0] < 2e-3 * peak


def test_a_histogram_behind(ax):
    w = np.arange(1.0, 41.0)
    d = KernelDensity(X, bandwidth=0.3, weights=w)
    d.plot(ax, hist=7)
    (bars,) = ax.patches
    heights, edges = np.histogram(X, bins=7, weights=w, density=True)
    np.testing.assert_allclose(bars.get_data().values, heights)
    np.testing.assert_allclose(bars.get_data().edges, edges)
    assert bars.get_zorder() < ax.get_lines()[0].get_zorder()
    ax.clear()
    d.plot(ax, hist=True)
    assert ax.patches[0].get_data().values.size == 7
    for bad in (0, 1.5, "auto", -3):
        with pytest.raises(InvalidParameterError, match="hist takes True, False or a number of bins"):
            d.plot(ax, hist=bad)


def test_a_rug_of_few_points_unless_asked_for(ax):
    many = KernelDensity(np.linspace(0.0, 1.0, 2000), bandwidth=0.1)
    assert len(many.plot(ax).get_lines()) == 1
    assert many.plot(ax, rug=True).get_lines()[-1].get_xdata().size == 1000
    ax.clear()
    assert len(KernelDensity(X, bandwidth=0.3).plot(ax, rug=False).get_lines()) == 1


def test_several_densities_in_one_call(ax):
    d, e = KernelDensity(X, bandwidth=0.3), KernelDensity(X + 5.0, bandwidth=0.3)
    assert akde.plot({"now": d, "then": e}, ax, hist=True, linewidth=1.0) is ax
    first, second = ax.get_lines()
    assert (first.get_label(), second.get_label()) == ("now", "then")
    assert first.get_color() != second.get_color()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["now", "then"]
    assert len(ax.patches) == 2
    left, right = ax.get_xlim()
    assert left < X.min() < X.max() + 5.0 < right
    ax.clear()
    assert akde.plot([d, e], ax).get_legend() is None
    assert len(ax.get_lines()) == 2


@pytest.mark.parametrize("wrong", [[], {}, 3.0, [1.0, 2.0], X, "density", None])
def test_something_else_is_no_density(ax, wrong):
    with pytest.raises(InvalidParameterError, match="plot draws densities"):
        akde.plot(wrong, ax)


def test_names_are_on_the_axis_and_in_the_legend(ax):
    pandas = pytest.importorskip("pandas")
    rain, wind = (akde.fit(pandas.Series(X, name=name), bandwidth=0.3) for name in ("rain in $mm$", "wind"))
    rain.plot(ax)
    assert ax.get_xlabel() == "rain in $mm$"
    ax.figure.canvas.draw()
    ax.clear()
    akde.plot([rain, wind], ax)
    assert ax.get_xlabel() == ""
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["rain in $mm$", "wind"]
    ax.clear()
    akde.fit(pandas.DataFrame({"rain": X}), method="scott").plot(ax)
    assert ax.get_xlabel() == "rain"


def test_pyplots_axes_are_the_default():
    from matplotlib import pyplot

    ax = Density(X, bandwidth=0.3).plot(count=16)
    assert ax is pyplot.gca()
    assert not ax.spines["top"].get_visible()
    pyplot.close("all")
