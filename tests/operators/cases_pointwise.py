"""Calls of functions of each element: circular functions, powers and roots, signs, Erf and Logit."""

from typing import Any

import numpy as np

from tests.operators.case import Array, Case, floats, integers, pair, positive, unary


def below_one(*shape: int) -> Array:
    """Random numbers of both signs, inside (-1, 1)."""
    return floats(*shape, high=0.9)


def wide(*shape: int) -> Array:
    """Random numbers of both signs, up to 4."""
    return floats(*shape, low=0.1, high=4.0)


def chances(*shape: int) -> Array:
    """Random numbers between 0 and 1."""
    return floats(*shape, low=0.1, high=0.9, signed=False)


def power(about: str, x: Array, exponent: float) -> Case:
    """A call of Pow with its argument."""
    return Case("Pow", about, {"x": x}, {"exponent": exponent})


def rows(about: str, x: tuple[int, ...], scale: Any) -> Case:
    """A call of SquareRootDivide."""
    return Case("SquareRootDivide", about, {"x": floats(*x), "scale": np.asarray(scale)}, constants=["scale"])


CASES = [
    *[case for type in ("Sin", "Cos", "Atan", "Sinh", "Cosh", "Erf") for case in unary(type, wide)],
    *[case for type in ("Tan", "Asin", "Acos") for case in unary(type, below_one)],
    *[case for type in ("Abs", "Negative", "Cube", "Cbrt", "Reciprocal") for case in unary(type)],
    *[case for type in ("Sqrt", "Rsqrt") for case in unary(type, positive)],
    *[case for type in ("Sign", "Floor", "Ceil") for case in unary(type)],
    *unary("Pow", exponent=2.0),
    power("negative", floats(3, 4), -1.0),
    power("cube", floats(3, 4), 3),
    power("one", floats(3, 4), 1.0),
    power("broken", positive(3, 4), 0.5),
    power("broken and negative", positive(3, 4), -1.5),
    *pair("Pow", positive),
    *unary("Logit", chances),
    Case("Logit", "clipped", {"x": np.array([0.05, 0.5, 0.96])}, {"eps": 0.1}),
    rows("matrix", (3, 4), [0.5, 2.0, 3.0]),
    rows("vector", (2,), [4.0, 9.0]),
    rows("3 dims", (2, 2, 2), [4.0, 0.5]),
    rows("integers and 0", (2, 3), [0, 4]),
    rows("no rows", (0, 3), np.zeros(0)),
    Case("Mod", "sign of x", {"x": integers(-5, 5, 4)}, {"divisor": 3}),
    Case("Mod", "sign of the divisor", {"x": integers(-5, 5, 4)}, {"divisor": 3, "sign_follow_divisor": 1}),
]
