"""The report's tables and lists, as Markdown; empty where the table that they show is missing."""

from collections.abc import Iterable, Sequence

import numpy as np

from amortized_kde.research.reproduction.claims.tables import family_means
from amortized_kde.research.reproduction.evidence import BedScores, Evidence, Row, list_sizes, step_indices
from amortized_kde.research.reproduction.protocol import (
    BEDS,
    CLASSICAL,
    GMM_TRAINED,
    METHODS,
    MULTIFAMILY,
    NOT_IN_PAPER,
    ORACLE,
    TRUTH,
)

BED_TITLES = {"gaussian": "Gaussian sampling", "multifamily": "ten families", "gmm": "mixtures, K = 32"}
# A family's means differ surely if they differ by twice the standard error of their difference, as if unpaired.
_ERRORS = 2.0


def number(value: float) -> str:
    """Write a score with four decimals, or fewer for five digits of a large one.

    Examples
    --------
    >>> number(0.02341), number(-1.5), number(378.295), number(123456.7)
    ('0.0234', '−1.5000', '378.3', '123457')
    """
    decimals = next((d for limit, d in ((10.0, 4), (100.0, 2), (10_000.0, 1)) if abs(value) < limit), 0)
    return f"{value:.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, text: int = 1) -> str:
    """Return a table whose first `text` columns are words and the others numbers, aligned to the right.

    Examples
    --------
    >>> print(table(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|--:|
    | x | 1 |
    """
    rule = ["---" if k < text else "--:" for k in range(len(header))]
    lines = [f"| {' | '.join(header)} |", f"|{'|'.join(rule)}|"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def section(heading: str, *parts: str, level: int = 2) -> str:
    """Join paragraphs under a heading; empty without any."""
    found = [part for part in parts if part]
    return "\n\n".join([f"{'#' * level} {heading}", *found]) if found else ""


def _label(method: str) -> str:
    return METHODS[method].label if method in METHODS else method


def score_table(bed: BedScores) -> str:
    """Return the mean scores of all methods at selected n, with their 90 % limits."""
    steps = step_indices(bed.sizes)
    rows = [
        [_label(m), *(f"{number(c.score[k])} [{number(c.score_lower[k])}, {number(c.score_upper[k])}]" for k in steps)]
        for m, c in bed.curves.items()
    ]
    return table(["mean score (bits)", *(f"n = {bed.sizes[k]}" for k in steps)], rows)


def excess_table(bed: BedScores) -> str:
    """Return the mean (median) excess over the true density at selected n, the lowest of the paper's in bold."""
    steps = step_indices(bed.sizes)
    shown = [method for method in bed.curves if method != TRUTH]
    paper = [method for method in shown if method not in NOT_IN_PAPER]
    best = {k: min(paper, key=lambda m, k=k: bed.curves[m].excess[k]) for k in steps if paper}  # type: ignore[misc]

    def cell(method: str, k: int) -> str:
        mean, median = number(bed.curves[method].excess[k]), number(bed.curves[method].median_excess[k])
        return f"{f'**{mean}**' if best.get(k) == method else mean} ({median})"

    rows = [[_label(m), *(cell(m, k) for k in steps), f"{bed.curves[m].failures.sum():.0f}"] for m in shown]
    return table(["mean (median) excess", *(f"n = {bed.sizes[k]}" for k in steps), "no answer"], rows)


def range_table(evidence: Evidence) -> str:
    """Return the ends of the realised ranges of Table 1, the paper's and ours."""
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
    """Return Table 2, the paper's percentages and ours."""
    rows = evidence.rows("table2_modes.csv")
    return table([*rows[0]], [[*row.values()] for row in rows], text=2) if rows else ""


def penalty_table(evidence: Evidence) -> str:
    """Return, by bed, method and n, how many scores were computed with 50 digits and the worst difference."""
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
    """Return the difference of the 256-node sum from the integral at selected n, its mean and the worst."""
    found = {(row["method"], int(row["n"])): row for row in evidence.rows("quadrature.csv")}
    if not found:
        return ""
    sizes = np.array(sorted({n for _, n in found}))
    shown = [int(sizes[k]) for k in step_indices(sizes)]

    def cell(method: str, n: int) -> str:
        row = found.get((method, n))
        if row is None:
            return ""
        miss = float(row["gauss_hermite_bits"]) - float(row["integral_bits"])
        return f"{miss:+.1e} ({float(row['worst_miss_bits']):.1e})"

    rows = [[_label(m), *(cell(m, n) for n in shown)] for m in dict.fromkeys(method for method, _ in found)]
    return table(["mean (worst) miss in bits", *(f"n = {n}" for n in shown)], rows)


def ablation_table(evidence: Evidence) -> str:
    """Return the short trainings under other conditions."""
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


def losses_by_size(evidence: Evidence) -> str:
    """Return every bed, learned selector and rival for which the rival's mean score is lower at some n."""
    rows = [
        _loss(bed, method, rival)
        for bed in evidence.beds.values()
        for method in bed.only(BEDS[bed.name].learned)
        for rival in bed.only((*CLASSICAL, "lcv", *BEDS[bed.name].learned))
        if rival != method and np.any(bed.difference(method, rival).mean > 0.0)
    ]
    header = ["test bed", "selector", "is higher than", "at n =", "surely at n =", "by at the most (bits)"]
    return table(header, rows, text=5) if rows else "None: no other method is lower at any n." if evidence.beds else ""


def _loss(bed: BedScores, method: str, rival: str) -> list[str]:
    apart = bed.difference(method, rival)
    lost, sure = apart.mean > 0.0, apart.verdicts == 1
    worst = int(apart.mean.argmax())
    names = [METHODS[method].label, METHODS[rival].label]
    sizes = [list_sizes(bed.sizes[where].tolist(), bed.sizes.tolist()) or "none" for where in (lost, sure)]
    return [BED_TITLES[bed.name], *names, *sizes, f"{number(apart.mean[worst])} (n = {bed.sizes[worst]})"]


def family_table(evidence: Evidence, *, least: int = 0) -> str:
    """Return the mean excess over n of at least `least`, by family, the lowest selector in bold."""
    means = family_means(evidence, least=least)
    if not means:
        return ""
    methods = [m for m in METHODS if m != TRUTH and all(m in row for row in means.values())]
    rows = []
    for family, row in means.items():
        best = min((m for m in methods if m != ORACLE), key=lambda m, row=row: row[m])  # type: ignore[misc]
        cells = [f"**{number(row[m])}**" if m == best else number(row[m]) for m in methods]
        rows.append([family, *cells])
    return table(["family", *(METHODS[m].label for m in methods)], rows)


def family_losses(evidence: Evidence) -> str:
    """Return, by family and learned selector, the sizes at which another selector surely has less excess."""
    found = {(r["family"], r["method"], int(r["n"])): r for r in evidence.rows("families.csv")}
    sizes = sorted({n for _, _, n in found})
    rows = []
    for family in dict.fromkeys(family for family, _, _ in found):
        for method in (MULTIFAMILY, *GMM_TRAINED):
            lost = {
                rival: [n for n in sizes if _surely_lower(found, family, rival, method, n)]
                for rival in (*CLASSICAL, "lcv")
            }
            listed = "; ".join(
                f"{METHODS[rival].label} at n = {list_sizes(at, sizes)}" for rival, at in lost.items() if at
            )
            if listed:
                rows.append([family, METHODS[method].label, listed])
    return table(["family", "selector", "surely beaten by"], rows, text=3) if rows else ""


def _surely_lower(
    found: dict[tuple[str, str, int], dict[str, str]], family: str, rival: str, method: str, n: int
) -> bool:
    a, b = found.get((family, rival, n)), found.get((family, method, n))
    if a is None or b is None:
        return False
    reach = _ERRORS * float(np.hypot(float(a["standard_error"]), float(b["standard_error"])))
    return float(a["excess_bits"]) + reach < float(b["excess_bits"])
