"""The learned selectors: degenerate samples, their domain, sizes beyond training, batches."""

import warnings

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.errors import BadRowsWarning, DegenerateSampleError
from amortized_kde.learned.paper.prediction import forward
from amortized_kde.numerics.layers import Layer, Stack, run_layers
from amortized_kde.selection import SELECTORS

PAPER = [f"amortized:{model}" for model in ("gaussian", "multifamily", "gmm8", "gmm16", "gmm32")]
ALL = [name for name in SELECTORS if name.startswith("amortized")]
WITH_BOUNDS = [name for name in ALL if name != "amortized:gaussian"]


@pytest.mark.parametrize("widths", [(2, 1), (3, 7, 5, 1), (5, 128, 128, 1)])
def test_the_output_is_a_softplus(widths):
    rng = np.random.default_rng(0)
    shapes = [(widths[i + 1], widths[i]) for i in range(len(widths) - 1)]
    stack = Stack.of([Layer(rng.normal(size=shape), rng.normal(size=shape[0])) for shape in shapes])
    inputs = rng.normal(size=(10_000, widths[0]))
    z = run_layers(stack, inputs)[:, 0]
    np.testing.assert_allclose(forward(stack, inputs), np.logaddexp(z, 0.0), rtol=1e-12)
    assert forward(stack, inputs[:0]).shape == (0,)


def test_the_output_is_positive_and_finite_at_extreme_inputs():
    layer = Layer(np.array([[1.0]], np.float32), np.zeros(1, np.float32))
    found = forward(Stack.of([layer]), np.array([[-700.0], [0.0], [1e6]]))
    assert (found > 0.0).all()
    assert np.isfinite(found).all()


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("x", [[3.0], [3.0, 3.0, 3.0]])
def test_no_scale_gets_a_sentence_and_no_other_warning(method, x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DegenerateSampleError, match="scale"):
            akde.bandwidth(x, method=method)


@pytest.mark.parametrize("method", WITH_BOUNDS)
@pytest.mark.parametrize("x", [[3.0], [3.0, 3.0, 3.0]])
def test_two_bounds_give_even_one_value_a_scale(method, x):
    h = akde.bandwidth(x, bounds=(0, 10), method=method)
    assert 0.0 < h < 20.0
    assert akde.bandwidth(np.array(x) * 2, bounds=(0, 20), method=method) == pytest.approx(2 * h, rel=1e-12)


def test_gaussian_model_is_sd_times_a_ratio_of_n():
    x = np.random.default_rng(0).normal(size=(4, 30))
    ratio = akde.bandwidth(x, axis=-1, method="amortized:gaussian") / x.std(axis=-1, ddof=1)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)
    assert 0.4 < ratio[0] < 0.9


@pytest.mark.parametrize("method", PAPER)
def test_beyond_the_trained_sizes_the_answer_goes_on_without_a_jump(method):
    rng = np.random.default_rng(1)
    x = rng.normal(size=256)
    # The same values twice have the same shape and twice the size.
    at, beyond = (akde.bandwidth(v, bounds=(-9, 9), method=method) for v in (x, np.tile(x, 2)))
    assert beyond == pytest.approx(at * 2**-0.2, rel=0.02)


@pytest.mark.parametrize("method", ALL)
def test_a_batch_is_its_samples_one_by_one(method):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 17))
    x[3, 5:] = np.nan
    x[7] = 2.0
    with pytest.warns(BadRowsWarning, match="1 of 40"):
        found = akde.bandwidth(x, axis=-1, method=method)
    assert np.isnan(found[7])
    for i in (0, 3, 39):
        assert found[i] == pytest.approx(akde.bandwidth(x[i], method=method, nan="omit"), rel=1e-12)


def test_reference_data_give_the_domain_of_open_sides():
    rng = np.random.default_rng(3)
    x, past = rng.normal(size=20), rng.normal(size=5000) * 3
    method = "amortized:gmm32"
    wide = akde.fit(x, reference=past, method=method)
    assert wide.domain[0] < past.min()
    assert wide.bandwidth != akde.fit(x, method=method).bandwidth
    assert wide.bandwidth == akde.bandwidth(x, reference=past, method=method)
    assert wide.bandwidth == pytest.approx(akde.bandwidth(x, bounds=wide.domain, method=method), rel=1e-12)


@pytest.mark.parametrize("bounds", [None, (-9, 9)])
@pytest.mark.parametrize("method", ALL)
def test_neither_threads_nor_the_size_of_a_batch_change_a_bit(method, bounds):
    x = np.random.default_rng(4).normal(size=(3_000, 11))
    x[::7, 8:] = np.nan
    whole = akde.bandwidth(x, axis=-1, method=method, bounds=bounds, threads=1)
    for threads in (2, 3):
        assert np.array_equal(akde.bandwidth(x, axis=-1, method=method, bounds=bounds, threads=threads), whole)
    for rows in (1, 3, 601):
        some = [akde.bandwidth(x[i : i + rows], axis=-1, method=method, bounds=bounds) for i in range(0, 1_000, rows)]
        assert np.array_equal(np.concatenate(some), whole[: sum(map(len, some))])


def test_only_samples_beyond_the_bounds_are_refused():
    x = np.random.default_rng(5).uniform(size=(6, 9))
    expected = akde.bandwidth(x, axis=-1, bounds=(0, 1))
    x[1, 3], x[4, 8], x[5] = -0.1, 1.1, np.nan
    with pytest.warns(BadRowsWarning, match="1 × empty or all missing; 2 × outside"):
        found = akde.bandwidth(x, axis=-1, bounds=(0, 1))
    assert np.isnan(found[[1, 4, 5]]).all()
    assert np.array_equal(found[[0, 2, 3]], expected[[0, 2, 3]])
