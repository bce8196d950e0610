"""What is measured of a curve: modes on a grid with the data in it, peak, moments, intervals."""

import numpy as np
import pytest
from scipy import stats

import amortized_kde as akde
from contests.rivals import DIRICHLET
from contests.shape import (
    MEASURES,
    PROBABILITIES,
    Curve,
    count_modes,
    curves,
    evaluation_grid,
    marron_wand_densities,
    measures,
    smooth_densities,
)
from contests.shape_report import (
    NEEDLES,
    Key,
    Loss,
    draw_shape,
    losses,
    mean_over,
    read_cells,
    summarise,
    to_markdown,
    views,
    write_cells,
)

TRUTHS = {truth.name: truth for truth in (*smooth_densities(), *marron_wand_densities())}


def as_dict(values):
    return dict(zip(MEASURES, values, strict=True))


@pytest.mark.parametrize("name", TRUTHS)
def test_densities_are_densities_with_samples_of_their_own(name):
    truth = TRUTHS[name]
    pdf, cdf = truth.pdf(truth.grid), truth.cdf(truth.grid)
    assert np.trapezoid(pdf, truth.grid) == pytest.approx(1.0, abs=2e-3)
    assert np.all(np.diff(cdf) >= 0.0)
    sample = truth.draw(np.random.default_rng(1), 4000)
    assert stats.kstest(sample, truth.cdf).pvalue > 1e-3


def test_known_numbers_of_modes():
    expected = {"normal": 1, "uniform": 1, "two modes": 2, "gaussian": 1, "bimodal": 2, "trimodal": 3, "claw": 5}
    assert {name: TRUTHS[name].modes[0.02] for name in expected} == expected


def test_a_needle_on_a_data_point_is_counted():
    sample = np.array([165.0, 168.0, 170.0, 172.0, 175.0, 180.0])
    grid = evaluation_grid(sample)
    broad, needle = stats.norm(171.0, 6.0).pdf(grid), stats.norm(180.0, 1e-6).pdf(grid)
    assert count_modes(broad, 0.02) == 1
    assert count_modes(broad + 1e-7 * needle, 0.02) == 2


def test_the_truth_itself_is_measured_as_perfect():
    truth, law = TRUTHS["normal"], stats.norm()
    sample = law.ppf((np.arange(200) + 0.5) / 200)
    found = as_dict(measures(truth, sample, Curve(law.pdf, law.logpdf, 0.0, 1.0, law.ppf(PROBABILITIES))))
    assert found["found modes 2 %"] == 1
    assert found["spurious modes 2 %"] == found["missed modes 10 %"] == 0
    assert found["peak / true peak"] == pytest.approx(1.0, abs=1e-6)
    assert found["sd / sample sd"] == pytest.approx(1.0, abs=0.02)
    assert (found["coverage 50 %"], found["coverage 90 %"]) == (pytest.approx(0.5), pytest.approx(0.9))
    assert found["squared error"] == pytest.approx(0.0, abs=1e-12)
    assert found["excess bits"] == pytest.approx(0.0, abs=1e-9)


def test_curves_of_the_package_and_of_a_mixture():
    sample = np.sort(np.random.default_rng(2).normal(size=60))
    truth = TRUTHS["normal"]
    (ours,) = curves("silverman", truth, [sample])
    assert ours.mean == pytest.approx(sample.mean())
    np.testing.assert_array_equal(ours.quantiles, akde.fit(sample, method="silverman").ppf(np.array(PROBABILITIES)))
    pytest.importorskip("sklearn")
    (mixture,) = curves(DIRICHLET, truth, [sample])
    assert mixture.mean == pytest.approx(sample.mean(), abs=0.1)
    assert mixture.sd == pytest.approx(sample.std(), rel=0.15)
    grid = np.linspace(-30.0, 30.0, 60_001)
    assert np.trapezoid(np.exp(mixture.log_density(grid)), grid) == pytest.approx(1.0, abs=1e-9)


def row(**numbers):
    """Measures of one sample; zero unless given."""
    return [numbers.get(name, 0.0) for name in MEASURES]


FOUND, PEAK = "found modes 2 %", "peak / true peak"


def test_a_cell_is_summarised_over_the_samples_with_an_answer():
    values = np.array([row(**{FOUND: 1, PEAK: 1.0}), row(**{FOUND: 3, PEAK: 2.5}), row(**{FOUND: 2, PEAK: 2.0})])
    found = summarise(np.vstack([values, np.full(len(MEASURES), np.nan)]))
    assert (found[FOUND], found[f"median {PEAK}"]) == (2.0, 2.0)
    assert found["share with two modes or more 2 %"] == pytest.approx(2 / 3)
    # Exactly twice the true peak is not above it.
    assert found[NEEDLES] == pytest.approx(1 / 3)
    assert summarise(np.full((2, len(MEASURES)), np.nan)) == {}


def test_cells_are_written_and_read(tmp_path):
    nothing = np.full((2, len(MEASURES)), np.nan)
    some = np.array([row(**{FOUND: 1, "excess bits": np.inf}), row(**{FOUND: 2})])
    write_cells(tmp_path / "shape.csv", {Key("normal", 5, "a"): some, Key("normal", 5, "b"): nothing})
    found = read_cells(tmp_path / "shape.csv")
    assert found[Key("normal", 5, "a")] == pytest.approx(summarise(some))
    assert found[Key("normal", 5, "b")] == {}
    line = (tmp_path / "shape.csv").read_text().splitlines()[2]
    assert line.startswith("normal,5,b,2,2")


def cells_of(measure, ours, rival):
    """Cells at n = 5 of our method and one rival, by density."""
    return {Key(d, 5, "amortized"): {measure: v} for d, v in ours.items()} | {
        Key(d, 5, "silverman"): {measure: v} for d, v in rival.items()
    }


def test_means_over_densities_need_all_of_them():
    cells = cells_of("x", {"a": 1.0, "b": 3.0}, {"a": 1.0})
    assert mean_over(cells, "ab", 5, "amortized", "x") == 2.0
    assert np.isnan(mean_over(cells, "ab", 5, "silverman", "x"))
    assert mean_over(cells_of("x", {"a": 1.0, "b": np.inf}, {}), "ab", 5, "amortized", "x") == np.inf


def test_losses_are_cells_with_a_lower_mean_of_a_rival():
    cells = cells_of("x", {"a": 1.0, "b": 3.0, "c": 2.0, "d": 2.0}, {"a": 0.5, "b": 1.0, "c": 2.0, "d": 2.5})
    cells[Key("c", 5, "amortized:single")] = {"x": 0.0}
    cells[Key("a", 5, "lcv")] = {"x": 0.25}
    cells[Key("b", 5, "logspline")] = {}
    assert losses(cells, "x") == [Loss("b", 5, "silverman", 1.0, 3.0), Loss("a", 5, "lcv", 0.25, 1.0)]


def test_the_tables_begin_with_the_losses_and_show_every_view(tmp_path):
    rng = np.random.default_rng(3)
    found = {
        Key(density, n, method): rng.uniform(0.5, 2.5, (6, len(MEASURES)))
        for n in (5, 8)
        for density in TRUTHS
        for method in ("amortized", "silverman")
    }
    found[Key("normal", 10, "amortized")] = found[Key("normal", 5, "amortized")]
    write_cells(tmp_path / "shape.csv", found)
    cells = read_cells(tmp_path / "shape.csv")
    text = to_markdown(cells)
    assert text.startswith("## Where a rival is better")
    assert all(f"## {view.heading}\n\n{view.sentence}\n\n| n | `amortized` | `silverman` |" in text for view in views())
    share = np.mean([found[Key("normal", 8, "silverman")][:, MEASURES.index(PEAK)] > 2.0])
    needles = text.split("## Needles")[1].split("##")[0].splitlines()
    assert [line.split(" | ")[0] for line in needles if line[:3].strip("| ").isdigit()] == ["| 5", "| 8", "| 10"]
    assert f"{share:.3g} |" in next(line for line in needles if line.startswith("| 8 |"))
    # Only the normal density has n = 10.
    assert "| 10 |" not in text.split("## Modes found")[1].split("##")[0]
    draw_shape(tmp_path / "shape.png", cells)
    assert (tmp_path / "shape.png").read_bytes().startswith(b"\x89PNG")


def test_perfect_curves_have_the_numbers_that_views_call_best():
    best = {view.heading: view.best for view in views()}
    assert best["Modes found"] == pytest.approx(9 / 8)
    assert best["True probability of central 90 % intervals"] == 0.9
