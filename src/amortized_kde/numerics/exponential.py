"""The exponential in a form that the compiler turns into SIMD code."""

import numpy as np

from amortized_kde.numerics.jit import inlined, power_of_two, power_of_two_single

# exp(-708) is the smallest power of e that is a normal float64.
LOWEST_EXPONENT = -708.0

# 2**-126 is the smallest power of two that is a normal float32.
LOWEST_EXPONENT_2_SINGLE = np.float32(-126.0)

# ln 2 in two parts (fdlibm, e_exp.c): the product of an integer below 2**11 with the first part is exact.
_LN2_HIGH = 0.693147180369123816490
_LN2_LOW = 1.90821492927058770002e-10
_LOG2_E = 1.4426950408889634


@inlined
def exp_nonpositive(x: float) -> float:
    """Give e**x for x in [-708, 0], to 4e-16 relative: Taylor to degree 12 on |r| <= ln(2)/2."""
    k = np.rint(x * _LOG2_E)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * power_of_two(k)


# Interpolation of 2**r at 200 Chebyshev nodes on [-1/2, 1/2] by degree 5; largest relative error 1.04e-7.
_C0, _C1, _C2, _C3, _C4, _C5 = (
    np.float32(c) for c in (1.00000008, 0.69314721, 0.24022107, 0.05550327, 0.00967604, 0.00134004)
)


@inlined
def exp2_nonpositive_single(x: np.float32) -> np.float32:
    """Give 2**x for a float32 x in [-126, 0], to 3e-7 relative."""
    k = np.rint(x)
    r = x - k
    p = _C5
    p = p * r + _C4
    p = p * r + _C3
    p = p * r + _C2
    p = p * r + _C1
    p = p * r + _C0
    return p * power_of_two_single(k)
