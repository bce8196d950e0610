"""Tables of the pages, made from results/*.csv."""

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "results"
# The names of methods in the tables, in order; other methods follow under their own names.
NAMES = {
    "amortized": "**`amortized`**",
    "amortized:adaptive": "**`amortized`** (adaptive)",
    "amortized:single": "`amortized:single`",
    "amortized:gmm32": "the paper's `gmm32`",
    "amortized:multifamily": "the paper's `multifamily`",
    "amortized:gmm16": "the paper's `gmm16`",
    "amortized:gmm8": "the paper's `gmm8`",
    "logspline": "R's logspline",
    "ssden": "R's ssden (gss)",
    "ssden, wide": "R's ssden, wide domain",
    "Gaussian mixture (Dirichlet process)": "Gaussian mixture, Dirichlet process (scikit-learn)",
    "Gaussian mixture (BIC)": "Gaussian mixture, components by BIC (scikit-learn)",
    "kde1d": "kde1d (pyvinecopulib)",
    "lcv": "leave-one-out likelihood (`lcv`)",
    "lscv": "least-squares cross-validation (`lscv`)",
    "sheather-jones": "Sheather-Jones",
    "sheather-jones-r": "Sheather-Jones as in R",
    "silverman": "Silverman's rule",
    "scott": "Scott's rule",
    "scipy gaussian_kde": "SciPy's default",
    "best density": "best possible density, from the sample alone",
    "best selector": "best possible selector of one bandwidth, from the sample alone",
    "best single bandwidth": "best possible single bandwidth, knowing the truth",
}
_UNDER_TEST = "amortized"
_OF_THAT = "standard_error_of_that"

Row = dict[str, str]


def read_rows(name: str) -> list[Row]:
    """Return the rows of a file in results/."""
    with open(RESULTS / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _ordered(methods: Iterable[str]) -> list[str]:
    found = dict.fromkeys(methods)
    return [name for name in NAMES if name in found] + [name for name in found if name not in NAMES]


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rows = [" | ".join(line) for line in (head, ["---"] * len(head), *lines)]
    return "\n".join(f"| {row} |" for row in rows)


def _bits(text: str) -> str:
    return f"{float(text):.3f}" if abs(float(text)) < 1.0 else f"{float(text):.2f}"


def _with_error(row: Row) -> str:
    return f"{float(row['difference_bits']):+.3f} ± {float(row['standard_error']):.3f}"


def _by_size(name: str) -> str:
    """Mean excess over all densities of a benchmark, with the median in brackets, by method and n."""
    rows = [row for row in read_rows(name) if row["density"] == "all"]
    sizes = list(dict.fromkeys(row["n"] for row in rows))
    excess = {(row["method"], row["n"]): _mean_and_median(row) for row in rows}
    methods = _ordered(row["method"] for row in rows)
    lines = [[NAMES.get(m, m), *(excess.get((m, n), "") for n in sizes)] for m in methods]
    return table(["n", *sizes], lines)


def _mean_and_median(row: Row) -> str:
    median = row["median_excess_bits"]
    return _bits(row["excess_bits"]) + (f" ({_bits(median)})" if median else "")


def _losses(name: str, most: int = 10) -> str:
    """The cells in which a rival, except the oracle, is better by more than two standard errors; worst first."""
    lost = [
        row
        for row in read_rows(name)
        if row["verdict"] == "worse" and row["density"] != "all" and row["method"] != "best single bandwidth"
    ]
    if not lost:
        return "None."
    lost.sort(key=lambda row: -float(row["difference_bits"]))
    lines = [
        [row["density"], row["n"], NAMES.get(row["method"], row["method"]), f"+{float(row['difference_bits']):.3f}"]
        for row in lost[:most]
    ]
    count = f"{len(lost)} cells; the worst {len(lines)}:" if len(lost) > most else f"{len(lost)} cells:"
    return f"{count}\n\n{table(['density', 'n', 'better there', 'bits'], lines)}"


def worlds() -> str:
    """Mean excess in the paper's two worlds."""
    rows = read_rows("excess")
    found = {(row["world"], row["method"]): row for row in rows}

    def cell(world: str, method: str) -> str:
        row = found[world, method]
        return f"{_bits(row['mean_excess_bits'])} ± {float(row['standard_error']):.3f}"

    lines = [
        [NAMES.get(m, m), *(cell(world, m) for world in ("gmm32", "multifamily"))]
        for m in _ordered(row["method"] for row in rows)
    ]
    return table(["", "mixtures of 32 Gaussians", "ten families"], lines)


def best_possible() -> str:
    """Mean excess on mixtures and the best possible, and the best possible mean over all tasks of the world."""
    rows, known = (
        read_rows("best_possible"),
        {row["method"]: row for row in read_rows("excess") if row["world"] == "gmm32"},
    )
    found = {row["method"]: row for row in rows}
    lines = [
        [NAMES[m], _bits(found[m]["mean_excess_bits"]), _above_best(found[m])]
        for m in ("best density", "amortized:adaptive", "best selector", "amortized:single", "amortized:gmm32")
    ]
    # Either selector gives an estimate, its mean over all tasks minus its difference to the best; take the less noisy.
    near = min((found[m] for m in ("amortized:single", "amortized:gmm32")), key=lambda row: float(row[_OF_THAT]))
    all_tasks = known[near["method"]]
    floor = float(all_tasks["mean_excess_bits"]) - float(near["beyond_the_best"])
    head = ["", f"mean excess, {rows[0]['tasks']} tasks", "above the best of its kind"]
    return (
        f"{table(head, lines)}\n\nOn all {all_tasks['tasks']} tasks {NAMES[near['method']]} has "
        f"{float(all_tasks['mean_excess_bits']):.4f}. So **{floor:.4f} ± {float(near[_OF_THAT]):.4f} bits** is the "
        "least that a selector of one bandwidth can have there."
    )


def _above_best(row: Row) -> str:
    if float(row["beyond_the_best"]) == 0.0:
        return ""
    return f"{float(row['beyond_the_best']):.4f} ± {float(row[_OF_THAT]):.4f}"


def real(name: str = "real_data") -> str:
    """The number of columns on which `amortized` has the lower score, by rival and n, and the worst loss."""
    rows = [row for row in read_rows(name) if row["method"] != _UNDER_TEST]
    sizes, lines = list(dict.fromkeys(row["n"] for row in rows)), []
    for method in _ordered(row["method"] for row in rows):
        cells = [
            [float(row["difference_bits"]) for row in rows if (row["method"], row["n"]) == (method, n)] for n in sizes
        ]
        wins = [f"{sum(d < 0.0 for d in cell)} of {len(cell)}" for cell in cells]
        every = [d for cell in cells for d in cell]
        fraction = f"{100.0 * sum(d < 0.0 for d in every) / len(every):.0f} %"
        lines.append([NAMES.get(method, method), *wins, fraction, f"{max(every):+.3f}"])
    return table(["rival", *(f"n = {n}" for n in sizes), "all", "our worst column"], lines)


def every_size(name: str = "every_size") -> str:
    """Mean and median difference to the best classical selector, by size, world and known or unknown bounds."""
    rows = [row for row in read_rows(name) if row["verdict"]]
    places = list(dict.fromkeys((row["world"], row["bounds"]) for row in rows))
    lines = []
    for n in dict.fromkeys(row["n"] for row in rows):
        line = [f"{int(n):,}"]
        for place in places:
            cell = [row for row in rows if (row["world"], row["bounds"], row["n"]) == (*place, n)]
            line.append(_closest(cell) if cell else "")
        lines.append(line)
    return table(["n", *(f"{world}, bounds {bounds}" for world, bounds in places)], lines)


def _closest(cell: Sequence[Row]) -> str:
    rival = max(cell, key=lambda row: float(row["difference_bits"]))
    mean, median = (_signed(float(rival[key])) for key in ("difference_bits", "median_difference_bits"))
    return f"{mean} ({median}) {rival['method']}"


def _signed(bits: float) -> str:
    """Four decimals, fewer for large numbers."""
    if abs(bits) < 1.0:
        return f"{bits:+.4f}"
    return f"{bits:+.1f}" if abs(bits) < 1000.0 else f"{bits:+,.0f}"


def worst_settings(most: int = 6) -> str:
    """The settings in which `amortized` does worst against each of the two references."""
    rows, parts = read_rows("worst_settings"), []
    for reference in dict.fromkeys(row["reference"] for row in rows):
        cells = [row for row in rows if row["reference"] == reference]
        worse = sum(row["verdict"] == "worse" for row in cells)
        cells.sort(key=lambda row: -float(row["difference_bits"]))
        lines = [(f"{row['group']} {row['which']}", row["bounds"], row["n"], _with_error(row)) for row in cells[:most]]
        parts.append(f"Against {NAMES.get(reference, reference)}: worse in {worse} of {len(cells)} settings.")
        parts.append(table(["setting", "bounds", "n", "bits"], lines))
    return "\n\n".join(parts)


def large_n() -> str:
    """Time and errors at n = 10^6, by density and estimator."""
    rows = read_rows("large_n")
    head = ["density", "estimator", "ms", "times as fast as KDEpy", "excess, bits", "integrated squared error"]
    keys = ["ms", "times KDEpy", "excess bits", "integrated squared error"]
    lines = [
        [row["density"], NAMES.get(row["estimator"], row["estimator"]), *(row[key] for key in keys)] for row in rows
    ]
    return table(head, lines)


def ensembles() -> str:
    """Speed and scores of a million ensembles."""
    rows = read_rows("ensembles")
    lines = []
    for row in rows:
        behind = f"{float(row['behind_truth']):.4f} ± {float(row['standard_error']):.4f}" if row["behind_truth"] else ""
        infinite = row["infinite"] if row["infinite"] not in ("", "0") else ""
        speed = f"{float(row['per_second']):,.0f}"
        lines.append((row["who"], row["what"], f"{int(row['ensembles']):,}", row["threads"], speed, behind, infinite))
    head = ["who", "what", "ensembles", "threads or workers", "a second", "bits behind the truth", "infinite scores"]
    return table(head, lines)


def daily() -> str:
    """Times of everyday functions and those of SciPy, in milliseconds."""
    head = ["values", "function", "ms", "first call, ms", "compared with", "its ms", "ratio", "ratio, first call"]
    keys = ["n", "function", "ours_ms", "fresh_ms", "other", "other_ms", "ratio", "fresh_ratio"]
    lines = [[row[key] for key in keys] for row in read_rows("daily")]
    return table(head, [[f"{int(line[0]):,}", f"`{line[1]}`", *line[2:]] for line in lines])


def dimensions(bed: str, part: str = "all") -> str:
    """Mean scores of a bed in several dimensions, medians in brackets, by method and n; by n = 256 or the last n."""
    own = [row for row in read_rows("dimensions") if row["bed"] == bed]
    divided = {row["method"] for row in own if row["part"] == part}
    # Peers of two dimensions only have no parts.
    rows = [row for row in own if row["part"] == (part if row["method"] in divided else "all")]
    sizes = sorted({int(row["n"]) for row in rows})
    found = {(row["method"], int(row["n"])): row for row in rows}
    tests = {n: max(int(row["tests"]) for row in rows if int(row["n"]) == n) for n in sizes}
    # Means over fewer dimensions, as of peers in two only, cannot be compared.
    cells = {
        key: f"{_bits(row['mean_bits'])} ({_bits(row['median_bits'])})"
        for key, row in found.items()
        if int(row["tests"]) == tests[key[1]]
    }
    judged = 256 if 256 in sizes else sizes[-1]
    methods = [m for m in dict.fromkeys(row["method"] for row in rows) if any((m, n) in cells for n in sizes)]
    methods.sort(key=lambda m: float(found[m, judged]["mean_bits"]) if (m, judged) in cells else math.inf)
    names = {"amortized_kde:fit": "**`akde.fit(X)`**", "oracle scale": "best single scale, knowing the truth"}
    lines = [[names.get(m, m), *(cells.get((m, n), "") for n in sizes)] for m in methods]
    return table(["n", *(f"{n:,}" for n in sizes)], lines)


def dimensions_claims() -> str:
    """The number of claims about several dimensions that hold, and those that do not."""
    text = (RESULTS / "dimensions.md").read_text(encoding="utf-8")
    return text.split("\n", 2)[2].split("## Losses")[0].strip().replace("## ", "### ")


TABLES: dict[str, Callable[[], str]] = {
    "daily": daily,
    **{
        f"dimensions_{bed.replace('-', '_')}": partial(dimensions, bed)
        for bed in ("wand-jones", "mixtures", "others", "real")
    },
    "dimensions_bounded_2": partial(dimensions, "bounded", "d = 2"),
    "dimensions_claims": dimensions_claims,
    "marron_wand": lambda: _by_size("marron_wand"),
    "marron_wand_losses": lambda: _losses("marron_wand"),
    "simple_bounded": lambda: _by_size("simple_bounded"),
    "simple_bounded_losses": lambda: _losses("simple_bounded"),
    "worlds": worlds,
    "best_possible": best_possible,
    "real": real,
    "real_held": lambda: real("real_data_held"),
    "every_size": every_size,
    "every_size_single": lambda: every_size("every_size_single"),
    "worst_settings": worst_settings,
    "large_n": large_n,
    "ensembles": ensembles,
    "page_help": lambda: (
        (Path(__file__).parents[2] / "src/amortized_kde/app/help.md").read_text(encoding="utf-8").strip()
    ),
}
