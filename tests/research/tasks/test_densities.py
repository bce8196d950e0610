"""Every density a task can have: mass 1, cdf' = pdf, exact samplers, and scipy's distributions as the slow twins."""

import numpy as np
import pytest
from scipy import stats

from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.tasks import FAMILIES, MixtureWorld, draw_settings, draw_tasks, parameters, stack
from amortized_kde.research.tasks.densities import Densities
from amortized_kde.research.tasks.standard import STANDARDS

ROWS = 40
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def family(name):
    return draw_settings(FAMILIES[name], ROWS, rng=np.random.default_rng(7))


WORLDS = {name: family(name) for name in FAMILIES} | {
    f"gmm{k}": MixtureWorld(k).truths(ROWS, seed=7) for k in (1, 8, 32)
}


@pytest.fixture(params=WORLDS)
def densities(request):
    return WORLDS[request.param]


class OneWorld:
    """A world whose task t always has density t mod ROWS."""

    name, bounds = "one", (-1.0, 1.0)

    def __init__(self, densities):
        self.densities = densities

    def truths(self, count, *, seed, first=0, threads=None):
        return self.densities[np.arange(first, first + count) % len(self.densities)]


def support(f: Densities) -> tuple[float, float]:
    """Where the density of a stack of one is positive."""
    ends = f.origins[0] + f.slopes[0] * np.array(STANDARDS[f.codes[0]].support)
    return max(-1.0, ends.min()), min(1.0, ends.max())


def powers(f: Densities) -> tuple[float, float]:
    """Exponents p of f ~ distance^(p - 1) at the two ends of the standard support; 1 where f is smooth there."""
    name = STANDARDS[f.codes[0]].name
    low = f.shapes[0, 0] if name in ("gamma", "beta") else 1.0
    return low, f.shapes[0, 1] if name == "beta" else 1.0


def integral(f: Densities) -> float:
    """Gauss-Legendre on pieces that shrink towards both ends; the last 1e-7 by the power law of a singular end."""
    low, high = support(f)
    step = 1e-7
    edges = low + (high - low) * np.concatenate([np.geomspace(step, 0.5, 120), 1.0 - np.geomspace(0.5, step, 120)[1:]])
    # A Laplace density has its kink at the origin.
    edges = np.sort(np.append(edges, np.clip(f.origins[0], edges[0], edges[-1])))
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    inner = (f.pdf((middle[:, None] + half[:, None] * NODES).ravel()).reshape(-1, 40) @ WEIGHTS * half).sum()
    near_low, near_high = powers(f) if f.slopes[0] > 0.0 else powers(f)[::-1]
    cut_low, cut_high = abs(low) == 1.0, abs(high) == 1.0
    at_low, at_high = f.pdf([edges[0], edges[-1]])[0] * step * (high - low)
    return inner + at_low / (1.0 if cut_low else near_low) + at_high / (1.0 if cut_high else near_high)


def test_densities_integrate_to_one(densities):
    for t in range(ROWS):
        assert abs(integral(densities[t : t + 1]) - 1.0) < 1e-8


def test_the_derivative_of_the_cdf_is_the_density(densities):
    rng = np.random.default_rng(1)
    for t in range(ROWS):
        f = densities[t : t + 1]
        low, high = support(f)
        centre = low + (high - low) * rng.uniform(0.05, 0.95, 20)
        half = 1e-3 * (high - low)
        centre = centre[np.abs(centre - f.origins[0]) > half]
        inside = f.pdf((centre[:, None] + half * NODES).ravel()).reshape(-1, 40) @ WEIGHTS * half
        assert np.allclose(f.cdf(centre + half) - f.cdf(centre - half), inside, rtol=1e-9, atol=1e-13)


def test_cdf_runs_from_zero_to_one(densities):
    p = densities.cdf(np.linspace(-1.5, 1.5, 301))
    assert (np.diff(p, axis=1) >= -1e-15).all()
    assert (p[:, 0] == 0.0).all()
    assert (p[:, -1] == 1.0).all()


def test_draws_follow_the_cdf(densities):
    batch = draw_tasks(OneWorld(densities), ROWS, seed=3, sizes=2000, draws=3000)
    for drawn in (batch.values.reshape(ROWS, -1), batch.draws):
        probabilities = densities.cdf(drawn)
        assert stats.kstest(probabilities.ravel(), "uniform").pvalue > 1e-3
        # The smallest of forty p-values is below 1e-4 once in 250 times.
        assert min(stats.kstest(row, "uniform").pvalue for row in probabilities) > 1e-4


def test_every_draw_has_a_finite_log_density(densities):
    batch = draw_tasks(OneWorld(densities), 200, seed=4, sizes=5, draws=5000)
    assert np.isfinite(batch.truths.logpdf(batch.draws)).all()


def test_draws_never_land_on_a_singular_end():
    # With a = b = 0.05 one draw in six lies within a rounding unit of an end.
    f = stack("beta", [[0.05, 0.05]] * 4, origins=[-0.7] * 4, slopes=[1.3] * 4, bounds=(-1.0, 1.0))
    batch = draw_tasks(OneWorld(f), 4, seed=1, sizes=5, draws=20_000)
    assert np.isfinite(batch.truths.logpdf(batch.draws)).all()


def twin(name, row):
    """The untruncated density as scipy has it, from the parameters of Table 1; mirrored ones come with their sign."""
    p = {key: values[row] for key, values in parameters(FAMILIES[name], WORLDS[name]).items()}
    mu = p["mu"]
    return {
        "gaussian": lambda: (stats.norm(mu, p["sigma"]), 1.0, mu),
        "laplace": lambda: (stats.laplace(mu, p["b"]), 1.0, mu),
        "student-t": lambda: (stats.t(p["nu"], mu, p["s"]), 1.0, mu),
        "gamma": lambda: (stats.gamma(p["k"], mu - p["k"] * p["theta"], p["theta"]), p["epsilon"], mu),
        "beta": lambda: (stats.beta(p["a"], p["b"], mu - p["s"] * p["a"] / (p["a"] + p["b"]), p["s"]), 1.0, mu),
        "logistic": lambda: (stats.logistic(mu, p["s"]), 1.0, mu),
        "lognormal": lambda: (
            stats.lognorm(p["tau"], mu - p["s"] * np.exp(p["tau"] ** 2 / 2), p["s"]),
            p["epsilon"],
            mu,
        ),
    }[name]()


@pytest.mark.parametrize("name", ["gaussian", "laplace", "student-t", "gamma", "beta", "logistic", "lognormal"])
def test_scipy_agrees_with_single_families(name):
    for row in range(10):
        g, sign, mu = twin(name, row)
        f = WORLDS[name][row : row + 1]
        x = np.random.default_rng(row).uniform(*support(f), 200)
        ends = sorted(mu + sign * (np.array([-1.0, 1.0]) - mu))
        mass = g.cdf(ends[1]) - g.cdf(ends[0])
        mirrored = mu + sign * (x - mu)
        assert np.allclose(f.logpdf(x)[0], g.logpdf(mirrored) - np.log(mass), rtol=1e-9, atol=1e-9)
        below = (g.cdf(mirrored) - g.cdf(mu + sign * (-1.0 - mu))) * sign / mass
        assert np.allclose(f.cdf(x)[0], below, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["bimodal", "trimodal", "spike-slab"])
def test_scipy_agrees_with_families_of_normals(name):
    parts = FAMILIES[name].component_names
    table = parameters(FAMILIES[name], WORLDS[name])
    x = np.linspace(-1.0, 1.0, 201)
    for row in range(10):
        pdf, mass = 0.0, 0.0
        for part in parts:
            g = stats.norm(table[f"mu_{part}"][row], table[f"sigma_{part}"][row])
            pdf = pdf + table[f"w_{part}"][row] * g.pdf(x)
            mass = mass + table[f"w_{part}"][row] * (g.cdf(1.0) - g.cdf(-1.0))
        assert np.allclose(WORLDS[name].pdf(x)[row], pdf / mass, rtol=1e-11, atol=0.0)


def test_outside_the_bounds_there_is_nothing_and_nan_stays(densities):
    values = densities.logpdf([-1.0001, 1.0001, -np.inf, np.nan])
    assert (values[:, :3] == -np.inf).all()
    assert np.isnan(values[:, 3]).all()


def test_arguments_for_all_and_for_each_agree(densities):
    x = np.linspace(-0.9, 0.9, 7)
    assert np.array_equal(densities.logpdf(x), densities.logpdf(np.tile(x, (ROWS, 1))))
    with pytest.raises(InvalidParameterError, match="one row for each"):
        densities.logpdf(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "cauchy"}, "no standard density"),
        ({"origins": [np.nan]}, "finite"),
        ({"slopes": [0.0]}, "not zero"),
        ({"shapes": [[-1.0]]}, "not those of a gamma"),
        ({"origins": [50.0]}, "hardly any mass"),
    ],
)
def test_bad_settings_are_refused(change, message):
    good = {"name": "gamma", "shapes": [[2.0]], "origins": [0.0], "slopes": [0.1], "bounds": (-1.0, 1.0)}
    stack(**good)
    with pytest.raises(InvalidParameterError, match=message):
        stack(**(good | change))


@pytest.mark.parametrize("shape", [[0.5, 0.6, 0, 0, 1, 1], [-0.1, 1.1, 0, 0, 1, 1], [1, 0, 0], [1.0, 0.0]])
def test_mixtures_need_weights_that_sum_to_one_and_positive_scales(shape):
    with pytest.raises(InvalidParameterError, match="not those of a mixture"):
        stack("mixture", [shape], origins=[0.0], slopes=[1.0], bounds=(-1.0, 1.0))
