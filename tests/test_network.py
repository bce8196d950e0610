import numpy as np

from amortized_kde.network import Layer, forward


def test_forward_pass_is_the_formula_row_by_row():
    rng = np.random.default_rng(0)
    shapes = [(7, 3), (5, 7), (1, 5)]
    layers = [Layer(rng.normal(size=s).astype(np.float32), rng.normal(size=s[0]).astype(np.float32)) for s in shapes]
    inputs = rng.normal(size=(10_000, 3))
    found = forward(layers, inputs)
    for i in (0, 1, 9_999):
        z = inputs[i]
        for layer in layers[:-1]:
            z = np.maximum(layer.weight.astype(float) @ z + layer.bias, 0.0)
        z = (layers[-1].weight.astype(float) @ z + layers[-1].bias)[0]
        assert np.isclose(found[i], np.log1p(np.exp(z)), rtol=1e-12)


def test_answer_is_positive_and_finite_at_extreme_inputs():
    layer = Layer(np.array([[1.0]], np.float32), np.zeros(1, np.float32))
    found = forward([layer], np.array([[-700.0], [0.0], [1e6]]))
    assert (found > 0.0).all()
    assert np.isfinite(found).all()
