import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.ensembles import atom_probabilities, densities, probabilities, quantiles
from amortized_kde.errors import BadRowsWarning, InvalidParameterError, InvalidSampleError

AT = np.array([-1.0, 0.0, 1e-7, 0.02, 1.0, 3.0, 11.0, 39.9, 41.0])


def test_densities_are_those_of_every_cell(forecasts):
    found = densities(forecasts.members, AT, **forecasts.options)
    np.testing.assert_allclose(found, forecasts.each(lambda d, _: d.pdf(AT)), rtol=1e-12, atol=1e-290)


@pytest.mark.parametrize("above", [False, True])
def test_probabilities_are_those_of_every_cell(forecasts, above):
    found = probabilities(forecasts.members, AT, above=above, **forecasts.options)
    expected = forecasts.each(lambda d, _: d.sf(AT) if above else d.cdf(AT))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-290)


def test_quantiles_are_those_of_every_cell(forecasts):
    p = np.array([0.0, 1e-9, 0.01, 0.3, 0.5, 0.77, 0.999, 1.0 - 1e-9, 1.0])
    found = quantiles(forecasts.members, p, **forecasts.options)
    np.testing.assert_allclose(found, forecasts.each(lambda d, _: d.ppf(p)), rtol=1e-11, atol=1e-14)


def test_shapes_and_arguments_of_each_cell():
    rng = np.random.default_rng(2)
    x, at = rng.normal(size=(3, 4, 15)), rng.normal(size=(3, 4, 2))
    all_of_them = densities(x, at, bandwidth=0.3)
    assert all_of_them.shape == (3, 4, 2)
    assert densities(x, 0.5, bandwidth=0.3).shape == (3, 4)
    assert np.array_equal(densities(x[1, 2], at[1, 2], bandwidth=0.3), all_of_them[1, 2])
    assert np.array_equal(densities(x, at[:1, :1], bandwidth=0.3)[0, 0], all_of_them[0, 0])
    assert quantiles(x[0, 0], 0.5, bandwidth=0.3).shape == ()
    assert probabilities(np.empty((0, 4)), [1.0, 2.0]).shape == (0, 2)
    assert quantiles(np.empty((0, 4)), [0.1]).shape == (0, 1)
    ragged = densities([[1.0], [1.0, 2.0]], [1.5], bandwidth=0.5)
    assert ragged[1, 0] == pytest.approx(akde.KernelDensity([1.0, 2.0], 0.5).pdf(1.5), rel=1e-14)


def test_far_tails_keep_their_digits():
    d = akde.KernelDensity([0.0, 1.0], 0.1)
    assert probabilities([[0.0, 1.0]], 3.5, above=True, bandwidth=0.1)[0] == pytest.approx(d.sf(3.5), rel=1e-12)
    bounded = akde.KernelDensity([0.2, 0.9], 2.0, bounds=(0, 1))
    for x in (1e-12, 1e-6, 1e-3):
        found = probabilities([[0.2, 0.9]], x, bandwidth=2.0, bounds=(0, 1))[0]
        assert found == pytest.approx(bounded.cdf(x), rel=1e-12)


RAIN = np.array([[0.0, 0.0, 0.0, 1.0, 2.5], [0.0, np.nan, 0.3, 1.0, 4.0], [0.7, 0.3, 0.9, 1.0, 2.0]])


def test_atoms_and_the_density_elsewhere_share_the_probability():
    options = {"bounds": (0, None), "bandwidth": 0.5, "atoms": (0,)}
    dry = np.array([3.5 / 6, 1.5 / 5, 0.5 / 6])
    np.testing.assert_allclose(atom_probabilities(RAIN, (0,))[:, 0], dry, rtol=1e-15)
    for row, p in zip(RAIN, dry, strict=True):
        wet = akde.KernelDensity(row[row > 0.0], 0.5, bounds=(0, None))
        at = np.array([0.0, 0.1, 2.0])
        np.testing.assert_allclose(densities([row], at, **options)[0], (1.0 - p) * wet.pdf(at), rtol=1e-13)
        np.testing.assert_allclose(probabilities([row], at, **options)[0], p + (1.0 - p) * wet.cdf(at), rtol=1e-13)
        above = probabilities([row], at, above=True, **options)[0]
        np.testing.assert_allclose(above, (1.0 - p) * wet.sf(at), rtol=1e-13)
        q = quantiles([row], [0.0, 0.99 * p, p, p + 0.2, 1.0], **options)[0]
        np.testing.assert_allclose(q, [0.0, 0.0, 0.0, wet.ppf(0.2 / (1.0 - p)), np.inf], rtol=1e-12)


def test_an_atom_inside_makes_the_quantile_wait():
    x, p = [[1.0, 2.0, 2.0, 2.0, 3.5, 4.0]], np.linspace(0.0, 1.0, 201)
    found = quantiles(x, p, bandwidth=0.4, atoms=(2,))[0]
    others, share = akde.KernelDensity([1.0, 3.5, 4.0], 0.4), 3.5 / 7

    def distribution(t):
        return share * (t >= 2.0) + (1.0 - share) * others.cdf(t)

    assert np.all(np.diff(found) >= 0.0)
    waits = found == 2.0
    # The jump from F(2-) to F(2), which is half of all probability.
    assert waits.sum() == pytest.approx(0.5 * 200, abs=1.01)
    np.testing.assert_allclose(distribution(found[~waits]), p[~waits], atol=1e-12)
    before = (1.0 - share) * others.cdf(2.0)
    assert np.all((p[waits] >= before - 1e-12) & (p[waits] <= before + share + 1e-12))


def test_two_atoms_share_with_the_rest():
    humidity = [[0.0, 1.0, 1.0, 0.5, 0.8, 0.9]]
    np.testing.assert_allclose(atom_probabilities(humidity, (1, 0))[0], np.array([1.5, 2.5]) / 7.5)
    options = {"bounds": (0, 1), "method": "amortized", "atoms": (0, 1)}
    assert probabilities(humidity, [1.0], **options)[0, 0] == pytest.approx(1.0, rel=1e-15)
    assert probabilities(humidity, [0.0], **options)[0, 0] == pytest.approx(0.2, rel=1e-15)
    assert probabilities(humidity, [1.0], above=True, **options)[0, 0] == 0.0


def test_climatology_stands_in_where_members_give_no_density():
    past = np.random.default_rng(1).gamma(2.0, size=300)
    x = [[0.0] * 6, [0.0, 0.0, 0.5, 1.0, 2.0, 4.0], [np.nan] * 6]
    for chosen in ({"method": "amortized"}, {"method": "silverman"}, {"bandwidth": 0.4}):
        options = {"bounds": (0, None), "atoms": (0,), **chosen}
        with pytest.warns(BadRowsWarning, match="1 of 3 samples have no answer.*empty or all missing"):
            found = densities(x, [0.0, 1.0, 3.0], climatology=np.append(past, 0.0), **options)
        stands = akde.fit(past, bounds=(0, None), method=chosen.get("method", "amortized:single"))
        np.testing.assert_allclose(found[0], 0.5 / 7 * stands.pdf([0.0, 1.0, 3.0]), rtol=1e-12)
        np.testing.assert_allclose(found[1], densities(x[1:2], [0.0, 1.0, 3.0], **options)[0], rtol=1e-13)
        assert np.isnan(found[2]).all()
        wet = quantiles(x[:1], 0.99, climatology=past, **options)[0]
        assert wet == pytest.approx(stands.ppf(1.0 - 0.01 * 14.0), rel=1e-10)
    with pytest.warns(BadRowsWarning, match="1 of 1 ensembles have too few members away from the atoms"):
        bare = probabilities(x[:1], [0.0, 1.0], bounds=(0, None), atoms=(0,))[0]
    # At the bound there is nothing to know about the density.
    assert bare[0] == pytest.approx(6.5 / 7)
    assert np.isnan(bare[1])


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda x: densities(x, [[1.0], [2.0], [3.0]]), InvalidSampleError, r"at has shape \(3, 1\)"),
        (lambda x: probabilities(x, ["a"]), InvalidSampleError, "thresholds must hold real numbers"),
        (lambda x: quantiles(x, [1.5]), InvalidParameterError, r"probabilities must lie in \[0, 1\]"),
        (lambda x: quantiles(x, np.nan), InvalidParameterError, r"probabilities must lie in \[0, 1\]"),
        (lambda x: densities(x, 1.0, bandwidth=[0.1, 0.2, 0.3]), InvalidSampleError, r"bandwidth has shape \(3,\)"),
        (lambda x: densities(x, 1.0, method="silvermann"), InvalidParameterError, "Did you mean 'silverman'"),
        (lambda x: densities(x, 1.0, method=0.5), InvalidParameterError, "method must be a name .* not 0.5"),
        (lambda x: densities(x, 1.0, method="scott", bandwidth=0.5), InvalidParameterError, "not both"),
        (lambda x: densities(x, 1.0, atoms=(0, 0)), InvalidParameterError, "different finite numbers"),
        (lambda x: densities(x, 1.0, atoms=(np.nan,)), InvalidParameterError, "different finite numbers"),
        (lambda x: densities(x, 1.0, atoms=(-1,), bounds=(0, 9)), InvalidParameterError, "atom -1 lies outside"),
        (lambda x: densities(x, 1.0, climatology=[1.0, 1.0]), InvalidSampleError, "two different values"),
        (lambda x: densities(x, 1.0, threads=0), InvalidParameterError, "threads must be"),
        (lambda x: densities(3.0, 1.0), InvalidSampleError, "out of range"),
    ],
)
def test_bad_input(ask, error, message):
    with pytest.raises(error, match=message):
        ask([[1.0, 2.0, 4.0], [2.0, 3.0, 5.0]])
