"""Calls of operators that join several arrays, compare them, or choose between them."""

from typing import Any

import numpy as np

from tests.operators.case import Array, Case, floats, integers, pair

X, Y, Z = floats(3, 4), floats(3, 4, seed=1), floats(3, 4, seed=2)


def joined(type: str) -> list[Case]:
    """Calls of a function of any number of arrays of one shape."""
    return [
        Case(type, "one", {"x": X}),
        Case(type, "two", {"x": X, "y": Y}),
        Case(type, "three", {"x": X, "y": Y, "z": Z}),
        Case(type, "repeated", {"x": X}, reads=("x", "x")),
        Case(type, "repeated and another", {"x": X, "y": Y}, reads=("x", "y", "x")),
        Case(type, "scalars", {"x": floats(), "y": floats(seed=1)}),
        Case(type, "empty", {"x": floats(0, 2), "y": floats(0, 2)}),
    ]


def weighted(about: str, *names: str, w: tuple[int, ...] = (1,), **args: Any) -> Case:
    """A call of WeightedSum; names that begin with w are weights."""
    made = {name: floats(*w, seed=i) if name[0] == "w" else floats(3, 4, seed=i) for i, name in enumerate(names)}
    constants = [] if args else [name for name in made if name[0] == "w"]
    return Case("WeightedSum", about, made, args, names, constants=constants)


def linear(about: str, x: tuple[int, ...], columns: int, **args: Any) -> Case:
    """A call of ElementwiseLinear."""
    return Case("ElementwiseLinear", about, {"x": floats(*x), "a": floats(columns), "b": floats(columns, seed=1)}, args)


def truths(*shape: int, seed: int = 0) -> Array:
    """Random truth values."""
    return np.asarray(floats(*shape, seed=seed) > 0)


def chosen(type: str, about: str, shape: tuple[int, ...], condition: Array, **args: Any) -> Case:
    """A call of Where or Conditional."""
    return Case(type, about, {"c": condition, "x": floats(*shape), "y": floats(*shape, seed=1)}, args)


CASES = [
    *[case for type in ("Max", "Min", "Mean") for case in joined(type)],
    weighted("one", "x", "w"),
    weighted("two", "x", "w", "y", "w2"),
    weighted("weights differ", "x", "w", "y", "w2", grad_on_w=1),
    weighted("scalar weights", "x", "w", w=(), grad_on_w=1),
    weighted("one weight twice", "x", "w", "y", "w", grad_on_w=1),
    Case("RowMul", "matrix", {"x": X, "w": floats(3)}),
    Case("RowMul", "3 dims", {"x": floats(2, 3, 2), "w": floats(2)}),
    Case("RowMul", "vector", {"x": floats(3), "w": floats(3, seed=1)}),
    Case("RowMul", "no rows", {"x": floats(0, 2), "w": floats(0)}),
    *[Case("ReduceTailSum", about, {"x": floats(*x)}) for about, x in {"matrix": (3, 4), "3 dims": (2, 3, 2)}.items()],
    linear("matrix", (3, 4), 4),
    linear("3 dims", (3, 2, 2), 4),
    linear("axis 2", (3, 2, 4), 4, axis=2),
    linear("axis 0", (4,), 4, axis=0),
    linear("no rows", (0, 4), 4),
    *pair("GT"),
    *[
        Case(type, "plain", {"x": integers(1, 2, 3), "y": integers(3, 2, 1)})
        for type in ("GT", "GE", "LT", "LE", "EQ", "NE")
    ],
    *[
        Case(type, about, {"x": truths(2, 3), "y": truths(*y, seed=1)})
        for type in ("And", "Or", "Xor")
        for about, y in {"plain": (2, 3), "y a row": (3,)}.items()
    ],
    Case("Not", "plain", {"x": truths(2, 3)}),
    Case("IsNaN", "plain", {"x": np.array([1.0, np.nan, np.inf])}),
    chosen("Where", "each element", (3, 4), truths(3, 4)),
    chosen("Where", "scalar", (), np.array(True)),
    chosen("Where", "each row", (3, 2, 2), truths(3), broadcast_on_rows=1),
    Case("Where", "repeated", {"c": truths(3, 4), "x": X}, reads=("c", "x", "x")),
    chosen("Where", "empty", (0, 2), truths(0, 2)),
    chosen("Conditional", "rows", (3, 4), truths(3)),
    chosen("Conditional", "elements", (3,), truths(3)),
]
