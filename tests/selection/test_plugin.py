"""Sheather and Jones: the slow equations in NumPy judge the tight solution, R's recorded answers the R form."""

import math
import subprocess

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.errors import DegenerateSampleError, FallbackWarning

SQRT_2PI = math.sqrt(2.0 * math.pi)


def bandwidth(x, method="sheather-jones"):
    return akde.bandwidth(x, method=method)


class Equation:
    """The equation of the solve-the-equation rule, from every pair, in the data's own units."""

    def __init__(self, x):
        x = np.sort(x)
        n = self.n = x.size
        distances = [x[lag:] - x[:-lag] for lag in range(1, n)]
        self.pairs = np.concatenate(distances) if n < 2000 else distances
        sd, iqr = np.std(x - x[0], ddof=1), np.subtract(*np.percentile(x - x[0], [75, 25]))
        scale = self.scale = min(sd, iqr / 1.349) if iqr > 0.0 else sd
        td = -self.psi(1.23 * scale * n ** (-1 / 9), [1.0, -15.0, 45.0, -15.0], 7)
        psi4 = self.psi(1.24 * scale * n ** (-1 / 7), [1.0, -6.0, 3.0], 5)
        self.alpha = 1.357 * (psi4 / td) ** (1 / 7)

    def psi(self, g, polynomial, power):
        def terms(distances):
            d = (distances / g) ** 2
            return float(np.sum(np.exp(-0.5 * d) * np.polyval(polynomial, d)))

        total = terms(self.pairs) if self.n < 2000 else math.fsum(terms(d) for d in self.pairs)
        return (2.0 * total + polynomial[-1] * self.n) / (self.n * (self.n - 1) * g**power * SQRT_2PI)

    def residual(self, h):
        roughness = self.psi(self.alpha * h ** (5 / 7), [1.0, -6.0, 3.0], 5)
        return (1.0 / (2.0 * math.sqrt(math.pi) * self.n * roughness)) ** 0.2 - h


def samples():
    rng = np.random.default_rng(11)
    yield "two", np.array([1.0, 2.0])
    yield "three", np.array([0.0, 0.1, 5.0])
    for n in (5, 20, 100, 400):
        yield f"normal {n}", rng.standard_normal(n)
    yield "bimodal", np.concatenate([rng.normal(-3.0, 0.2, 70), rng.normal(2.0, 1.0, 50)])
    yield "skewed", rng.lognormal(0.0, 1.2, 150)
    yield "spike", np.concatenate([rng.normal(0.0, 1e-3, 60), rng.normal(0.0, 1.0, 60)])
    yield "ties", np.round(rng.standard_normal(200), 1)
    yield "integers", rng.poisson(8.0, 120).astype(float)
    yield "outlier", np.append(rng.standard_normal(99), 1e4)
    yield "offset", 1e9 + rng.standard_normal(100)
    yield "tiny", 1e-12 * rng.standard_normal(50)


@pytest.mark.parametrize(("name", "x"), [pytest.param(*entry, id=entry[0]) for entry in samples()])
def test_the_answer_solves_the_equation(name, x):
    h = bandwidth(x)
    equation = Equation(x)
    assert abs(equation.residual(h)) <= 1e-11 * h
    # Not merely small: the sign changes there.
    assert equation.residual(h * (1.0 - 1e-7)) * equation.residual(h * (1.0 + 1e-7)) < 0.0


class WeightedEquation(Equation):
    """The same from every pair of weighted values: n is the effective size, and sums over pairs are weighted means."""

    def __init__(self, x, w):
        w = w[np.argsort(x)] / w.sum()
        x = np.sort(x)
        self.n = 1.0 / np.sum(w**2)
        i, j = np.triu_indices(x.size, 1)
        self.pairs, self.products = x[j] - x[i], w[i] * w[j]
        mean = np.sum(w * x)
        sd = math.sqrt(np.sum(w * (x - mean) ** 2) / (1.0 - 1.0 / self.n))
        scale = min(sd, np.subtract(*(smooth_quantile(x, w, p) for p in (0.75, 0.25))) / 1.349)
        td = -self.psi(1.23 * scale * self.n ** (-1 / 9), [1.0, -15.0, 45.0, -15.0], 7)
        psi4 = self.psi(1.24 * scale * self.n ** (-1 / 7), [1.0, -6.0, 3.0], 5)
        self.alpha = 1.357 * (psi4 / td) ** (1 / 7)

    def psi(self, g, polynomial, power):
        d = (self.pairs / g) ** 2
        off_diagonal = 2.0 * np.sum(self.products * np.exp(-0.5 * d) * np.polyval(polynomial, d))
        mean = (off_diagonal + polynomial[-1] / self.n) / (g**power * SQRT_2PI)
        return mean * self.n / (self.n - 1.0)


def smooth_quantile(x, w, p):
    """The mean of the quantile function over a window of length 1/n that begins at (1 - 1/n) p."""
    n = 1.0 / np.sum(w**2)
    u = (1.0 - 1.0 / n) * p + (np.arange(400_000) + 0.5) / 400_000 / n
    return np.mean(x[np.minimum(np.searchsorted(np.cumsum(w), u), x.size - 1)])


@pytest.mark.parametrize("kind", ["gamma", "one heavy", "whole"])
@pytest.mark.parametrize(
    ("name", "x"), [pytest.param(*entry, id=entry[0]) for entry in samples() if entry[1].size > 20]
)
def test_the_answer_for_weights_solves_the_weighted_equation(name, x, kind):
    rng = np.random.default_rng(x.size)
    w = {
        "gamma": rng.gamma(0.7, 1.0, x.size),
        "one heavy": np.append(np.ones(x.size - 1), 5.0),
        "whole": rng.integers(1, 4, x.size),
    }[kind].astype(float)
    h = akde.bandwidth(x - x[0], weights=w, method="sheather-jones")
    equation = WeightedEquation(x - x[0], w)
    # The quartiles of this twin are sums over a fine grid, good to five digits.
    assert abs(equation.residual(h)) <= 1e-4 * h


def test_binned_with_weights_within_a_thousandth_of_the_exact_equation():
    rng = np.random.default_rng(17)
    x, w = rng.standard_normal(5100), rng.gamma(0.7, 1.0, 5100)
    h, equation = akde.bandwidth(x, weights=w, method="sheather-jones"), WeightedEquation(x, w)
    assert equation.residual(h * (1.0 - 1e-3)) * equation.residual(h * (1.0 + 1e-3)) < 0.0


def test_two_points():
    # R's loose answer for c(1, 2) is 0.1156904; the true root lies within R's tolerance of it.
    assert bandwidth([1.0, 2.0]) == pytest.approx(0.1156904, rel=0.02)


def test_the_traps_of_peers():
    rng = np.random.default_rng(12)
    x = rng.standard_normal(100)
    h = bandwidth(x)
    # R returns 0.011 instead of 0.380 at such an offset; data at 1e9 have an ulp of 1e-7.
    assert bandwidth(x + 1e9) == pytest.approx(h, rel=1e-6)
    # One outlier in a hundred breaks selectors on a grid, in both directions.
    assert bandwidth(np.append(x[:99], 1e7)) == pytest.approx(bandwidth(np.append(x[:99], x.max() + 1.0)), rel=0.1)
    assert bandwidth(np.repeat(x, 3)) > 0.0


@pytest.mark.parametrize("x", [[0.0] * 10 + [1.0, 2.0], [1.0, 1.0, 1.0, 1.0, 2.0], [0.0, *[3.0] * 6, 9.0, 9.5]])
def test_without_an_interquartile_range_the_standard_deviation_serves(x):
    x = np.array(x)
    with pytest.warns(FallbackWarning, match="^sheather-jones: the interquartile range is 0"):
        h = bandwidth(x)
    assert abs(Equation(x).residual(h)) <= 1e-11 * h


def large_samples():
    rng = np.random.default_rng(13)
    yield "normal", rng.standard_normal(5500)
    yield "bimodal", np.concatenate([rng.normal(-3.0, 0.05, 2500), rng.normal(2.0, 1.0, 3000)])
    yield "spike", np.concatenate([rng.normal(0.0, 0.02, 1100), rng.normal(0.0, 1.0, 4400)])
    yield "rounded", np.round(rng.standard_normal(5500), 1)
    yield "skewed", rng.lognormal(0.0, 1.0, 5500)
    yield "cauchy", rng.standard_cauchy(5500)


@pytest.mark.parametrize(("name", "x"), [pytest.param(*entry, id=entry[0]) for entry in large_samples()])
def test_binned_above_5000_within_a_thousandth_of_the_exact_equation(name, x):
    h, equation = bandwidth(x), Equation(x)
    assert equation.residual(h * (1.0 - 1e-3)) * equation.residual(h * (1.0 + 1e-3)) < 0.0


def test_binned_with_narrow_clusters_within_a_hundredth():
    rng = np.random.default_rng(15)
    x = np.concatenate([rng.normal(centre, 0.03, 1800) for centre in (-50.0, 0.0, 60.0)])
    h, equation = bandwidth(x), Equation(x)
    assert h < 1.144 * equation.scale * x.size**-0.2 / 20.0
    assert equation.residual(h * 0.99) * equation.residual(h * 1.01) < 0.0


def test_binned_rounded_data_are_exact():
    x = np.round(np.random.default_rng(16).standard_normal(5500), 1)
    h = bandwidth(x)
    assert abs(Equation(x).residual(h)) < 1e-10 * h


def test_binning_begins_above_5000_and_changes_little():
    x = np.random.default_rng(14).standard_normal(5001)
    h = bandwidth(x[:5000])
    assert abs(Equation(x[:5000]).residual(h)) < 1e-11 * h
    assert bandwidth(x) == pytest.approx(h, rel=2e-3)


def test_r_on_recorded_samples(r_rows):
    assert {row["case"] for row in r_rows} == {
        "normal", "cauchy", "expo", "unif", "bimodal", "spike", "lognormal", "shifted", "tiny", "rounded", "beta", "t3"
    }  # fmt: skip
    for row in r_rows:
        found = bandwidth(row["values"], method="sheather-jones-r")
        assert found == pytest.approx(float(row["bw_SJ_ste"]), rel=1e-9, abs=0.0), row["case"]


def test_r_on_the_whole_golden_file(all_r_rows):
    assert len(all_r_rows) == 480
    for row in all_r_rows:
        found = bandwidth(row["values"], method="sheather-jones-r")
        assert found == pytest.approx(float(row["bw_SJ_ste"]), rel=1e-9, abs=0.0), row["case"]


FRESH = """
set.seed(20240229)
draw <- list(
  function(n) rnorm(n), function(n) rcauchy(n), function(n) rexp(n) * 1e3, function(n) runif(n, -1, 1),
  function(n) rlnorm(n, 2, 1.5), function(n) c(rnorm(n - n %/% 2, -3, 0.1), rnorm(n %/% 2, 3)),
  function(n) rbeta(n, 0.5, 0.5), function(n) 1234.5 + rt(n, 3), function(n) 1e-8 * rnorm(n),
  function(n) round(rnorm(n, 100, 20)))
for (i in 1:1000) {
  n <- if (i %% 50 == 0) sample(501:800, 1) else sample(2:256, 1)
  x <- draw[[1 + i %% 10]](n)
  h <- tryCatch(bw.SJ(x, method = "ste"), error = function(e) NaN)
  cat(sprintf("%.17g", c(h, bw.nrd0(x), bw.nrd(x), x)), "\\n")
}
"""


def test_r_on_a_thousand_fresh_samples(rscript):
    output = subprocess.run([rscript, "--vanilla", "-e", FRESH], capture_output=True, text=True, check=True).stdout
    rows = [np.array(line.split(), float) for line in output.splitlines()]
    assert len(rows) == 1000
    for h, nrd0, nrd, *x in rows:
        x = np.array(x)
        if np.isnan(h):
            with pytest.raises(DegenerateSampleError):
                bandwidth(x, method="sheather-jones-r")
            continue
        assert bandwidth(x, method="sheather-jones-r") == pytest.approx(h, rel=1e-9, abs=0.0)
        assert bandwidth(x, method="silverman") == pytest.approx(nrd0, rel=1e-11, abs=0.0)
        assert bandwidth(x, method="scott") == pytest.approx(nrd, rel=1e-11, abs=0.0)


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        ([3.0], "a single value has no scale"),
        ([1.0, 1.0, 1.0], "too sparse to find TD"),
        ([1.0, 1.0, 1.0, 1.0, 1.0, 7.0], "too sparse to find TD"),
        ([0.0] * 50 + [1.0, 2.0, 3.0], "too sparse to find TD"),
    ],
)
def test_where_r_stops_there_is_no_answer(x, reason):
    with pytest.raises(DegenerateSampleError, match=reason):
        bandwidth(x, method="sheather-jones-r")


def test_values_a_few_ulps_apart_stay_within_the_bins():
    x = 1.0 + np.spacing(1.0) * np.arange(12)
    for n in range(2, 13):
        assert bandwidth(x[:n], method="sheather-jones-r") > 0.0
