"""Exponentials, logarithms and transposition of SIMD registers, as in `gaussian.py` for single numbers."""

import math
from collections.abc import Sequence

from amortized_kde.numerics.registers import LANES, Real, interleaved

# ln 2 in two parts (fdlibm, e_exp.c): the product of an integer below 2**11 with the first part is exact.
_LN2_HIGH, _LN2_LOW, _LOG2_E = 0.693147180369123816490, 1.90821492927058770002e-10, 1.4426950408889634
# 1.5 times 2**52, as a number and as bits: added to a number it rounds, and leaves the integer in the low bits.
_MAGIC, _MAGIC_BITS = 6755399441055744.0, 0x4338000000000000
# Bits of the largest float64 below sqrt(1/2), up to the last 32.
_BELOW_SQRT_HALF = 0x3FE6A09E00000000
_BIAS, _MANTISSA = 1023, 52
# Up to this t, 1 - exp(-t) is its Taylor polynomial of degree 6, to 5e-17 relative.
SMALL = 2.0**-7


def polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """Return the polynomial with these coefficients, that of the highest power first."""
    found = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        found = found * x + coefficient
    return found


def exponential(x: Real) -> Real:
    """Return e**x for x in [-708, 0], to 4e-16 relative: Taylor to degree 12 on |r| <= ln(2)/2."""
    shifted = x * _LOG2_E + _MAGIC
    k = shifted - _MAGIC
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    bits, constant = shifted.bits()
    power = x.of_bits(x.builder.shl(x.builder.add(bits, constant(_BIAS)), constant(_MANTISSA)))
    return polynomial(r, [1.0 / math.factorial(k) for k in range(12, -1, -1)]) * power


def one_minus_exponential(t: Real) -> Real:
    """Return 1 - exp(-t) for t in [0, SMALL]; a larger t counts as SMALL."""
    small = (t < SMALL).choose(t, SMALL)
    return small * polynomial(small, [(-1.0) ** k / math.factorial(k + 1) for k in range(5, -1, -1)])


def logarithm(x: Real) -> Real:
    """Return ln x for a normal x > 0, to 5e-16 relative: 2 artanh s = 2 (s + s^3/3 + ...), s = (m - 1)/(m + 1)."""
    build, (bits, constant) = x.builder, x.bits()
    shift = constant(_MANTISSA)
    power = build.ashr(build.sub(bits, constant(_BELOW_SQRT_HALF)), shift)
    m = x.of_bits(build.sub(bits, build.shl(power, shift)))
    # An integer added to the bits of 1.5 times 2**52 is one added to that number: no conversion, which AVX2 lacks.
    k = x.of_bits(build.add(power, constant(_MAGIC_BITS))) - _MAGIC
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = polynomial(z, [1.0 / j for j in range(21, 2, -2)])
    # The largest term is added last.
    return k * _LN2_HIGH + (s * 2.0 + (s * 2.0 * z * p + k * _LN2_LOW))


def larger(a: Real, b: Real) -> Real:
    """Return the larger of two numbers; `a` if one is NaN."""
    return (a < b).choose(b, a)


def transposed(rows: Sequence[Real]) -> list[Real]:
    """Return the columns of `LANES` registers: register i has lane i of each."""
    found = list(rows)
    # Rows i and i + 4 are interleaved three times, each of which turns the bits of lane and register by one.
    for _ in range(3):
        found = [part for i in range(LANES // 2) for part in interleaved(found[i], found[i + LANES // 2])]
    return found
