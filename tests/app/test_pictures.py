"""Pictures are complete, and their curves can be told apart without colour."""

import json

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.app.curves import compute_drawing
from amortized_kde.app.ensembles import judge_ranks
from amortized_kde.app.pictures import DASHES, ZOOM, colours, density_chart, icon, legend_css, picture, rank_chart
from amortized_kde.data.reading import read_sample

X = np.sort(np.random.default_rng(1).gamma(2.0, 1.0, 200))
METHODS = ("silverman", "scott", "amortized:gmm32")


@pytest.fixture(scope="module")
def drawing():
    densities = {name: akde.fit(X, bounds=(0, None), method=name) for name in METHODS}
    return compute_drawing(densities, read_sample(X), (0.0, None), name="length [$]")


def flat(value):
    """All entries of a nested document."""
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(leaf for child in children for leaf in flat(child))]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("log", [False, True])
def test_a_chart_has_all_layers(drawing, log, dark):
    spec = json.loads(density_chart(drawing, log=log, dark=dark).to_json())
    marks = [layer["mark"]["type"] for layer in spec["layer"]]
    assert marks == ["rect", "rule", "line", "tick", "rule"]
    tips = [tip["title"] for layer in spec["layer"] for tip in layer["encoding"].get("tooltip", [])]
    # A column named "image" would otherwise be shown as a picture.
    assert tips == ["value", *METHODS]
    scales = [
        entry["type"] for entry in flat(spec) if isinstance(entry, dict) and "domain" in entry and "type" in entry
    ]
    assert ("log" in scales) is log


def test_nothing_below_the_floor_of_a_logarithmic_axis(drawing):
    spec = json.loads(density_chart(drawing, log=True, dark=False).to_json())
    values = [row for rows in spec["datasets"].values() for row in rows]
    floor = min(row["floor"] for row in values if "floor" in row)
    assert floor > 0.0
    assert all(row[key] >= floor for row in values for key in ("height", "density") if key in row)


def test_a_picture_without_rug_and_bounds():
    many = np.linspace(0.0, 1.0, 3000)
    drawing = compute_drawing({"a": akde.fit(many, method="scott")}, read_sample(many), (None, None), name="x")
    spec = json.loads(density_chart(drawing, log=False, dark=False).to_json())
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["rect", "line", "rule"]
    assert sum(map(len, spec["datasets"].values())) < 3000


def luminance(colour):
    channels = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize(("dark", "ground"), [(False, "#ffffff"), (True, "#171614")])
def test_every_curve_can_be_seen_and_told_apart(dark, ground):
    found = colours(7, dark=dark)
    assert len(set(found)) == len(set(DASHES)) == 7
    back = luminance(ground)
    for colour in found:
        light, deep = sorted((luminance(colour), back), reverse=True)
        # Thick lines are told apart from the ground at less than the 3 : 1 of letters; dashes and tooltips name them.
        assert (light + 0.05) / (deep + 0.05) > 2.0, colour
    assert colours(9, dark=dark)[7:] == found[:2]


def test_the_legend_has_a_line_for_each_curve():
    text = legend_css("legend", ["a", "b"], dark=False)
    assert text.count("repeating-linear-gradient") == 2
    assert ".st-key-legend button:nth-of-type(2)::before" in text


def test_a_hidden_curve_is_left_out_and_others_keep_their_colours(drawing):
    spec = json.loads(density_chart(drawing, log=False, dark=False, hidden=METHODS[:1]).to_json())
    drawn = {row["method"] for rows in spec["datasets"].values() for row in rows if "method" in row}
    assert drawn == set(METHODS[1:])
    (line,) = [layer for layer in spec["layer"] if layer["mark"]["type"] == "line"]
    assert line["encoding"]["color"]["scale"]["domain"] == list(METHODS)
    without = json.loads(density_chart(drawing, log=True, dark=False, hidden=METHODS).to_json())
    assert "line" not in [layer["mark"]["type"] for layer in without["layer"]]
    assert picture(drawing, "svg", log=False, hidden=METHODS) != picture(drawing, "svg", log=False)


def test_an_axis_ends_where_it_is_told_to(drawing):
    spec = json.loads(density_chart(drawing, log=False, dark=False, top=0.125).to_json())
    domains = [entry["domain"] for entry in flat(spec) if isinstance(entry, dict) and "domain" in entry]
    assert [0.0, 0.125] in domains
    assert picture(drawing, "svg", log=False, top=0.125) != picture(drawing, "svg", log=False)


def test_only_a_mouse_or_a_pen_brushes(drawing):
    spec = json.loads(density_chart(drawing, log=False, dark=False, zoom=True).to_json())
    (brush,) = [entry for entry in spec["params"] if entry["name"] == ZOOM]
    assert brush["select"]["encodings"] == ["x"]
    assert "touch" in json.dumps(brush["select"]["on"])


def test_the_icon_is_a_picture():
    assert icon(32).size == (32, 32)


def test_a_histogram_of_ranks():
    judged = judge_ranks(np.tile(np.arange(9.0), (101, 1)), np.linspace(-0.5, 9.5, 101))
    spec = json.loads(rank_chart(judged.counts, judged.expected, judged.band, dark=True).to_json())
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["rect", "rect", "rule"]
    counts = [row["count"] for rows in spec["datasets"].values() for row in rows if "count" in row]
    assert sum(counts) == 101


@pytest.mark.parametrize("log", [False, True])
def test_pictures_to_take_away(log):
    densities = {name: akde.fit(X, bounds=(0, None), method=name) for name in ("silverman", "scott")}
    drawing = compute_drawing(densities, read_sample(X), (0.0, None), name="cost in $ and $")
    assert picture(drawing, "png", log=log).startswith(b"\x89PNG")
    svg = picture(drawing, "svg", log=log)
    assert b"<svg" in svg
    assert svg == picture(drawing, "svg", log=log)
