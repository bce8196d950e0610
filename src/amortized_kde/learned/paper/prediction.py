"""The learned selectors: features of the sample in its working domain, a network, and back to data units.

    h = a F(feat(T(S)))      on a domain [m - a, m + a]  (paper, eqs. 3, 4, 10 and 11)
    h = sd(S) F(n)           for the Gaussian model      (paper, eq. 13)

Below n = 5 and above n = 256, the sizes of the training tasks, the network is asked at n = 5 or 256; above, its answer
shrinks on as n^(-1/5), the rate of the classical rules. With weights n is their effective size, and the moments are
weighted.
"""

import numpy as np

from amortized_kde._outcome import CONSTANT, OK, TOO_FEW, Selection
from amortized_kde._types import Array
from amortized_kde.data.sample import Samples, moments
from amortized_kde.data.support import Bounds
from amortized_kde.learned.network import forward
from amortized_kde.learned.paper.features import TRAINED_SIZES, moments_in_domain, network_inputs
from amortized_kde.learned.store import Model
from amortized_kde.numerics.threads import run_in_pieces


def select_amortized(model: Model, samples: Samples, frame: Bounds, *, threads: int | None = None) -> Selection:
    """Give one bandwidth a sample; `frame` holds the ends of the working domain that do not depend on the sample."""
    raw = moments(samples, threads=threads)
    n, spread = samples.sizes, raw[:, 6] > raw[:, 5]
    codes = np.where(n < 2, TOO_FEW, np.where(spread, OK, CONSTANT))
    if model.output == "bandwidth" and np.all(np.isfinite(frame)):
        # A domain that does not hang on the sample gives even one value a scale.
        codes = np.where(n < 1, TOO_FEW, OK)
    h = np.full(len(samples), np.nan)

    def work(start: int, stop: int) -> None:
        fine = start + np.flatnonzero(codes[start:stop] == OK)
        h[fine] = _bandwidths(model, raw[fine], frame)

    operations = float(len(samples)) * sum(layer.weight.size for layer in model.layers)
    run_in_pieces(work, len(samples), operations=operations, threads=threads)
    return Selection(h, codes.astype(np.int64))


def _bandwidths(model: Model, raw: Array, frame: Bounds) -> Array:
    """The network's answers in data units, from moments of samples that have a scale."""
    n, sd, low, high = raw[:, 0], raw[:, 2], raw[:, 5], raw[:, 6]
    if model.output == "ratio":
        unit, inputs = sd, network_inputs(raw, limits=model.limits)[:, :1]
    else:
        lower, upper = _domains(n, low, high, frame)
        unit = 0.5 * (upper - lower)
        inputs = network_inputs(moments_in_domain(raw, lower, upper), limits=model.limits)
    shrink = np.maximum(n / TRAINED_SIZES[1], 1.0) ** -0.2
    # The threads are busy with pieces of their own.
    return np.asarray(unit * forward(model.layers, inputs, threads=1) * shrink)


def _domains(n: Array, low: Array, high: Array, frame: Bounds) -> tuple[Array, Array]:
    """Each sample's working domain: the frame's ends, where one is open the range widened by range/(n - 1).

    A frame from reference data that a sample leaves is widened to it.
    """
    margin = (high - low) / np.maximum(n - 1.0, 1.0)
    lower = np.minimum(frame.lower, low) if np.isfinite(frame.lower) else low - margin
    upper = np.maximum(frame.upper, high) if np.isfinite(frame.upper) else high + margin
    return lower, upper
