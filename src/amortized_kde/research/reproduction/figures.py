"""The figures of a reproduction: the paper's four, and one of the excess over the true density.

The same tables give the same bytes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amortized_kde._types import Array
from amortized_kde.density.plotting import new_figure, save_figure
from amortized_kde.research.provenance import record_derived
from amortized_kde.research.reproduction.axes import fit_scale, round_ticks, set_scale, set_ticks
from amortized_kde.research.reproduction.evidence import BedScores, Evidence, read_evidence
from amortized_kde.research.reproduction.protocol import (
    BEDS,
    CLASSICAL,
    GMM_TRAINED,
    METHODS,
    MULTIFAMILY,
    NOT_IN_PAPER,
    TRUTH,
)

# The paper's Figure 1: linear for n <= 20.
_LINEAR_SIZES = 20.0
_SIZE_TICKS = (5, 10, 15, 20, 30, 50, 100, 256)
# Fractions of the width and of the height that the linear part takes: half of the sizes are at most 20, and the curves
# that are close to each other lie below its end.
_LINEAR_WIDTH, _LINEAR_HEIGHT = 0.5, 0.62
# How far above the true density the linear part reaches, in units of the worst learned excess; see `linear_end`.
_REACH = 3.0
# Differences up to this many milli-bits are drawn to a linear scale, larger ones to a logarithmic one.
_NEAR = 10.0
_TITLES = {"gaussian": "Gaussian", "multifamily": "ten families", "gmm": "mixtures, K = 32"}
_SUFFIXES = (".png", ".svg")


@dataclass(frozen=True)
class ScoreFigure:
    """A figure of scores against n on one test bed, and below it the differences to one of its methods.

    `end` is where the linear part of the vertical axis ends, in bits; None: from the data (`linear_end`).
    """

    bed: str
    methods: tuple[str, ...]
    reference: str
    title: str
    end: float | None = None
    truth_dashes: str = "-"


# Figures 1 to 4 of the paper, by file name.
FIGURES: dict[str, ScoreFigure] = {
    "figure1_gaussian": ScoreFigure(
        "gaussian",
        (*CLASSICAL, "amortized:gaussian"),
        "amortized:gaussian",
        "Gaussian sampling",
        end=4.5,
        truth_dashes="--",
    ),
    "figure2_multifamily": ScoreFigure(
        "multifamily", (*CLASSICAL, MULTIFAMILY), MULTIFAMILY, "Ten bounded families on [−1, 1]"
    ),
    "figure3_gmm": ScoreFigure(
        "gmm", (*CLASSICAL, MULTIFAMILY, *GMM_TRAINED), GMM_TRAINED[-1], "Mixtures of 32 Gaussians on [−1, 1]"
    ),
    "figure4_gmm_on_families": ScoreFigure(
        "multifamily",
        (*CLASSICAL, MULTIFAMILY, *GMM_TRAINED),
        GMM_TRAINED[-1],
        "Mixture-trained selectors on the ten families",
    ),
}


def draw_figures(folder: Path) -> list[Path]:
    """Draw every figure whose tables are in a folder; return the paths of the files."""
    evidence = read_evidence(Path(folder))
    written: list[Path] = []
    for name, shown in FIGURES.items():
        bed = evidence.beds.get(shown.bed)
        if bed is not None and shown.reference in bed.curves:
            written += _save(_draw_scores(bed, shown), evidence.folder, name, [shown.bed])
    if evidence.beds:
        written += _save(_draw_excess(evidence), evidence.folder, "figure5_excess", evidence.beds)
    return written


def _save(ax: Any, folder: Path, name: str, beds: Iterable[str]) -> list[Path]:
    paths = [folder / f"{name}{suffix}" for suffix in _SUFFIXES]
    for path in paths:
        save_figure(ax, str(path))
    record_derived(folder, [path.name for path in paths], [f"{bed}.csv" for bed in beds])
    return paths


def linear_end(bed: BedScores) -> float:
    """Return where the linear part of the vertical axis ends: three times the worst learned excess above the truth.

    Rounded to half bits. The paper's 4.5 bits in the Gaussian case, used there as printed, are of this order.
    """
    worst = max(float(bed.curves[method].excess.max()) for method in bed.only(BEDS[bed.name].learned))
    return round(2.0 * (float(bed.curves[TRUTH].score.mean()) + _REACH * worst)) / 2.0


def _draw_scores(bed: BedScores, shown: ScoreFigure) -> Any:
    figure = new_figure(7.2, 6.4)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(1.75, 1.0))
    methods = bed.only(shown.methods)
    _draw_truth(top, bed, shown.truth_dashes)
    for method in methods:
        curve = bed.curves[method]
        _draw_curve(top, bed.sizes, method, curve.score, curve.score_lower, curve.score_upper)
    _scale_scores(top, bed, methods, linear_end(bed) if shown.end is None else shown.end)
    top.set_title(shown.title, fontsize=10)
    _draw_differences(bottom, bed, methods, shown.reference)
    for ax in (top, bottom):
        _scale_sizes(ax, bed)
    bottom.set_xlabel("sample size n (linear to 20, logarithmic above)", fontsize=9)
    _place_legend(figure, [top], where="outside lower center", columns=2 if len(methods) < 5 else 3)
    return top


def _draw_truth(ax: Any, bed: BedScores, dashes: str) -> None:
    ax.plot(bed.sizes, bed.curves[TRUTH].score, color="black", linestyle=dashes, linewidth=1.4, label="true density")


def _draw_curve(ax: Any, sizes: NDArray[np.int64], method: str, mean: Array, lower: Array, upper: Array) -> None:
    style = METHODS[method]
    ax.fill_between(sizes, lower, upper, color=style.colour, alpha=0.22, linewidth=0)
    ax.plot(
        sizes,
        mean,
        color=style.colour,
        linestyle=style.dashes,
        linewidth=1.3,
        marker=style.marker,
        markersize=7.5 if style.marker == "*" else 4.5,
        markeredgecolor="white" if style.marker not in ("", "x") else style.colour,
        markeredgewidth=0.4,
        markevery=(style.turn, 3),
        label=style.label,
    )


def _scale_scores(ax: Any, bed: BedScores, methods: tuple[str, ...], end: float) -> None:
    shown = [bed.curves[method] for method in (*methods, TRUTH)]
    lowest = min(float(curve.score_lower.min()) for curve in shown)
    highest = max(float(curve.score_upper.max()) for curve in shown)
    low = lowest - 0.04 * (end - lowest)
    scale = fit_scale(low, end, highest, fraction=_LINEAR_HEIGHT)
    set_scale(ax, "y", scale, round_ticks(scale, low=low, high=highest, step=0.5))
    ax.set_ylim(low, float(scale.inverse(scale.forward(highest) + 0.03 * (scale.forward(highest) - low))))
    ax.axhline(end, color="0.6", linewidth=0.7, linestyle=":", zorder=0)
    ax.set_ylabel(f"mean score (bits; linear to {end:g}, logarithmic above)", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)


def _scale_sizes(ax: Any, bed: BedScores) -> None:
    low, high = float(bed.sizes[0]), float(bed.sizes[-1])
    scale = fit_scale(low, _LINEAR_SIZES, high, fraction=_LINEAR_WIDTH)
    set_scale(ax, "x", scale, [tick for tick in _SIZE_TICKS if low <= tick <= high])
    ax.set_xlim(low - 0.4, float(scale.inverse(scale.forward(high) + 0.4)))
    ax.axvline(_LINEAR_SIZES, color="0.6", linewidth=0.7, linestyle=":", zorder=0)


def _draw_differences(ax: Any, bed: BedScores, methods: tuple[str, ...], reference: str) -> None:
    """Draw milli-bits above the reference, on an axis that is linear around zero, where the learned ones agree."""
    means = []
    for method in (method for method in methods if method != reference):
        apart = bed.difference(method, reference)
        means.append(1e3 * apart.mean)
        # Limits that are not paired would hide what the panel is for.
        limits = (apart.lower, apart.upper) if apart.paired else (apart.mean, apart.mean)
        _draw_curve(ax, bed.sizes, method, 1e3 * apart.mean, *(1e3 * limit for limit in limits))
    ax.axhline(0.0, color=METHODS[reference].colour, linewidth=1.3)
    ax.set_yscale("symlog", linthresh=_NEAR)
    low, high = min(map(np.min, means), default=0.0), max(map(np.max, means), default=0.0)
    # Bands of heavy-tailed means can reach far below zero; the limits follow the curves.
    ax.set_ylim(min(-_NEAR, 1.5 * low), max(_NEAR, 1.5 * high))
    decades = [sign * 10.0**k for sign in (-1, 1) for k in range(1, 9)]
    set_ticks(ax, "y", sorted([0.0, *(tick for tick in decades if 1.5 * low <= tick <= 1.5 * high)]))
    ax.set_ylabel(f"milli-bits above\n{METHODS[reference].label}", fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)


def _place_legend(owner: Any, panels: Iterable[Any], *, where: str, columns: int) -> None:
    """Draw one legend for all panels, where it covers no curve: below them, or on empty axes."""
    handles: dict[str, Any] = {}
    for ax in panels:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    owner.legend(
        handles.values(), handles.keys(), loc=where, ncols=columns, frameon=False, fontsize=8, handlelength=3.6
    )


def _draw_excess(evidence: Evidence) -> Any:
    figure = new_figure(7.2, 6.6)
    *panels, last = figure.subplots(2, 2).flat
    for ax, name in zip(panels, BEDS, strict=True):
        ax.set_title(_TITLES[name], fontsize=10)
        if name in evidence.beds:
            _draw_bed_excess(ax, evidence.beds[name])
        else:
            ax.set_axis_off()
    last.set_axis_off()
    _place_legend(last, panels, where="center", columns=1)
    figure.supylabel("mean excess over the true density (bits)", fontsize=9)
    return last


def _draw_bed_excess(ax: Any, bed: BedScores) -> None:
    for method in bed.only((*CLASSICAL, *NOT_IN_PAPER, *BEDS[bed.name].learned)):
        curve = bed.curves[method]
        _draw_curve(ax, bed.sizes, method, curve.excess, curve.excess_lower, curve.excess_upper)
    ax.set_yscale("log")
    ax.set_xscale("log")
    set_ticks(ax, "x", (5, 10, 20, 50, 100, 256))
    ax.set_xlabel("sample size n", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
