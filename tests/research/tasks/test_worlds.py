"""The worlds by name, their pools of settings and realised ranges, and their pictures."""

import csv

import numpy as np
import pytest
from scipy import stats

from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.research.tasks import (
    FAMILIES,
    WORLDS,
    Construction,
    MixtureWorld,
    MultifamilyWorld,
    UntruncatedWorld,
    draw_tasks,
    load_pool,
    make_pool,
    parameters,
    save_pool,
    world,
)
from amortized_kde.research.tasks.pictures import draw_worlds
from amortized_kde.research.tasks.ranges import PAPER_RANGES, reproduce_ranges


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_has_its_name(name):
    assert world(name).name == name


def test_mixtures_have_any_number_of_components():
    assert world("gmm5").truths(2, seed=1).shapes.shape == (2, 15)


@pytest.mark.parametrize("name", ["gmm", "gmm0", "gmm-3", "cauchy", ""])
def test_unknown_worlds_are_refused(name):
    with pytest.raises(InvalidParameterError, match="no world"):
        world(name)


def test_the_gaussian_world_is_standard_normal_on_the_whole_line():
    f = world("gaussian").truths(1, seed=1)
    assert f.bounds == (-np.inf, np.inf)
    assert f.masses[0] == 1.0
    assert np.isclose(f.logpdf([30.0])[0, 0], -450.0 - 0.5 * np.log(2.0 * np.pi), rtol=1e-14)


def test_gaussian_draws_are_standard_normal():
    batch = draw_tasks(world("gaussian"), 100, seed=5, sizes=100)
    assert stats.kstest(batch.values, "norm").pvalue > 1e-3
    assert stats.kstest(batch.draws.ravel(), "norm").pvalue > 1e-3


def test_families_are_equally_likely():
    pool = make_pool(50, 1)
    slopes = MultifamilyWorld(pool).truths(20_000, seed=2).slopes
    shares = [np.isin(slopes, pool.family(name).slopes).mean() for name in FAMILIES]
    assert np.abs(np.array(shares) - 0.1).max() < 4.0 * np.sqrt(0.09 / 20_000)


def test_one_family_alone_is_a_world():
    alone = MultifamilyWorld(make_pool(20, families=("beta",)), "beta")
    assert len(set(alone.truths(500, seed=1).codes)) == 1


@pytest.mark.parametrize("bounded", [MixtureWorld(8), MultifamilyWorld(make_pool(20))], ids=lambda w: w.name)
def test_an_untruncated_world_has_the_same_densities_with_their_tails(bounded):
    whole = UntruncatedWorld(bounded)
    cut, uncut = bounded.truths(200, seed=3), whole.truths(200, seed=3)
    assert whole.bounds == uncut.bounds == (-np.inf, np.inf)
    assert whole.name == f"{bounded.name} untruncated"
    x = np.linspace(-0.99, 0.99, 40)
    with np.errstate(invalid="ignore"):
        gap = uncut.logpdf(x) - cut.logpdf(x) - np.log(cut.masses)[:, None]
    # Both are minus infinity outside the support of a beta, gamma or lognormal density.
    assert np.nanmax(np.abs(gap)) < 1e-12
    inside = uncut.cdf([1.0]) - uncut.cdf([-1.0])
    assert np.allclose(inside[:, 0], cut.masses, atol=1e-9)


def test_untruncated_tasks_leave_the_interval_as_often_as_their_mass_says():
    batch = draw_tasks(UntruncatedWorld(MixtureWorld(8)), 200, seed=4, sizes=20)
    outside = (np.abs(batch.draws) > 1.0).mean(axis=1)
    expected = 1.0 - MixtureWorld(8).truths(200, seed=4).masses
    assert abs((outside - expected).mean()) < 4.0 * np.sqrt(np.mean(expected * (1.0 - expected)) / batch.draws.size)


def test_another_construction_is_another_world():
    equal = MixtureWorld(8, construction=Construction(concentration=(np.inf, np.inf)))
    assert equal.name == "gmm8 varied"
    assert (equal.truths(3, seed=1).shapes[:, :8] == 0.125).all()


def test_pictures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    beta = MultifamilyWorld(make_pool(20, families=("beta",)), "beta")
    draw_worlds([MixtureWorld(8), beta], tmp_path / "worlds.png")
    assert (tmp_path / "worlds.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidParameterError, match="no world to draw"):
        draw_worlds([], tmp_path / "none.png")


# Parameters with a sampling distribution in Table 1: the limits that no draw passes.
LIMITS = {
    "student-t": {"nu": (3, 30)},
    "gamma": {"k": (0.5, 10)},
    "beta": {"a": (0.4, 5), "b": (0.4, 5)},
    "lognormal": {"tau": (0.25, 1)},
    "bimodal": {"w_1": (0.2, 0.8)},
    "trimodal": {"w_1": (0.1, 0.8), "w_2": (0.1, 0.8), "w_3": (0.1, 0.8)},
    "spike-slab": {"w_spike": (0.2, 0.8)},
}


@pytest.fixture(scope="module")
def pool():
    return make_pool(2000, 5)


def same(a, b):
    names = ("codes", "origins", "slopes", "shapes", "masses")
    return a.bounds == b.bounds and all(np.array_equal(getattr(a, n), getattr(b, n)) for n in names)


@pytest.mark.parametrize("name", FAMILIES)
def test_parameters_keep_to_table_1(pool, name):
    table = parameters(FAMILIES[name], pool.family(name))
    limits = {"mu": (-0.5, 0.5), "c": (0.9, 1.0)} | LIMITS.get(name, {})
    for parameter, (low, high) in limits.items():
        values = table[parameter]
        assert low - 1e-12 <= values.min() <= low + 0.1 * (high - low)
        assert high - 0.15 * (high - low) <= values.max() <= high + 1e-12


def test_beta_regimes_are_equiprobable(pool):
    table = parameters(FAMILIES["beta"], pool.family("beta"))
    a, b = table["a"], table["b"]
    low_a, low_b, high_a, high_b = a < 0.9, b < 0.9, a > 1.2, b > 1.2
    mixed = (low_a & high_b) | (high_a & low_b)
    assert abs(mixed.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 2000)
    assert abs((low_a & high_b).sum() / mixed.sum() - 0.5) < 4 * 0.5 / np.sqrt(mixed.sum())
    assert abs((high_a & high_b).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 2000)


@pytest.mark.parametrize("name", ["gamma", "lognormal"])
def test_reflection_is_a_fair_coin(pool, name):
    epsilon = parameters(FAMILIES[name], pool.family(name))["epsilon"]
    assert set(epsilon) == {-1.0, 1.0}
    assert abs(epsilon.mean()) < 4 / np.sqrt(2000)


def test_mixtures_keep_their_barycentre(pool):
    for name in ("bimodal", "trimodal", "spike-slab"):
        table = parameters(FAMILIES[name], pool.family(name))
        parts = FAMILIES[name].component_names
        centre = sum(table[f"w_{part}"] * table[f"mu_{part}"] for part in parts)
        assert np.allclose(centre, table["mu"], atol=1e-14)


def test_the_same_seed_gives_the_same_pool(pool):
    assert same(pool.densities, make_pool(2000, 5).densities)
    assert not same(pool.densities, make_pool(2000, 6).densities)


def test_a_family_does_not_depend_on_its_company(pool):
    alone = make_pool(2000, 5, families=("beta",)).densities
    assert np.array_equal(alone.slopes, pool.family("beta").slopes)
    assert np.array_equal(alone.shapes, pool.family("beta").shapes[:, :2])


def test_a_pool_survives_its_file(pool, tmp_path):
    save_pool(pool, tmp_path / "pool.npz")
    loaded = load_pool(tmp_path / "pool.npz")
    assert (loaded.families, loaded.size, loaded.seed) == (pool.families, pool.size, pool.seed)
    assert same(loaded.densities, pool.densities)


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.savez(tmp_path / "newer.npz", format=99)
    (tmp_path / "text.npz").write_text("not an archive")
    for name in ("other.npz", "text.npz", "missing.npz"):
        with pytest.raises(UnreadableFileError, match="does not hold a pool"):
            load_pool(tmp_path / name)
    with pytest.raises(UnreadableFileError, match="format 99"):
        load_pool(tmp_path / "newer.npz")


@pytest.mark.parametrize("threshold", [0.5, 0.99])
def test_another_threshold_moves_the_masses_and_nothing_else(pool, threshold):
    other = make_pool(2000, 5, threshold=threshold).densities
    share = (other.masses - threshold) / (1.0 - threshold)
    assert np.allclose(share, (pool.densities.masses - 0.9) / 0.1, atol=1e-6)
    assert np.array_equal(other.shapes, pool.densities.shapes)


def test_bad_requests_are_refused(pool):
    for threshold in (0.0, 1.0, float("nan")):
        with pytest.raises(InvalidParameterError, match="strictly between 0 and 1"):
            make_pool(10, threshold=threshold)
    with pytest.raises(InvalidParameterError, match="no family"):
        make_pool(10, families=("cauchy",))
    with pytest.raises(InvalidParameterError, match="no family"):
        make_pool(10, families=())
    with pytest.raises(InvalidParameterError, match="at least one setting"):
        make_pool(0)
    with pytest.raises(InvalidParameterError, match="has no family"):
        pool.family("cauchy")


def test_realised_ranges_agree_with_every_interval_of_table_1(tmp_path):
    text = reproduce_ranges(tmp_path, pools=10)
    with open(tmp_path / "table1_ranges.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(PAPER_RANGES) == len(text.splitlines()) - 1
    assert [row for row in rows if row["agrees"] != "yes"] == []
