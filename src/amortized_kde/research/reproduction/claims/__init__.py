"""Every claim that the paper makes in words, with the criterion by which it is judged and our number.

Tables enter, verdicts leave. A word without a number in the paper ("close", "slightly", "substantially", "moderately")
has its criterion stated beside it.
"""

from amortized_kde.research.reproduction.claims.rows_of_laws import FRAMEWORK_CLAIMS, MODE_CLAIMS, SELECTOR_CLAIMS
from amortized_kde.research.reproduction.claims.rows_of_scores import (
    FAMILY_CLAIMS,
    GAUSSIAN_CLAIMS,
    MIXTURE_CLAIMS,
    TRANSFER_CLAIMS,
)
from amortized_kde.research.reproduction.claims.verdicts import Claim, Verdict
from amortized_kde.research.reproduction.evidence import Evidence

# In the order of the report, under their headings.
CLAIMS: dict[str, tuple[Claim, ...]] = {
    "Gaussian sampling (Figure 1)": GAUSSIAN_CLAIMS,
    "Ten families (Figure 2, Table 1)": FAMILY_CLAIMS,
    "Mixtures (Figure 3)": MIXTURE_CLAIMS,
    "From mixtures to families (Figure 4)": TRANSFER_CLAIMS,
    "Modes of the mixtures (Table 2)": MODE_CLAIMS,
    "Framework and training": FRAMEWORK_CLAIMS,
    "Selectors (Appendices A and B)": SELECTOR_CLAIMS,
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
