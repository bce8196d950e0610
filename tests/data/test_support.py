import math

import numpy as np
import pytest

from amortized_kde.data.support import OPEN, Bounds, check_inside, rank_margin, working_domain
from amortized_kde.errors import DegenerateSampleError, InvalidBoundsError


def test_values_outside_are_counted_and_named():
    values = np.array([-3.0, -1.0, 0.5, 2.0])
    check_inside(values, Bounds(-3.0, 2.0))
    with pytest.raises(InvalidBoundsError, match=r"2 of 4 values.*for example -3, below the lower bound 0"):
        check_inside(values, Bounds(0.0, math.inf))
    with pytest.raises(InvalidBoundsError, match=r"1 of 4 values.*for example 2, above the upper bound 1"):
        check_inside(values, Bounds(-math.inf, 1.0))


def test_the_margin_is_that_of_the_rank_identity():
    # A uniform density on the widened range leaves the range with probability 2/(n + 1).
    for n in (2, 3, 10, 500):
        values = np.linspace(2.0, 9.0, n)
        margin = rank_margin(values)
        assert 2.0 * margin / (7.0 + 2.0 * margin) == pytest.approx(2.0 / (n + 1), rel=1e-14)


def test_working_domain():
    values = np.array([0.0, 1.0, 4.0])
    assert working_domain(values) == Bounds(-2.0, 6.0)
    assert working_domain(values, Bounds(-0.5, math.inf)) == Bounds(-0.5, 6.0)
    assert working_domain(values, Bounds(-math.inf, 4.0)) == Bounds(-2.0, 4.0)
    assert working_domain(values, Bounds(-1.0, 5.0)) == Bounds(-1.0, 5.0)


def test_reference_data_give_the_open_sides():
    values = np.array([0.0, 1.0, 4.0])
    assert working_domain(values, reference=np.array([0.0, 5.0, 10.0])) == Bounds(-5.0, 15.0)
    # The sample itself stays inside, whatever the reference.
    assert working_domain(values, reference=np.array([1.0, 2.0])) == Bounds(0.0, 4.0)
    assert working_domain(values, Bounds(-0.5, math.inf), reference=np.array([0.0, 10.0])) == Bounds(-0.5, 20.0)


@pytest.mark.parametrize("values", [[3.0], [3.0, 3.0, 3.0]])
def test_a_single_value_has_no_domain_of_its_own(values):
    values = np.array(values)
    with pytest.raises(DegenerateSampleError, match="single distinct value has no working domain"):
        working_domain(values, OPEN)
    assert working_domain(values, Bounds(0.0, 5.0)) == Bounds(0.0, 5.0)
    assert working_domain(values, reference=np.array([0.0, 2.0])) == Bounds(-2.0, 4.0)
