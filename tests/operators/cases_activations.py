"""Calls of activations, on each of their pieces."""

import numpy as np

from tests.operators.case import Array, Case, floats, unary


def wide(*shape: int) -> Array:
    """Random numbers of both signs, up to 4."""
    return floats(*shape, low=0.1, high=4.0)


def prelu(about: str, x: tuple[int, ...], slope: tuple[int, ...], order: str = "") -> Case:
    """A call of PRelu."""
    return Case("PRelu", about, {"x": floats(*x), "slope": floats(*slope)}, {"order": order} if order else {})


CASES = [
    *[case for type in ("LeakyRelu", "Elu", "Selu", "ThresholdedRelu") for case in unary(type)],
    *[case for type in ("Softplus", "Softsign", "Swish", "Mish", "Gelu", "HardSigmoid") for case in unary(type, wide)],
    *unary("Gelu", wide, fast_gelu=1),
    *unary("LeakyRelu", alpha=0.3),
    Case("LeakyRelu", "alpha 0", {"x": floats(3, 4)}, {"alpha": 0.0}),
    *unary("Elu", alpha=0.4),
    *unary("Selu", alpha=1.2, scale=0.8),
    *unary("ThresholdedRelu", alpha=0.5),
    Case("ThresholdedRelu", "alpha below 0", {"x": floats(3, 4)}, {"alpha": -1.0}),
    *unary("ReluN", wide, n=2.0),
    Case("ReluN", "default", {"x": np.array([-1.0, 1.0, 5.0, 7.0])}),
    *unary("Clip", min=-0.8, max=0.9),
    Case("Clip", "no bounds", {"x": floats(3, 4)}),
    Case("Clip", "from below", {"x": floats(3, 4)}, {"min": 0.0}),
    *unary("HardSigmoid", wide, alpha=1.0, beta=0.3),
    prelu("one slope", (3, 4), (1,)),
    prelu("one slope, vector", (5,), (1,)),
    prelu("one slope, scalar", (), ()),
    prelu("a slope a column", (3, 4), (4,)),
    prelu("a slope a channel", (2, 3, 2, 2), (3,)),
    prelu("a slope a channel, NHWC", (2, 2, 2, 3), (3,), "NHWC"),
    prelu("a slope an element", (4,), (4,), "NHWC"),
    prelu("no rows", (0, 3), (3,)),
]
