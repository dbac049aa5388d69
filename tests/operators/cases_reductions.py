"""Calls of reductions, totals and comparisons."""

from typing import Any

import numpy as np

from tests.operators.case import Array, Case, floats, integers


def distinct(*shape: int, seed: int = 0) -> Array:
    """Numbers that lie apart, in random order: differences do not change which is largest."""
    count = int(np.prod(shape, dtype=int))
    order = np.random.default_rng([seed, *shape]).permutation(count)
    return np.asarray((order.reshape(shape) + 0.3) / 4 - count / 8)


def reduced(type: str) -> list[Case]:
    """Calls of a reduction along axes."""
    ties = type in ("ReduceMax", "ReduceMin")

    def one(about: str, shape: tuple[int, ...], **args: Any) -> Case:
        outputs = ("mean", "variance") if type == "Moments" else ("out",)
        return Case(type, about, {"x": distinct(*shape) if ties else floats(*shape)}, args, (), outputs)

    return [
        one("everything", (3, 4)),
        one("everything to a scalar", (3, 4), keepdims=0),
        one("columns", (3, 4), axes=[1], keepdims=0),
        one("rows kept", (3, 4), axes=[0]),
        one("two of three", (2, 3, 4), axes=[0, 2], keepdims=0),
        one("axes from the end", (2, 3, 4), axes=[-1, 0]),
        one("scalar", ()),
        one("no rows", (0, 3), axes=[1]),
        *([] if ties else [one("of nothing", (0, 3), axes=[0], keepdims=0)]),
    ]


def side(type: str) -> list[Case]:
    """Calls of a reduction of the first or last dimensions."""
    front, largest = type.startswith("ReduceFront"), type.endswith("Max")

    def one(about: str, shape: tuple[int, ...], *lengths: int, **args: Any) -> Case:
        inputs = {"x": distinct(*shape), **({"lengths": integers(*lengths)} if lengths else {})}
        return Case(type, about, inputs, args)

    return [
        one("one dimension", (2, 3, 4)),
        one("two dimensions", (2, 3, 4), num_reduce_dim=2),
        one("all dimensions", (2, 3), num_reduce_dim=2),
        one("vector", (5,)),
        one("lengths", (4, 3) if front else (3, 4), 4, 1, 2),
        one("nothing left", (3, 0) if front else (0, 3)),
        *([] if largest else [one("of nothing", (0, 3) if front else (3, 0))]),
        *([] if largest else [one("lengths with none", (4, 3) if front else (3, 4), 0, 4, 3)]),
    ]


def total(type: str) -> list[Case]:
    """Calls that make one number."""
    return [
        Case(type, "matrix", {"x": floats(3, 4)}),
        Case(type, "average", {"x": floats(3, 4)}, {"average": 1}),
        Case(type, "scalar", {"x": floats()}),
        Case(type, "empty", {"x": floats(0, 3)}, {"average": 1}),
    ]


def compared(type: str) -> list[Case]:
    """Calls of a comparison row by row."""
    shapes = {"matrix": (3, 4), "vector": (4,), "3 dims": (2, 3, 2), "scalar": (), "no rows": (0, 3)}
    cases = [Case(type, about, {"x": floats(*s), "y": floats(*s, seed=1)}) for about, s in shapes.items()]
    return [*cases, Case(type, "repeated", {"x": floats(3, 4)}, reads=("x", "x"))]


TIED = np.array([[2.0, 1.0, 2.0], [0.5, 0.5, -1.0]])

CASES = [
    *[
        case
        for type in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "Moments")
        for case in reduced(type)
    ],
    Case("ReduceMax", "two equal", {"x": TIED}, {"axes": [1]}),
    Case("Moments", "mean alone", {"x": floats(3, 4)}, {"axes": [1]}, (), ("mean", "variance"), ["mean"]),
    Case("Moments", "variance alone", {"x": floats(3, 4)}, {"axes": [1]}, (), ("mean", "variance"), ["variance"]),
    *[case for end in ("Front", "Back") for how in ("Sum", "Mean", "Max") for case in side(f"Reduce{end}{how}")],
    *[
        Case(type, about, {"x": distinct(*shape)})
        for type in ("RowwiseMax", "ColwiseMax")
        for about, shape in {"matrix": (3, 4), "batch": (2, 3, 4), "empty batch": (0, 3, 4)}.items()
    ],
    Case("RowwiseMax", "two equal", {"x": TIED}),
    *[case for type in ("SumElements", "SumSqrElements", "LpNorm") for case in total(type)],
    Case("LpNorm", "p 1", {"x": floats(3, 4)}, {"p": 1}),
    Case("LpNorm", "p 1 average", {"x": floats(3, 4)}, {"p": 1, "average": 1}),
    *[case for type in ("DotProduct", "CosineSimilarity", "L1Distance") for case in compared(type)],
]
