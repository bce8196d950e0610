import re
from xml.etree import ElementTree

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.density.html import density_html

GRID = np.linspace(-1.0, 3.0, 201)
DENSITY = np.exp(-0.5 * (GRID - 1.0) ** 2)


def drawn(html):
    """The page as a tree, which it only is if everything is closed and escaped."""
    return ElementTree.fromstring(html)


def html(facts=None, **options):
    options = {"grid": GRID, "density": DENSITY, "band": (0.0, 2.0), "bounds": (None, None)} | options
    return density_html("a density", facts or {"n": 3}, **options)


def paths(tree):
    return tree.findall(".//{http://www.w3.org/2000/svg}path")


def test_facts_as_texts():
    facts = {"n": 3, "mean": 1.23456789, "bounds": (0.0, None), "method": "silverman"}
    cells = [(row[0].text, row[1].text) for row in drawn(html(facts)).iter("tr")]
    assert cells == [("n", "3"), ("mean", "1.23457"), ("bounds", "0, none"), ("method", "silverman")]


def test_numbers_can_be_told_apart_far_from_zero():
    page = html({"interval": (1e9 + 0.25, 1e9 + 1.75)}, grid=GRID + 1e9, band=(1e9, 1e9 + 2.0))
    assert drawn(page).find(".//td").text == "1000000000.25, 1000000001.75"
    assert [text.text for text in drawn(page).iter("{http://www.w3.org/2000/svg}text")] == ["999999999", "1000000003"]


def test_whatever_a_method_is_called_stays_text():
    nasty = '<script>alert("1")</script>&amp;'
    page = density_html(nasty, {nasty: nasty}, grid=GRID, density=DENSITY, band=(0.0, 2.0), bounds=(None, None))
    assert "<script" not in page
    tree = drawn(page)
    assert tree.find(".//td").text == tree.find(".//th").text == nasty
    assert tree.find("{http://www.w3.org/2000/svg}svg").get("aria-label") == nasty


def test_the_curve_fills_the_picture():
    curve = next(path for path in paths(drawn(html())) if path.get("stroke-width"))
    x, y = np.array(re.findall(r"[\d.]+", curve.get("d")), float).reshape(-1, 2).T
    assert x.size == GRID.size
    assert (x[0], x[-1], y.min()) == (4.0, 296.0, 4.0)
    assert abs(x[np.argmin(y)] - 150.0) <= 2.0
    np.testing.assert_allclose((94.0 - y) / 90.0, DENSITY, atol=1e-3)


def test_bounds_are_walls():
    def dashed(bounds):
        return [path.get("d") for path in paths(drawn(html(bounds=bounds))) if path.get("stroke-dasharray")]

    assert dashed((None, None)) == []
    assert dashed((-1.0, 3.0)) == ["M4.0 0V94", "M296.0 0V94"]
    assert dashed((None, 3.0)) == ["M296.0 0V94"]
    # One that lies beyond the picture is not in it.
    assert dashed((-9.0, 3.0)) == ["M296.0 0V94"]


def test_the_band_is_shaded_twice():
    areas = [path.get("d") for path in paths(drawn(html())) if path.get("fill-opacity")]
    assert len(areas) == 2
    assert areas[1].startswith("M77.0 94L77.0 ")
    assert re.search(r" ?223\.0 [\d.]+V94Z$", areas[1])
    # A band between two arguments of the grid has nothing to shade.
    assert len([p for p in paths(drawn(html(band=(0.001, 0.002)))) if p.get("fill-opacity")]) == 1


def test_colours_are_those_of_the_text_around():
    assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', html())) == {"currentColor", "none"}
    assert len(html().encode()) < 10_000


def test_the_data_fill_the_picture_of_a_density():
    x = np.random.default_rng(0).gamma(3.0, size=120)
    page = drawn(akde.fit(x, bounds=(0, None))._repr_html_())
    left, right = (float(text.text) for text in page.iter("{http://www.w3.org/2000/svg}text"))
    assert left == 0.0
    # The label is rounded.
    assert right == pytest.approx(x.max(), rel=0.1)
