import math

import numpy as np
import pytest

from amortized_kde.data.reading import read_sample
from amortized_kde.data.support import Bounds
from amortized_kde.density import Background, KernelDensity


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("lower", [-math.inf, 0.0])
def test_no_density_is_farther_from_its_chords_than_the_bound(seed, lower):
    rng = np.random.default_rng(seed)
    x, bandwidths = rng.gamma(1.0, 1.0, 20), np.exp(np.sort(rng.uniform(-5.0, 2.0, 3)))
    d = KernelDensity.from_ladder(
        read_sample(x),
        bandwidths,
        rng.dirichlet(np.full(3, 0.5), x.size).T,
        bounds=Bounds(lower, math.inf),
        epsilon=0.1,
        background=Background(lower, math.inf, location=0.5, scale=1.0),
    )
    a = rng.uniform(0.0, 6.0, 200)
    b = a + np.exp(rng.uniform(-6.0, 1.0, 200))
    part = np.linspace(0.0, 1.0, 101)[:, None]
    inside, ends = d.pdf(a + part * (b - a)), d.pdf(np.stack([a, b]))
    away = np.max(np.abs(inside - (1.0 - part) * ends[0] - part * ends[1]), axis=0)
    errors = d._curve(d.logpdf).chord_errors(a, b)
    assert np.all(away <= errors + 1e-12)
    # It is a bound worth having: on some cells it is no more than a few times too large.
    assert np.min(errors / np.maximum(away, 1e-300)) < 20.0
