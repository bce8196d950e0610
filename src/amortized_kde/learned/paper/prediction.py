"""Bandwidths of the paper's models.

    h = a F(feat(T(S)))      on a working domain [m - a, m + a]  (paper, eqs. 3, 4, 10 and 11)
    h = sd(S) F(n)           for the Gaussian model              (paper, eq. 13)

The models were trained on n = 5 to 256. Outside this range n is clipped; above it, the bandwidth shrinks further as
n^(-1/5), the rate of the classical rules. With weights, n is Kish's effective size and the moments are weighted.
"""

from collections.abc import Callable

import numpy as np

from amortized_kde._outcome import CONSTANT, OK, TOO_FEW, Selection
from amortized_kde._types import Array, Index
from amortized_kde.data.sample import Samples, moments
from amortized_kde.data.support import Bounds
from amortized_kde.learned.model import Arrays, Model
from amortized_kde.learned.paper.features import TRAINED_SIZES, moments_in_domain, network_inputs
from amortized_kde.numerics.layers import Layer, Stack, run_layers
from amortized_kde.numerics.threads import run_in_pieces

# Moments (samples, 7) -> units of the networks' outputs (samples,), and their inputs (samples, inputs).
_Prepare = Callable[[Array], tuple[Array, Array]]


def read_stack(arrays: Arrays) -> Stack:
    """Return the network of a model's arrays ``weight0``, ``bias0``, ``weight1``, …"""
    return Stack.of([Layer(arrays[f"weight{i}"], arrays[f"bias{i}"]) for i in range(len(arrays) // 2)])


def forward(network: Stack, inputs: Array, *, threads: int | None = None) -> Array:
    """Return softplus(W_L relu(... relu(W_1 x + b_1) ...) + b_L), one number per row of `inputs` (rows, features).

    Examples
    --------
    >>> layer = Layer(np.ones((1, 2), np.float32), np.zeros(1, np.float32))
    >>> forward(Stack.of([layer]), np.array([[0.0, 0.0]])).round(4)
    array([0.6931])
    """
    z = run_layers(network, inputs, threads=threads)[:, 0]
    return np.asarray(np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))))


def select_in_domain(
    model: Model, samples: Samples, bounds: Bounds, frame: Bounds | None = None, *, threads: int | None = None
) -> Selection:
    """Return one bandwidth per sample, predicted in its working domain.

    `frame` holds the ends of the domain that do not depend on the sample; by default these are the bounds.
    """
    raw, known = moments(samples, threads=threads), bounds if frame is None else frame
    # A domain that does not depend on the sample gives even a single value a scale.
    codes = np.where(samples.sizes < 1, TOO_FEW, OK) if np.all(np.isfinite(known)) else _codes(samples, raw)

    def prepare(raw: Array) -> tuple[Array, Array]:
        lower, upper = _domains(raw, known)
        return 0.5 * (upper - lower), network_inputs(moments_in_domain(raw, lower, upper), limits=_limits(model))

    return _select(model, raw, codes, prepare, threads)


def select_relative_to_sd(
    model: Model, samples: Samples, bounds: Bounds, frame: Bounds | None = None, *, threads: int | None = None
) -> Selection:
    """Return one bandwidth per sample, predicted as a multiple of its standard deviation from n alone."""
    raw = moments(samples, threads=threads)

    def prepare(raw: Array) -> tuple[Array, Array]:
        return raw[:, 2], network_inputs(raw, limits=_limits(model))[:, :1]

    return _select(model, raw, _codes(samples, raw), prepare, threads)


def _codes(samples: Samples, raw: Array) -> Index:
    return np.where(samples.sizes < 2, TOO_FEW, np.where(raw[:, 6] > raw[:, 5], OK, CONSTANT))


def _limits(model: Model) -> dict[str, list[float]]:
    """The range that each input is clipped to, where the recipe has one."""
    return dict(model.card["recipe"]["network"].get("limits", {}))


def _select(model: Model, raw: Array, codes: Index, prepare: _Prepare, threads: int | None) -> Selection:
    network: Stack = model.network
    h = np.full(len(raw), np.nan)

    def work(start: int, stop: int) -> None:
        fine = start + np.flatnonzero(codes[start:stop] == OK)
        part = raw[fine]
        unit, inputs = prepare(part)
        shrink = np.maximum(part[:, 0] / TRAINED_SIZES[1], 1.0) ** -0.2
        # One thread, because every thread has a piece of its own.
        h[fine] = unit * forward(network, inputs, threads=1) * shrink

    run_in_pieces(work, len(raw), operations=float(len(raw)) * network.weights.size, threads=threads)
    return Selection(h, codes.astype(np.int64))


def _domains(raw: Array, frame: Bounds) -> tuple[Array, Array]:
    """Each sample's working domain: the frame's ends; where one is open, the range widened by range/(n - 1).

    A frame from reference data is widened to the sample where it lies inside the sample's range.
    """
    n, low, high = raw[:, 0], raw[:, 5], raw[:, 6]
    margin = (high - low) / np.maximum(n - 1.0, 1.0)
    lower = np.minimum(frame.lower, low) if np.isfinite(frame.lower) else low - margin
    upper = np.maximum(frame.upper, high) if np.isfinite(frame.upper) else high + margin
    return lower, upper
