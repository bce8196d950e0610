"""What a claim is, and what is said about it: words, a number of ours, and whether it holds.

Nothing is known here of any particular claim or table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amortized_kde.research.reproduction.evidence import Evidence


@dataclass(frozen=True)
class Verdict:
    """Our number in words, and whether the claim holds by its criterion; None if what it needs was not run.

    `exceptions` says where it fails, if it holds elsewhere.
    """

    number: str
    holds: bool | None
    exceptions: str = ""

    @property
    def word(self) -> str:
        """The verdict as the report prints it."""
        if self.holds is None:
            return "not run"
        if self.holds:
            return "holds"
        return f"holds except {self.exceptions}" if self.exceptions else "does not hold"


NOT_RUN = Verdict("not run", None)
Judge = Callable[[Evidence], Verdict]


@dataclass(frozen=True)
class Claim:
    """The paper's words, where they stand, by what criterion we judge them, and the judgement from the tables."""

    words: str
    where: str
    criterion: str
    judge: Judge


def always(law: Callable[..., Verdict], *arguments: str) -> Judge:
    """Make a judge that reads no table."""
    return lambda evidence: law(*arguments)


def bits(value: float) -> str:
    """Write a score or a difference with three significant digits."""
    return f"{value:.3g} bits"


def list_sizes(chosen: Sequence[int], grid: Sequence[int]) -> str:
    """Write sample sizes, three or more that follow each other on the grid of all sizes as a range.

    Examples
    --------
    >>> list_sizes([5, 7, 50, 75, 100], [5, 6, 7, 20, 50, 75, 100])
    '5, 7, 50 to 100'
    """
    runs: list[list[int]] = []
    for n in chosen:
        if runs and grid.index(n) == grid.index(runs[-1][-1]) + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
