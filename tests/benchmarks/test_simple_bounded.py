import math

import numpy as np
import pytest
from scipy import stats

from contests.known_density import panel_rule, true_score
from contests.simple_bounded import simple_bounded

FROZEN = {
    "uniform": stats.uniform(),
    "exponential": stats.expon(),
    "triangular": stats.triang(0.5),
    "beta(2, 2)": stats.beta(2.0, 2.0),
}


@pytest.mark.parametrize("known", simple_bounded(), ids=lambda known: known.name)
def test_densities_samples_and_entropies(known):
    frozen = FROZEN[known.name]
    x = frozen.ppf(np.linspace(0.01, 0.99, 99))
    np.testing.assert_allclose(known.logpdf(x), frozen.logpdf(x), atol=1e-12)
    sample = known.draw(30, 100, 4)
    assert stats.kstest(sample.ravel(), frozen.cdf).pvalue > 1e-4
    assert true_score(known) == pytest.approx(frozen.entropy() / math.log(2.0), abs=1e-6)
    assert panel_rule(known).weights.sum() == pytest.approx(1.0, abs=1e-9)


def test_samples_repeat_by_seed():
    for known in simple_bounded():
        np.testing.assert_array_equal(known.draw(2, 3, 1), known.draw(2, 3, 1))
        assert (known.draw(2, 3, 1) != known.draw(2, 3, 2)).all()
