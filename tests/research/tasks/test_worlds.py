"""The table of worlds, and pictures of them."""

import numpy as np
import pytest
from scipy import stats

from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.tasks import (
    FAMILIES,
    WORLDS,
    Construction,
    MixtureWorld,
    MultifamilyWorld,
    UntruncatedWorld,
    draw_tasks,
    make_pool,
    world,
)
from amortized_kde.research.tasks.pictures import draw_worlds


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
