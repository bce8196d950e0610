import numpy as np
import pytest
from scipy import integrate, stats

from contests.known_densities import panel_rule
from contests.marron_wand import BOUNDS, MIXTURES, MarronWandWorld, marron_wand

# Table 1 and Figure 1 of the paper: the numbers of modes.
MODES = dict(zip(MIXTURES, (1, 1, 1, 1, 1, 2, 2, 2, 3, 5, 7, 5, 6, 6, 6), strict=True))
DENSITIES = marron_wand()


@pytest.mark.parametrize("name", MIXTURES)
def test_weights_sum_to_one(name):
    assert sum(weight for weight, _, _ in MIXTURES[name]) == 1


@pytest.mark.parametrize("known", DENSITIES, ids=lambda known: known.name)
def test_a_density_is_the_truncated_mixture(known):
    def mixture(x):
        return sum(float(w) * stats.norm.pdf(x, float(m), float(s)) for w, m, s in MIXTURES[known.name])

    x = np.linspace(*BOUNDS, 1001)
    kinks = sorted({float(m) for _, m, _ in MIXTURES[known.name] if abs(m) < 4})
    mass = integrate.quad(mixture, *BOUNDS, points=kinks, limit=500)[0]
    np.testing.assert_allclose(np.exp(known.logpdf(x)), mixture(x) / mass, rtol=1e-8)


@pytest.mark.parametrize("known", DENSITIES, ids=lambda known: known.name)
def test_known_modes(known):
    f = known.logpdf(np.linspace(*BOUNDS, 80_001))
    assert np.sum((f[1:-1] > f[:-2]) & (f[1:-1] >= f[2:])) == MODES[known.name]


@pytest.mark.parametrize("known", DENSITIES, ids=lambda known: known.name)
def test_panels_resolve_the_density(known):
    assert panel_rule(known).weights.sum() == pytest.approx(1.0, abs=1e-12)


def test_samples_follow_their_density():
    for k, known in enumerate(DENSITIES):
        x = known.draw(20, 100, 11).ravel()
        truth = MarronWandWorld((known.name,)).truths(1, seed=0)
        assert stats.kstest(x, lambda y, truth=truth: truth.cdf(y)[0]).pvalue > 1e-4, k
        assert np.abs(x).max() <= 4.0


def test_samples_repeat_by_seed_and_differ_by_density():
    first, second = DENSITIES[:2]
    np.testing.assert_array_equal(first.draw(3, 5, 1), first.draw(3, 5, 1))
    assert (first.draw(3, 5, 1) != first.draw(3, 5, 2)).all()
    # Samples of one value, for longer ones are sorted.
    assert np.abs(np.corrcoef(first.draw(500, 1, 1)[:, 0], second.draw(500, 1, 1)[:, 0])[0, 1]) < 0.2


def test_the_world_deals_densities_by_turns():
    x = np.array([0.3])
    truths = MarronWandWorld().truths(17, seed=5, first=14)
    expected = [DENSITIES[(14 + t) % 15].logpdf(x)[0] for t in range(17)]
    np.testing.assert_allclose(truths.logpdf(x)[:, 0], expected, rtol=1e-12)
