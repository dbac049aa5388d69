"""Calls of operators that pass values on, of fills, and of Dropout."""

from typing import Any

import numpy as np

from tests.operators.case import Case, floats, integers, unary


def dropout(about: str, shape: tuple[int, ...], *writes: str, **args: Any) -> Case:
    """A call of Dropout."""
    return Case("Dropout", about, {"x": floats(*shape)}, args, writes=writes)


def fills(type: str, *shape: int, **args: Any) -> list[Case]:
    """Calls of a fill of an array of `shape`."""
    lead = (4, 4) if len(shape) == 2 else (4,)
    return [
        Case(type, "shape", {}, {"shape": list(shape), **args}),
        Case(type, "named dtype", {}, {"shape": list(shape), "dtype": "float64", **args}),
        Case(type, "like", {"x": floats(*lead)}, args),
        Case(type, "extra shape", {"x": floats(*lead[1:])}, {"extra_shape": [4], **args}),
        Case(type, "input as shape", {"x": integers(*shape)}, {"input_as_shape": 1, **args}),
    ]


CASES = [
    *unary("Alias"),
    *unary("NegateGradient"),
    *unary("NanCheck"),
    Case("NanCheck", "others", {"x": floats(3), "y": floats(2)}, constants=["y"]),
    Case("Print", "plain", {"x": floats(3)}, writes=()),
    Case("Cast", "number", {"x": floats(2, 3)}, {"to": 13}),
    Case("Cast", "Caffe2's name", {"x": floats(2, 3)}, {"to": "FLOAT"}),
    Case("Cast", "numpy's name", {"x": floats(2, 3)}, {"to": "float32"}),
    Case("Cast", "from integers", {"x": integers(1, 2)}, {"to": 1}),
    Case("Cast", "told what x was", {"x": floats(2, 3)}, {"to": "DOUBLE", "from_type": "FLOAT"}),
    dropout("plain", (3, 4), "y", "mask"),
    dropout("ratio", (2, 3, 2), "y", "mask", ratio=0.2, seed=5),
    dropout("nothing dropped", (3, 4), "y", "mask", ratio=0.0),
    dropout("scalar", (), "y", "mask"),
    dropout("empty", (0, 3), "y", "mask"),
    dropout("test", (3, 4), "y", "mask", is_test=1),
    dropout("test without mask", (3, 4), "y", is_test=1, ratio=0.9),
    *fills("UniformFill", 5, min=-1.0, max=2.0),
    Case("UniformFill", "bounds by blob", {"x": integers(3, 4), "low": np.array([2.0]), "high": np.array(3.0)}),
    *fills("UniformIntFill", 5, min=2, max=7),
    *fills("GaussianFill", 5, mean=1.0, std=2.0, seed=3),
    *fills("XavierFill", 4, 3),
    *fills("MSRAFill", 4, 3),
    *fills("DiagonalFill", 4, 3, value=2.0),
    Case("DiagonalFill", "wide", {}, {"shape": [2, 5], "value": 1.0}),
    Case("DiagonalFill", "3 dims", {}, {"shape": [3, 3, 3], "value": 1.0}),
    Case("DiagonalFill", "empty", {}, {"shape": [0, 3]}),
    *fills("RangeFill", 2, 3),
    Case("Range", "stop", {"stop": integers(4)}),
    Case("Range", "start and stop", {"start": np.array(0.5), "stop": np.array(3.0)}),
    Case("Range", "down", {"start": integers(5), "stop": integers(0), "step": integers(-2)}),
]
