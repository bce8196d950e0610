"""Thirty curves to look at, real and synthetic, n = 4 to 5000: ours beside seaborn's, Sheather-Jones' and logspline's.

    python benchmarks/contact_sheet.py [--method amortized] [--no-r] [--out results]

Nobody should say of one of ours that it looks wrong. No bounds are given, except in the panels whose titles name them;
then the fit of `amortized` and of logspline knows them. Real columns are of the open half (contests/real_columns.py),
drawn at random. Seaborn's default is SciPy's `gaussian_kde` with Scott's rule.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

import amortized_kde as akde
from amortized_kde._types import Array
from amortized_kde.data.support import Bounds
from amortized_kde.errors import AmortizedKdeWarning
from amortized_kde.research.provenance import models_behind, record_files
from contests.real_columns import columns_of, read_column
from contests.rivals import ask_r, has_r

SEED = 8_300_000_000
HEIGHTS = (170.0, 165.0, 180.0, 172.0, 168.0, 175.0)
_COLOURS = {"seaborn": "#999999", "Sheather-Jones": "#E69F00", "logspline": "#009E73", "ours": "#0072B2"}
# Panels of real columns: where each comes in `columns_of("open")`, and n.
_REAL = ((0, 8), (3, 15), (6, 30), (9, 60), (12, 60), (15, 120), (18, 250), (21, 250), (24, 400), (27, 600))


class Panel(NamedTuple):
    """A sample, the bounds that are given, and the true density if it is known."""

    title: str
    values: Array
    bounds: tuple[float | None, float | None] = (None, None)
    truth: Callable[[Array], Array] | None = None


def synthetic(rng: np.random.Generator) -> list[Panel]:
    """Return the panels whose densities are known."""
    normal, half = stats.norm(), np.array([0.5, 0.5])

    def two(x: Array) -> Array:
        return 0.5 * stats.norm.pdf(x, -1.5, 0.5) + 0.5 * stats.norm.pdf(x, 1.5, 0.5)

    def draw(name: str, law: stats.rv_continuous, *sizes: int) -> list[Panel]:
        return [Panel(f"{name}, n = {n}", law.rvs(n, random_state=rng), truth=law.pdf) for n in sizes]

    modes = [
        Panel(f"two modes, n = {n}", rng.normal(rng.choice([-1.5, 1.5], n, p=half), 0.5), truth=two) for n in (15, 60)
    ]
    percentages = np.round(rng.normal(8.0, 0.9, 10), 1)
    rounded = np.round(rng.normal(20.0, 3.0, 80))
    return [
        Panel("six heights", np.array(HEIGHTS)),
        *draw("normal", normal, 4, 12, 60, 2000),
        *draw("uniform", stats.uniform(), 8, 120, 2000),
        *draw("exponential", stats.expon(), 20, 500),
        Panel("exponential, n = 60, bound 0", rng.exponential(size=60), (0.0, None), stats.expon().pdf),
        *draw("lognormal 0.7", stats.lognorm(0.7), 60, 1000),
        *draw("t, 2 degrees of freedom", stats.t(2), 40),
        *modes,
        Panel("ten percentages, bounds 0 and 100", percentages, (0.0, 100.0)),
        Panel("normal, n = 60, bounds 0 and 1e9", rng.normal(2.0, 0.4, 60), (0.0, 1e9), stats.norm(2.0, 0.4).pdf),
        Panel("80 values rounded to whole numbers", rounded),
        *draw("gamma 2", stats.gamma(2.0), 5000),
    ]


def real(rng: np.random.Generator) -> list[Panel]:
    """Return random samples of real columns, some with the bounds that a user would give."""
    columns, panels = columns_of("open"), []
    for k, (place, n) in enumerate(_REAL):
        column = columns[place]
        values = rng.permutation(read_column(column))[:n]
        bounds = column.bounds if k % 2 else (None, None)
        named = [f"bound {end:g}" for end in bounds if end is not None]
        panels.append(Panel(", ".join([column.name, f"n = {values.size}", *named]), values, bounds))
    return panels


def view(panel: Panel) -> tuple[float, float]:
    """Return the ends of a panel's axis."""
    low, high = np.quantile(panel.values, [0.01, 0.99])
    return float(low - 0.3 * (high - low)), float(high + 0.3 * (high - low))


def around(panel: Panel) -> Array:
    """Return the arguments of a panel: even ones, and the data, which needles would stand on."""
    return np.union1d(np.linspace(*view(panel), 1001), panel.values)


def curves(panel: Panel, x: Array, method: str, *, use_r: bool) -> dict[str, Array]:
    """Return the densities by name."""
    out = {"seaborn": stats.gaussian_kde(panel.values)(x)}
    out["Sheather-Jones"] = akde.fit(panel.values, method="sheather-jones").pdf(x)
    if use_r:
        bounds = Bounds(
            *(end if end is not None else sign * np.inf for end, sign in zip(panel.bounds, (-1, 1), strict=True))
        )
        inside = np.clip(x, *bounds)
        answer = np.exp(ask_r("logspline", [np.sort(panel.values)], [bounds], [inside]).log_densities[0])
        if not np.isnan(answer).any():
            out["logspline"] = np.where(x == inside, answer, 0.0)
    out["ours"] = akde.fit(panel.values, method=method, bounds=panel.bounds).pdf(x)
    return out


def draw_sheet(path: Path, panels: list[Panel], method: str, *, use_r: bool) -> None:
    """Draw all panels into one picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(6, 5, figsize=(20, 20), layout="constrained")
    for axis, panel in zip(axes.flat, panels, strict=True):
        x = around(panel)
        found = curves(panel, x, method, use_r=use_r)
        for name, density in found.items():
            axis.plot(x, density, color=_COLOURS[name], lw=2.4 if name == "ours" else 1.2, label=name)
        if panel.truth is not None:
            axis.plot(x, panel.truth(x), "k:", lw=1.0, label="truth")
        if panel.values.size <= 250:
            axis.plot(panel.values, np.zeros(panel.values.size), "|", color="0.4", ms=8)
        axis.set_title(panel.title, fontsize=10)
        axis.set_yticks([])
        # A needle of another estimate must not flatten the others.
        axis.set_ylim(0.0, 1.1 * max(found["ours"].max(), found["Sheather-Jones"].max()))
        axis.set_xlim(*view(panel))
    lines = {line.get_label(): line for axis in axes.flat for line in axis.get_lines() if line.get_label()[0] != "_"}
    labels = [name for name in (*_COLOURS, "truth") if name in lines]
    figure.legend([lines[name] for name in labels], labels, loc="outside lower center", ncols=len(labels), fontsize=12)
    figure.savefig(path, dpi=70)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="amortized")
    parser.add_argument("--no-r", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore", AmortizedKdeWarning)
    rng = np.random.default_rng(SEED)
    options.out.mkdir(parents=True, exist_ok=True)
    panels = [*synthetic(rng), *real(rng)]
    draw_sheet(options.out / "contact_sheet.png", panels, options.method, use_r=not options.no_r and has_r())
    record_files(options.out, ["contact_sheet.png"], models_behind([options.method]))


if __name__ == "__main__":
    main()
