"""What docs/integrations.md and examples/other_libraries/side_by_side.py show must run, and show what they say."""

import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import amortized_kde as akde

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "integrations.md").read_text()


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(ROOT / "examples" / "other_libraries" / "side_by_side.py"))


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    plt.close("all")


def test_the_page_runs_from_top_to_bottom():
    blocks, names = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL), {}
    for block in blocks:
        exec(compile(block, "docs/integrations.md", "exec"), names)
    assert len(blocks) == PAGE.count("\n## ") + 1
    assert names["search"].best_params_["method"] in akde.selectors()


def test_the_example_has_a_panel_for_each_host(example):
    titles = [ax.get_title() for ax in example["figure"].axes]
    assert titles == list(example["HOSTS"])
    assert_allclose(example["x"], pd.read_csv(ROOT / "examples" / "faithful.csv")["eruptions"])


def test_every_curve_of_the_example_is_our_density(example):
    x = pd.read_csv(example["DATA"])["eruptions"].to_numpy()
    single = akde.KernelDensity(x, akde.bandwidth(x, bounds=(0, None)))
    curves = {"SciPy", "pandas", "seaborn", "statsmodels", "KDEpy", "scikit-learn (adaptive)"}
    for host in curves:
        figure, ax = plt.subplots()
        example["HOSTS"][host](ax, x)
        grid, curve = ax.lines[1].get_data()
        expected = akde.fit(x, bounds=(0, None)) if "adaptive" in host else single
        assert_allclose(curve, expected.pdf(grid), rtol=0, atol=2e-3 * curve.max(), err_msg=host)
        assert np.abs(ax.lines[0].get_ydata().max() - curve.max()) > 0.1, host
        plt.close(figure)
