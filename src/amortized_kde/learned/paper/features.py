"""The five features of the paper (eq. 4): n, mean, sd, skewness, kurtosis of the sample in its working domain.

The scaling of the network's inputs is part of the conventions.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from amortized_kde._types import Array

# n ~ Unif{5, ..., 256} in every recipe of the paper.
TRAINED_SIZES = (5, 256)

CONVENTIONS = {
    "n": "number of values; input 2.4 (ln n - 4.6), with n limited to 5..256",
    "mean": "mean in the working domain mapped to [-1, 1]; input 5.4 mean",
    "sd": "standard deviation in that domain, divisor n - 1 (0 for n = 1); input 3.6 (ln max(sd, 1e-4) + 1)",
    "skewness": "biased, m3 / m2^1.5 (0 where m2 = 0); input 2 asinh(skewness)",
    "kurtosis": "biased, m4 / m2^2, 3 for a normal (1 where m2 = 0); input 1.7 (ln max(e, 1e-4) + 0.1) "
    "with e = kurtosis - skewness^2 - 1, the excess over its lower limit, small for two narrow clusters",
}


def moments_in_domain(raw: Array, lower: Array, upper: Array) -> Array:
    """Convert moments from data units to the domain mapped to [-1, 1] (paper, eq. 10)."""
    out = raw[:, :5].copy()
    width = upper - lower
    out[:, 1] = ((raw[:, 1] - lower) - (upper - raw[:, 1])) / width
    out[:, 2] = raw[:, 2] / (0.5 * width)
    return out


def network_inputs(features: Array, *, limits: Mapping[str, Sequence[float]] | None = None) -> Array:
    """Scale the features for the network as in `CONVENTIONS`; each is then of order one over the training tasks.

    `limits` has, for some inputs, the range that they are clipped to.
    """
    n, mean, sd, skewness, kurtosis = features[:, :5].T
    # Location and spread of each over 20,000 mixture tasks, rounded; twice unit spread trained faster.
    inputs = np.stack(
        [
            2.4 * (np.log(np.clip(n, *TRAINED_SIZES)) - 4.6),
            5.4 * mean,
            3.6 * (np.log(np.maximum(sd, 1e-4)) + 1.0),
            2.0 * np.arcsinh(skewness),
            1.7 * (np.log(np.maximum(kurtosis - skewness**2 - 1.0, 1e-4)) + 0.1),
        ],
        axis=-1,
    )
    for name, (low, high) in (limits or {}).items():
        column = inputs[:, list(CONVENTIONS).index(name)]
        np.clip(column, low, high, out=column)
    return inputs
