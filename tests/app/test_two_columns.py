"""The density of two columns: what is read, what is computed, what is drawn, and one sentence for what cannot be."""

import json

import numpy as np
import pytest

pytest.importorskip("altair")

import amortized_kde as akde
from amortized_kde.app.columns import Pair, read_pair
from amortized_kde.app.plane_pictures import plane_chart, plane_picture
from amortized_kde.app.tables import open_text
from amortized_kde.app.two_columns import MOST_ROWS, compute_plane
from amortized_kde.errors import AmortizedKdeError, InvalidBoundsError, InvalidSampleError

OPEN = ((None, None), (None, None))
RNG = np.random.default_rng(1)
ANGLES = RNG.uniform(0.0, 2.0 * np.pi, 300)
RING = np.column_stack([np.cos(ANGLES), 5.0 + np.sin(ANGLES)]) + RNG.normal(0.0, 0.15, (300, 2))
X = RNG.exponential(size=(150, 2))


def plane(values=X, bounds=OPEN, method="scott", names=("a", "b")):
    return compute_plane(Pair(names, np.asarray(values, dtype=float), ()), bounds, method)


def area(path):
    x, y = path.T
    return 0.5 * abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))


def test_a_pair_is_read_with_names_units_and_complete_rows():
    pair = read_pair(open_text("who,w,h\nann,12 kg,1\nbob,NA,2\ncyd,14 kg,3\n", "the text"), 1, 2)
    assert pair.names == ("w (kg)", "h")
    assert pair.values.tolist() == [[12.0, 1.0], [14.0, 3.0]]
    assert pair.remarks[-1] == "1 with a missing number left out"


def test_equal_names_are_told_apart():
    assert read_pair(open_text("a,a\n1,2\n3,5\n", "the text"), 0, 1).names == ("a (first)", "a (second)")


def test_a_pair_without_a_header():
    pair = read_pair(open_text("1 2\n3 5\n4 4", "the text"), 1, 2)
    assert (pair.names, pair.values.tolist()) == (("column 1", "column 2"), [[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]])


@pytest.mark.parametrize(("bounds", "method"), [(OPEN, "amortized"), (((0.0, None), (0.0, None)), "lcv")])
def test_regions_hold_what_they_say(bounds, method):
    from matplotlib.path import Path

    found = plane(X, bounds, method)
    density = akde.fit({"a": X[:, 0], "b": X[:, 1]}, bounds=list(bounds), method=method)
    draws = density.sample(4000, rng=np.random.default_rng(1))
    inside = np.zeros(len(draws))
    for mass in sorted(found.regions):
        # A path around a region and its holes goes around the holes the other way.
        inside += sum(Path(path).contains_points(draws) for path in found.regions[mass])
        assert abs(float((inside > 0).mean()) - mass) < 0.04, mass


def test_contours_lie_at_the_levels_of_the_density():
    found, density = plane(), akde.fit(X, method="scott")
    for mass, paths in found.contours.items():
        heights = np.concatenate([density.pdf(path) for path in paths])
        assert np.allclose(heights, density.hdr_level(mass), rtol=0.05)


def test_the_hole_of_a_ring_is_no_part_of_a_region():
    found = plane(RING, method="amortized")
    outer = found.regions[0.95]
    whole = max(area(path) for path in found.contours[0.95])
    assert 0.0 < sum(map(area, outer)) < 0.8 * whole
    assert len(found.contours[0.95]) >= 2


def test_margins_are_those_of_the_density_and_finite_at_a_bound():
    found = plane(X, ((0.0, None), (0.0, None)), "amortized")
    density = akde.fit(X, bounds=[(0, None), (0, None)])
    for axis, (grid, heights) in enumerate(found.margins):
        assert grid[0] == 0.0
        assert np.allclose(heights[1:-1], density.marginal(axis).pdf(grid[1:-1]))
        assert heights.max() < 3.0


def test_many_rows_are_thinned_and_that_can_be_said():
    rows = np.random.default_rng(2).normal(size=(MOST_ROWS + 1000, 2))
    found = plane(rows)
    assert (found.fitted, len(found.points)) == (MOST_ROWS, 1500)
    assert found.sentence.startswith("The 6,000 rows have one peak, near (")
    assert {tuple(point) for point in found.points} <= {tuple(row) for row in rows}


def test_the_sentence_rounds_by_the_span():
    narrow = np.array([5.0, 0.0]) + X * np.array([1e-3, 1.0])
    assert plane(narrow).sentence.startswith("The 150 rows have one peak, near (5.00")


WRONG = {
    "few rows": (
        X[:2],
        OPEN,
        "2 rows have a number in both columns, and a density of two columns needs at least three.",
    ),
    "constant": (X * [1, 0] + [0, 3.5], OPEN, "all values of 'b' equal 3.5; choose another column."),
    "a line": (X[:, [0, 0]] * [1.0, -2.0], OPEN, "'a' and 'b' lie on a straight line"),
    "tiny": (X * [1e-310, 1.0], OPEN, "the values of 'a' are too small for this view; change their unit."),
    "huge": (X * [1.0, 1e299], OPEN, "the values of 'b' are too large for this view; change their unit."),
    "outside": (X, ((None, None), (0.5, None)), "of 150 values of column 'b' lie outside the bounds"),
}


@pytest.mark.parametrize(("values", "bounds", "sentence"), WRONG.values(), ids=WRONG)
def test_what_has_no_density_gets_a_sentence(values, bounds, sentence):
    with pytest.raises(AmortizedKdeError) as caught:
        plane(values, bounds)
    assert sentence in str(caught.value)
    assert isinstance(caught.value, InvalidBoundsError) == ("outside" in sentence)


def test_too_many_values():
    table = open_text("a,b\n" + "1,2\n" * 500_001, "the text")
    with pytest.raises(InvalidSampleError, match="there are 1,000,002 values, and this page takes up to 1,000,000"):
        read_pair(table, 0, 1)


@pytest.mark.parametrize("dark", [False, True])
def test_the_chart_has_regions_points_margins_and_bounds(dark):
    chart = plane_chart(plane(X, ((0.0, None), (None, 50.0)), names=("image", "b")), dark=dark).to_dict()
    layers = chart["layer"]
    assert [layer["mark"]["type"] for layer in layers] == ["line"] * 5 + ["circle"] + ["line"] * 2 + ["rule"]
    opacities = [layer["mark"]["fillOpacity"] for layer in layers[:4]]
    assert opacities == sorted(opacities)
    rules = chart["datasets"][layers[-1]["data"]["name"]]
    # Two edges, and the bound that is in view.
    assert [rule["dash"] for rule in rules] == ["edge", "edge", "bound"]
    assert {tip.get("title") for tip in layers[5]["encoding"]["tooltip"]} == {None}
    assert "NaN" not in json.dumps(chart)


def test_labels_of_ticks_are_different():
    found = plane(X * [1.0, 0.001] + [0.0, 1000.0])
    for name, layer in zip("xy", [plane_chart(found, dark=False).to_dict()["layer"][0]] * 2, strict=True):
        axis = layer["encoding"][name]["axis"]
        digits = int(axis["format"].strip(",.~g"))
        labels = [f"{tick:.{digits}g}" for tick in axis["values"]]
        assert len(set(labels)) == len(labels) >= 3


def test_pictures_to_take_away():
    found = plane(RING, names=("$x", "b"))
    assert plane_picture(found, "png").startswith(b"\x89PNG")
    assert b"<svg" in plane_picture(found, "svg")
