"""The methods that are compared: their names in the tables, in words, and how they are drawn.

Colours are Okabe and Ito's, which colour-blind readers can tell apart; line styles and markers tell them apart in grey.
"""

from dataclasses import dataclass

from amortized_kde.density.plotting import COLOURS

_BLUE, _VERMILION, _GREEN, _PURPLE, _ORANGE, _SKY, _BLACK = COLOURS
_GREY = "#666666"
# Paul Tol's wine red: an eighth colour, darker than the others.
_WINE = "#882255"

TRUTH, ORACLE, MULTIFAMILY = "truth", "oracle", "amortized:multifamily"
CLASSICAL = ("silverman", "sheather-jones-r", "lscv")
GMM_TRAINED = ("amortized:gmm8", "amortized:gmm16", "amortized:gmm32")
# Not among the paper's methods.
BEYOND = ("lcv", ORACLE)


@dataclass(frozen=True)
class Method:
    """How a method is called and drawn. `turn` says at which third of the points its marker stands."""

    label: str
    colour: str
    dashes: str | tuple[int, tuple[float, ...]]
    marker: str
    turn: int


METHODS: dict[str, Method] = {
    TRUTH: Method("true density", _BLACK, "-", "", 0),
    "silverman": Method("Silverman", _ORANGE, (0, (5, 1.5)), "s", 0),
    "sheather-jones-r": Method("Sheather–Jones (R)", _SKY, (0, (6, 1.5, 1, 1.5)), "^", 1),
    "lscv": Method("LSCV", _GREEN, (0, (1.2, 1.2)), "D", 2),
    "lcv": Method("leave-one-out likelihood (LCV)", _GREY, (0, (3, 1, 1, 1, 1, 1)), "x", 0),
    "amortized:gaussian": Method("amortized, Gaussian-trained", _BLUE, "-", "X", 1),
    MULTIFAMILY: Method("amortized, multi-family-trained", _BLUE, "-", "o", 0),
    "amortized:gmm8": Method("amortized, GMM-trained, K = 8", _PURPLE, (0, (1.2, 1.2)), "v", 0),
    "amortized:gmm16": Method("amortized, GMM-trained, K = 16", _WINE, (0, (4, 1.5)), "P", 1),
    "amortized:gmm32": Method("amortized, GMM-trained, K = 32", _VERMILION, "-", "*", 2),
    ORACLE: Method("oracle: best single bandwidth", _BLACK, (0, (1, 2)), "", 0),
}


def learned_on(bed: str) -> tuple[str, ...]:
    """The amortized selectors that are judged on a test bed."""
    return ("amortized:gaussian",) if bed == "gaussian" else (MULTIFAMILY, *GMM_TRAINED)
