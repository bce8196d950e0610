"""Where the learned selectors lose: by size, and by family. The tables enter, Markdown leaves."""

import numpy as np

from amortized_kde.research.reproduction.claims.tables import family_means
from amortized_kde.research.reproduction.claims.verdicts import list_sizes
from amortized_kde.research.reproduction.evidence import Bed, Evidence
from amortized_kde.research.reproduction.methods import CLASSICAL, GMM_TRAINED, METHODS, MULTIFAMILY, learned_on
from amortized_kde.research.reproduction.report.markdown import number, table
from amortized_kde.research.reproduction.report.words import BED_TITLES

# A family's means are told apart if they differ by twice the standard error of their difference, as if unpaired.
_ERRORS = 2.0


def losses_by_size(evidence: Evidence) -> str:
    """List every bed, learned selector and rival where the rival's mean score is lower at some n."""
    rows = [
        _loss(bed, method, rival)
        for bed in evidence.beds.values()
        for method in bed.only(learned_on(bed.name))
        for rival in bed.only((*CLASSICAL, "lcv", *learned_on(bed.name)))
        if rival != method and np.any(bed.difference(method, rival).mean > 0.0)
    ]
    header = ["test bed", "selector", "is higher than", "at n =", "surely at n =", "by at the most (bits)"]
    return table(header, rows, text=5) if rows else "None: no other method is lower at any n." if evidence.beds else ""


def _loss(bed: Bed, method: str, rival: str) -> list[str]:
    apart = bed.difference(method, rival)
    lost, sure = apart.mean > 0.0, apart.verdicts == 1
    worst = int(apart.mean.argmax())
    names = [METHODS[method].label, METHODS[rival].label]
    sizes = [list_sizes(bed.sizes[where].tolist(), bed.sizes.tolist()) or "none" for where in (lost, sure)]
    return [BED_TITLES[bed.name], *names, *sizes, f"{number(apart.mean[worst])} (n = {bed.sizes[worst]})"]


def family_table(evidence: Evidence, *, least: int = 0) -> str:
    """Set the mean excess over n from a least one on beside each other, by family; the lowest selector is bold."""
    means = family_means(evidence, least=least)
    if not means:
        return ""
    methods = [m for m in METHODS if m != "truth" and all(m in row for row in means.values())]
    rows = []
    for family, row in means.items():
        best = min((m for m in methods if m != "oracle"), key=lambda m, row=row: row[m])  # type: ignore[misc]
        cells = [f"**{number(row[m])}**" if m == best else number(row[m]) for m in methods]
        rows.append([family, *cells])
    return table(["family", *(METHODS[m].label for m in methods)], rows)


def family_losses(evidence: Evidence) -> str:
    """List, for every family and learned selector, the sizes at which a classical selector surely has less excess."""
    found = {(r["family"], r["method"], int(r["n"])): r for r in evidence.rows("families.csv")}
    sizes = sorted({n for _, _, n in found})
    rows = []
    for family in dict.fromkeys(family for family, _, _ in found):
        for method in (MULTIFAMILY, *GMM_TRAINED):
            lost = {
                rival: [n for n in sizes if _surely_lower(found, family, rival, method, n)]
                for rival in (*CLASSICAL, "lcv")
            }
            told = "; ".join(
                f"{METHODS[rival].label} at n = {list_sizes(at, sizes)}" for rival, at in lost.items() if at
            )
            if told:
                rows.append([family, METHODS[method].label, told])
    return table(["family", "selector", "surely beaten by"], rows, text=3) if rows else ""


def _surely_lower(
    found: dict[tuple[str, str, int], dict[str, str]], family: str, rival: str, method: str, n: int
) -> bool:
    a, b = found.get((family, rival, n)), found.get((family, method, n))
    if a is None or b is None:
        return False
    reach = _ERRORS * float(np.hypot(float(a["standard_error"]), float(b["standard_error"])))
    return float(a["excess_bits"]) + reach < float(b["excess_bits"])
