"""Layers: they find their parameters, and learn."""

import numpy as np

from gradviz import Variable, functions
from gradviz.eager import Layer, Linear


class Perceptron(Layer):
    """Two linear layers."""

    def __init__(self) -> None:
        self.hidden = Linear(2, 8, seed=1)
        self.out = Linear(8, 2, seed=2)

    def __call__(self, x: Variable) -> Variable:
        return self.out(functions.tanh(self.hidden(x)))


def test_a_layer_finds_its_parameters_and_those_of_layers_inside() -> None:
    model = Perceptron()
    assert [(p.name, p.shape) for p in model.parameters()] == [("w", (8, 2)), ("b", (8,)), ("w", (2, 8)), ("b", (2,))]
    assert all(p.requires_grad and p.dtype == np.float32 for p in model.parameters())


def test_a_model_learns_exclusive_or() -> None:
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    labels, model = np.array([0, 1, 1, 0]), Perceptron()
    for _ in range(150):
        model.cleargrads()
        loss = functions.softmax_cross_entropy(model(Variable(x, requires_grad=False)), labels)
        loss.backward()
        for parameter in model.parameters():
            parameter.data = parameter.data - 0.5 * parameter.grad
    assert float(loss) < 0.1
    np.testing.assert_array_equal(functions.argmax(model(x), axis=1).data, labels)


def test_clearing_forgets_every_gradient() -> None:
    model = Perceptron()
    model(np.ones((1, 2), np.float32)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    model.cleargrads()
    assert all(p.grad is None for p in model.parameters())
