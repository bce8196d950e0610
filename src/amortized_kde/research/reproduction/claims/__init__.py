"""The paper's claims in words, each with the criterion that judges it and the judgement: one table.

A word without a number in the paper ("close", "slightly", "substantially", "moderately") has its criterion beside it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from amortized_kde.research.reproduction.claims import laws, scores, tables
from amortized_kde.research.reproduction.claims.scores import on_bed
from amortized_kde.research.reproduction.evidence import Evidence, Judgement, Verdict
from amortized_kde.research.reproduction.protocol import CLASSICAL, GMM_TRAINED, METHODS, MULTIFAMILY


@dataclass(frozen=True)
class Claim:
    """The paper's words, where they stand, the criterion, and the judgement by it from the tables."""

    words: str
    where: str
    criterion: str
    judge: Judgement


def _by_law(law: Callable[..., Verdict], *arguments: str) -> Judgement:
    """Return a judgement that reads no table."""
    return lambda evidence: law(*arguments)


_GAUSSIAN = "amortized:gaussian"
_EVERY_N = "mean score below that of each of Silverman, Sheather–Jones and LSCV, at every n"
_CLOSER = "mean excess over the true density below each classical selector's, at every n"
_STEPS = "from n = 5 to 10, 20, 50, ~100 and 256"
_SHRINK = f"gain over the best classical selector largest at an n of at most 10, and falling {_STEPS}"
_HALF = "at most half of the best classical selector's mean excess"
_SIMILAR = "mean excesses within a tenth of the lowest"
_VARIED = "every variation within a tenth of the excess of the paper's, both trained short, in every world judged"
_EVERY_FAMILY = (
    "in each of the ten families, mean excess below each classical selector's, over all n and over n >= 100 alone"
)

# In the order of the report, under its headings.
CLAIMS: dict[str, tuple[Claim, ...]] = {
    "Gaussian sampling (Figure 1)": (
        Claim(
            "the amortized selector “attains the lowest empirical logarithmic score throughout the displayed "
            "sample-size range”",
            "sections 3.1, 4",
            _EVERY_N,
            on_bed("gaussian", scores.lowest, _GAUSSIAN),
        ),
        Claim(
            "it “remains consistently closer to the standard-normal reference than the three classical selectors”",
            "section 3.1",
            _CLOSER,
            on_bed("gaussian", scores.closer, _GAUSSIAN),
        ),
        Claim(
            "the classical selectors' poor performance in very small samples comes from “occasional” failures",
            "section 3.1",
            "at the smallest n every classical mean excess is at least ten times its median; the amortized one is not",
            on_bed("gaussian", scores.rare_disasters, (_GAUSSIAN,)),
        ),
        Claim(
            "“all four selectors move towards the true standard-normal reference and their differences gradually "
            "narrow”",
            "section 3.1",
            f"every mean excess, and worst minus best, fall {_STEPS}",
            on_bed("gaussian", scores.approach, (*CLASSICAL, _GAUSSIAN)),
        ),
        Claim(
            "“the amortized selector retains a clear advantage through at least n = 50”",
            "section 3.1",
            "at every n up to 50 the paired 90 % limits exclude zero, and the best classical selector is higher by a "
            "tenth of the amortized excess or more",
            on_bed("gaussian", scores.clear_advantage, _GAUSSIAN, through=50),
        ),
        Claim(
            "“the largest gains at small sample sizes”",
            "section 4",
            _SHRINK,
            on_bed("gaussian", scores.gains_shrink, _GAUSSIAN),
        ),
        Claim(
            "the setting is “particularly favourable” “especially to Silverman's normal-reference rule”",
            "section 4",
            "Silverman's rule has the lowest mean score of the three classical selectors, at every n",
            on_bed("gaussian", scores.silverman_favoured),
        ),
        Claim(
            "the amortized selector “consistently and substantially outperforms” the classical ones",
            "abstract",
            f"{_HALF}, at every n",
            on_bed("gaussian", scores.half_the_excess, (_GAUSSIAN,)),
        ),
    ),
    "Ten families (Figure 2, Table 1)": (
        Claim(
            "the amortized selector (multi-family-trained) “attains the lowest empirical logarithmic score throughout”",
            "section 3.2",
            _EVERY_N,
            on_bed("multifamily", scores.lowest, MULTIFAMILY),
        ),
        Claim(
            "it “remains consistently closer to the true-density reference than the three classical selectors”",
            "section 3.2",
            _CLOSER,
            on_bed("multifamily", scores.closer, MULTIFAMILY),
        ),
        Claim(
            "“its advantage is more pronounced than under Gaussian sampling”",
            "sections 3.2, 4",
            "gain over the best classical selector, in bits, larger than under Gaussian sampling, at every n",
            scores.advantage_grows(("multifamily", (MULTIFAMILY,)), ("gaussian", (_GAUSSIAN,))),
        ),
        Claim(
            "“especially large gains in small” samples",
            "abstract, section 4",
            _SHRINK,
            on_bed("multifamily", scores.gains_shrink, MULTIFAMILY),
        ),
        Claim(
            "the amortized selector “consistently and substantially outperforms” the classical ones",
            "abstract",
            f"{_HALF}, at every n",
            on_bed("multifamily", scores.half_the_excess, (MULTIFAMILY,)),
        ),
        Claim(
            "it “maintains strong performance across widely varying density structures”",
            "section 4",
            _EVERY_FAMILY,
            tables.every_family((MULTIFAMILY,)),
        ),
        Claim(
            "“similar results were obtained with alternative thresholds” than 0.9",
            "section 3.2",
            _VARIED,
            tables.variants_agree("mass threshold"),
        ),
        Claim(
            "the realised parameter ranges",
            "Table 1",
            "every printed end within three standard deviations of ours over pools",
            tables.ranges_agree,
        ),
    ),
    "Mixtures (Figure 3)": (
        *(
            Claim(
                f"{METHODS[method].label}: below the classical selectors throughout",
                "section 3.3, abstract",
                _EVERY_N,
                on_bed("gmm", scores.lowest, method),
            )
            for method in GMM_TRAINED
        ),
        Claim(
            "“a more pronounced separation between the GMM-trained amortized selectors and the classical selectors "
            "than in the bounded multi-family experiment”",
            "section 3.3",
            "gain of the worst GMM-trained one over the best classical selector, in bits, larger than that of the "
            "multi-family-trained one there, at every n",
            scores.advantage_grows(("gmm", GMM_TRAINED), ("multifamily", (MULTIFAMILY,))),
        ),
        Claim(
            "all three “remain substantially closer to the true-density reference throughout”",
            "sections 3.3, 4, abstract",
            f"{_HALF}, at every n",
            on_bed("gmm", scores.half_the_excess, GMM_TRAINED),
        ),
        Claim(
            "“with the gap narrowing as n increases”",
            "section 3.3",
            f"{_SHRINK} (K = 32)",
            on_bed("gmm", scores.gains_shrink, GMM_TRAINED[-1]),
        ),
        Claim(
            "“the multi-family-trained selector also performs well on the GMM test distribution”",
            "sections 3.3, 4",
            _EVERY_N,
            on_bed("gmm", scores.lowest, MULTIFAMILY),
        ),
        Claim(
            "its score “lies slightly above the GMM-trained selectors”",
            "section 3.3",
            "above all three, and by at most a tenth of the lowest one's excess, at every n",
            on_bed("gmm", scores.slightly_above, MULTIFAMILY, GMM_TRAINED),
        ),
        Claim(
            "“not strongly sensitive to the component count”",
            "sections 3.3, 4",
            f"{_SIMILAR}, at every n",
            on_bed("gmm", scores.similar, GMM_TRAINED),
        ),
        Claim(
            "“similar performance was obtained under reasonable variations of the GMM construction”",
            "section 3.3",
            _VARIED,
            tables.variants_agree("mixture construction"),
        ),
    ),
    "From mixtures to families (Figure 4)": (
        Claim(
            "the multi-family-trained selector “attains the lowest empirical logarithmic score among the learned "
            "selectors”",
            "section 3.3",
            "mean score below that of each GMM-trained selector, at every n",
            on_bed("multifamily", scores.lowest, MULTIFAMILY, GMM_TRAINED),
        ),
        Claim(
            "“all three GMM-trained selectors remain close to the multi-family-trained selector”",
            "sections 3.3, 4",
            "each nearer to the multi-family-trained score than to the best classical selector's, at every n",
            on_bed("multifamily", scores.nearer_than_classical, GMM_TRAINED, MULTIFAMILY),
        ),
        *(
            Claim(
                f"{METHODS[method].label}: outperforms the classical selectors",
                "section 3.3, abstract",
                _EVERY_N,
                on_bed("multifamily", scores.lowest, method),
            )
            for method in GMM_TRAINED
        ),
        Claim(
            "they do so “substantially”, “particularly at small and moderate sample sizes”",
            "section 3.3",
            f"{_HALF}, at every n up to 50",
            on_bed("multifamily", scores.half_the_excess, GMM_TRAINED, through=50),
        ),
        Claim(
            "“not strongly sensitive to the component count”",
            "sections 3.3, 4",
            f"{_SIMILAR}, at every n",
            on_bed("multifamily", scores.similar, GMM_TRAINED),
        ),
        Claim(
            "they “generalize strongly across different density structures”",
            "abstract, section 4",
            _EVERY_FAMILY,
            tables.every_family(GMM_TRAINED),
        ),
    ),
    "Modes of the mixtures (Table 2)": (
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
    ),
    "Framework and training": (
        Claim(
            "Proposition 1: the score on [A, B] is that on [−1, 1] plus log2 a",
            "section 2.3",
            "relative miss at most 1e-9: three samples, four intervals, three bandwidths",
            _by_law(laws.proposition_1_score),
        ),
        Claim(
            "Proposition 1: the minimising bandwidths correspond under h → a h",
            "section 2.3",
            "relative miss at most 1e-5, for the score is flat at its minimum",
            _by_law(laws.proposition_1_minimisers),
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
            _by_law(laws.rank_identity),
        ),
        Claim(
            "kept checkpoints: Gaussian 3500; multi-family 40,000; GMM 39,000, 39,000 and 40,000",
            "Appendix C",
            "the same steps",
            tables.steps_agree(("gaussian", "multifamily", "gmm8", "gmm16", "gmm32")),
        ),
    ),
    "Selectors (Appendices A and B)": (
        Claim(
            "in small samples classical selectors undersmooth: “accidental clustering of observations can lead to an "
            "extremely small selected bandwidth”",
            "section 3.1",
            "of normal samples of 5, the worst hundredth carries over half of the excess, with a median bandwidth "
            "under half of the usual one",
            _by_law(laws.undersmoothing),
        ),
        Claim(
            "Silverman's rule is 0.9 min(sd, IQR/1.34) n^(−1/5)",
            "Appendix A",
            "relative difference at most 1e-9",
            _by_law(laws.silverman_formula),
        ),
        Claim(
            "LSCV chooses among 60 candidates from 0.2 to 5 times Silverman's bandwidth",
            "Appendix A",
            "the candidate that sums over all pairs choose",
            _by_law(laws.lscv_grid),
        ),
        Claim(
            "L(ch; δ + cS) = L(h; S) + log2 c",
            "Appendix B",
            "relative miss at most 1e-9: fifteen samples, two bandwidths, five moves",
            _by_law(laws.appendix_b_score),
        ),
        Claim(
            "the minimising bandwidths scale by c",
            "Appendix B",
            "relative miss at most 1e-5: three samples, five moves",
            _by_law(laws.appendix_b_minimisers),
        ),
        *(
            Claim(
                f"{METHODS[method].label}: h(δ + cS) = c h(S) “up to negligible numerical implementation error”",
                "section 3.1, Appendix B",
                f"relative miss at most {laws.move_limit(method):.0e}: 120 normal samples, five moves",
                _by_law(laws.moves_with_data, method),
            )
            for method in (*CLASSICAL, "amortized:gaussian")
        ),
        Claim(
            "“the ordering of the selectors and all pairwise score differences are unchanged” by a move of the data",
            "Appendix B",
            "each selector's score changes by log2 c to 1e-9, with R's Sheather–Jones to 1e-2",
            _by_law(laws.appendix_b_differences),
        ),
    ),
}

NOT_JUDGED = (
    "that the logarithmic score is the only proper local score, and that Gaussian mixtures approximate every density "
    "in L1: theorems that the paper cites;",
    "why a learned selector is less sensitive to accidental spacing, and why its gains are large in small samples: "
    "explanations, of which only the consequences above are judged;",
    "that the Sheather–Jones bandwidths are R's: the tests hold `sheather-jones-r` to the digits that R itself "
    "printed.",
)


def judge_claims(evidence: Evidence) -> dict[str, list[tuple[Claim, Verdict]]]:
    """Judge every claim, under the headings of the report."""
    return {heading: [(claim, claim.judge(evidence)) for claim in claims] for heading, claims in CLAIMS.items()}
