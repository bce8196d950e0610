"""
Eight plots side by side
========================

Each library's default in grey, ours in blue.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn
from KDEpy import FFTKDE
from scipy.stats import gaussian_kde
from sklearn.neighbors import KernelDensity
from statsmodels.nonparametric.kde import KDEUnivariate

import amortized_kde as akde
from amortized_kde.integrations.scipy import bandwidth_factor
from amortized_kde.integrations.sklearn import AmortizedKernelDensity
from amortized_kde.integrations.statsmodels import bandwidth_rule

DATA = files("amortized_kde") / "app/data/faithful.csv"
BOUNDS = (0, None)  # an eruption has no negative duration
GRID = np.linspace(0.0, 6.5, 651)
THEIRS, OURS = {"color": "0.6"}, {"color": "#0072B2"}

# %%
# One function for each library:


def draw_scipy(ax, x):
    for bw_method, style in ((None, THEIRS), (bandwidth_factor(bounds=BOUNDS), OURS)):
        ax.plot(GRID, gaussian_kde(x, bw_method=bw_method)(GRID), **style)


def draw_pandas(ax, x):
    for bw_method, style in ((None, THEIRS), (bandwidth_factor(bounds=BOUNDS), OURS)):
        pd.Series(x).plot.kde(bw_method=bw_method, ind=GRID, ax=ax, **style)


def draw_seaborn(ax, x):
    for bw_method, style in (("scott", THEIRS), (bandwidth_factor(bounds=BOUNDS), OURS)):
        seaborn.kdeplot(x=x, bw_method=bw_method, gridsize=1000, ax=ax, **style)


def draw_seaborn_violins(ax, x):
    for name, bw_method, style in (
        ("default", "scott", THEIRS),
        ("amortized", bandwidth_factor(bounds=BOUNDS), OURS),
    ):
        seaborn.violinplot(
            x=x, y=[name] * len(x), bw_method=bw_method, gridsize=500, inner=None, ax=ax, **style
        )


def draw_matplotlib_violins(ax, x):
    for position, bw_method, style in (
        (1, None, THEIRS),
        (0, bandwidth_factor(bounds=BOUNDS), OURS),
    ):
        options = {
            "orientation": "horizontal",
            "points": 500,
            "widths": 0.8,
            "showextrema": False,
        }
        violin = ax.violinplot(x, [position], bw_method=bw_method, **options)
        violin["bodies"][0].set(alpha=1.0, facecolor=style["color"])
    ax.set_yticks([1, 0], ["default", "amortized"])


def draw_statsmodels(ax, x):
    for bw, style in (("normal_reference", THEIRS), (bandwidth_rule(bounds=BOUNDS), OURS)):
        kde = KDEUnivariate(x).fit(bw=bw)
        ax.plot(kde.support, kde.density, **style)


def draw_kdepy(ax, x):
    for bw, style in ((1, THEIRS), (akde.bandwidth(x, bounds=BOUNDS), OURS)):
        ax.plot(*FFTKDE(kernel="gaussian", bw=bw).fit(x).evaluate(), **style)


def draw_sklearn(ax, x):
    for estimator, style in (
        (KernelDensity(), THEIRS),
        (AmortizedKernelDensity(bounds=BOUNDS), OURS),
    ):
        ax.plot(GRID, np.exp(estimator.fit(x[:, None]).score_samples(GRID[:, None])), **style)


HOSTS = {
    "SciPy": draw_scipy,
    "pandas": draw_pandas,
    "seaborn": draw_seaborn,
    "seaborn, violins": draw_seaborn_violins,
    "matplotlib, violins": draw_matplotlib_violins,
    "statsmodels": draw_statsmodels,
    "KDEpy": draw_kdepy,
    "scikit-learn (adaptive)": draw_sklearn,
}

# %%
# All of them, on the same 272 eruptions:

x = pd.read_csv(DATA)["eruptions"].to_numpy()
figure, axes = plt.subplots(4, 2, figsize=(9, 9), layout="constrained")
for ax, (host, draw) in zip(axes.flat, HOSTS.items(), strict=True):
    draw(ax, x)
    ax.set(title=host, xlabel="", ylabel="", xlim=(0.0, 6.5))
figure.suptitle(
    "Old Faithful: duration of 272 eruptions (minutes). Grey: the host's default. Blue: amortized."
)
plt.show()
print(f"bandwidth {akde.bandwidth(x, bounds=BOUNDS):.4f} minutes in seven hosts")
