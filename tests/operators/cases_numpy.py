"""Calls of the types behind functions that numpy has: indices, einsum, margins, running sums, logarithms of sums."""

from typing import Any

import numpy as np

from tests.operators.case import Array, Case, floats, integers, positive, unary

CUBE = floats(2, 3, 4)
APART = np.random.default_rng(3).permutation(24).reshape(2, 3, 4) / 8 - 1.41


def along_axes(type: str, x: Array) -> list[Case]:
    """Calls of a reduction."""
    return [
        Case(type, "all", {"x": x}),
        Case(type, "one axis", {"x": x}, {"axes": [1]}),
        Case(type, "two axes, from behind", {"x": x}, {"axes": [0, -1]}),
        Case(type, "dropped", {"x": x}, {"axes": [2], "keepdims": 0}),
        Case(type, "all dropped", {"x": x}, {"keepdims": 0}),
        Case(type, "vector", {"x": floats(5)}),
        Case(type, "scalar", {"x": floats()}),
        Case(type, "no rows", {"x": floats(0, 3)}, {"axes": [1]}),
    ]


def get_item(about: str, index: str, *places: Array, x: Array = CUBE) -> Case:
    """A call of GetItem."""
    return Case("GetItem", about, {"x": x, **{f"at{i}": array for i, array in enumerate(places)}}, {"index": index})


def einsum(equation: str, *shapes: tuple[int, ...]) -> Case:
    """A call of Einsum."""
    inputs = {f"x{i}": floats(*shape, seed=i) for i, shape in enumerate(shapes)}
    return Case("Einsum", equation, inputs, {"equation": equation})


def pad(about: str, x: Array, *pads: int, **args: Any) -> Case:
    """A call of Pad."""
    return Case("Pad", about, {"x": x}, {"pads": list(pads), **args})


CASES = [
    *unary("Log1p", positive),
    *unary("Expm1"),
    Case("LogSoftmax", "matrix", {"x": floats(3, 4)}),
    Case("LogSoftmax", "3 dims", {"x": CUBE}),
    Case("LogSoftmax", "axis -1", {"x": CUBE}, {"axis": -1}),
    Case("LogSoftmax", "vector axis 0", {"x": floats(5)}, {"axis": 0}),
    Case("LogSoftmax", "no rows", {"x": floats(0, 3)}),
    Case("LogSoftmax", "no columns", {"x": floats(3, 0)}),
    *along_axes("ReduceLogSumExp", CUBE),
    *along_axes("ReduceProd", APART),
    Case("ReduceProd", "nothing to multiply", {"x": floats(3, 0)}, {"axes": [1]}),
    Case(
        "ReduceProd",
        "factors of 0",
        {"x": np.array([[0.0, 2.0, 3.0, 0.5], [0.0, 0.0, 5.0, 2.0], [0.0, 0.0, 0.0, 2.0], [2.0, 3.0, 4.0, 1.5]])},
        {"axes": [1]},
    ),
    Case("CumSum", "default", {"x": CUBE}),
    Case("CumSum", "last axis", {"x": CUBE}, {"axis": -1}),
    Case("CumSum", "reverse", {"x": CUBE}, {"axis": 1, "reverse": 1}),
    Case("CumSum", "empty", {"x": floats(0, 3)}, {"axis": 1}),
    pad("zeros", floats(2, 3), 1, 0, 2, 3),
    pad("a value", floats(2, 3), 0, 1, 1, 0, value=2.5),
    pad("edge", floats(2, 3), 2, 1, 1, 3, mode="edge"),
    pad("reflect", floats(3, 4), 2, 1, 1, 3, mode="reflect"),
    pad("no margin", floats(2, 3), 0, 0, 0, 0),
    pad("of a scalar", floats()),
    pad("of nothing", floats(0, 3), 1, 0, 1, 2),
    get_item("everything", "..."),
    get_item("a place", "1"),
    get_item("places", "1, -1, 2"),
    get_item("a slice", "1:, :2"),
    get_item("steps", "..., ::-2"),
    get_item("backwards", "::-1"),
    get_item("nothing", "1:1"),
    get_item("new dimensions", "newaxis, ..., 0, newaxis"),
    get_item("rows, one twice", "@0", integers(1, 0, 1)),
    get_item("columns", ":, @0", integers(2, 2, 0)),
    get_item("a table of places", ":, @0", integers(0, 1, 2, 2).reshape(2, 2)),
    get_item("pairs", "@0, @1", integers(0, 1, 0), integers(2, 0, 2)),
    get_item("pairs apart", "@0, 1:, @1", integers(0, 1), integers(3, 3)),
    get_item("no places", "@0", integers()),
    get_item("of nothing", ":, 1:", x=floats(0, 3)),
    einsum("ij,jk->ik", (3, 4), (4, 2)),
    einsum("ij,kj", (3, 4), (2, 4)),
    einsum("ij->ji", (3, 4)),
    einsum("ij->j", (3, 4)),
    einsum("ij->", (3, 4)),
    einsum("ij,ij->", (3, 4), (3, 4)),
    einsum("i,j->ij", (3,), (4,)),
    einsum("ii->i", (3, 3)),
    einsum("ii", (3, 3)),
    einsum("iij,jk->ik", (3, 3, 4), (4, 2)),
    einsum("iji,jkj->ik", (3, 2, 3), (2, 4, 2)),
    einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    einsum("...ij,...jk->...ik", (2, 3, 4), (1, 4, 2)),
    einsum("...i, i -> ...", (2, 3, 4), (4,)),
    einsum("i...,...->i...", (2, 3, 4), (3, 4)),
    einsum("ij,jk->ik", (0, 3), (3, 2)),
    Case("Einsum", "repeated", {"x": floats(3, 3)}, {"equation": "ij,jk->ik"}, reads=("x", "x")),
]
