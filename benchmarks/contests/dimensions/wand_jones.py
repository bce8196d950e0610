"""The twelve bivariate normal mixtures of Wand and Jones (1993, JASA 88, 520-528, Table 1), densities A to L."""

import numpy as np

from contests.dimensions.truths import NormalMixture

# Weight, both means, both standard deviations and the correlation of each component, as published.
_Row = tuple[float, float, float, float, float, float]
_HEIGHT = 2.0 * np.sqrt(3.0) / 3.0
TABLE: dict[str, tuple[_Row, ...]] = {
    "A uncorrelated normal": ((1.0, 0.0, 0.0, 1 / 2, 1.0, 0.0),),
    "B correlated normal": ((1.0, 0.0, 0.0, 1.0, 1.0, 0.7),),
    "C skewed": (
        (1 / 5, 0.0, 0.0, 1.0, 1.0, 0.0),
        (1 / 5, 1 / 2, 1 / 2, 2 / 3, 2 / 3, 0.0),
        (3 / 5, 13 / 12, 13 / 12, 5 / 9, 5 / 9, 0.0),
    ),
    "D kurtotic": ((2 / 3, 0.0, 0.0, 1.0, 2.0, 0.5), (1 / 3, 0.0, 0.0, 2 / 3, 1 / 3, -0.5)),
    "E bimodal I": ((1 / 2, -1.0, 0.0, 2 / 3, 2 / 3, 0.0), (1 / 2, 1.0, 0.0, 2 / 3, 2 / 3, 0.0)),
    "F bimodal II": ((1 / 2, -3 / 2, 0.0, 1 / 4, 1.0, 0.0), (1 / 2, 3 / 2, 0.0, 1 / 4, 1.0, 0.0)),
    "G bimodal III": ((1 / 2, -1.0, 1.0, 2 / 3, 2 / 3, 0.6), (1 / 2, 1.0, -1.0, 2 / 3, 2 / 3, 0.6)),
    "H bimodal IV": ((1 / 2, 1.0, -1.0, 2 / 3, 2 / 3, 0.7), (1 / 2, -1.0, 1.0, 2 / 3, 2 / 3, 0.0)),
    "I trimodal I": (
        (9 / 20, -6 / 5, 6 / 5, 3 / 5, 3 / 5, 0.3),
        (9 / 20, 6 / 5, -6 / 5, 3 / 5, 3 / 5, -0.6),
        (1 / 10, 0.0, 0.0, 1 / 4, 1 / 4, 0.2),
    ),
    "J trimodal II": (
        (1 / 3, -6 / 5, 0.0, 3 / 5, 3 / 5, 0.7),
        (1 / 3, 6 / 5, 0.0, 3 / 5, 3 / 5, 0.7),
        (1 / 3, 0.0, 0.0, 3 / 5, 3 / 5, -0.7),
    ),
    "K trimodal III": (
        (3 / 7, -1.0, 0.0, 3 / 5, 7 / 10, 0.6),
        (3 / 7, 1.0, _HEIGHT, 3 / 5, 7 / 10, 0.0),
        (1 / 7, 1.0, -_HEIGHT, 3 / 5, 7 / 10, 0.0),
    ),
    "L quadrimodal": (
        (1 / 8, -1.0, 1.0, 2 / 3, 2 / 3, 0.4),
        (3 / 8, -1.0, -1.0, 2 / 3, 2 / 3, 0.6),
        (1 / 8, 1.0, -1.0, 2 / 3, 2 / 3, -0.7),
        (3 / 8, 1.0, 1.0, 2 / 3, 2 / 3, -0.5),
    ),
}


def wand_jones(name: str) -> NormalMixture:
    """Return one of the twelve densities by its name in `TABLE`.

    Examples
    --------
    >>> wand_jones("B correlated normal").covariances[0].tolist()
    [[1.0, 0.7], [0.7, 1.0]]
    """
    weights, x, y, sx, sy, rho = np.array(TABLE[name]).T
    covariances = np.array([[sx**2, rho * sx * sy], [rho * sx * sy, sy**2]]).transpose(2, 0, 1)
    return NormalMixture(weights, np.stack([x, y], axis=1), covariances)
