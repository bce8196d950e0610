"""The `kdeplot` that is called as seaborn's."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure

import amortized_kde as akde
from amortized_kde.errors import AmortizedKdeWarning, InvalidParameterError, InvalidSampleError
from amortized_kde.integrations.seaborn import kdeplot

RNG = np.random.default_rng(1)
TABLE = pd.DataFrame({"a": RNG.gamma(2.0, size=60), "b": RNG.normal(size=60), "kind": ["v", "u", "u"] * 20})
FAST = {"method": "scott"}


def axes():
    return Figure().add_subplot()


def outermost(ax, which=0):
    """The vertices of the first, lowest contour of a group."""
    contours = [collection for collection in ax.collections if collection.get_paths()]
    return contours[which].get_paths()[0].vertices


@pytest.mark.parametrize("data", [TABLE, pl.from_pandas(TABLE), TABLE.to_dict("list")])
def test_contours_are_those_of_the_density_of_each_group(data):
    ax = kdeplot(data, x="a", y="b", hue="kind", levels=[0.5], ax=axes(), **FAST)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["v", "u"]
    assert ax.get_legend().get_title().get_text() == "kind"
    for k, group in enumerate(("v", "u")):
        d = akde.fit(TABLE.loc[TABLE.kind == group, ["a", "b"]], **FAST)
        np.testing.assert_allclose(d.pdf(outermost(ax, k)), d.hdr_level(0.5), rtol=0.02)


def test_bounds_weights_and_vectors():
    ax = kdeplot(x=TABLE.a, y=TABLE.b, weights=np.arange(60), bounds={"a": (0, None)}, levels=[0.5], ax=axes(), **FAST)
    d = akde.fit(TABLE[["a", "b"]], weights=np.arange(60), bounds={"a": (0, None)}, **FAST)
    np.testing.assert_allclose(d.pdf(outermost(ax)), d.hdr_level(0.5), rtol=0.02)
    ax = kdeplot(x=TABLE.a.to_list(), y=TABLE.b.to_list(), ax=axes(), **FAST)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    assert ax.get_legend() is None


def test_one_variable_is_a_curve_for_each_group():
    table = TABLE.assign(kind=pd.Categorical(TABLE.kind, ["u", "v", "w"]))
    ax = kdeplot(table, x="a", hue="kind", bounds=(0, None), palette={"u": "red", "v": "blue"}, ax=axes(), **FAST)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["u", "v"]
    line = next(line for line in ax.lines if line.get_label() == "u")
    assert line.get_color() == "red"
    d = akde.fit(TABLE.a[TABLE.kind == "u"], bounds=(0, None), **FAST)
    np.testing.assert_allclose(line.get_ydata()[1:-1], d.pdf(line.get_xdata()[1:-1]), rtol=1e-9)


def test_groups_without_a_density_are_left_out():
    table = TABLE.assign(kind=["alone", *TABLE.kind[1:]])
    table.loc[3, "a"] = np.nan
    with pytest.warns(AmortizedKdeWarning, match="kind = alone is left out"):
        ax = kdeplot(table, x="a", y="b", hue="kind", hue_order=["u", "v", "alone"], ax=axes(), **FAST)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["u", "v"]
    with pytest.raises(InvalidSampleError, match="at least 3 rows"):
        kdeplot(table[:1], x="a", y="b", ax=axes(), **FAST)


def test_seaborns_grids_take_it():
    import seaborn

    grid = seaborn.FacetGrid(TABLE, col="kind")
    grid.map_dataframe(kdeplot, x="a", y="b", **FAST)
    assert all(ax.collections for ax in grid.axes.flat)
    pairs = seaborn.PairGrid(TABLE, vars=["a", "b"], hue="kind", palette="muted", corner=True)
    pairs.map_lower(kdeplot, legend=False, **FAST)
    pairs.map_diag(kdeplot, **FAST)
    pairs.add_legend()
    assert [text.get_text() for text in pairs.legend.get_texts()] == ["v", "u"]


@pytest.mark.parametrize(
    ("options", "message"),
    [({}, "needs x"), ({"x": "z"}, "no column 'z' for x"), ({"x": "a", "hue": "z"}, "no column 'z' for hue")],
)
def test_bad_arguments_get_one_sentence(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        kdeplot(TABLE, ax=axes(), **options)
