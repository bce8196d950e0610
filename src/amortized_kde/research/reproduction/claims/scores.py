"""Judgements about scores against n.

Means are compared over the same tasks; "surely" means that the paired 90 % limits of the difference exclude zero. A
claim "at every n" holds if the means obey it at every n; the verdict's number says where that is not sure.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from amortized_kde._types import Array, Flags
from amortized_kde.research.reproduction.evidence import (
    NOT_RUN,
    BedScores,
    Evidence,
    Judgement,
    Verdict,
    list_sizes,
    step_indices,
)
from amortized_kde.research.reproduction.protocol import CLASSICAL, METHODS, STEPS, TRUTH

Names = tuple[str, ...]

# Words without a number in the paper get one here: "similar" and "slightly" are a tenth of the excess, "substantially"
# a half of it, a "clear" advantage a tenth of it and more than its 90 % limits.
SIMILAR, HALF, CLEAR = 0.1, 0.5, 0.1
# A mean that is ten times the median is made by few tasks.
RARE = 10.0


def on_bed(name: str, judge: Callable[..., Verdict], *methods: str | Names, **options: Any) -> Judgement:
    """Return a judgement about one bed; without scores of all methods it is "not run"."""
    needed = {TRUTH, *CLASSICAL}.union(*((entry,) if isinstance(entry, str) else entry for entry in methods))

    def judge_evidence(evidence: Evidence) -> Verdict:
        bed = evidence.beds.get(name)
        return NOT_RUN if bed is None or needed - set(bed.curves) else judge(bed, *methods, **options)

    return judge_evidence


def _excess(bed: BedScores, methods: Names) -> Array:
    return np.stack([bed.curves[method].excess for method in methods])


def _best_classical(bed: BedScores) -> Array:
    return np.asarray(_excess(bed, CLASSICAL).min(axis=0))


def _bits(value: float) -> str:
    return f"{value:.3g} bits"


def _along(bed: BedScores, values: Array) -> str:
    return ", ".join(f"{values[k]:.3g} at n = {bed.sizes[k]}" for k in step_indices(bed.sizes))


def _extreme(bed: BedScores, fractions: Array, k: int) -> str:
    return f"{100 * fractions[k]:.0f} % (n = {bed.sizes[k]})"


def _range(bed: BedScores, fractions: Array) -> str:
    return f"{_extreme(bed, fractions, int(fractions.argmin()))} to {_extreme(bed, fractions, int(fractions.argmax()))}"


def _sizes(bed: BedScores, where: Flags) -> str:
    return f"n = {list_sizes(bed.sizes[where].tolist(), bed.sizes.tolist())}"


def _at_every_n(bed: BedScores, number: str, fails: Flags, *, through: int = 256) -> Verdict:
    """A claim about n <= `through` that fails at up to half of these sizes holds with exceptions."""
    meant = bed.sizes <= through
    fails = fails & meant
    exceptions = f"at {_sizes(bed, fails)}" if 0 < 2 * fails.sum() <= meant.sum() else ""
    return Verdict(number, not fails.any(), exceptions)


def lowest(bed: BedScores, method: str, rivals: Names = CLASSICAL) -> Verdict:
    """Judge whether a method's mean score is below every rival's at every n."""
    apart = [bed.difference(method, rival) for rival in rivals]
    means = np.stack([difference.mean for difference in apart])
    fails = means.max(axis=0) >= 0.0
    won = np.all([difference.verdicts == -1 for difference in apart], axis=0)
    lost = np.any([difference.verdicts == 1 for difference in apart], axis=0)
    row, column = np.unravel_index(means.argmax(), means.shape)
    worst, rival, n = float(means[row, column]), METHODS[rivals[row]].label, bed.sizes[column]
    number = f"lowest at {(~fails).sum()} of {fails.size} sizes, surely at {won.sum()}; "
    number += f"nearest rival {rival} at n = {n}, {_bits(abs(worst))} {'lower' if worst >= 0.0 else 'higher'}"
    number += f"; surely not the lowest at {_sizes(bed, lost)}" if lost.any() else ""
    return _at_every_n(bed, number, fails)


def closer(bed: BedScores, method: str) -> Verdict:
    """Judge whether the mean excess is below every classical selector's, and report the median excess too."""
    curve, best = bed.curves[method], _best_classical(bed)
    medians = np.stack([bed.curves[rival].median_excess for rival in CLASSICAL]).min(axis=0)
    typical = curve.median_excess >= medians
    number = f"share of the best classical selector's excess: {_along(bed, curve.excess / best)}; "
    number += f"by the median task it is closer at {(~typical).sum()} of {typical.size} sizes"
    number += f" (not at {_sizes(bed, typical)})" if typical.any() else ""
    return _at_every_n(bed, number, curve.excess >= best)


def clear_advantage(bed: BedScores, method: str, *, through: int) -> Verdict:
    """Judge whether, up to an n, each classical selector is surely higher, by a tenth of the method's excess."""
    apart, excess = [bed.difference(rival, method) for rival in CLASSICAL], bed.curves[method].excess
    gain = np.stack([difference.mean for difference in apart]).min(axis=0)
    clear = np.all([difference.verdicts == 1 for difference in apart], axis=0) & (gain >= CLEAR * excess)
    shown = int(np.abs(bed.sizes - through).argmin())
    unbroken = int(np.argmin([*clear, False]))
    number = f"at n = {bed.sizes[shown]} the best classical selector is {_bits(gain[shown])} higher, "
    number += f"{100 * gain[shown] / excess[shown]:.0f} % of the own excess; "
    number += (
        f"clear without a break through n = {bed.sizes[unbroken - 1]}" if unbroken else "not clear at the smallest n"
    )
    return _at_every_n(bed, number, ~clear, through=through)


def gains_shrink(bed: BedScores, method: str) -> Verdict:
    """Judge whether the gain over the best classical selector is largest at a small n and falls from step to step."""
    gain = _best_classical(bed) - bed.curves[method].excess
    falls = np.all(np.diff(gain[step_indices(bed.sizes)]) < 0.0)
    number = f"gain over the best classical selector, bits: {_along(bed, gain)}"
    return Verdict(number, bool(falls and bed.sizes[gain.argmax()] <= STEPS[1]))


def approach(bed: BedScores, methods: Names) -> Verdict:
    """Judge whether every method nears the true density, and the methods each other, from step to step."""
    table, steps = _excess(bed, methods), step_indices(bed.sizes)
    apart = table.max(axis=0) - table.min(axis=0)
    falling = np.all(np.diff(table[:, steps]) < 0.0, axis=1)
    rises = [METHODS[method].label for method, falls in zip(methods, falling, strict=True) if not falls]
    number = f"worst minus best, bits: {_along(bed, apart)}; "
    number += f"not falling at every step: {', '.join(rises)}" if rises else "every excess falls at every step"
    return Verdict(number, not rises and bool(np.all(np.diff(apart[steps]) < 0.0)))


def rare_disasters(bed: BedScores, learned: Names) -> Verdict:
    """Judge whether few tasks make the classical means at the smallest n, and not the learned ones'."""
    pairs = {m: (bed.curves[m].excess[0], bed.curves[m].median_excess[0]) for m in (*CLASSICAL, *learned)}
    rare = {method: bool(mean >= RARE * median) for method, (mean, median) in pairs.items()}
    listed = ", ".join(f"{METHODS[m].label} {mean:.3g} against {median:.3g}" for m, (mean, median) in pairs.items())
    holds = all(rare[method] for method in CLASSICAL) and not any(rare[method] for method in learned)
    return Verdict(f"mean against median excess at n = {bed.sizes[0]}, bits: {listed}", holds)


def advantage_grows(here: tuple[str, Names], there: tuple[str, Names]) -> Judgement:
    """Return a judgement of whether the gain over the best classical selector is larger on one bed than on another.

    Each is a bed and the learned selectors there, of which the worst counts.
    """

    def judge(evidence: Evidence) -> Verdict:
        beds = [evidence.beds.get(name) for name, _ in (here, there)]
        gains = []
        for bed, (_, learned) in zip(beds, (here, there), strict=True):
            if bed is None or {*CLASSICAL, *learned} - set(bed.curves):
                return NOT_RUN
            gains.append(_best_classical(bed) - _excess(bed, learned).max(axis=0))
        bed = evidence.beds[here[0]]
        if not np.array_equal(bed.sizes, evidence.beds[there[0]].sizes):
            return NOT_RUN
        number = f"gain over the best classical selector, bits: {_along(bed, gains[0])}; there: {_along(bed, gains[1])}"
        return _at_every_n(bed, number, gains[0] <= gains[1])

    return judge


def half_the_excess(bed: BedScores, methods: Names, *, through: int = 256) -> Verdict:
    """Judge whether every method has at most half of the best classical selector's excess, up to an n."""
    fraction = _excess(bed, methods).max(axis=0) / _best_classical(bed)
    worst = "worst " if len(methods) > 1 else ""
    number = f"{worst}share of the best classical selector's excess: {_along(bed, fraction)}"
    return _at_every_n(bed, number, fraction > HALF, through=through)


def nearer_than_classical(bed: BedScores, methods: Names, to: str) -> Verdict:
    """Judge whether every method is nearer to one method's score than to the best classical selector's."""
    table, target = _excess(bed, methods), bed.curves[to].excess
    away = np.abs(table - target).max(axis=0)
    fraction = (table / target - 1.0).max(axis=0)
    number = f"largest distance, bits: {_along(bed, away)}; excess larger by {_range(bed, fraction)}"
    return _at_every_n(bed, number, away >= np.abs(table - _best_classical(bed)).min(axis=0))


def slightly_above(bed: BedScores, method: str, others: Names) -> Verdict:
    """Judge whether a method is above every other at every n, and by at most a tenth of their lowest excess."""
    apart, least = [bed.difference(method, other) for other in others], _excess(bed, others).min(axis=0)
    above = bed.curves[method].excess - least
    fraction = above / least
    under = np.any([difference.mean <= 0.0 for difference in apart], axis=0)
    sure = np.all([difference.verdicts == 1 for difference in apart], axis=0)
    number = f"above the lowest of them by, bits: {_along(bed, above)}; excess larger by {_range(bed, fraction)}; "
    number += f"above all of them at {(~under).sum()} of {under.size} sizes, surely at {sure.sum()}"
    return _at_every_n(bed, number, under | (fraction > SIMILAR))


def similar(bed: BedScores, methods: Names) -> Verdict:
    """Judge whether the excesses of some methods differ by at most a tenth of the lowest, at every n."""
    table = _excess(bed, methods)
    apart = table.max(axis=0) - table.min(axis=0)
    fraction = apart / table.min(axis=0)
    number = f"highest minus lowest, bits: {_along(bed, apart)}; "
    number += f"of the excess at the most {_extreme(bed, fraction, int(fraction.argmax()))}"
    return _at_every_n(bed, number, fraction > SIMILAR)


def silverman_favoured(bed: BedScores) -> Verdict:
    """Judge whether Silverman's rule is the best classical selector, at every n."""
    behind = bed.curves["silverman"].excess - _best_classical(bed)
    number = f"best of the three at {(behind == 0.0).sum()} of {behind.size} sizes; "
    number += f"behind the best by {_bits(float(behind.max()))} at the most (n = {bed.sizes[behind.argmax()]})"
    return _at_every_n(bed, number, behind > 0.0)
