"""The default estimate moves little when a value moves little, also where values are tied."""

import numpy as np
import pytest

import amortized_kde as akde

DRAWS = ("standard_normal", "exponential", "uniform", "standard_cauchy")


def rounded_samples(count):
    """Samples of 4 to 300 values, rounded so that some are tied, and the place of a value to move."""
    rng = np.random.default_rng(6)
    made = 0
    while made < count:
        n = int(np.exp(rng.uniform(np.log(4.0), np.log(300.0))))
        unit = np.exp(rng.uniform(np.log(0.02), 0.0))
        x = np.sort(np.round(getattr(rng, DRAWS[made % len(DRAWS)])(size=n) / unit) * unit)
        tied = np.flatnonzero(np.diff(x) == 0.0)
        if x[0] < x[-1] and tied.size:
            made += 1
            yield x, int(rng.choice(tied))


@pytest.mark.filterwarnings("ignore::amortized_kde.errors.UnlikeTrainingWarning")
def test_a_tie_that_opens_changes_little():
    worst = 0.0
    for x, place in rounded_samples(1000):
        moved = x.copy()
        moved[place] -= 1e-6 * x.std(ddof=1)
        at = np.union1d(np.linspace(x[0], x[-1], 101), x)
        worst = max(worst, float(np.max(np.abs(akde.fit(moved).logpdf(at) - akde.fit(x).logpdf(at)))))
    assert worst < 0.05
