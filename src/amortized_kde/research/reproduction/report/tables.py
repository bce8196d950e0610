"""The report's tables, each from one CSV file: evidence enters, Markdown leaves, empty if the file is missing."""

import numpy as np

from amortized_kde.research.reproduction.claims.scores import STEPS, step_indices
from amortized_kde.research.reproduction.evidence import Bed, Evidence, Row
from amortized_kde.research.reproduction.methods import BEYOND, METHODS, TRUTH
from amortized_kde.research.reproduction.report.markdown import number, table
from amortized_kde.research.reproduction.report.words import BED_TITLES


def _label(method: str) -> str:
    return METHODS[method].label if method in METHODS else method


def score_table(bed: Bed) -> str:
    """Mean scores of all methods at selected n, with their 90 % limits."""
    steps = step_indices(bed)
    rows = [
        [_label(m), *(f"{number(c.score[k])} [{number(c.score_lower[k])}, {number(c.score_upper[k])}]" for k in steps)]
        for m, c in bed.curves.items()
    ]
    return table(["mean score (bits)", *(f"n = {bed.sizes[k]}" for k in steps)], rows)


def excess_table(bed: Bed) -> str:
    """Mean excess over the true density at selected n, the median's in brackets; the lowest of the paper's is bold."""
    steps = step_indices(bed)
    shown = [method for method in bed.curves if method != TRUTH]
    paper = [method for method in shown if method not in BEYOND]
    best = {k: min(paper, key=lambda m, k=k: bed.curves[m].excess[k]) for k in steps if paper}  # type: ignore[misc]

    def cell(method: str, k: int) -> str:
        mean, median = number(bed.curves[method].excess[k]), number(bed.curves[method].median_excess[k])
        return f"{f'**{mean}**' if best.get(k) == method else mean} ({median})"

    rows = [[_label(m), *(cell(m, k) for k in steps), f"{bed.curves[m].failures.sum():.0f}"] for m in shown]
    return table(["mean (median) excess", *(f"n = {bed.sizes[k]}" for k in steps), "no answer"], rows)


def range_table(evidence: Evidence) -> str:
    """Ends of the realised ranges of Table 1, the paper's and ours."""
    rows = evidence.rows("table1_ranges.csv")
    found = {(r["family"], r["parameter"], r["end"]): r for r in rows}
    lines = []
    for family, parameter in dict.fromkeys((r["family"], r["parameter"]) for r in rows):
        ends = [found[family, parameter, end] for end in ("low", "high")]
        paper, ours = (f"[{ends[0][column]}, {ends[1][column]}]" for column in ("paper", "ours"))
        spread = ", ".join(f"{end['mean']} ± {end['sd']}" for end in ends)
        agrees = "yes" if all(end["agrees"] == "yes" for end in ends) else "no"
        lines.append([family, parameter, paper, ours, spread, agrees])
    header = ["family", "parameter", "paper", "our pool", "ends over 40 pools", "agrees"]
    return table(header, lines, text=2) if lines else ""


def mode_table(evidence: Evidence) -> str:
    """Table 2, the paper's percentages and ours."""
    rows = evidence.rows("table2_modes.csv")
    return table([*rows[0]], [[*row.values()] for row in rows], text=2) if rows else ""


def penalty_table(evidence: Evidence) -> str:
    """Scores against a 50-digit computation, by bed, method and n: how many, the largest, the worst difference."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in evidence.rows("penalties.csv"):
        groups.setdefault((row["bed"], row["method"], int(row["n"])), []).append(row)
    lines = [
        [
            BED_TITLES.get(bed, bed),
            _label(method),
            str(n),
            str(len(rows)),
            number(max(float(row["score_bits"]) for row in rows)),
            f"{max(abs(float(row['relative_difference'])) for row in rows):.1e}",
        ]
        for (bed, method, n), rows in groups.items()
    ]
    header = ["test bed", "method", "n", "tasks checked", "largest score (bits)", "largest relative difference"]
    return table(header, lines, text=2) if lines else ""


def quadrature_table(evidence: Evidence) -> str:
    """How far the 256-node sum is from the integral at selected n, on average and in the worst task."""
    found = {(row["method"], int(row["n"])): row for row in evidence.rows("quadrature.csv")}
    if not found:
        return ""
    sizes = np.array(sorted({n for _, n in found}))
    shown = list(dict.fromkeys(int(sizes[np.abs(sizes - n).argmin()]) for n in STEPS))

    def cell(method: str, n: int) -> str:
        row = found.get((method, n))
        if row is None:
            return ""
        miss = float(row["gauss_hermite_bits"]) - float(row["integral_bits"])
        return f"{miss:+.1e} ({float(row['worst_miss_bits']):.1e})"

    rows = [[_label(m), *(cell(m, n) for n in shown)] for m in dict.fromkeys(method for method, _ in found)]
    return table(["mean (worst) miss in bits", *(f"n = {n}" for n in shown)], rows)


def ablation_table(evidence: Evidence) -> str:
    """Short trainings under other conditions."""
    lines = [
        [
            row["group"],
            row["variant"],
            row["world_judged"],
            row["steps"],
            row["tasks"],
            f"{number(float(row['excess_bits']))} ± {number(float(row['standard_error']))}",
            f"{float(row['mean_log2_bandwidth_ratio']):+.3f}",
        ]
        for row in evidence.rows("ablations.csv")
    ]
    header = ["group", "variant", "judged on", "steps", "tasks", "mean excess (bits)", "mean log2(h / best h)"]
    return table(header, lines, text=3) if lines else ""
