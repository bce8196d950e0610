"""Formulas in registers, and the loops around them, against NumPy."""

import math

import numba
import numpy as np
import pytest

from amortized_kde.numerics.formulas import SMALL, exponential, larger, logarithm, one_minus_exponential, transposed
from amortized_kde.numerics.registers import LANES, Real, Variable
from amortized_kde.numerics.simd import WORD, copy_row, instructions, nonzero_bits


def in_order(function):
    # Not cached, because a cached loop does not notice that a formula has changed.
    return numba.njit(fastmath={"contract"})(function)


def mapped(formula):
    """The formula as a function of an array, of all lanes at once and of what is left one by one."""

    @instructions
    def write(code, x, width, out):
        code.each(width, lambda k, load: out.put(k, formula(load(x, k))))

    @in_order
    def loop(x, out):
        write(x, x.size, out)

    def apply(x):
        out = np.empty(x.size)
        loop(x, out)
        return out

    return apply


def test_exponentials():
    x = np.concatenate([-np.geomspace(1e-300, 700.0, 1001), [0.0, -708.0]])
    np.testing.assert_allclose(mapped(exponential)(x), np.exp(x), rtol=5e-16)


def test_one_minus_exponential_keeps_its_relative_error():
    t = np.concatenate([[0.0], np.geomspace(1e-300, SMALL, 1001)])
    np.testing.assert_allclose(mapped(one_minus_exponential)(t), -np.expm1(-t), rtol=4e-16)
    assert mapped(one_minus_exponential)(np.array([1e300]))[0] == pytest.approx(-math.expm1(-SMALL))


def test_logarithms():
    x = np.concatenate([np.geomspace(1e-300, 1e300, 4001), np.linspace(0.5, 2.0, 1003)])
    np.testing.assert_allclose(mapped(logarithm)(x), np.log(x), rtol=5e-16, atol=1e-16)


def test_magnitudes_and_comparisons():
    x = np.random.default_rng(0).normal(size=21)
    np.testing.assert_array_equal(mapped(Real.magnitude)(x), np.abs(x))
    np.testing.assert_array_equal(mapped(lambda r: larger(r, r * 2.0 - 1.0))(x), np.maximum(x, 2.0 * x - 1.0))
    np.testing.assert_array_equal(mapped(lambda r: (r > 0.0).choose(1.0 / r, -r))(x), np.where(x > 0.0, 1.0 / x, -x))


def test_nan_is_neither_smaller_nor_larger_and_not_zero():
    x = np.array([math.nan, 0.0, 1.0])
    np.testing.assert_array_equal(mapped(lambda r: (r < 2.0).choose(r * 0.0 + 5.0, 7.0))(x), [7.0, 5.0, 5.0])
    np.testing.assert_array_equal(mapped(lambda r: r.is_nonzero().choose(r * 0.0 + 1.0, 0.0))(x), [math.nan, 0.0, 1.0])


def test_transposition():
    @instructions
    def write(code, x):
        for i, column in enumerate(transposed([x.lanes(LANES * i) for i in range(LANES)])):
            x.put(LANES * i, column)

    @in_order
    def loop(x):
        write(x)

    x = np.arange(64.0).reshape(8, 8)
    expected = x.T.copy()
    loop(x)
    np.testing.assert_array_equal(x, expected)


def test_lanes_are_combined():
    @instructions
    def write(code, x, out):
        lanes = x.lanes(0)
        out.put(0, lanes.over_lanes(Real.__add__).first())
        out.put(1, lanes.over_lanes(larger).first())
        out.put(2, (lanes * lanes).square_root().over_lanes(Real.__add__).first())

    @in_order
    def loop(x, out):
        write(x, out)

    x, out = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0]), np.empty(3)
    loop(x, out)
    np.testing.assert_array_equal(out, [19.0, 9.0, 31.0])


@pytest.mark.parametrize("width", [1, 7, 8, 63, 64, 65, 130])
def test_bits_of_numbers_that_are_not_zero(width):
    @instructions
    def write(code, x, y, width, out, count):
        found = Variable(code.whole(0))
        with code.loop(width, 0, WORD) as word:
            bits = nonzero_bits(code, [(x, word), (y, word)], width - word)
            with code.ones(bits) as (number, place):
                out.put(found.get() + number, word + place)
            found.set(found.get() + bits.ones())
        count.put(0, found.get())

    @in_order
    def loop(x, y, width, out, count):
        write(x, y, width, out, count)

    rng = np.random.default_rng(width)
    x, y = (np.where(rng.random(width + WORD) < 0.7, 0.0, rng.normal(size=width + WORD)) for _ in range(2))
    x[0] = math.nan
    out, count = np.empty(width, np.int64), np.empty(1, np.int64)
    loop(x, y, width, out, count)
    np.testing.assert_array_equal(out[: count[0]], np.flatnonzero((x != 0.0) | (y != 0.0))[: count[0]])
    assert count[0] == np.sum(((x != 0.0) | (y != 0.0))[:width])


@pytest.mark.parametrize("width", [0, 1, 8, 13])
def test_a_row_is_copied_and_nothing_else(width):
    @in_order
    def loop(source, out, width):
        copy_row(source, 2, width, out, 3)

    source, out = np.arange(40.0), np.zeros(40)
    loop(source, out, width)
    expected = np.zeros(40)
    expected[3 : 3 + width] = source[2 : 2 + width]
    np.testing.assert_array_equal(out, expected)
