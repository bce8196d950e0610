"""The pictures: which are drawn, what is in them, that nothing overlaps, that bytes repeat."""

import hashlib
from itertools import pairwise

import numpy as np
import pytest

from amortized_kde.research.reproduction import figures
from amortized_kde.research.reproduction.evidence import read_evidence
from amortized_kde.research.reproduction.protocol import METHODS

NAMES = [*figures.FIGURES, "figure5_excess"]


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("figure*")}


def test_all_figures_are_written(make_results):
    written = figures.draw_figures(make_results())
    assert [path.name for path in written] == [f"{name}{end}" for name in NAMES for end in (".png", ".svg")]
    assert all(path.stat().st_size > 10_000 for path in written)


def test_the_same_tables_give_the_same_bytes(make_results):
    folders = [make_results(name, beds=("gaussian",)) for name in ("one", "two")]
    for folder in folders:
        figures.draw_figures(folder)
    assert len(digests(folders[0])) == 4
    assert digests(folders[0]) == digests(folders[1])
    assert b"Software" not in (folders[0] / "figure1_gaussian.png").read_bytes()
    assert b"<dc:date>" not in (folders[0] / "figure1_gaussian.svg").read_bytes()


def test_what_is_missing_is_skipped(make_results, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "save_figure", lambda ax, path: None)
    written = figures.draw_figures(make_results(beds=("gmm",)))
    assert {path.stem for path in written} == {"figure3_gmm", "figure5_excess"}
    (tmp_path / "empty").mkdir()
    assert figures.draw_figures(tmp_path / "empty") == []


def test_a_run_without_learned_selectors_still_has_the_excess(make_results, monkeypatch):
    monkeypatch.setattr(figures, "save_figure", lambda ax, path: None)
    folder = make_results(beds=("gmm",))
    path = folder / "gmm.csv"
    path.write_text("\n".join(row for row in path.read_text().splitlines() if "amortized" not in row))
    assert {path.stem for path in figures.draw_figures(folder)} == {"figure5_excess"}


@pytest.fixture
def drawn(make_results):
    beds = read_evidence(make_results()).beds

    def draw(name):
        shown = figures.FIGURES[name]
        ax = figures._draw_scores(beds[shown.bed], shown)
        ax.figure.draw_without_rendering()
        return ax

    return draw


def boxes(artists):
    return [artist.get_window_extent() for artist in artists if artist.get_visible()]


@pytest.mark.parametrize("name", figures.FIGURES)
def test_every_method_is_drawn_and_nothing_overlaps(drawn, name):
    ax = drawn(name)
    labels = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert labels == ["true density", *(METHODS[method].label for method in figures.FIGURES[name].methods)]
    legend = ax.figure.legends[0].get_window_extent()
    page = ax.figure.bbox
    for panel in ax.figure.axes:
        assert not legend.overlaps(panel.get_tightbbox())
        assert page.x0 <= panel.get_tightbbox().x0 < panel.get_tightbbox().x1 <= page.x1
        for axis in (panel.xaxis, panel.yaxis):
            shown = [label for label in axis.get_ticklabels() if label.get_text()]
            assert not any(a.overlaps(b) for a, b in pairwise(boxes(shown)))
    assert page.x0 <= legend.x0 < legend.x1 <= page.x1


@pytest.mark.parametrize("name", figures.FIGURES)
def test_curves_differ_in_more_than_colour(drawn, name):
    looks = [(str(line._unscaled_dash_pattern), line.get_marker()) for line in drawn(name).get_lines()[:-2]]
    assert len(looks) == len(set(looks)) == len(figures.FIGURES[name].methods) + 1


def test_figure_1_has_the_papers_axes(drawn):
    ax = drawn("figure1_gaussian")
    assert ax.get_lines()[0].get_linestyle() == "--"
    place = {axis: getattr(ax, axis).get_transform().transform for axis in ("xaxis", "yaxis")}
    assert np.diff(place["xaxis"](np.array([5.0, 10.0, 15.0, 20.0]))) == pytest.approx([5.0] * 3)
    assert np.diff(place["xaxis"](np.array([20.0, 25.0])))[0] < 5.0
    assert np.diff(place["yaxis"](np.array([2.0, 3.0, 4.0, 4.5]))) == pytest.approx([1.0, 1.0, 0.5])
    assert np.diff(place["yaxis"](np.array([4.5, 5.5])))[0] < 1.0


def test_the_linear_end_holds_the_learned_curves(make_results):
    bed = read_evidence(make_results()).beds["gmm"]
    # -0.5 + 3 * 4.36/5 is 2.116.
    assert figures.linear_end(bed) == 2.0
