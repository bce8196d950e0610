"""Exponentials of kernels and masses of the normal distribution, for compiled loops.

The exponentials and `lower_tail` are polynomials without branches, which the compiler turns into SIMD code.
"""

import math

import numpy as np

from amortized_kde.numerics.jit import compiled, inlined, power_of_two, power_of_two_single

# exp(-708) is the smallest power of e that is a normal float64.
LOWEST_EXPONENT = -708.0
# Logarithms of positive probabilities and densities that are not representable are this.
LOWEST_LOG = -float(np.finfo(np.float64).max)
# 2**-126 is the smallest power of two that is a normal float32.
LOWEST_EXPONENT_2_SINGLE = np.float32(-126.0)

# ln 2 in two parts (fdlibm, e_exp.c): the product of an integer below 2**11 with the first part is exact.
_LN2_HIGH = 0.693147180369123816490
_LN2_LOW = 1.90821492927058770002e-10
_LOG2_E = 1.4426950408889634
# Interpolation of 2**r at 200 Chebyshev nodes on [-1/2, 1/2] by degree 5; largest relative error 1.04e-7.
_C0, _C1, _C2, _C3, _C4, _C5 = (
    np.float32(c) for c in (1.00000008, 0.69314721, 0.24022107, 0.05550327, 0.00967604, 0.00134004)
)
_SQRT_HALF = math.sqrt(0.5)


@inlined
def exp_nonpositive(x: float) -> float:
    """Return e**x for x in [-708, 0], to 4e-16 relative: Taylor to degree 12 on |r| <= ln(2)/2."""
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


@inlined
def exp2_nonpositive_single(x: np.float32) -> np.float32:
    """Return 2**x for a float32 x in [-126, 0], to 3e-7 relative."""
    k = np.rint(x)
    r = x - k
    p = _C5
    p = p * r + _C4
    p = p * r + _C3
    p = p * r + _C2
    p = p * r + _C1
    p = p * r + _C0
    return p * power_of_two_single(k)


@inlined
def lower_tail(u: float) -> float:
    """Return Phi(u) with a relative error below 3e-13: erfc(z) = t exp(-z^2 + P(2 t - 1)), t = 1/(1 + z/2).

    P interpolates at 24 Chebyshev nodes with an error of 1e-14; in the far tail rounding of z^2 adds more.
    """
    z = abs(u) * _SQRT_HALF
    t = 1.0 / (1.0 + 0.5 * z)
    s = 2.0 * t - 1.0
    p = 3.020180971825513e-08
    p = p * s + 5.453996235874533e-10
    p = p * s - 2.918140093107583e-07
    p = p * s + 1.611507277019833e-07
    p = p * s + 1.2889414656295187e-06
    p = p * s - 1.7161931348241182e-06
    p = p * s - 2.9712581178582877e-06
    p = p * s + 8.957141043157235e-06
    p = p * s + 1.4671892565573574e-07
    p = p * s - 3.0424804196234133e-05
    p = p * s + 3.174303989125886e-05
    p = p * s + 7.149729347132242e-05
    p = p * s - 0.0001743026777415729
    p = p * s - 9.376103922042785e-05
    p = p * s + 0.0006736787892286757
    p = p * s - 0.0001462423779783492
    p = p * s - 0.0023458125029206384
    p = p * s + 0.0017589330988850738
    p = p * s + 0.008824938557318043
    p = p * s - 0.009872689342023714
    p = p * s - 0.04689561023118345
    p = p * s + 0.04734330684139575
    p = p * s + 0.6726432239776567
    p = p * s - 0.6717940840566905
    exponent = p - z * z
    half = 0.5 * t * exp_nonpositive(max(min(exponent, 0.0), LOWEST_EXPONENT))
    half = half if exponent > LOWEST_EXPONENT else 0.0
    return half if u < 0.0 else 1.0 - half


@compiled
def central_mass(a: float, b: float) -> float:
    """Return Phi(b) - Phi(a) for a <= 0 <= b, a sum of two terms of the same sign: nothing cancels."""
    return 0.5 * (math.erf(b * _SQRT_HALF) + math.erf(-a * _SQRT_HALF))


@compiled
def mass_and_slope(x: float, h: float, low: float, high: float) -> tuple[float, float]:
    """Return a kernel's mass between the bounds, and the derivative of that mass by log h."""
    a, b = (low - x) / h, (high - x) / h
    slope = 0.0
    if a > -math.inf:
        slope += a * math.exp(-0.5 * a * a)
    if b < math.inf:
        slope -= b * math.exp(-0.5 * b * b)
    return central_mass(a, b), slope / math.sqrt(2.0 * math.pi)
