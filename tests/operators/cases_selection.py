"""Calls of operators that pick elements by value, by mask or by number."""

from typing import Any

import numpy as np

from tests.operators.case import Case, floats, integers
from tests.operators.cases_reductions import distinct

MASK = np.array([True, False, True, True])


def top(about: str, shape: tuple[int, ...], k: int, outputs: int = 2, **args: Any) -> Case:
    """A call of TopK."""
    return Case("TopK", about, {"x": distinct(*shape)}, {"k": k, **args}, (), ("values", "places", "flat")[:outputs])


CASES = [
    top("vector", (6,), 2),
    top("rows", (3, 5), 2),
    top("columns", (3, 2, 2), 2, axis=0),
    top("middle with flat places", (2, 4, 3), 3, outputs=3, axis=1),
    top("more than there are", (2, 3), 5, outputs=3),
    top("empty", (0, 3), 2),
    Case("TopK", "k by blob", {"x": distinct(3, 4), "k": integers(2)}, writes=("values", "places")),
    *[
        Case(type, about, {"x": distinct(2, 3, 4)}, args)
        for type in ("ArgMax", "ArgMin")
        for about, args in {"last": {}, "axis 1": {"axis": 1}, "axis gone": {"axis": 0, "keepdims": 0}}.items()
    ],
    Case("OneHot", "plain", {"indices": integers(2, 0, 2), "size": integers(4)}),
    Case("OneHot", "none", {"indices": integers(), "size": integers(4)}),
    Case(
        "BatchOneHot",
        "plain",
        {
            "x": integers(2, 3, 4, 1, 2, 5).reshape(3, 2),
            "lengths": integers(2, 3),
            "values": integers(2, 4, 1, 3, 5),
        },
    ),
    Case("BooleanMask", "rows", {"x": floats(4, 3), "mask": MASK}),
    Case("BooleanMask", "vector and places", {"x": floats(4), "mask": MASK}, writes=("y", "places")),
    Case("BooleanMask", "nothing passes", {"x": floats(4, 2), "mask": ~(MASK | True)}),
    Case("BatchGather", "rows", {"x": floats(2, 5), "indices": integers(3, 0, 3)}),
    Case("BatchGather", "blocks", {"x": floats(2, 4, 3), "indices": integers(3, 0, 1, 1).reshape(2, 2)}),
    Case("BatchGather", "one", {"x": floats(2, 4, 3), "indices": np.array(2)}),
    Case(
        "BatchGather",
        "its own of each row",
        {"x": floats(2, 4), "indices": integers(3, 0, 1, 1).reshape(2, 2)},
        {"match_outer": 1},
    ),
    Case("BatchGather", "none", {"x": floats(2, 4), "indices": integers()}),
]
