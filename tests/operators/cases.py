"""One table of calls for every operator type: what the tests of gradients, inference and purity run over.

Calls of the first families stand here; those of another family stand in its cases_<family>.py as a list `CASES`.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tests.operators.case import Array, Case, defined_types, floats, integers, pair, positive, probabilities, unary

X, Y = floats(3, 4), floats(3, 4, seed=1)

FC = [
    Case("FC", "plain", {"x": floats(3, 4), "w": floats(5, 4), "b": floats(5)}),
    Case("FC", "one row", {"x": floats(1, 4), "w": floats(2, 4), "b": floats(2)}),
    Case("FC", "x flattened", {"x": floats(3, 2, 2), "w": floats(5, 4), "b": floats(5)}),
    Case("FC", "axis 2", {"x": floats(2, 3, 4), "w": floats(5, 4), "b": floats(5)}, {"axis": 2}),
    Case("FC", "axis -1", {"x": floats(2, 3, 4), "w": floats(5, 4), "b": floats(5)}, {"axis": -1}),
    Case("FC", "axis 0", {"x": floats(3, 2), "w": floats(4, 6), "b": floats(4)}, {"axis": 0}),
    Case("FC", "axis_w 2", {"x": floats(3, 4), "w": floats(2, 3, 4), "b": floats(6)}, {"axis_w": 2}),
    Case("FC", "w 3 dims", {"x": floats(3, 4), "w": floats(5, 2, 2), "b": floats(5)}),
    Case("FC", "x is w", {"x": floats(3, 4), "b": floats(3)}, reads=("x", "x", "b")),
    Case("FC", "no rows", {"x": floats(0, 4), "w": floats(5, 4), "b": floats(5)}),
    Case("FC", "no features", {"x": floats(3, 0), "w": floats(5, 0), "b": floats(5)}),
]

MATMUL = [
    *[
        Case(
            "MatMul",
            f"trans_a {trans_a} trans_b {trans_b}",
            {"a": floats(*((4, 3) if trans_a else (3, 4))), "b": floats(*((5, 4) if trans_b else (4, 5)))},
            {"trans_a": trans_a, "trans_b": trans_b},
        )
        for trans_a in (0, 1)
        for trans_b in (0, 1)
    ],
    *[
        Case(
            "MatMul",
            f"axes trans_a {trans_a} trans_b {trans_b}",
            {
                "a": floats(*((2, 2, 3) if trans_a else (3, 2, 2))),
                "b": floats(*((5, 2, 2) if trans_b else (2, 2, 5))),
            },
            {
                "trans_a": trans_a,
                "trans_b": trans_b,
                "axis_a": 2 if trans_a else 1,
                "axis_b": 1 if trans_b else 2,
            },
        )
        for trans_a in (0, 1)
        for trans_b in (0, 1)
    ],
    Case("MatMul", "flattened", {"a": floats(3, 2, 2), "b": floats(4, 5)}),
    Case("MatMul", "repeated", {"a": floats(3, 3)}, reads=("a", "a")),
    Case("MatMul", "repeated transposed", {"a": floats(3, 4)}, {"trans_b": 1}, reads=("a", "a")),
    Case("MatMul", "like", {"a": floats(3, 4), "b": floats(4, 6), "like": floats(3, 2, 3)}, constants=["like"]),
    Case("MatMul", "like a vector", {"a": floats(3, 4), "b": floats(4, 2), "like": floats(6)}, constants=["like"]),
    Case(
        "MatMul",
        "like, of other rows",
        {"a": floats(4, 3), "b": floats(2, 4), "like": floats(2, 3)},
        {"trans_a": 1, "trans_b": 1},
        constants=["like"],
    ),
    Case("MatMul", "nothing inside", {"a": floats(3, 0), "b": floats(0, 2)}),
    Case("MatMul", "no rows", {"a": floats(0, 3), "b": floats(3, 2)}),
]

SUM = [
    Case("Sum", "one", {"x": X}),
    Case("Sum", "two", {"x": X, "y": Y}),
    Case("Sum", "four", {"x": X, "y": Y, "z": floats(3, 4, seed=2), "t": floats(3, 4, seed=3)}),
    Case("Sum", "repeated", {"x": X}, reads=("x", "x")),
    Case("Sum", "repeated and another", {"x": X, "y": Y}, reads=("x", "y", "x", "x")),
    Case("Sum", "scalars", {"x": floats(), "y": floats(seed=1)}),
    Case("Sum", "empty", {"x": floats(0, 2), "y": floats(0, 2)}),
]

SOFTMAX = [
    Case("Softmax", "matrix", {"x": X}),
    Case("Softmax", "3 dims", {"x": floats(2, 3, 2)}),
    Case("Softmax", "axis 2", {"x": floats(2, 3, 2)}, {"axis": 2}),
    Case("Softmax", "axis -1", {"x": floats(2, 3, 2)}, {"axis": -1}),
    Case("Softmax", "vector axis 0", {"x": floats(5)}, {"axis": 0}),
    Case("Softmax", "no rows", {"x": floats(0, 3)}),
    Case("Softmax", "no columns", {"x": floats(3, 0)}),
]

LABELS = integers(2, 0, 3)
WEIGHTS = positive(3)


def softmax_losses() -> list[Case]:
    """Calls of SoftmaxWithLoss, with gradients into each of its outputs and both."""

    def both(about: str, inputs: Mapping[str, Array], **args: Any) -> list[Case]:
        constants = [name for name in inputs if name != "x"]
        return [
            Case("SoftmaxWithLoss", f"{about}, {what}", inputs, args, (), ("p", "loss"), given, constants)
            for what, given in {"loss": ["loss"], "softmax": ["p"], "both": ["p", "loss"]}.items()
        ]

    return [
        *both("plain", {"x": X, "labels": LABELS}),
        *both("labels a column", {"x": X, "labels": LABELS[:, None]}),
        *both("scale", {"x": X, "labels": LABELS}, scale=2.5),
        *both("weights", {"x": X, "labels": LABELS, "weights": WEIGHTS}),
        *both("weights by batch", {"x": X, "labels": LABELS, "weights": WEIGHTS}, average_by_batch_size=1, scale=0.5),
        *both("weights of zero", {"x": X, "labels": LABELS, "weights": np.zeros(3)}),
        *both("label_prob", {"x": X, "labels": probabilities(3, 4)}, label_prob=1),
        *both(
            "label_prob and weights",
            {"x": X, "labels": probabilities(3, 4), "weights": WEIGHTS},
            label_prob=1,
            scale=0.3,
        ),
        *both("flattened", {"x": floats(3, 2, 2), "labels": LABELS}),
        *both("axis 2", {"x": floats(2, 3, 4), "labels": integers(2, 0, 3, 1, 1, 0).reshape(2, 3)}, axis=2),
        *both("axis 0", {"x": floats(4), "labels": integers(3)}, axis=0),
        *both("no rows", {"x": floats(0, 4), "labels": integers()}),
    ]


LOSSES = [
    Case("LabelCrossEntropy", "plain", {"x": probabilities(3, 4), "labels": LABELS}),
    Case("LabelCrossEntropy", "labels a column", {"x": probabilities(3, 4), "labels": LABELS[:, None]}),
    Case("LabelCrossEntropy", "vector", {"x": probabilities(4), "labels": integers(2)}),
    Case("LabelCrossEntropy", "3 dims", {"x": probabilities(3, 2, 2), "labels": LABELS}),
    Case("LabelCrossEntropy", "below the floor", {"x": -X, "labels": integers(0, 1, 2)}),
    Case("LabelCrossEntropy", "no rows", {"x": floats(0, 4), "labels": integers()}),
    *unary("AveragedLoss"),
    Case("SquaredL2Distance", "plain", {"x": X, "y": Y}),
    Case("SquaredL2Distance", "vectors", {"x": floats(4), "y": floats(4, seed=1)}),
    Case("SquaredL2Distance", "3 dims", {"x": floats(2, 3, 2), "y": floats(2, 3, 2, seed=1)}),
    Case("SquaredL2Distance", "scalars", {"x": floats(), "y": floats(seed=1)}),
    Case("SquaredL2Distance", "repeated", {"x": X}, reads=("x", "x")),
    Case("SquaredL2Distance", "no rows", {"x": floats(0, 3), "y": floats(0, 3)}),
    Case("SquaredL2Distance", "no columns", {"x": floats(3, 0), "y": floats(3, 0)}),
]


def reshaped(about: str, old: tuple[int, ...], *new: int, as_blob: bool = False) -> Case:
    """A call of Reshape, with the new shape as argument or as second input."""
    inputs = {"x": floats(*old), **({"shape": integers(*new)} if as_blob else {})}
    return Case("Reshape", about, inputs, {} if as_blob else {"shape": list(new)}, writes=("y", "old"))


def concat(about: str, *shapes: tuple[int, ...], repeat: int = 1, **args: Any) -> Case:
    """A call of Concat."""
    inputs = {f"x{i}": floats(*shape, seed=i) for i, shape in enumerate(shapes)}
    return Case("Concat", about, inputs, args, list(inputs) * repeat, ("y", "info"))


def split(about: str, shape: tuple[int, ...], count: int, given: Sequence[int] | None = None, **args: Any) -> Case:
    """A call of Split; the argument `sizes` goes into a second input."""
    sizes = {"sizes": integers(*args.pop("sizes"))} if "sizes" in args else {}
    writes = [f"y{i}" for i in range(count)]
    chosen = None if given is None else [writes[i] for i in given]
    return Case("Split", about, {"x": floats(*shape), **sizes}, args, (), writes, chosen)


SHAPING = [
    *unary("Copy"),
    Case("CopyOnDeviceLike", "plain", {"x": X, "like": floats(2)}, constants=["like"]),
    reshaped("flat", (3, 4), 12),
    reshaped("inferred", (3, 4), 2, -1),
    reshaped("copied size", (3, 4, 2), 0, -1),
    reshaped("to a scalar", (1, 1)),
    reshaped("from a scalar", (), 1, 1),
    reshaped("empty", (0, 3), -1),
    reshaped("empty, size after a full one", (3, 0), -1),
    reshaped("empty, size copied", (2, 0), 0, 0, 1),
    reshaped("by blob", (3, 4), 2, 6, as_blob=True),
    reshaped("by blob, copied and inferred", (3, 4), 0, 2, -1, as_blob=True),
    *unary("Transpose"),
    Case("Transpose", "axes of a cycle", {"x": floats(2, 3, 4)}, {"axes": [1, 2, 0]}),
    Case("Transpose", "axes of a swap", {"x": floats(2, 3, 4)}, {"axes": [1, 0, 2]}),
    concat("two", (3, 2), (3, 4)),
    concat("three along axis 0", (1, 2), (3, 2), (2, 2), axis=0),
    concat("one", (3, 2)),
    concat("repeated", (3, 2), repeat=3),
    concat("axis -1", (2, 2, 3), (2, 2, 1), axis=-1),
    concat("axis by order", (1, 2, 2, 3), (1, 2, 2, 1), order="NHWC"),
    concat("new axis", (2, 3), (2, 3), axis=1, add_axis=1),
    concat("new last axis", (2, 3), (2, 3), axis=2, add_axis=1),
    concat("an empty one", (3, 0), (3, 2)),
    concat("empty", (0, 2), (0, 3)),
    split("equal", (3, 4), 2),
    split("whole", (3, 4), 1),
    split("sizes", (3, 6), 3, split=[1, 2, 3]),
    split("axis 0", (4, 3), 2, axis=0),
    split("axis -1", (2, 3, 4), 2, axis=-1),
    split("sizes by blob", (3, 5), 2, sizes=(2, 3)),
    split("first part alone", (3, 4), 2, given=[0]),
    split("last part alone", (3, 4), 2, given=[1]),
    split("middle part alone, sizes", (3, 6), 3, given=[1], split=[1, 2, 3]),
    split("parts without the middle, by blob", (3, 6), 3, given=[0, 2], sizes=(1, 2, 3)),
    split("axis taken away", (3, 2), 2, add_axis=1),
    split("axis taken away, first alone", (3, 2), 2, given=[0], add_axis=1),
    split("an empty part", (3, 4), 2, split=[0, 4]),
    split("empty", (0, 4), 2),
]

FILLS = [
    Case("ConstantFill", "scalar", {}),
    Case("ConstantFill", "shape", {}, {"shape": [2, 3], "value": 1.5}),
    Case("ConstantFill", "integers", {}, {"shape": [2], "value": 3, "dtype": 2}),
    Case("ConstantFill", "named dtype", {}, {"shape": [2], "dtype": "float64"}),
    Case("ConstantFill", "like", {"x": X}, {"value": 1.0}),
    Case("ConstantFill", "like integers", {"x": LABELS}, {"value": 1.0}),
    Case("ConstantFill", "extra shape", {"x": X}, {"extra_shape": [2]}),
    Case("ConstantFill", "input as shape", {"x": integers(2, 3)}, {"input_as_shape": 1, "value": 2.0}),
    Case("ConstantFill", "value by blob", {"x": X, "value": np.array([4.0])}),
    *unary("StopGradient"),
]

CASES: list[Case] = [
    *[case for type in ("Add", "Sub", "Mul", "Div") for case in pair(type)],
    *SUM,
    *unary("Scale", scale=-2.5),
    Case("Scale", "default", {"x": X}),
    *unary("Exp"),
    *unary("Log", positive),
    *unary("Sqr"),
    *unary("Relu"),
    *unary("Sigmoid"),
    *unary("Tanh"),
    *SOFTMAX,
    *FC,
    *MATMUL,
    *softmax_losses(),
    *LOSSES,
    *SHAPING,
    *FILLS,
    *[
        case
        for file in sorted(Path(__file__).parent.glob("cases_*.py"))
        for case in import_module(f"tests.operators.{file.stem}").CASES
    ],
]
"""Every call."""

__all__ = ["CASES", "Array", "Case", "defined_types", "floats"]
