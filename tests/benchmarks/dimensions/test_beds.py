"""The densities of the contest: exact log-densities, published parameters, the same tests every time."""

import numpy as np
import pytest
from scipy import stats

from contests.dimensions.beds import BEDS, BOUNDED, FAMILIES, make_task, make_tasks, random_correlations, random_mixture
from contests.dimensions.truths import Copula, NormalMixture, StudentT
from contests.dimensions.wand_jones import TABLE, wand_jones

ALL_FAMILIES = {
    **FAMILIES,
    **{f"bounded {name}": family for name, family in BOUNDED.items()},
    "mixture": random_mixture,
}
# Means and covariances (xx, xy, yy) by hand from Wand and Jones (1993), Table 1.
MOMENTS = {
    "A uncorrelated normal": ((0, 0), (1 / 4, 0, 1)),
    "B correlated normal": ((0, 0), (1, 7 / 10, 1)),
    "D kurtotic": ((0, 0), (2 / 3 + 4 / 27, 2 / 3 - 1 / 27, 8 / 3 + 1 / 27)),
    "E bimodal I": ((0, 0), (13 / 9, 0, 4 / 9)),
    "F bimodal II": ((0, 0), (1 / 16 + 9 / 4, 0, 1)),
    "G bimodal III": ((0, 0), (13 / 9, 4 / 15 - 1, 13 / 9)),
    "H bimodal IV": ((0, 0), (13 / 9, 7 / 45 - 1, 13 / 9)),
    "J trimodal II": ((0, 0), (9 / 25 + 24 / 25, 21 / 250, 9 / 25)),
    "L quadrimodal": ((0, 0), (13 / 9, 1 / 2 + (8 / 45 + 4 / 5 - 14 / 45 - 2 / 3) / 8, 13 / 9)),
}


def moments(mixture: NormalMixture):
    mean = mixture.weights @ mixture.means
    around = mixture.means - mean
    spread = np.einsum("k,kij->ij", mixture.weights, mixture.covariances)
    return mean, spread + np.einsum("k,ki,kj->ij", mixture.weights, around, around)


@pytest.mark.parametrize("name", MOMENTS)
def test_wand_jones_has_the_moments_of_the_published_parameters(name):
    mean, covariance = moments(wand_jones(name))
    np.testing.assert_allclose(mean, MOMENTS[name][0], atol=1e-15)
    np.testing.assert_allclose(covariance[np.triu_indices(2)], MOMENTS[name][1], rtol=1e-12, atol=1e-15)


def test_all_twelve_are_densities_with_positive_covariances():
    assert [name[0] for name in TABLE] == list("ABCDEFGHIJKL")
    for name in TABLE:
        found = wand_jones(name)
        assert found.weights.sum() == pytest.approx(1.0, abs=1e-15)
        assert np.linalg.eigvalsh(found.covariances).min() > 0.0


def test_skewed_is_the_product_form_of_marron_and_wands_second():
    """Density C has the weights, means and deviations of Marron and Wand's skewed density on each axis."""
    mean, covariance = moments(wand_jones("C skewed"))
    assert mean[0] == pytest.approx(1 / 10 + 13 / 20)
    second = (1 + (1 / 4 + 4 / 9) + 3 * (169 / 144 + 25 / 81)) / 5
    assert covariance[0, 0] == pytest.approx(second - mean[0] ** 2)


@pytest.mark.parametrize("name", ALL_FAMILIES)
@pytest.mark.parametrize("d", [2, 3])
def test_log_densities_are_those_of_the_draws(name, d):
    """Total mass 1, and the mass of regions the share of draws in them, by importance sampling."""
    rng = np.random.default_rng(3)
    truth = ALL_FAMILIES[name](d, rng)
    x = truth.draw(40_000, rng)
    # The proposal: some draws, smeared by a Cauchy density on each axis.
    spread = 0.4 * (np.quantile(x, 0.75, axis=0) - np.quantile(x, 0.25, axis=0))
    centres = x[:100]
    y = centres[rng.integers(len(centres), size=len(x))] + spread * rng.standard_cauchy(x.shape)
    logs = np.concatenate([_smeared(part, centres, spread) for part in np.array_split(y, 10)])
    ratios = np.exp(truth.log_density(y) - logs)
    middle = np.median(x, axis=0)
    for region in (lambda z: z[:, 0] < np.inf, lambda z: z[:, 0] < middle[0], lambda z: np.all(z > middle, axis=1)):
        terms = ratios * region(y)
        error = terms.std() / np.sqrt(terms.size)
        assert error < 0.05
        assert terms.mean() == pytest.approx(region(x).mean(), abs=5.0 * np.hypot(error, 0.5 / np.sqrt(len(x))))


def _smeared(y, centres, spread):
    squares = ((y[:, None] - centres) / spread) ** 2
    return np.log(np.mean(1.0 / np.prod(np.pi * spread * (1.0 + squares), axis=2), axis=1))


def test_a_gaussian_copula_with_normal_margins_is_a_normal():
    correlations = random_correlations(3, np.random.default_rng(0))
    found = Copula(correlations, [stats.norm(1.0, 2.0)] * 3)
    x = found.draw(50, np.random.default_rng(1))
    normal = stats.multivariate_normal(np.ones(3), 4.0 * correlations)
    np.testing.assert_allclose(found.log_density(x), normal.logpdf(x), rtol=1e-9)


def test_a_t_copula_with_t_margins_is_a_multivariate_t():
    correlations = random_correlations(3, np.random.default_rng(0))
    found = Copula(correlations, [stats.t(3.0)] * 3, dof=3.0)
    x = found.draw(50, np.random.default_rng(1))
    reference = stats.multivariate_t(np.zeros(3), correlations, df=3.0)
    np.testing.assert_allclose(found.log_density(x), reference.logpdf(x), rtol=1e-8)
    np.testing.assert_allclose(StudentT(correlations, 3.0).log_density(x), reference.logpdf(x), rtol=1e-9)


def test_mixtures_agree_with_scipy():
    mixture = random_mixture(5, np.random.default_rng(2))
    x = mixture.draw(20, np.random.default_rng(3))
    parts = [
        w * stats.multivariate_normal(m, c).pdf(x)
        for w, m, c in zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
    ]
    np.testing.assert_allclose(mixture.log_density(x), np.log(np.sum(parts, axis=0)), rtol=1e-10)


@pytest.mark.parametrize("bed", BEDS)
def test_tests_are_the_same_every_time_and_each_family_has_equally_many(bed):
    tasks = make_tasks(bed, 20, 3, [2])
    again = make_task(bed, 2, 20, tasks[1].k)
    np.testing.assert_array_equal(tasks[1].sample, again.sample)
    np.testing.assert_array_equal(tasks[1].log_truth, again.log_truth)
    names = [task.family for task in tasks]
    assert len({names.count(name) for name in names}) == 1
    assert len({task.key for task in tasks}) == len(tasks)
    assert all(np.isfinite(task.log_truth).all() for task in tasks)


def test_bounded_tests_say_their_bounds():
    task = make_task("bounded", 3, 20, 2)
    assert task.bounds == ((0.0, None), (0.0, 1.0), (0.0, None))
    assert (task.points >= 0.0).all()
    assert (task.points[:, 1] <= 1.0).all()
