"""Pools of settings: what Table 1 says, from a seed, through a file."""

import csv

import numpy as np
import pytest

from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.research.tasks import FAMILIES, load_pool, make_pool, parameters, save_pool
from amortized_kde.research.tasks.ranges import PAPER_RANGES, reproduce_ranges

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
