import mpmath
import numba
import numpy as np

from amortized_kde.numerics.exponential import LOWEST_EXPONENT, exp_nonpositive
from amortized_kde.numerics.jit import power_of_two


@numba.njit
def exponentials(x, out):
    for i in range(x.size):
        out[i] = exp_nonpositive(x[i])


@numba.njit
def powers(k, out):
    for i in range(k.size):
        out[i] = power_of_two(k[i])


def test_agrees_with_mpmath_to_4e_16():
    rng = np.random.default_rng(1)
    # Half-integer multiples of ln 2 are where the argument reduction is at its worst.
    worst = -np.log(2.0) * (np.arange(0, 1021) + 0.5)
    x = np.concatenate([[0.0, -1e-300, -1e-17, LOWEST_EXPONENT], -np.geomspace(1e-12, 708, 500), worst])
    x = np.concatenate([x, rng.uniform(LOWEST_EXPONENT, 0.0, 1000)])
    out = np.empty_like(x)
    exponentials(x, out)
    with mpmath.workdps(40):
        errors = [abs(mpmath.mpf(float(y)) / mpmath.exp(mpmath.mpf(float(v))) - 1) for v, y in zip(x, out, strict=True)]
    assert max(errors) <= 4e-16
    assert out[0] == 1.0


def test_every_normal_power_of_two_is_exact():
    k = np.arange(-1022.0, 1024.0)
    out = np.empty_like(k)
    powers(k, out)
    assert np.array_equal(out, np.ldexp(1.0, k.astype(int)))
