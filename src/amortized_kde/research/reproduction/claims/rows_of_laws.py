"""The paper's claims about modes, the framework, the selectors and training: rows of a table, no code."""

from amortized_kde.research.reproduction.claims import laws, tables
from amortized_kde.research.reproduction.claims.verdicts import Claim, always
from amortized_kde.research.reproduction.methods import CLASSICAL, METHODS

MODE_CLAIMS = (
    Claim(
        "“two or three modes are most common”",
        "section 3.3, Table 2",
        "they are the two most frequent numbers, for every K",
        tables.two_or_three_modes,
    ),
    Claim(
        "“most densities contain no more than four modes”",
        "section 3.3",
        "more than half, for every K",
        tables.at_most_four_modes,
    ),
    Claim(
        "“even for K = 32, only 6.0 % of densities have six or more modes”",
        "section 3.3",
        "within three standard errors of two samples of 5000",
        tables.six_or_more_modes,
    ),
    Claim(
        "“the realized modal complexity changes only moderately with K”",
        "section 3.3",
        "on average at most a quarter more modes at K = 32 than at K = 8",
        tables.modes_grow_moderately,
    ),
)

FRAMEWORK_CLAIMS = (
    Claim(
        "Proposition 1: the score on [A, B] is that on [−1, 1] plus log2 a",
        "section 2.3",
        "relative miss at most 1e-9: three samples, four intervals, three bandwidths",
        always(laws.proposition_1_score),
    ),
    Claim(
        "Proposition 1: the minimising bandwidths correspond under h → a h",
        "section 2.3",
        "relative miss at most 1e-5, for the score is flat at its minimum",
        always(laws.proposition_1_minimisers),
    ),
    Claim(
        "without bounds, rare realisations “drive the learned bandwidth towards excessive smoothing”",
        "sections 2.3, 4",
        "trained short without bounds, the mean log2 ratio to the best bandwidth is above zero, and above that of "
        "training with bounds, in every world judged",
        tables.oversmooths_without_bounds,
    ),
    Claim(
        "“a new observation falls outside the current range with probability 2/(n + 1)”",
        "section 2.3",
        "within three standard errors at n = 5, 20, 100",
        always(laws.rank_identity),
    ),
    Claim(
        "kept checkpoints: Gaussian 3500; multi-family 40,000; GMM 39,000, 39,000 and 40,000",
        "Appendix C",
        "the same steps",
        tables.steps_agree(("gaussian", "multifamily", "gmm8", "gmm16", "gmm32")),
    ),
)

SELECTOR_CLAIMS = (
    Claim(
        "in small samples classical selectors undersmooth: “accidental clustering of observations can lead to an "
        "extremely small selected bandwidth”",
        "section 3.1",
        "of normal samples of 5, the worst hundredth carries over half of the excess, with a median bandwidth under "
        "half of the usual one",
        always(laws.undersmoothing),
    ),
    Claim(
        "Silverman's rule is 0.9 min(sd, IQR/1.34) n^(−1/5)",
        "Appendix A",
        "relative difference at most 1e-9",
        always(laws.silverman_formula),
    ),
    Claim(
        "LSCV chooses among 60 candidates from 0.2 to 5 times Silverman's bandwidth",
        "Appendix A",
        "the candidate that sums over all pairs choose",
        always(laws.lscv_grid),
    ),
    Claim(
        "L(ch; δ + cS) = L(h; S) + log2 c",
        "Appendix B",
        "relative miss at most 1e-9: fifteen samples, two bandwidths, five moves",
        always(laws.appendix_b_score),
    ),
    Claim(
        "the minimising bandwidths scale by c",
        "Appendix B",
        "relative miss at most 1e-5: three samples, five moves",
        always(laws.appendix_b_minimisers),
    ),
    *(
        Claim(
            f"{METHODS[method].label}: h(δ + cS) = c h(S) “up to negligible numerical implementation error”",
            "section 3.1, Appendix B",
            f"relative miss at most {laws.move_limit(method):.0e}: 120 normal samples, five moves",
            always(laws.moves_with_data, method),
        )
        for method in (*CLASSICAL, "amortized:gaussian")
    ),
    Claim(
        "“the ordering of the selectors and all pairwise score differences are unchanged” by a move of the data",
        "Appendix B",
        "each selector's score changes by log2 c to 1e-9, with R's Sheather–Jones to 1e-2",
        always(laws.appendix_b_differences),
    ),
)
