"""Densities of several variables, judged by SciPy's distributions where these have closed forms."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, multivariate_normal, multivariate_t, norm
from scipy.stats import t as student

import amortized_kde as akde
from amortized_kde.data.support import OPEN
from amortized_kde.density import KernelDensity, multivariate_plot
from amortized_kde.density.components import Components, Part
from amortized_kde.density.draws import draw_from_parts
from amortized_kde.density.multivariate import MultivariateDensity
from amortized_kde.density.scores import FARTHEST, NormalScores
from amortized_kde.errors import InvalidParameterError, InvalidSampleError, PrecisionError, UnreadableFileError

COVARIANCE = np.array([[1.0, 0.6, 0.2], [0.6, 2.0, -0.3], [0.2, -0.3, 0.5]])
MEAN = np.array([1.0, -2.0, 0.5])


def of(components, names=("a", "b", "c"), margins=None):
    return MultivariateDensity(
        (Part(1.0, components, margins),), np.empty((0, len(names))), np.empty(0), names, (OPEN,) * len(names), "test"
    )


def normal(dof=math.inf):
    """One normal or t component, of size 2 and half its factor."""
    factor = 0.5 * np.linalg.cholesky(COVARIANCE)
    return of(Components(np.ones(1), MEAN[None], factor[None], np.zeros(1, int), np.full(1, 2.0), np.full(1, dof)))


def scored():
    """A normal copula with correlation 0.7 and two gamma-like margins that are positive."""
    rng = np.random.default_rng(1)
    margins = tuple(akde.fit(rng.gamma(shape, size=60), bounds=(0, None), method="silverman") for shape in (1.0, 3.0))
    factor = np.linalg.cholesky([[1.0, 0.7], [0.7, 1.0]])
    part = Part(1.0, Components.gaussian(np.ones(1), np.zeros((1, 2)), factor), margins)
    box = tuple(margin._parts.bounds for margin in margins)
    return MultivariateDensity((part,), np.empty((0, 2)), np.empty(0), ("a", "b"), box, "test")


def test_a_normal_density():
    d, law = normal(), multivariate_normal(MEAN, COVARIANCE)
    x = law.rvs(50, random_state=1)
    np.testing.assert_allclose(d.logpdf(x), law.logpdf(x), atol=1e-12)
    assert d.pdf(MEAN) == pytest.approx(law.pdf(MEAN))
    assert d(MEAN) == d.pdf(MEAN)
    np.testing.assert_allclose(d.mean(), MEAN, atol=1e-14)
    np.testing.assert_allclose(d.cov(), COVARIANCE, atol=1e-14)
    assert d.entropy() == pytest.approx(law.entropy(), abs=0.02)
    for p in (0.1, 0.5, 0.95):
        assert d.hdr_level(p) == pytest.approx(law.pdf(MEAN) * math.exp(-0.5 * chi2(3).ppf(p)), rel=0.05)
    assert d.contains(MEAN, 0.01)
    np.testing.assert_array_equal(d.contains([MEAN, MEAN + 10.0], 0.99), [True, False])
    modes = d.modes()
    assert len(modes) == 1
    np.testing.assert_allclose(modes.places[0], MEAN, atol=0.01)
    assert "prominence" in repr(modes)


@pytest.mark.parametrize("dof", [math.inf, 3.5])
def test_marginal_and_conditional_of_one_component(dof):
    d = normal(dof)
    law = multivariate_normal if math.isinf(dof) else lambda m, c: multivariate_t(m, c, df=dof)
    pair = d.marginal(["c", 0])
    x = np.random.default_rng(2).normal(size=(20, 2))
    expected = law(MEAN[[2, 0]], COVARIANCE[np.ix_([2, 0], [2, 0])]).logpdf(x)
    np.testing.assert_allclose(pair.logpdf(x), expected, atol=1e-12)
    assert pair.names == ("c", "a")
    line = d.marginal("b")
    one = norm(-2.0, math.sqrt(2.0)) if math.isinf(dof) else student(dof, -2.0, math.sqrt(2.0))
    p = np.array([1e-6, 0.2, 0.5, 0.9])
    np.testing.assert_allclose(line.ppf(p), one.ppf(p), rtol=1e-9)
    np.testing.assert_allclose(line.isf(p), one.isf(p), rtol=1e-9)
    np.testing.assert_allclose(
        [line.mean(), line.std(), line.entropy()], [one.mean(), one.std(), one.entropy()], rtol=1e-6
    )
    assert line.interval(0.9) == pytest.approx(one.interval(0.9))
    given = d.conditional({"b": 1.0, 2: 0.0})
    values = np.array([1.0, 0.0])
    joint = law(MEAN, COVARIANCE)
    at = np.linspace(-3.0, 4.0, 9)
    points = np.stack([at, np.full(9, 1.0), np.zeros(9)], axis=1)
    below = law(MEAN[1:], COVARIANCE[1:, 1:]).logpdf(values)
    np.testing.assert_allclose(given.logpdf(at), joint.logpdf(points) - below, atol=1e-11)
    two = d.conditional({"b": 1.0})
    assert (two.names, two.dimension) == (("a", "c"), 2)


def test_a_t_component_without_moments():
    np.testing.assert_allclose(normal(2.5).cov(), 5.0 * COVARIANCE)
    np.testing.assert_array_equal(normal(1.5).cov(), np.where(np.eye(3) > 0.0, np.inf, np.nan))
    np.testing.assert_allclose(normal(1.5).mean(), MEAN)
    assert np.isnan(normal(1.0).mean()).all()
    assert normal(1.5).marginal(0).std() == math.inf


def test_quantiles_and_levels_of_very_many_components():
    """With fewer arguments in the table and fewer draws than for few components."""
    n = 70_000
    means = norm.ppf((np.arange(n) + 0.5) / n)[:, None] * [1.0, -1.0]
    d = of(Components.gaussian(np.full(n, 1.0 / n), means, 0.1 * np.eye(2)), names=("a", "b"))
    margin, p = d.marginal("a"), np.array([1e-9, 0.01, 0.5, 0.999])
    np.testing.assert_allclose(margin.ppf(p[1:]), math.sqrt(1.01) * norm.ppf(p[1:]), atol=1e-3)
    np.testing.assert_allclose(margin.cdf(margin.ppf(p)), p, rtol=1e-12)
    law = multivariate_normal([0.0, 0.0], [[1.01, -1.0], [-1.0, 1.01]])
    assert d.hdr_level(0.5) == pytest.approx(0.5 * law.pdf([0.0, 0.0]), rel=0.05)


def test_a_box_has_the_probability_of_scipy():
    d, law = normal(), multivariate_normal(MEAN, COVARIANCE)
    upper, lower = MEAN + np.array([0.5, 1.0, 0.2]), MEAN - np.array([1.0, 0.3, 2.0])
    assert d.cdf(upper, error=1e-4) == pytest.approx(law.cdf(upper), abs=1e-4)
    box = d.cdf(upper, lower_limit=lower, error=1e-4)
    assert box == pytest.approx(law.cdf(upper, lower_limit=lower), abs=1e-4)
    half = d.cdf([upper[0], np.inf, np.inf], lower_limit=[lower[0], -np.inf, -np.inf])
    assert half == pytest.approx(d.marginal(0).cdf(upper[0]) - d.marginal(0).cdf(lower[0]), abs=1e-12)
    assert d.cdf([np.inf] * 3) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal(d.cdf([lower, upper], lower_limit=upper), [0.0, 0.0])
    heavy = normal(3.5)
    assert heavy.cdf(upper) == pytest.approx(multivariate_t(MEAN, COVARIANCE, df=3.5).cdf(upper), abs=1e-3)
    with pytest.raises(PrecisionError, match="cannot be computed to 1e-12"):
        d.cdf(upper, error=1e-12)


def test_a_copula_has_its_margins():
    d = scored()
    for axis in range(2):
        margin, exact = d.marginal(axis), d.parts[0].margins[axis]
        x = exact.ppf(np.linspace(0.01, 0.99, 30))
        np.testing.assert_allclose(margin.cdf(x), exact.cdf(x), atol=1e-5)
        np.testing.assert_allclose(margin.logpdf(x), exact.logpdf(x), atol=2e-3)
        assert margin.mean() == pytest.approx(exact.mean(), rel=1e-4)
        assert margin.std() == pytest.approx(exact.std(), rel=1e-4)
        assert margin.bounds == (0.0, None)
        assert margin.ppf(0.0) == 0.0
    draws = d.sample(50_000, rng=3)
    assert draws.min() >= 0.0
    box = np.array([1.0, 3.0])
    assert d.cdf(box) == pytest.approx(np.mean(np.all(draws <= box, axis=1)), abs=0.01)
    assert np.corrcoef(draws.T)[0, 1] == pytest.approx(d.cov()[0, 1] / math.sqrt(np.prod(np.diag(d.cov()))), abs=0.02)
    inside = np.mean(d.contains(draws, 0.5))
    assert inside == pytest.approx(0.5, abs=0.01)


def test_draws_of_heavy_scores_do_not_lie_at_the_ends_of_their_map():
    part = scored().parts[0]
    heavy = replace(part.components, dofs=np.ones(1))
    draws = draw_from_parts([replace(part, components=heavy)], 5000, np.random.default_rng(1))
    assert len(np.unique(draws[:, 0])) == 5000
    ends = part.maps[0].knots[[0, -1]]
    assert ends[0] < draws[:, 0].min() < draws[:, 0].max() < ends[1]


@pytest.mark.parametrize("bounds", [None, (0, None), (0, 6)])
def test_the_map_of_scores_is_increasing_and_turns_back(bounds):
    x = np.clip(np.random.default_rng(5).gamma(2.0, size=80), 0.0, 6.0)
    map_ = NormalScores.of(akde.fit(x, bounds=bounds))
    assert np.all(np.diff(map_.knots) > 0.0)
    assert np.all(np.diff(map_.scores) > 0.0)
    z = np.linspace(-FARTHEST, FARTHEST, 1001)[1:-1]
    at = map_.inverse(z)
    assert np.all(np.diff(at) > 0.0)
    np.testing.assert_allclose(map_.forward(at)[0], z, atol=1e-6)
    middle = at[200:-200]
    step = 1e-5 * np.exp(-map_.forward(middle)[1])
    slope = (map_.forward(middle + step)[0] - map_.forward(middle - step)[0]) / (2.0 * step)
    np.testing.assert_allclose(np.log(slope), map_.forward(middle)[1], atol=1e-4)


def test_modes_of_two_clusters():
    means = np.array([[0.0, 0.0], [5.0, 1.0]])
    d = of(Components.gaussian(np.array([0.7, 0.3]), means, np.eye(2)), names=("a", "b"))
    modes = d.modes()
    np.testing.assert_allclose(modes.places, means, atol=0.01)
    np.testing.assert_allclose(modes.heights, d.pdf(means), rtol=1e-3)
    assert modes.prominences[0] == 1.0
    assert 0.3 < modes.prominences[1] < 3.0 / 7.0
    assert len(d.modes(prominence=0.5)) == 1
    assert len(d.conditional({"b": 0.5}).modes()) == 2


def test_names_are_used_and_checked():
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(30, 2)), columns=["u", "v"])
    d = akde.fit(frame, method="scott")
    np.testing.assert_array_equal(d.logpdf(frame[["v", "u"]]), d.logpdf(frame.to_numpy()))
    assert repr(d).startswith("MultivariateDensity(n=30, names=('u', 'v')")
    assert repr(d.marginal("u")).startswith("AxisDensity(name='u'")
    for call, kind, message in [
        (lambda: d.logpdf(frame[["u"]]), InvalidSampleError, "no column 'v'"),
        (lambda: d.logpdf([1.0, 2.0, 3.0]), InvalidSampleError, "its last axis must have length 2"),
        (lambda: d.marginal("w"), InvalidParameterError, "no variable 'w'"),
        (lambda: d.marginal(["u", 0]), InvalidParameterError, "once"),
        (lambda: d.conditional({"u": 1.0, "v": 2.0}), InvalidParameterError, "between 1 and 1"),
        (lambda: d.conditional({"u": np.nan}), InvalidParameterError, "one finite number"),
        (lambda: d.conditional(3.0), InvalidParameterError, "by variable"),
        (lambda: d.hdr_level(1.0), InvalidParameterError, "between 0 and 1"),
        (lambda: d.modes(prominence=2.0), InvalidParameterError, "prominence"),
        (lambda: d.sample(-1), InvalidParameterError, "size"),
        (lambda: d.sample(1, rng="x"), InvalidParameterError, "rng"),
    ]:
        with pytest.raises(kind, match=message):
            call()


def test_a_conditional_value_lies_inside_the_bounds():
    with pytest.raises(
        InvalidParameterError, match=r"'a' must be given one finite number inside its bounds \(0.0, None\)"
    ):
        scored().conditional({"a": -1.0})


def test_files_of_others_are_refused(tmp_path):
    KernelDensity([1.0, 2.0], bandwidth=1.0).save(tmp_path / "one.npz")
    with pytest.raises(UnreadableFileError, match=r"no file that MultivariateDensity\.save wrote"):
        MultivariateDensity.load(tmp_path / "one.npz")
    scored().save(tmp_path / "d.npz")
    with np.load(tmp_path / "d.npz") as file:
        arrays = dict(file)
    for name, change, message in [
        ("part0.weights", lambda a: 2.0 * a, "positive and sum to 1"),
        ("part0.factors", lambda a: -a, "positive diagonals"),
        ("part0.shape_of", lambda a: a + 1, "numbers from 0 to 0"),
        ("part_weights", lambda a: 0.5 * a, "sum to 1"),
        ("bounds", lambda a: a + 1.0, "bounds of the density"),
        ("names", lambda a: a[:1], "two to 8 names"),
        ("part0.means", lambda a: a.astype(np.float32), "entries of type float32"),
        ("part_margins", lambda a: a + 5, "no margins"),
        ("margin0.weights", lambda a: 0.5 * a, "must sum to 1"),
    ]:
        np.savez(tmp_path / "bad.npz", **(arrays | {name: change(arrays[name])}))
        with pytest.raises(UnreadableFileError, match=message):
            MultivariateDensity.load(tmp_path / "bad.npz")


def test_pictures():
    from matplotlib.figure import Figure

    d = normal()
    pair = akde.fit(d.sample(60, rng=1)[:, :2], method="scott")
    ax = pair.plot(Figure().add_subplot(), levels=[0.5, 0.9], count=40)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x1")
    panels = d.plot(Figure(), count=20)
    assert panels.shape == (3, 3)
    assert panels[2, 0].get_xlabel() == "a"
    rugs = pair.plot(Figure().add_subplot(), points="rug", fill=False, count=40)
    # Ticks below and at the left, contours, and no dots.
    assert len(rugs.collections) == 3
    assert not rugs.lines
    with pytest.raises(InvalidParameterError, match='True, False or "rug"'):
        pair.plot(Figure().add_subplot(), points="dots")
    with pytest.raises(InvalidParameterError, match="3 x 3 axes"):
        d.plot(Figure().add_subplot())
    with pytest.raises(InvalidParameterError, match="between 0 and 1"):
        pair.plot(Figure().add_subplot(), levels=[2.0])
    low, high = multivariate_plot.view(pair, 0)
    assert pair.marginal(0).cdf(low) < 0.005
    assert pair.marginal(0).sf(high) < 0.005
    # The grid ends inside of a bound, where a density can be infinite.
    assert 0.0 < multivariate_plot.view(scored(), 0)[0] < 0.01
    axis = pair.marginal(0).plot(Figure().add_subplot())
    assert axis.get_xlabel() == "x0"
