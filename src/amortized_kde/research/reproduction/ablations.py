"""Short trainings behind three remarks of the paper: other mass thresholds, other mixtures, and no bounds.

The paper says that other thresholds than 0.9 gave similar results (section 3.2), and so did reasonable variations of
the mixtures (section 3.3); and that training without bounds drives the bandwidth towards excessive smoothing (section
2.3 and the discussion).
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from itertools import pairwise
from pathlib import Path

import numpy as np

from amortized_kde._types import Array
from amortized_kde.density.plotting import COLOURS, new_axes, save_figure
from amortized_kde.errors import InvalidParameterError
from amortized_kde.learned.model import Model
from amortized_kde.learned.store import load_model, model_names
from amortized_kde.research.provenance import models_behind, record_files
from amortized_kde.research.reproduction.protocol import ORACLE
from amortized_kde.research.reproduction.short_runs import (
    BOUNDS,
    COMPARISONS,
    SILVERMAN,
    TRAININGS,
    WORLDS,
    Comparison,
    Judged,
    judge_world,
    train_short,
)
from amortized_kde.research.reproduction.tables import write_csv
from amortized_kde.score import Mean, paired_difference

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class ShortScale:
    """Steps of each training and draws that score each of its tasks; tasks in each world that judges."""

    steps: int
    draws: int
    tasks: int


# A thousand steps are a fortieth of the paper's; the rows "full training" show how much they leave to be learned.
SHORT_SCALES = {"quick": ShortScale(100, 256, 300), "paper": ShortScale(1_000, 1_024, 5_000)}

# A picture's bins of n, an octave each.
_EDGES = (5, 9, 17, 33, 65, 129, 257)


@dataclass(frozen=True)
class Row:
    """One line of ``ablations.csv``; steps are 0 for Silverman's rule and for the best single bandwidth (oracle).

    The last number is the mean of log2(h / best h) over the tasks.
    """

    group: str
    variant: str
    steps: int
    world_judged: str
    tasks: int
    excess_bits: float
    standard_error: float
    mean_log2_bandwidth_ratio: float


def reproduce_ablations(out: Path, *, scale: str = "paper", report: Report | None = None) -> str:
    """Train short, judge, write ``ablations.csv``, ``ablations.png`` and ``.svg``, and return the table as text.

    Parameters
    ----------
    out : Path
        The folder; created if needed. Finished trainings and judgements are kept in its ``.chunks/ablations`` and used
        again; delete that to begin anew.
    scale : {"quick", "paper"}
        Steps a training, draws a task and tasks a world that judges, as `SHORT_SCALES` says.
    report : callable, optional
        Called with the work under way, the units of work done and their total.

    Raises
    ------
    InvalidParameterError
        If there is no such scale.
    MissingExtraError
        If an extra that training or pictures need is not installed.
    """
    if scale not in SHORT_SCALES:
        raise InvalidParameterError(f"there is no scale {scale!r}; take one of {', '.join(SHORT_SCALES)}.")
    size, report = SHORT_SCALES[scale], report or (lambda what, done, total: None)
    kept = out / ".chunks" / "ablations" / scale
    kept.mkdir(parents=True, exist_ok=True)
    models = _train_all(size, kept, report)
    judged = _judge_all(models, size, kept, report)
    rows = [row for comparison in COMPARISONS for row in _rows(comparison, judged[comparison.world], models)]
    write_csv(out / "ablations.csv", [field.name for field in fields(Row)], [[*map(str, astuple(r))] for r in rows])
    _draw(judged, out, size)
    shipped = models_behind(f"amortized:{name}" for name in models if name in model_names())
    record_files(out, [f"ablations.{ending}" for ending in ("csv", "png", "svg")], shipped)
    return "\n".join([*_table(judged, models, size), "", *_sentences(judged)])


def _total(size: ShortScale) -> int:
    """Return the units of work: steps, and a tenth of the tasks of every world, which take about as long."""
    return size.steps * len(TRAININGS) + size.tasks // 10 * len(WORLDS)


def _train_all(size: ShortScale, kept: Path, report: Report) -> dict[str, Model]:
    """Return every short training, and the shipped models beside them."""
    models = {}
    for i, (name, variation) in enumerate(TRAININGS.items()):

        def progress(step: int, name: str = name, before: int = i * size.steps) -> None:
            report(f"training {name}", before + step, _total(size))

        models[name] = train_short(name, variation, kept, steps=size.steps, draws=size.draws, report=progress)
    shipped = {name for comparison in COMPARISONS for name in comparison.repeats.values()} - set(models)
    return models | {name: load_model(name) for name in shipped}


def _judge_all(models: Mapping[str, Model], size: ShortScale, kept: Path, report: Report) -> dict[str, Judged]:
    judged, done = {}, size.steps * len(TRAININGS)
    for world, variation in WORLDS.items():
        report(f"judging in {world}", done, _total(size))
        needed = {name for c in COMPARISONS if c.world == world for _, name in _lines(c)} & set(models)
        judged[world] = judge_world(
            world, variation, {name: models[name] for name in sorted(needed)}, kept, tasks=size.tasks
        )
        done += size.tasks // 10
    report("done", done, done)
    return judged


def _lines(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield each selector's label in the tables, and its name among the judged."""
    yield from comparison.trainings.items()
    yield from comparison.repeats.items()
    yield from ((name, name) for name in (SILVERMAN, ORACLE))


def _rows(comparison: Comparison, judged: Judged, models: Mapping[str, Model]) -> Iterator[Row]:
    for variant, name in _lines(comparison):
        excess = judged.excess(name)
        mean = paired_difference(excess, np.zeros(excess.size))
        yield Row(
            group=comparison.group,
            variant=variant,
            steps=models[name].card["kept_step"] if name in models else 0,
            world_judged=comparison.world,
            tasks=mean.count,
            excess_bits=mean.value,
            standard_error=mean.standard_error,
            mean_log2_bandwidth_ratio=float(judged.log2_ratios(name).mean()),
        )


def _more(comparison: Comparison, judged: Judged, name: str) -> Mean:
    """Return the bits above the paper's short training, paired by task."""
    paper = next(iter(comparison.trainings.values()))
    return paired_difference(judged.scores[name], judged.scores[paper])


def _table(judged: Mapping[str, Judged], models: Mapping[str, Model], size: ShortScale) -> Iterator[str]:
    yield f"Short trainings: {size.steps} steps each (the paper's have 40,000), judged by {size.tasks} tasks a world."
    yield "Columns: excess over the true density in bits; bits above the paper's variant, paired by task;"
    yield "mean log2(h / best h of the task)."
    for comparison in COMPARISONS:
        result = judged[comparison.world]
        yield f"\n{comparison.group}, judged in {comparison.world}"
        for row, (_, name) in zip(_rows(comparison, result, models), _lines(comparison), strict=True):
            more = _more(comparison, result, name)
            yield (
                f"  {row.variant:<34}{row.excess_bits:8.4f} ± {row.standard_error:.4f}"
                f"{more.value:+10.4f} ± {more.standard_error:.4f}{row.mean_log2_bandwidth_ratio:+8.3f}"
            )


def _sentences(judged: Mapping[str, Judged]) -> Iterator[str]:
    """Yield the least and the most that a variation costs, beside another seed's and Silverman's cost."""
    for comparison in COMPARISONS:
        result, (paper, *others) = judged[comparison.world], comparison.trainings
        costs = {variant: _more(comparison, result, name).value for variant, name in _lines(comparison)}
        ends = dict.fromkeys((min(others, key=costs.__getitem__), max(others, key=costs.__getitem__)))
        beside = [variant for variant in (*comparison.repeats, SILVERMAN) if variant in costs]
        text = " to ".join(f"{costs[end]:+.4f} ({end})" for end in ends)
        text += " bits beside the paper's; " + ", ".join(f"{variant} {costs[variant]:+.4f}" for variant in beside)
        if comparison.group == BOUNDS:
            ratios = [result.log2_ratios(comparison.trainings[variant]) for variant in (paper, others[0])]
            text += f"; bandwidths {2.0 ** float(np.mean(ratios[1] - ratios[0])):.2f} times as wide (geometric mean)"
        yield f"{comparison.group}, {comparison.world}: {text}."


def _draw(judged: Mapping[str, Judged], out: Path, size: ShortScale) -> None:
    """Draw the ratio of bandwidths to the best ones by n, learned with bounds and on the whole line."""
    ax = new_axes()
    shown = [(c, variant, name) for c in COMPARISONS if c.group == BOUNDS for variant, name in c.trainings.items()]
    for i, ((comparison, variant, name), style) in enumerate(zip(shown, ("o-", "o--", "s-", "s--"), strict=True)):
        n, mean, error = _ratios_by_size(judged[comparison.world], name)
        # Moved apart a little, so that no bar hides another.
        ax.errorbar(
            n * 1.03 ** (i - 1.5), mean, error, fmt=style, color=COLOURS[i], capsize=2, markersize=4, label=variant
        )
    ax.axhline(0.0, color="0.5", linewidth=0.8)
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.set_xlabel("sample size n, by octaves")
    ax.set_ylabel("mean log2(h / best h), ± 2 standard errors")
    ax.set_title(f"learned with and without bounds, judged on bounded tasks ({size.steps} steps)", fontsize=10)
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    for ending in ("png", "svg"):
        save_figure(ax, str(out / f"ablations.{ending}"))


def _ratios_by_size(judged: Judged, name: str) -> tuple[Array, Array, Array]:
    """Return middle n, mean log2(h / best h) and two standard errors of every octave with at least two tasks."""
    ratios, octaves = judged.log2_ratios(name), np.digitize(judged.sizes, _EDGES)
    parts = [(math.sqrt(low * (high - 1)), ratios[octaves == i + 1]) for i, (low, high) in enumerate(pairwise(_EDGES))]
    shown = [(n, part.mean(), 2.0 * part.std(ddof=1) / math.sqrt(part.size)) for n, part in parts if part.size > 1]
    n, mean, error = np.array(shown).T
    return n, mean, error
