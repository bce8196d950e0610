"""The fixed sentences of the report: captions, and what each file holds."""

BED_TITLES = {"gaussian": "Gaussian sampling", "multifamily": "ten families", "gmm": "mixtures, K = 32"}

_PANEL = (
    "Below: the difference to {reference} on the same tasks, in milli-bits (linear within ±10, logarithmic beyond), "
    "with 90 % limits of paired differences (none if there are too few chunks); bands that reach below the panel are "
    "cut."
)

CAPTIONS: dict[str, tuple[str, str]] = {
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

HOW_TO_READ = (
    "Scores are in bits, lower is better; one bit less is twice the density at the outcomes. The *excess* is a score "
    "minus that of the true density on the same task and draws. All methods see the same tasks and draws. Limits in "
    "square brackets are the 5 % and 95 % points of 1000 paired bootstrap means over task indices. No score has a "
    "floor or a cap: a few tasks on which a classical selector undersmooths severely can make its mean, so the median "
    "task is shown too."
)

FILES: dict[str, str] = {
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
