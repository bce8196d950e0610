from contextlib import contextmanager

import numpy as np
import pytest

from amortized_kde.numerics import layers as module
from amortized_kde.numerics import uncompiled
from amortized_kde.numerics.layers import Conditioning, Layer, Stack, run_layers, softmax_layers

WIDTHS = [(2, 1), (3, 7, 5, 1), (4, 20, 17, 16, 1), (5, 128, 128, 1)]


@contextmanager
def in_numpy():
    """Run the loop's NumPy version."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_network_rows", uncompiled.network_rows)
        yield


def layers_of(widths, rng):
    shapes = [(widths[i + 1], widths[i]) for i in range(len(widths) - 1)]
    return [Layer(rng.normal(size=s).astype(np.float32), rng.normal(size=s[0]).astype(np.float32)) for s in shapes]


@pytest.mark.parametrize("widths", WIDTHS)
def test_forward_pass_is_the_formula_row_by_row(widths):
    rng = np.random.default_rng(0)
    layers = layers_of(widths, rng)
    inputs = rng.normal(size=(10_000, widths[0]))
    found = run_layers(Stack.of(layers), inputs)
    with in_numpy():
        np.testing.assert_allclose(run_layers(Stack.of(layers), inputs), found, rtol=1e-12, atol=1e-12)
    for i in (0, 1, 9_999):
        z = inputs[i]
        for layer in layers[:-1]:
            z = np.maximum(layer.weight.astype(float) @ z + layer.bias, 0.0)
        z = layers[-1].weight.astype(float) @ z + layers[-1].bias
        np.testing.assert_allclose(found[i], z, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("widths", WIDTHS)
def test_neither_neighbours_nor_threads_change_a_bit(widths):
    rng = np.random.default_rng(1)
    layers = layers_of(widths, rng)
    # From rows that leave most units at zero to rows that leave few.
    inputs = rng.normal(size=(3_000, widths[0])) * rng.choice([0.0, 0.1, 10.0], size=(3_000, 1))
    whole = run_layers(Stack.of(layers), inputs, threads=1)
    for threads in (2, 3):
        assert np.array_equal(run_layers(Stack.of(layers), inputs, threads=threads), whole)
    for rows in (1, 3, 4, 601):
        parts = [run_layers(Stack.of(layers), inputs[i : i + rows]) for i in range(0, len(inputs), rows)]
        assert np.array_equal(np.concatenate(parts), whole)
    order = rng.permutation(len(inputs))
    assert np.array_equal(run_layers(Stack.of(layers), inputs[order]), whole[order])


def test_a_row_that_is_not_a_number_spoils_no_other():
    layers = layers_of((5, 128, 128, 1), np.random.default_rng(2))
    inputs = np.random.default_rng(3).normal(size=(9, 5))
    whole = run_layers(Stack.of(layers), inputs)
    inputs[4, 2] = np.nan
    found = run_layers(Stack.of(layers), inputs)
    assert np.isnan(found[4]).all()
    assert np.array_equal(np.delete(found, 4, 0), np.delete(whole, 4, 0))


def test_no_rows_give_no_outputs():
    assert run_layers(Stack.of(layers_of((2, 1), np.random.default_rng(4))), np.empty((0, 2))).shape == (0, 1)


def test_inputs_are_clipped_to_their_limits_and_nan_stays():
    stack = Stack.of([Layer(np.array([[1.0, 10.0]]), np.zeros(1))], np.array([[-1.0, 0.0], [2.0, 3.0]]))
    inputs = np.array([[-5.0, 1.0], [5.0, 5.0], [0.5, 2.0], [np.nan, 2.0]])
    np.testing.assert_array_equal(run_layers(stack, inputs)[:, 0], [9.0, 32.0, 20.5, np.nan])


def test_usual_values_of_inputs_change_only_the_rounding():
    rng = np.random.default_rng(9)
    layers, usual = layers_of((5, 20, 17, 3), rng), np.array([0.0, 1.5, -2.0, 0.0, 3.0])
    inputs = np.where(rng.random((50, 5)) < 0.5, usual, rng.normal(size=(50, 5)))
    limits = np.array([[-2.5] * 5, [3.5] * 5])
    found = run_layers(Stack.of(layers, limits, usual), inputs)
    np.testing.assert_allclose(found, run_layers(Stack.of(layers, limits), inputs), rtol=1e-12, atol=1e-12)


def conditioned(rng, rows):
    scale, shift = rng.normal(size=(2, 4, 40))
    return Conditioning(rng.integers(0, 4, rows), scale, shift)


def test_rows_are_scaled_and_shifted_by_the_conditioning_of_their_sample():
    rng = np.random.default_rng(6)
    layers, inputs = layers_of((5, 20, 17, 3), rng), rng.normal(size=(50, 5))
    given = conditioned(rng, 50)
    found = softmax_layers(Stack.of(layers), [(0, inputs)], given)
    with in_numpy():
        again = softmax_layers(Stack.of(layers), [(0, inputs[:20]), (20, inputs[20:])], given)
    np.testing.assert_allclose(again, found, rtol=1e-12, atol=1e-12)
    for i in (0, 49):
        z, sample = inputs[i], given.sample_of_row[i]
        for layer, part in zip(layers, (slice(0, 20), slice(20, 37), slice(37, 40)), strict=True):
            z = layer.weight @ np.maximum(z, 0.0 if part.start else -np.inf) + layer.bias
            z = given.scale[sample, part] * z + given.shift[sample, part]
        e = np.exp(z - z.max())
        np.testing.assert_allclose(found[i], e * (e >= 1e-7) / (e * (e >= 1e-7)).sum(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("width", [1, 3, 8, 20, 32])
def test_negligible_exponentials_are_left_out_and_outputs_may_be_huge(width):
    outputs = np.random.default_rng(width).normal(0.0, 20.0, width)
    outputs[-1] += 900.0
    stack = Stack.of([Layer(outputs[:, None], np.zeros(width))])
    same = Conditioning(np.zeros(1, np.int64), np.ones((1, width)), np.zeros((1, width)))
    found = softmax_layers(stack, [(0, np.ones((1, 1)))], same)[0]
    assert found[-1] == 1.0
    assert not found[:-1].any()


def test_neither_neighbours_nor_blocks_change_a_bit_of_a_softmax():
    rng = np.random.default_rng(7)
    stack, inputs, given = Stack.of(layers_of((5, 20, 17, 3), rng)), rng.normal(size=(999, 5)), conditioned(rng, 999)
    whole = softmax_layers(stack, [(0, inputs)], given)
    blocks = [(first, inputs[first : first + 7]) for first in range(0, 999, 7)]
    assert np.array_equal(softmax_layers(stack, blocks, given), whole)
    for i in (0, 1, 17, 998):
        alone = given._replace(sample_of_row=given.sample_of_row[i : i + 1])
        assert np.array_equal(softmax_layers(stack, [(0, inputs[i : i + 1])], alone)[0], whole[i])


def test_a_softmax_of_a_row_that_is_not_a_number_is_none():
    rng = np.random.default_rng(8)
    stack, inputs, given = Stack.of(layers_of((5, 20, 17, 3), rng)), rng.normal(size=(9, 5)), conditioned(rng, 9)
    whole = softmax_layers(stack, [(0, inputs)], given)
    inputs[4, 2] = np.nan
    found = softmax_layers(stack, [(0, inputs)], given)
    assert np.isnan(found[4]).all()
    assert np.array_equal(np.delete(found, 4, 0), np.delete(whole, 4, 0))
