import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from amortized_kde.numerics.jit import entry
from amortized_kde.numerics.normal import lower_tail


@entry
def tails(u, out):
    for i in range(u.size):
        out[i] = lower_tail(u[i])


def found(u):
    out = np.empty(u.size)
    tails(u, out)
    return out


def test_it_is_exact_relative_to_itself():
    u = np.concatenate([np.linspace(-9.0, 9.0, 2001), np.linspace(-37.0, -9.0, 301)])
    np.testing.assert_allclose(found(u), ndtr(u), rtol=3e-13)
    few = np.array([-37.5, -20.0, -5.0, -1e-9, 0.0, 0.3])
    exact = [float(mpmath.ncdf(mpmath.mpf(float(x)))) for x in few]
    np.testing.assert_allclose(found(few), exact, rtol=3e-13)
    near = np.linspace(-6.0, 6.0, 1001)
    np.testing.assert_allclose(found(near), ndtr(near), rtol=1e-14)


def test_its_ends():
    assert found(np.array([-np.inf, -1e300, -40.0, 40.0, 1e300, np.inf])).tolist() == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert found(np.array([0.0]))[0] == pytest.approx(0.5, rel=1e-15)
