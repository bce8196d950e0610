import math

import numpy as np
import pytest

from amortized_kde.data.support import OPEN, Bounds, Domain, check_inside, rank_margin, working_domain
from amortized_kde.errors import DegenerateSampleError, InvalidBoundsError


def test_values_outside_are_counted_and_named():
    values = np.array([-3.0, -1.0, 0.5, 2.0])
    check_inside(values, Bounds(-3.0, 2.0))
    with pytest.raises(InvalidBoundsError, match=r"2 of 4 values.*for example -3, below the lower bound 0"):
        check_inside(values, Bounds(0.0, math.inf))
    with pytest.raises(InvalidBoundsError, match=r"1 of 4 values.*for example 2, above the upper bound 1"):
        check_inside(values, Bounds(-math.inf, 1.0))


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (-3.0, 7.0), (1e9, 1e9 + 1.0), (1e-12, 3e-12), (-1e300, 1e300)])
def test_the_map_and_its_inverse(a, b):
    domain = Domain(a, b)
    x = np.linspace(0.0, 1.0, 101) * (b - a) + a if b < 1e299 else np.array([a, 0.0, b])
    y = domain.to_unit(x)
    assert y[0] == -1.0
    assert y[-1] == 1.0
    assert np.all(np.diff(y) > 0.0)
    middle, half = 0.5 * a + 0.5 * b, 0.5 * b - 0.5 * a
    np.testing.assert_allclose(y, (x - middle) / half, atol=1e-15 * max(1.0, abs(middle) / half))
    np.testing.assert_allclose(domain.from_unit(y), x, rtol=1e-15, atol=1e-15 * half)
    assert domain.bandwidth_from_unit(0.3) == 0.3 * half


def test_the_margin_is_that_of_the_rank_identity():
    # A uniform density on the widened range leaves the range with probability 2/(n + 1).
    for n in (2, 3, 10, 500):
        values = np.linspace(2.0, 9.0, n)
        margin = rank_margin(values)
        assert 2.0 * margin / (7.0 + 2.0 * margin) == pytest.approx(2.0 / (n + 1), rel=1e-14)


def test_working_domain():
    values = np.array([0.0, 1.0, 4.0])
    assert working_domain(values) == Domain(-2.0, 6.0)
    assert working_domain(values, Bounds(-0.5, math.inf)) == Domain(-0.5, 6.0)
    assert working_domain(values, Bounds(-math.inf, 4.0)) == Domain(-2.0, 4.0)
    assert working_domain(values, Bounds(-1.0, 5.0)) == Domain(-1.0, 5.0)


def test_reference_data_give_the_open_sides():
    values = np.array([0.0, 1.0, 4.0])
    assert working_domain(values, reference=np.array([0.0, 5.0, 10.0])) == Domain(-5.0, 15.0)
    # The sample itself stays inside, whatever the reference.
    assert working_domain(values, reference=np.array([1.0, 2.0])) == Domain(0.0, 4.0)
    assert working_domain(values, Bounds(-0.5, math.inf), reference=np.array([0.0, 10.0])) == Domain(-0.5, 20.0)


@pytest.mark.parametrize("values", [[3.0], [3.0, 3.0, 3.0]])
def test_a_single_value_has_no_domain_of_its_own(values):
    values = np.array(values)
    with pytest.raises(DegenerateSampleError, match="single distinct value has no working domain"):
        working_domain(values, OPEN)
    assert working_domain(values, Bounds(0.0, 5.0)) == Domain(0.0, 5.0)
    assert working_domain(values, reference=np.array([0.0, 2.0])) == Domain(-2.0, 4.0)
