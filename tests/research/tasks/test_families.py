"""The scale that gives a density its mass: exact, unique, and refused where there is none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.tasks import FAMILIES, draw_settings
from amortized_kde.research.tasks.densities import mass_inside
from amortized_kde.research.tasks.families import place, solve_slopes
from amortized_kde.research.tasks.standard import CODES, STANDARDS


def mass(family, shapes, mu, slopes):
    standard = STANDARDS[CODES[family.standard]]
    origins = place(standard, shapes, locations=mu, slopes=slopes)
    return mass_inside(standard, shapes, origins=origins, slopes=slopes, bounds=(-1.0, 1.0))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_mass_inside_is_the_one_drawn(name):
    rng, again = np.random.default_rng(11), np.random.default_rng(11)
    f = draw_settings(FAMILIES[name], 5000, rng=rng)
    again.uniform(-0.5, 0.5, 5000)
    assert np.abs(f.masses - again.uniform(0.9, 1.0, 5000)).max() < 1e-10


@settings(deadline=None, max_examples=60)
@given(
    name=st.sampled_from(list(FAMILIES)),
    mu=st.floats(-0.5, 0.5),
    c=st.floats(0.05, 1.0 - 1e-6),
    sign=st.sampled_from([-1.0, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_any_mass_is_met_and_a_wider_scale_has_less(name, mu, c, sign, seed):
    family = FAMILIES[name]
    shapes = family.draw_shapes(np.random.default_rng(seed), 1)
    standard = STANDARDS[CODES[family.standard]]
    at = {"locations": np.array([mu]), "signs": np.array([sign])}
    slopes = solve_slopes(standard, shapes, masses=np.array([c]), **at)
    assert np.sign(slopes[0]) == sign
    # A singular end on the bound makes the mass steep in the scale: one unit in its last place is then more than 1e-10.
    ends = [mass(family, shapes, mu, np.nextafter(slopes, np.inf * way))[0] for way in (-1.0, 1.0)]
    assert abs(mass(family, shapes, mu, slopes)[0] - c) < max(1e-10, 2.0 * abs(ends[0] - ends[1]))
    masses = [mass(family, shapes, mu, slopes * factor)[0] for factor in (0.5, 0.9, 1.0, 1.1, 2.0, 10.0)]
    assert (np.diff(masses) <= 1e-15).all()


@pytest.mark.parametrize(("mu", "c"), [(0.0, 1.0), (0.0, 0.0), (1.0, 0.9), (0.0, np.nan), (np.nan, 0.9)])
def test_what_no_scale_can_give_is_refused(mu, c):
    with pytest.raises(InvalidParameterError, match="strictly between"):
        solve_slopes(
            STANDARDS[0],
            np.array([[1.0, 0.0, 1.0]]),
            locations=np.array([mu]),
            masses=np.array([c]),
            signs=np.ones(1),
        )
