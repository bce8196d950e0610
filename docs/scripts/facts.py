"""Numbers that the text of the pages states, from the models' cards and from results/*.csv."""

from collections.abc import Callable

from tables import NAMES, read_rows, table

import amortized_kde as akde
from amortized_kde.learned.adaptive.features import POINT_FEATURES, RUNG_EXPONENTS, SAMPLE_FEATURES

# The rows of the README's table; docs/results.md has all.
README_METHODS = (
    "amortized",
    "ssden",
    "logspline",
    "Gaussian mixture (BIC)",
    "Gaussian mixture (Dirichlet process)",
    "sheather-jones",
    "scipy gaussian_kde",
    "best single bandwidth",
)


def _tasks() -> str:
    recipe = akde.models()["adaptive"]["recipe"]
    return f"{recipe['steps'] * recipe['batch'] / 1e6:.1f} million"


def _real_rivals(name: str = "real_data") -> dict[str, list[float]]:
    """Differences in bits over all columns and sizes, by rival; negative where `amortized` is better."""
    found: dict[str, list[float]] = {}
    for row in read_rows(name):
        if row["method"] != "amortized":
            found.setdefault(row["method"], []).append(float(row["difference_bits"]))
    return found


def _real_percent(name: str = "real_data") -> str:
    wins = [100.0 * sum(bits < 0.0 for bits in rival) / len(rival) for rival in _real_rivals(name).values()]
    return f"{min(wins):.0f} to {max(wins):.0f} %"


def _real_columns(name: str = "real_data") -> str:
    return str(len({row["column"] for row in read_rows(name)}))


def _real_held_low() -> str:
    """The two rivals that are beaten least often on the held half."""
    wins = {m: 100.0 * sum(b < 0.0 for b in bits) / len(bits) for m, bits in _real_rivals("real_data_held").items()}
    two = sorted(wins, key=wins.__getitem__)[:2]
    return " and ".join(f"{NAMES.get(method, method)} ({wins[method]:.0f} %)" for method in two)


def _readme_table() -> str:
    rows = {(r["method"], r["n"]): float(r["excess_bits"]) for r in read_rows("marron_wand") if r["density"] == "all"}
    sizes = list(dict.fromkeys(n for _, n in rows))
    lines = []
    for method in README_METHODS:
        cells = [f"{rows[method, n]:.3g}" if rows[method, n] > 10.0 else f"{rows[method, n]:.3f}" for n in sizes]
        lines.append([NAMES[method], *([f"**{cell}**" for cell in cells] if method == "amortized" else cells)])
    return table(["n", *sizes], lines)


def _every_size() -> str:
    judged = [row for row in read_rows("every_size") if row["verdict"]]
    worse = [float(row["difference_bits"]) for row in judged if row["verdict"] == "worse"]
    largest = f", by at most {max(worse):.4f} bits" if worse else ""
    return f"{len(worse)} of {len(judged)} comparisons{largest}"


def _awkward(library: str) -> str:
    return str(sum(row["mark"] == "fine" for row in read_rows("awkward_data") if row["library"] == library))


def _awkward_cases() -> str:
    return str(len({(row["group"], row["case"]) for row in read_rows("awkward_data")}))


def _speed(who: str, what: str) -> float:
    return max(float(r["per_second"]) for r in read_rows("ensembles") if (r["who"], r["what"]) == (who, what))


def _ensembles_a_second() -> str:
    return f"{round(_speed('amortized-kde', 'score, adaptive'), -3):,.0f}"


def _scipy_a_second() -> str:
    speed = _speed("SciPy in a loop", "score, Silverman's rule")
    return f"{round(speed, -2):,.0f}"


def _against_scipy() -> str:
    """Mean and median excess by n, ours and SciPy's."""
    found = {(r["method"], r["n"]): r for r in read_rows("marron_wand") if r["density"] == "all"}
    lines = []
    for n in dict.fromkeys(n for _, n in found):
        ours, scipys = found["amortized", n], found["scipy gaussian_kde", n]
        cells = [f"{float(row[key]):.3f}" for key in ("excess_bits", "median_excess_bits") for row in (ours, scipys)]
        lines.append([n, *cells])
    return table(["n", "mean, amortized-kde", "mean, SciPy", "median, amortized-kde", "median, SciPy"], lines)


def _scipy_real() -> str:
    """On how many columns SciPy's default is better, by n, and by how much at most."""
    rows = [row for row in read_rows("real_data") if row["method"] == "scipy gaussian_kde"]
    lines = []
    for n in dict.fromkeys(row["n"] for row in rows):
        bits = [float(row["difference_bits"]) for row in rows if row["n"] == n]
        wins, mean = sum(b < 0.0 for b in bits), -sum(bits) / len(bits)
        lines.append([n, f"{wins} of {len(bits)}", f"{mean:.3f}", f"{-min(bits):.2f}", f"{max(0.0, max(bits)):.3f}"])
    return table(["n", "columns won", "mean gain, bits", "largest gain", "largest loss"], lines)


def _scipy_awkward() -> str:
    """The cases in which SciPy gives a wrong answer without an error, and what this package does."""
    spelled = {"answers": "a density, without an error", "says why": "an error that says why"}
    rows = {(row["case"], row["library"]): row for row in read_rows("awkward_data")}
    cases = dict.fromkeys(case for case, _ in rows)
    wrong = [case for case in cases if rows[case, "SciPy"]["mark"] == "wrong"]
    found = {case: [rows[case, library]["words"] for library in ("SciPy", "amortized-kde")] for case in wrong}
    lines = [[case, *(spelled.get(words, words) for words in found[case])] for case in wrong]
    return table(["data", "SciPy", "amortized-kde"], lines)


FACTS: dict[str, Callable[[], str]] = {
    "tasks": _tasks,
    "bandwidths": lambda: str(RUNG_EXPONENTS.size),
    "sample_features": lambda: str(len(SAMPLE_FEATURES)),
    "point_features": lambda: str(len(POINT_FEATURES)),
    "real_columns": _real_columns,
    "real_held_columns": lambda: _real_columns("real_data_held"),
    "real_rivals": lambda: str(len(_real_rivals())),
    "real_percent": _real_percent,
    "real_held_percent": lambda: _real_percent("real_data_held"),
    "real_held_low": _real_held_low,
    "readme_table": _readme_table,
    "every_size_worse": _every_size,
    "awkward_fine": lambda: _awkward("amortized-kde"),
    "awkward_scipy": lambda: _awkward("SciPy"),
    "awkward_cases": _awkward_cases,
    "ensembles_a_second": _ensembles_a_second,
    "scipy_a_second": _scipy_a_second,
    "against_scipy": _against_scipy,
    "scipy_real": _scipy_real,
    "scipy_awkward": _scipy_awkward,
}
