"""The report of a reproduction, README.md: figures, tables, every claim, and the cases we lose.

The same tables give the same bytes.
"""

from collections import Counter
from pathlib import Path
from typing import Any

from amortized_kde._files import write_file
from amortized_kde.research.provenance import record_derived
from amortized_kde.research.reproduction import report_tables as tables
from amortized_kde.research.reproduction.claims import NOT_JUDGED, Claim, judge_claims
from amortized_kde.research.reproduction.claims.tables import LARGE_N
from amortized_kde.research.reproduction.evidence import Evidence, Verdict, read_evidence
from amortized_kde.research.reproduction.report_tables import BED_TITLES, section, table

Judged = dict[str, list[tuple[Claim, Verdict]]]

_PANEL = (
    "Below: the difference to {reference} on the same tasks, in milli-bits (linear within ±10, logarithmic beyond), "
    "with 90 % limits of paired differences (none if there are too few chunks); bands that reach below the panel are "
    "cut."
)

_CAPTIONS: dict[str, tuple[str, str]] = {
    "figure1_gaussian": (
        "Figure 1: Gaussian sampling.",
        "Mean score against sample size on the whole line, with 90 % bootstrap bands; dashed: the true density. "
        "Horizontal axis linear to n = 20 and logarithmic above; vertical axis linear to 4.5 bits and logarithmic "
        "above. " + _PANEL.format(reference="the amortized selector"),
    ),
    "figure2_multifamily": (
        "Figure 2: ten bounded families on [−1, 1].",
        "As Figure 1, averaged equally over the families; black: the true densities. The vertical axis is linear up "
        "to three times the worst learned excess above the true density, rounded to half bits. "
        + _PANEL.format(reference="the multi-family-trained selector"),
    ),
    "figure3_gmm": (
        "Figure 3: mixtures of 32 Gaussians on [−1, 1].",
        "As Figure 2. " + _PANEL.format(reference="the selector trained on K = 32"),
    ),
    "figure4_gmm_on_families": (
        "Figure 4: selectors trained on mixtures, judged on the ten families.",
        "As Figure 2, with the same tasks. " + _PANEL.format(reference="the selector trained on K = 32"),
    ),
    "figure5_excess": (
        "Figure 5 (not in the paper): mean excess over the true density.",
        "Both axes logarithmic; bands as above. Beyond the paper's methods: leave-one-out likelihood, and the oracle, "
        "the best single bandwidth for each task, which no selector of one bandwidth can go below.",
    ),
    "ablations": (
        "Training with and without bounds (not in the paper).",
        "How wide the chosen bandwidths are against the best single one of each task, by sample size; short trainings, "
        "all judged on bounded tasks.",
    ),
}

_HOW_TO_READ = (
    "Scores are in bits, lower is better; one bit less is twice the density at the outcomes. The *excess* is a score "
    "minus that of the true density on the same task and draws. All methods see the same tasks and draws. Limits in "
    "square brackets are the 5 % and 95 % points of 1000 paired bootstrap means over task indices. No score has a "
    "floor or a cap: a few tasks on which a classical selector undersmooths severely can make its mean, so the median "
    "task is shown too."
)

_FILES: dict[str, str] = {
    "gaussian.csv": "Gaussian sampling: for every n and method the mean score, mean and median excess, their limits, "
    "and for how many samples the method had no answer (Silverman's bandwidth was used there)",
    "multifamily.csv": "the same for the ten families (Figures 2 and 4)",
    "gmm.csv": "the same for mixtures of 32 Gaussians (Figure 3)",
    "families.csv": "mean excess and its standard error by family, n and method",
    "chunks_gaussian.csv": "mean scores by chunk of tasks: what `--verify` computes anew, and what paired limits are "
    "made of",
    "chunks_multifamily.csv": "the same for the ten families",
    "chunks_gmm.csv": "the same for the mixtures",
    "quadrature.csv": "Gaussian sampling: the 256-node sum against the integral",
    "penalties.csv": "scores against a 50-digit computation",
    "ablations.csv": "short trainings under other conditions",
    "table1_ranges.csv": "Table 1: realised parameter ranges",
    "table2_modes.csv": "Table 2: numbers of modes",
    "table2_readings.csv": "Table 2 under other readings of “2 % relative prominence”: largest difference in points",
    "run.json": "how and when the tables were made",
}


def write_report(folder: Path) -> Path:
    """Write README.md into a folder of results and return its path.

    Missing tables and figures are left out, and claims that need them are "not run".
    """
    evidence = read_evidence(Path(folder))
    judged = judge_claims(evidence)
    parts = [
        "# The paper's evidence, made by this code",
        "Written by `amortized-kde reproduce`; changes by hand are lost.",
        _how_it_was_made(evidence.run),
        section("How to read it", _HOW_TO_READ, _about_limits(evidence)),
        section("In short", _in_short(judged)),
        section("Figures", *(_figure(evidence, name) for name in _CAPTIONS)),
        section("Scores", *(_scores(evidence, name) for name in evidence.beds)),
        _claims(judged),
        _losses(evidence),
        _tables(evidence),
        section("Files", _files(evidence)),
    ]
    path = evidence.folder / "README.md"
    write_file(path, "\n\n".join(part for part in parts if part) + "\n")
    record_derived(path.parent, [path.name], [f"{name}.csv" for name in evidence.beds])
    return path


def _how_it_was_made(run: dict[str, Any]) -> str:
    if not run:
        return section("How it was made", "Not known: there is no `run.json`.")
    facts = [(key, str(run[key])) for key in ("scale", "seed", "version", "python", "cores", "machine") if key in run]
    parts = [
        [
            name,
            _minutes(part.get("seconds")),
            _minutes(part.get("processor_seconds")),
            str(part.get("tasks_per_size", "")),
            str(part.get("finished", "")),
        ]
        for name, part in run.get("parts", {}).items()
    ]
    return section(
        "How it was made",
        f"```\n{run['command']}\n```" if "command" in run else "",
        table(["", ""], facts, text=2),
        table(["part", "wall time", "processor time, all cores", "tasks a size", "finished"], parts) if parts else "",
        "Where the wall time is much more than the processor time over the cores, the machine had other work too."
        if parts
        else "",
    )


def _minutes(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds / 60.0:.1f} min"


def _about_limits(evidence: Evidence) -> str:
    """Say how the limits of paired differences were computed, bed by bed."""
    if not evidence.beds:
        return ""
    few = "too few chunks, so the worse ends of the two excess intervals are taken, which are too wide"
    listed = [
        f"{BED_TITLES[name]}: "
        + (f"{bed.weights.shape[1]} of {bed.weights[0, 0]:.0f} tasks a size" if bed.chunks else few)
        for name, bed in evidence.beds.items()
    ]
    surely = "“Surely” means that the 90 % limits of the paired difference of two methods do not hold zero"
    return f"{surely}; they come from a paired bootstrap over chunks of tasks ({'; '.join(listed)})."


_KINDS = ("hold", "hold with exceptions", "do not hold", "not run")


def _in_short(judged: Judged) -> str:
    verdicts = [(claim, verdict) for found in judged.values() for claim, verdict in found]
    kinds = Counter(_kind(verdict) for _, verdict in verdicts)
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in _KINDS if kinds[kind])
    failed = [
        f"- {heading}: {claim.words} — **{verdict.word}** (judged by: {claim.criterion}): {verdict.number}."
        for heading, found in judged.items()
        for claim, verdict in found
        if verdict.holds is False
    ]
    listed = "\n".join(["Those that do not hold, or not everywhere:", "", *failed]) if failed else ""
    return "\n\n".join(part for part in (f"Of {len(verdicts)} claims: {counts}.", listed) if part)


def _kind(verdict: Verdict) -> str:
    if verdict.holds is None:
        return "not run"
    return "hold" if verdict.holds else "hold with exceptions" if verdict.exceptions else "do not hold"


def _figure(evidence: Evidence, name: str) -> str:
    if not (evidence.folder / f"{name}.png").is_file():
        return ""
    title, caption = _CAPTIONS[name]
    return f"![{title}]({name}.png)\n\n**{title}** {caption} ([SVG]({name}.svg))"


def _scores(evidence: Evidence, name: str) -> str:
    bed = evidence.beds[name]
    tasks = sorted(set(bed.tasks.tolist()))
    counts = f"{tasks[0]}" if len(tasks) == 1 else f"{tasks[0]} to {tasks[-1]}"
    title = BED_TITLES[name][0].upper() + BED_TITLES[name][1:]
    bold = "Bold: the lowest of the paper's methods. Last column: samples without an answer, over all n."
    return section(f"{title} ({counts} tasks a size)", tables.score_table(bed), tables.excess_table(bed), bold, level=3)


def _claims(judged: Judged) -> str:
    header = ["the paper says", "where", "judged by", "ours", "verdict"]
    parts = []
    for heading, found in judged.items():
        rows = [[c.words, c.where, c.criterion, v.number, f"**{v.word}**"] for c, v in found]
        parts.append(section(heading, table(header, rows, text=5), level=3))
    left_out = "\n".join(["Not judged:", "", *(f"- {words}" for words in NOT_JUDGED)])
    return section("Every claim", *parts, left_out)


def _losses(evidence: Evidence) -> str:
    by_family = "Mean excess by family, in bits, over {}; bold: the lowest selector."
    shown = {"all n (the smallest make the classical means)": 0, f"n >= {LARGE_N}": LARGE_N}
    sure = "Sizes at which another selector has less excess in a family, by more than two standard errors:"
    lost = tables.family_losses(evidence)
    return section(
        "Cases we lose",
        "Every bed and size at which a classical selector, leave-one-out likelihood or another learned selector has a "
        "lower mean score than an amortized one."
        if evidence.beds
        else "",
        tables.losses_by_size(evidence),
        *(
            f"{by_family.format(words)}\n\n{tables.family_table(evidence, least=least)}"
            for words, least in shown.items()
            if tables.family_table(evidence, least=least)
        ),
        f"{sure}\n\n{lost}" if lost else "",
    )


def _tables(evidence: Evidence) -> str:
    parts = (
        section("Table 1: realised parameter ranges", tables.range_table(evidence), level=3),
        section("Table 2: modes of random mixtures, per cent", tables.mode_table(evidence), level=3),
        section("Penalties are exact: scores against 50 digits", tables.penalty_table(evidence), level=3),
        section("What 256 Gauss–Hermite nodes miss", tables.quadrature_table(evidence), level=3),
        section("Ablations: short trainings", tables.ablation_table(evidence), level=3),
    )
    return section("Tables", *parts)


def _files(evidence: Evidence) -> str:
    rows = [[f"[`{name}`]({name})", words] for name, words in _FILES.items() if (evidence.folder / name).is_file()]
    return table(["file", "what it holds"], rows, text=2) if rows else ""
