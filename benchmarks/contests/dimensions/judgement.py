"""Claims about the estimate under test, each judged by its scores: what must hold against the peers, losses first."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from amortized_kde._types import Array
from contests.dimensions.peers import ORACLE
from contests.dimensions.real_tables import REAL
from contests.dimensions.report import Cell

# Largest mean KL allowed: as a fraction of the oracle scale's on mixtures and on others, and in bits on Wand-Jones.
ORACLE_FRACTIONS = {100: {"mixtures": 0.65, "others": 0.3}, 256: {"mixtures": 0.5, "others": 0.25}}
WAND_JONES_BITS = {100: 0.11, 256: 0.05}
ABRAMSON_FRACTION = 0.65
BIC_MARGIN = 0.01
REAL_WINS = 0.85
REAL_SIZES = (50, 100, 256, 1000)
LISTED_LOSS = 0.1
_KNOWN = ("mixtures", "others", "wand-jones")
_AGAINST_BOUNDS = ("GetDist", "ks boundary (beta)", "ks boundary (linear)")


class Claim(NamedTuple):
    """A sentence, whether it holds, and the figures that decide it."""

    text: str
    holds: bool
    figures: str


class Contest:
    """All cells of a run, and which method is under test."""

    def __init__(self, cells: Sequence[Cell], under_test: str):
        self._cells = {(cell.bed, cell.n, cell.method): cell for cell in cells}
        self.under_test = under_test

    def scores(self, bed: str, n: int) -> dict[str, float]:
        """Return the scores of the method under test by key."""
        cell = self._cells.get((bed, n, self.under_test))
        return {} if cell is None else cell.by_key()

    def sizes(self, bed: str) -> list[int]:
        """Return the sizes at which the method under test was scored on a bed."""
        return sorted({n for b, n, method in self._cells if b == bed and method == self.under_test})

    def peers(self, bed: str, n: int) -> list[str]:
        """Return the peers on a bed at a size."""
        return [m for b, k, m in self._cells if (b, k) == (bed, n) and m not in (self.under_test, ORACLE)]

    def pair(self, bed: str, n: int, peer: str) -> tuple[Array, Array, list[str]] | None:
        """Return the scores of the method under test and of a peer on their common tests, and the families of these."""
        ours, theirs = (self._cells.get((bed, n, method)) for method in (self.under_test, peer))
        if ours is None or theirs is None:
            return None
        a, b = ours.by_key(), theirs.by_key()
        keys = [key for key in a if key in b]
        families = {task.key: task.family for task in ours.tasks}
        return np.array([a[k] for k in keys]), np.array([b[k] for k in keys]), [families[k] for k in keys]


def judge(contest: Contest) -> list[Claim]:
    """Return every claim that the run has the scores for."""
    return [
        *_against_oracle(contest),
        *_on_wand_jones(contest),
        *_against_all(contest),
        *_against_abramson(contest),
        *_large_samples(contest),
        *_bounded(contest),
        *_real(contest),
    ]


def _ratio(text: str, pair: tuple[Array, Array, list[str]] | None, most: float) -> Iterator[Claim]:
    if pair is not None:
        ours, theirs = float(np.mean(pair[0])), float(np.mean(pair[1]))
        yield Claim(text, ours <= most * theirs, f"{ours:.4f} against {theirs:.4f}: {ours / theirs:.3f}")


def _against_oracle(contest: Contest) -> Iterator[Claim]:
    for n, fractions in ORACLE_FRACTIONS.items():
        for bed, most in fractions.items():
            text = f"{bed}, n = {n}: at most {most:g} of the best single scale's mean KL"
            yield from _ratio(text, contest.pair(bed, n, ORACLE), most)


def _on_wand_jones(contest: Contest) -> Iterator[Claim]:
    for n, most in WAND_JONES_BITS.items():
        pair = contest.pair("wand-jones", n, contest.under_test)
        if pair is not None:
            mean = float(np.mean(pair[0]))
            yield Claim(f"Wand-Jones, n = {n}: at most {most:g} bits", mean <= most, f"{mean:.4f}")


def _against_all(contest: Contest) -> Iterator[Claim]:
    for bed in _KNOWN:
        for peer in contest.peers(bed, 20):
            yield from _ratio(f"{bed}, n = 20: below {peer}", contest.pair(bed, 20, peer), 1.0)


def _against_abramson(contest: Contest) -> Iterator[Claim]:
    for bed in (*_KNOWN, "bounded"):
        text = f"{bed}, n = 256: at most {ABRAMSON_FRACTION:g} of Abramson's mean KL"
        yield from _ratio(text, contest.pair(bed, 256, "Abramson"), ABRAMSON_FRACTION)


def _large_samples(contest: Contest) -> Iterator[Claim]:
    for n in (1000, 4000):
        for bed in _KNOWN:
            pair = contest.pair(bed, n, "mixture (BIC)")
            if pair is None:
                continue
            ours, theirs = float(np.mean(pair[0])), float(np.mean(pair[1]))
            margin = 0.0 if bed == "others" else BIC_MARGIN
            text = f"{bed}, n = {n}: no worse than the mixture by BIC" + (f" plus {margin:g} bits" if margin else "")
            yield Claim(text, ours <= theirs + margin, f"{ours:.4f} against {theirs:.4f}")


def _bounded(contest: Contest) -> Iterator[Claim]:
    for n in contest.sizes("bounded"):
        for peer in _AGAINST_BOUNDS:
            yield from _ratio(f"bounded, d = 2, n = {n}: below {peer}", contest.pair("bounded", n, peer), 1.0)


def _real(contest: Contest) -> Iterator[Claim]:
    sizes = [n for n in contest.sizes(REAL) if n in REAL_SIZES]
    for peer in dict.fromkeys(peer for n in sizes for peer in contest.peers(REAL, n)):
        differences = [value for n in sizes for value in real_differences(contest, n, peer).values()]
        share = float(np.mean(np.array(differences) < 0.0))
        text = f"real tables, n = {', '.join(map(str, sizes))}: below {peer} on {REAL_WINS:.0%} of (table, n)"
        yield Claim(text, share >= REAL_WINS, f"{share:.0%} of {len(differences)}")


def real_differences(contest: Contest, n: int, peer: str) -> dict[str, float]:
    """Return the mean score minus a peer's by table; negative is better."""
    pair = contest.pair(REAL, n, peer)
    if pair is None:
        return {}
    ours, theirs, families = pair
    names = np.array(families)
    return {name: float(np.mean((ours - theirs)[names == name])) for name in dict.fromkeys(families)}


def real_losses(contest: Contest) -> list[str]:
    """Return a line for every table, size and peer with a loss of more than 0.1 bits, largest first."""
    losses = [
        (bits, f"{table}, n = {n}: {bits:.2f} bits to {peer}")
        for n in contest.sizes(REAL)
        for peer in contest.peers(REAL, n)
        for table, bits in real_differences(contest, n, peer).items()
        if bits > LISTED_LOSS
    ]
    return [line for _, line in sorted(losses, reverse=True)]


def judgement_text(contest: Contest) -> str:
    """Return the claims as Markdown: first those that do not hold, then losses on real tables, then the others."""
    claims = judge(contest)
    count = f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold."
    lines = [f"# {contest.under_test} in several dimensions", "", count]
    for title, holds in (("Does not hold", False), ("Holds", True)):
        lines += ["", f"## {title}", "", *(f"- {c.text}: {c.figures}" for c in claims if c.holds == holds)]
        if not holds:
            lines += ["", "## Losses of more than 0.1 bits on real tables", ""]
            lines += [f"- {loss}" for loss in real_losses(contest)]
    return "\n".join(lines) + "\n"
