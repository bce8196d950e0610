"""Judgements from the smaller tables (modes, ranges, families, ablations) and from the models' cards."""

import math

import numpy as np

from amortized_kde.learned.store import models
from amortized_kde.research.reproduction.claims.scores import SIMILAR
from amortized_kde.research.reproduction.evidence import NOT_RUN, Evidence, Judgement, Row, Verdict
from amortized_kde.research.reproduction.protocol import CLASSICAL, METHODS

# The paper's percentage, and the densities behind it and behind ours (section 3.3).
_MANY, _DENSITIES = 6.0, 5000
# From here on, the rare disasters of tiny samples no longer make the mean.
LARGE_N = 100
# "Only moderately": a quarter more modes for four times as many components.
MODERATE = 0.25
# In the table of ablations: what marks the paper's variant and the one without bounds, and what varies nothing.
PAPER, UNBOUNDED, REPEATS = "paper", "without", ("another seed", "full training")


def _modes(evidence: Evidence) -> dict[int, list[float]]:
    """Return our percentages of densities with 1, 2, ..., 8 and at least 9 modes, by K."""
    rows = [row for row in evidence.rows("table2_modes.csv") if row["row"] == "ours"]
    return {int(row["K"]): [float(row[str(k)]) for k in range(1, 9)] + [float(row[">=9"])] for row in rows}


def two_or_three_modes(evidence: Evidence) -> Verdict:
    """Judge whether two and three modes are the two most common numbers, for every K."""
    table = _modes(evidence)
    listed = ", ".join(f"K = {k}: {percents[1]:.1f} % and {percents[2]:.1f} %" for k, percents in table.items())
    holds = all(sorted(np.argsort(percents)[-2:].tolist()) == [1, 2] for percents in table.values())
    return Verdict(f"two and three modes, {listed}", holds) if table else NOT_RUN


def at_most_four_modes(evidence: Evidence) -> Verdict:
    """Judge whether more than half of the densities have at most four modes, for every K."""
    few = {k: sum(percents[:4]) for k, percents in _modes(evidence).items()}
    listed = ", ".join(f"K = {k}: {percent:.1f} %" for k, percent in few.items())
    holds = all(percent > 50.0 for percent in few.values())
    return Verdict(f"at most four modes, {listed}", holds) if few else NOT_RUN


def six_or_more_modes(evidence: Evidence) -> Verdict:
    """Judge whether the fraction with six or more modes at K = 32 is the paper's, within three standard errors."""
    table = _modes(evidence)
    if 32 not in table:
        return NOT_RUN
    percent = sum(table[32][5:])
    error = 100.0 * math.sqrt(2.0 * (_MANY / 100.0) * (1.0 - _MANY / 100.0) / _DENSITIES)
    return Verdict(f"{percent:.1f} % (± {error:.1f})", abs(percent - _MANY) <= 3.0 * error)


def modes_grow_moderately(evidence: Evidence) -> Verdict:
    """Judge whether the mean number of modes grows by at most a quarter from the smallest K to the largest."""
    table = _modes(evidence)
    if not table:
        return NOT_RUN
    means = {k: float(np.dot(percents, np.arange(1, 10))) / sum(percents) for k, percents in table.items()}
    growth = means[max(means)] / means[min(means)] - 1.0
    listed = ", ".join(f"{mean:.2f} at K = {k}" for k, mean in means.items())
    return Verdict(f"mean number of modes {listed}: {100 * growth:.0f} % more", growth <= MODERATE)


def ranges_agree(evidence: Evidence) -> Verdict:
    """Judge whether every printed end of a realised range could have come from a pool of ours."""
    rows = evidence.rows("table1_ranges.csv")
    off = [f"{row['family']} {row['parameter']} ({row['end']})" for row in rows if row["agrees"] != "yes"]
    alike = sum(float(row["prints alike"]) for row in rows)
    text = f"{len(rows) - len(off)} of {len(rows)} ends agree; on average {alike:.1f} of them print as in the paper"
    return Verdict(text + (f"; off: {', '.join(off)}" if off else ""), not off) if rows else NOT_RUN


def family_means(evidence: Evidence, *, least: int = 0) -> dict[str, dict[str, float]]:
    """Return the mean excess over all n of at least `least`, by family and method."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in evidence.rows("families.csv"):
        if int(row["n"]) >= least:
            found.setdefault(row["family"], {}).setdefault(row["method"], []).append(float(row["excess_bits"]))
    return {family: {m: float(np.mean(values)) for m, values in row.items()} for family, row in found.items()}


def _lost_families(table: dict[str, dict[str, float]], methods: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the families in which a classical selector has less excess than some of the methods, and these."""
    found = {
        family: [method for method in methods if row[method] >= min(row[rival] for rival in CLASSICAL)]
        for family, row in table.items()
    }
    return {family: losers for family, losers in found.items() if losers}


def every_family(methods: tuple[str, ...]) -> Judgement:
    """Return a judgement of whether every method beats every classical selector in every family, averaged over n.

    Small n dominate the average over all n, so the average over larger n must hold too.
    """

    def judge(evidence: Evidence) -> Verdict:
        table = family_means(evidence)
        if not table or any(method not in row for row in table.values() for method in (*methods, *CLASSICAL)):
            return NOT_RUN
        fractions = [row[m] / min(row[rival] for rival in CLASSICAL) for row in table.values() for m in methods]
        lost, late = (_lost_families(family_means(evidence, least=least), methods) for least in (0, LARGE_N))
        number = f"share of the best classical excess, by family, {min(fractions):.2f} to {max(fractions):.2f}"
        if lost:
            listed = (f"{', '.join(METHODS[m].label for m in losers)} in {family}" for family, losers in lost.items())
            number += f"; lost: {'; '.join(listed)}"
        number += f"; over n >= {LARGE_N} alone, lost in {len(late)} of {len(table)} families"
        number += f" ({', '.join(late)})" if late else ""
        mostly = late and not lost and 2 * len(late) <= len(table)
        return Verdict(number, not lost and not late, f"over n >= {LARGE_N} in {', '.join(late)}" if mostly else "")

    return judge


def _ablations(evidence: Evidence, group: str) -> dict[str, list[Row]]:
    """Return the rows of one group of short trainings, by the world that judges."""
    found: dict[str, list[Row]] = {}
    for row in evidence.rows("ablations.csv"):
        if row["group"] == group:
            found.setdefault(row["world_judged"], []).append(row)
    return found


def _varied(rows: list[Row]) -> list[Row]:
    """Return the rows of short trainings, without repeats of the paper's conditions."""
    return [row for row in rows if int(row["steps"]) > 0 and row["variant"] not in REPEATS]


def variants_agree(group: str) -> Judgement:
    """Return a judgement of whether variants differ from the paper's by at most a tenth of its excess."""

    def judge(evidence: Evidence) -> Verdict:
        listed, holds, steps = [], True, ""
        for world, rows in _ablations(evidence, group).items():
            paper = next((row for row in _varied(rows) if PAPER in row["variant"]), None)
            others = [row for row in _varied(rows) if row is not paper]
            if paper is None or not others:
                continue
            base, steps = float(paper["excess_bits"]), paper["steps"]
            change = {row["variant"]: float(row["excess_bits"]) / base - 1.0 for row in others}
            seed = [float(row["excess_bits"]) / base - 1.0 for row in rows if row["variant"] == "another seed"]
            worst = max(change.items(), key=lambda item: abs(item[1]))
            holds &= all(abs(part) <= SIMILAR for part in change.values())
            beside = f"; another seed {100 * seed[0]:+.0f} %" if seed else ""
            listed.append(f"in {world} at the most {100 * worst[1]:+.0f} % ({worst[0]}{beside})")
        return Verdict(f"short trainings of {steps} steps: {', '.join(listed)}", holds) if listed else NOT_RUN

    return judge


def oversmooths_without_bounds(evidence: Evidence) -> Verdict:
    """Judge whether training without bounds makes larger bandwidths than training with them, and than the best."""
    listed, holds = [], True
    for world, rows in _ablations(evidence, "bounds").items():
        octaves = {row["variant"]: float(row["mean_log2_bandwidth_ratio"]) for row in _varied(rows)}
        free = [ratio for variant, ratio in octaves.items() if UNBOUNDED in variant]
        bounded = [ratio for variant, ratio in octaves.items() if UNBOUNDED not in variant]
        if free and bounded:
            holds &= min(free) > max(0.0, *bounded)
            listed.append(f"in {world} {', '.join(f'{variant} {ratio:+.2f}' for variant, ratio in octaves.items())}")
    return Verdict(f"mean log2 of the bandwidth over the best one: {'; '.join(listed)}", holds) if listed else NOT_RUN


def steps_agree(names: tuple[str, ...]) -> Judgement:
    """Return a judgement of whether training kept the checkpoints of the paper's steps."""

    def judge(evidence: Evidence) -> Verdict:
        cards = models()
        kept = {name: (cards[name]["kept_step"], cards[name]["paper_kept_step"]) for name in names}
        listed = ", ".join(f"{name} {ours} (paper: {paper})" for name, (ours, paper) in kept.items())
        return Verdict(f"kept steps: {listed}", all(ours == paper for ours, paper in kept.values()))

    return judge
