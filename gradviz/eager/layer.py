"""Layers: functions with parameters that are learned."""

from collections.abc import Iterator

import numpy as np

from . import functions
from .variable import Operand, Parameter, Variable


class Layer:
    """Something with parameters: every `Parameter`, and every layer, that is an attribute of it."""

    def parameters(self) -> Iterator[Parameter]:
        """The parameters of this layer and of those inside it, in the order in which they were set."""
        for value in vars(self).values():
            if isinstance(value, Parameter):
                yield value
            elif isinstance(value, Layer):
                yield from value.parameters()

    def cleargrads(self) -> None:
        """Forget the gradients of all parameters."""
        for parameter in self.parameters():
            parameter.cleargrad()


class Linear(Layer):
    """x·wᵀ + b. x: (n, inputs) -> (n, outputs).

    Attributes:
        w: weights (outputs, inputs), float32, normal with variance 1 / inputs.
            Source: LeCun, Bottou, Orr, Müller, Efficient BackProp (1998).
        b: biases (outputs,), zeros.

    Args:
        seed: of the weights.
    """

    def __init__(self, inputs: int, outputs: int, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        weights = random.normal(scale=inputs**-0.5, size=(outputs, inputs)).astype(np.float32)
        self.w = Parameter(weights, name="w")
        self.b = Parameter(np.zeros(outputs, np.float32), name="b")

    def __call__(self, x: Operand) -> Variable:
        return functions.linear(x, self.w, self.b)
