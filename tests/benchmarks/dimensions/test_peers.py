"""Each peer against its own library, a slow obvious version or a published figure; the rule for failures; the store."""

import importlib.util

import numpy as np
import pytest
from scipy import stats

from contests.dimensions.beds import make_task
from contests.dimensions.kernels import Kernels
from contests.dimensions.libraries import bic_mixture, getdist_density, kernel_vine, normal_reference
from contests.dimensions.peers import METHODS, abramson, best_scale, cut_at, likelihood_scale, score_oracle, scott
from contests.dimensions.r_peers import R_PEERS, has_r, score_in_r
from contests.dimensions.running import applies, import_fit, score_peer
from contests.dimensions.scoring import FLOOR_WEIGHT, broad_density, predictive_normal, score_answer, score_fit
from contests.dimensions.wand_jones import wand_jones

SAMPLE = wand_jones("K trimodal III").draw(60, np.random.default_rng(0))
POINTS = wand_jones("K trimodal III").draw(40, np.random.default_rng(1))
with_r = pytest.mark.skipif(not has_r(), reason="R with ks and mclust is not installed")


def needs(module):
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed (bench)")


def test_scott_is_scipy():
    reference = stats.gaussian_kde(SAMPLE.T).logpdf(POINTS.T)
    np.testing.assert_allclose(scott(SAMPLE).log_density(POINTS), reference, rtol=1e-10)


def slow_leave_one_out(sample, covariances):
    """Mean leave-one-out log-density, one kernel after the other."""
    total = 0.0
    for i, x in enumerate(sample):
        others = [j for j in range(len(sample)) if j != i]
        total += np.log(np.mean([stats.multivariate_normal(sample[j], covariances[j]).pdf(x) for j in others]))
    return total / len(sample)


def test_likelihood_scale_maximises_the_slow_leave_one_out_likelihood():
    sample = SAMPLE[:15]
    covariance, found = np.cov(sample.T), likelihood_scale(sample).sizes[0]
    scores = [slow_leave_one_out(sample, [(f * found) ** 2 * covariance] * 15) for f in (0.97, 1.0, 1.03)]
    assert np.argmax(scores) == 1


def test_abramson_has_sizes_by_the_square_root_law_and_the_best_scale():
    sample = SAMPLE[:15]
    found = abramson(sample)
    pilot = np.exp(likelihood_scale(sample).log_density(sample))
    np.testing.assert_allclose(found.sizes * np.sqrt(pilot), np.mean(found.sizes * np.sqrt(pilot)), rtol=1e-10)
    covariance = np.cov(sample.T)
    scores = [slow_leave_one_out(sample, [(f * s) ** 2 * covariance for s in found.sizes]) for f in (0.97, 1.0, 1.03)]
    assert np.argmax(scores) == 1


def test_the_best_scale_is_found_inside_and_at_the_ends():
    assert best_scale(lambda h: (np.log(h) - 0.3) ** 2) == pytest.approx(np.exp(0.3), rel=1e-3)
    assert best_scale(lambda h: h) == pytest.approx(0.01, rel=1e-3)


def test_no_single_scale_is_better_than_the_oracle():
    task = make_task("others", 3, 50, 1)
    best = score_oracle(task)
    factor = np.linalg.cholesky(np.cov(task.sample.T))
    for h in np.geomspace(0.05, 2.0, 30):
        found = score_answer(Kernels(task.sample, factor, np.full(50, h)).log_density(task.points), task, 0.0)
        assert found.raw > best.raw - 1e-4
        assert found.floored > best.floored - 1e-4


def test_the_predictive_normal_is_scipys_t():
    n, d = SAMPLE.shape
    scatter = np.cov(SAMPLE.T) * (n - 1) / (n - d) * (1 + 1 / n)
    reference = stats.multivariate_t(SAMPLE.mean(axis=0), scatter, df=n - d).logpdf(POINTS)
    np.testing.assert_allclose(predictive_normal(SAMPLE)(POINTS), reference, rtol=1e-10)


@needs("statsmodels")
def test_statsmodels_is_statsmodels():
    from statsmodels.nonparametric.kernel_density import KDEMultivariate

    reference = np.log(KDEMultivariate(SAMPLE, "cc", bw="normal_reference").pdf(POINTS))
    np.testing.assert_allclose(normal_reference(SAMPLE).log_density(POINTS), reference, rtol=1e-9)


def test_the_mixture_is_scikit_learns_with_the_lowest_bic():
    from sklearn.mixture import GaussianMixture

    z = (SAMPLE - SAMPLE.mean(axis=0)) / SAMPLE.std(axis=0)
    fits = [
        GaussianMixture(k, covariance_type=kind, reg_covar=1e-3, max_iter=300, random_state=0).fit(z)
        for kind in ("full", "tied", "diag", "spherical")
        for k in range(1, 10)
    ]
    best = min(fits, key=lambda fit: fit.bic(z))
    y = (POINTS - SAMPLE.mean(axis=0)) / SAMPLE.std(axis=0)
    reference = best.score_samples(y) - np.sum(np.log(SAMPLE.std(axis=0)))
    np.testing.assert_allclose(bic_mixture(SAMPLE).log_density(POINTS), reference, rtol=1e-8)


@needs("pyvinecopulib")
def test_the_vine_in_two_dimensions_is_margins_times_one_pair_copula():
    import pyvinecopulib as pv
    from pyvinecopulib.core import Kde1d

    columns = [(np.ascontiguousarray(x), np.ascontiguousarray(y)) for x, y in zip(SAMPLE.T, POINTS.T, strict=True)]
    margins = [Kde1d().fit(x) for x, _ in columns]
    u = np.stack([m.cdf(x) for m, (x, _) in zip(margins, columns, strict=True)], axis=1)
    v = np.stack([m.cdf(y) for m, (_, y) in zip(margins, columns, strict=True)], axis=1)
    pair = pv.Bicop.from_data(np.asfortranarray(u), pv.FitControlsBicop(family_set=pv.families.nonparametric))
    logs = sum(np.log(m.pdf(y)) for m, (_, y) in zip(margins, columns, strict=True))
    reference = logs + np.log(pair.pdf(np.asfortranarray(v)))
    np.testing.assert_allclose(kernel_vine(SAMPLE)(POINTS), reference, rtol=1e-6)


@needs("getdist")
def test_getdist_is_a_density_between_the_bounds_and_agrees_with_its_own_interpolation():
    from getdist import MCSamples

    sample = np.abs(SAMPLE)
    bounds = ((0.0, None), (0.0, None))
    log_density = getdist_density(sample, bounds)
    ends = np.linspace(0.0, 6.0, 401)
    grid = np.stack(np.meshgrid(ends, ends), axis=-1).reshape(-1, 2)
    values = np.exp(log_density(grid)).reshape(401, 401)
    assert np.trapezoid(np.trapezoid(values, ends), ends) == pytest.approx(1.0, abs=2e-3)
    assert (log_density(-sample) == -np.inf).all()
    samples = MCSamples(
        samples=sample, names=["a", "b"], ranges={"a": [0.0, None], "b": [0.0, None]}, sampler="uncorrelated"
    )
    theirs = samples.get2DDensity(0, 1)
    at = np.array([[0.5, 0.5], [1.0, 1.0], [1.2, 0.4]])
    ratios = np.exp(log_density(at)) / [float(theirs.Prob(*point)) for point in at]
    np.testing.assert_allclose(ratios, ratios[0], rtol=5e-3)


R_CHECKS = {
    "ks Hpi": "log(ks::kde(x, H = ks::Hpi(x), eval.points = y)$estimate)",
    "ks Hscv": "log(ks::kde(x, H = ks::Hscv(x), eval.points = y)$estimate)",
    "mclust": "{library(mclust); predict(densityMclust(x, plot = FALSE, verbose = FALSE), y, logarithm = TRUE)}",
}


@with_r
@pytest.mark.parametrize("peer", R_CHECKS)
def test_peers_in_r_are_what_a_user_of_r_gets(peer, tmp_path):
    import subprocess

    task = make_task("wand-jones", 2, 60, 10)
    np.savetxt(tmp_path / "x", task.sample)
    np.savetxt(tmp_path / "y", task.points)
    code = (
        "x <- as.matrix(read.table('x')); y <- as.matrix(read.table('y')); "
        f"write(suppressMessages({R_CHECKS[peer]}), 'answer', ncolumns = 1)"
    )
    subprocess.run(["Rscript", "-e", code], cwd=tmp_path, check=True, capture_output=True)
    reference = score_answer(np.loadtxt(tmp_path / "answer"), task, 0.0)
    (found,) = score_in_r(peer, [task])
    # Evaluated by log-sum-exp, which differs where ks sums kernels that are almost zero.
    assert found.floored == pytest.approx(reference.floored, rel=1e-3)


@with_r
def test_boundary_kernels_are_densities_between_the_bounds():
    from dataclasses import replace

    task = make_task("bounded", 2, 60, 1)
    centres = (np.arange(40) + 0.5) / 40
    grid = np.stack(np.meshgrid(centres, centres), axis=-1).reshape(-1, 2)
    # With a uniform truth on the grid the raw score is -E log2 q; Jensen bounds it by 0 for a density.
    flat = replace(task, points=grid, log_truth=np.zeros(len(grid)))
    for peer in ("ks boundary (beta)", "ks boundary (linear)"):
        (score,) = score_in_r(peer, [flat])
        assert not score.failure
        assert 0.0 < score.floored < 1.0


@with_r
def test_a_failure_in_r_is_counted_and_the_other_tests_are_answered():
    from dataclasses import replace

    task = make_task("wand-jones", 2, 20, 0)
    broken = replace(task, sample=np.ones_like(task.sample) + 1e-3 * np.arange(20)[:, None])
    first, second = score_in_r("ks Hpi", [broken, task])
    assert first.failure
    assert np.isfinite(first.floored)
    assert not second.failure


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("GetDist", "predictive normal")])
def test_no_peer_has_mass_outside_the_bounds(name):
    task = make_task("bounded", 2, 60, 2)
    if importlib.util.find_spec("pyvinecopulib") is None and "vine" in name:
        pytest.skip("pyvinecopulib is not installed (bench)")
    log_density = METHODS[name](task.sample, bounds=task.bounds)
    assert (log_density(np.array([[-0.1, 0.5], [0.5, 1.1]])) < -20.0).all()


def test_cutting_renormalises():
    kernels = Kernels(np.zeros((1, 2)), np.eye(2), np.ones(1))
    cut = cut_at(kernels, ((0.0, None), (0.0, None)))
    inside = np.array([[0.5, 0.5]])
    np.testing.assert_allclose(cut(inside) - kernels.log_density(inside), np.log(4.0), atol=0.05)
    assert cut(-inside)[0] == -np.inf


def test_the_floor_costs_little_and_makes_every_score_finite():
    task = make_task("others", 2, 50, 3)
    found = score_answer(task.log_truth, task, 0.0)
    assert found.raw == 0.0
    assert 0.0 < found.floored <= -np.log2(1.0 - FLOOR_WEIGHT)
    nothing = score_answer(np.full(1000, -np.inf), task, 0.0)
    assert nothing.raw == np.inf
    assert nothing.zeros == 1000
    broad = broad_density(task.sample, None)(task.points)
    assert nothing.floored == pytest.approx(np.mean(task.log_truth - broad) / np.log(2.0) - np.log2(FLOOR_WEIGHT))


@pytest.mark.parametrize("bounds", [None, ((0.0, None), (0.0, 1.0))])
def test_the_broad_density_has_mass_one(bounds):
    sample = make_task("bounded", 2, 50, 2).sample
    log_density = broad_density(sample, bounds)
    low, high = ([-4000.0] * 2, [4000.0] * 2) if bounds is None else ([0.0, 0.0], [4000.0, 1.0])
    # The density is a product: the mass is that of each axis, along lines through the median.
    middle, masses = np.median(sample, axis=0), []
    for j in range(2):
        steps = np.sinh(np.linspace(-9.0, 9.0, 20_001))
        x = np.clip(middle[j] + steps, low[j], high[j])
        points = np.tile(middle, (x.size, 1))
        points[:, j] = x
        masses.append(np.trapezoid(np.exp(log_density(points)), x))
    at_middle = float(np.exp(log_density(middle[None])[0]))
    assert masses[0] * masses[1] / at_middle == pytest.approx(1.0, abs=2e-3)


def test_a_method_without_an_answer_gets_the_reference_and_is_counted():
    def broken(sample, bounds=None):
        raise ValueError("singular")

    task = make_task("mixtures", 3, 30, 0)
    found = score_fit(broken, task)
    assert found.failure == "ValueError: singular"
    assert found.raw == score_fit(predictive_normal, task).raw


def test_scores_are_kept_and_only_missing_ones_computed(tmp_path, monkeypatch):
    tasks = [make_task("mixtures", 2, 20, k) for k in range(3)]
    first = score_peer("scipy (Scott)", tasks[:2], tmp_path)
    (path,) = tmp_path.rglob("*.jsonl")
    # A run that was stopped while it wrote.
    path.write_text(path.read_text() + '{"task": "mixture d=2 k=2", "raw"')
    path.write_text(path.read_text() + "\n")
    monkeypatch.setitem(METHODS, "scipy (Scott)", predictive_normal)
    second = score_peer("scipy (Scott)", tasks, tmp_path)
    assert {key: second[key] for key in first} == first
    assert second[tasks[2].key].raw == score_fit(predictive_normal, tasks[2]).raw


def test_peers_apply_where_they_exist():
    assert not applies("GetDist", make_task("mixtures", 3, 20, 0))
    assert applies("mclust", make_task("mixtures", 8, 20, 0))
    assert not applies("ks boundary (beta)", make_task("mixtures", 2, 20, 0))
    assert applies("ks boundary (beta)", make_task("bounded", 2, 20, 0))
    assert all(min(dimensions) == 2 for dimensions in R_PEERS.values())


def test_ours_are_given_by_import_path():
    fit = import_fit("contests.dimensions.scoring:predictive_normal")
    np.testing.assert_array_equal(fit(SAMPLE)(POINTS), predictive_normal(SAMPLE)(POINTS))
    with pytest.raises(ValueError, match="module:function"):
        import_fit("contests")
