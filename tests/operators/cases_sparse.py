"""Calls of the types that read rows of a table by number, and of those that add up rows by segments."""

from collections.abc import Sequence

from tests.operators.case import Case, floats, integers

TABLE = floats(5, 3)
ROWS = floats(6, 3, seed=1)
LENGTHS = integers(2, 0, 3, 1)
INDICES = integers(4, 0, 0, 2, 4, 1)
WEIGHTS = floats(6, seed=2)


def by_lengths(type: str) -> list[Case]:
    """Calls of a type that adds up rows, or reads a table and adds up those rows."""
    table = type.startswith("Sparse")
    indices, weights = {"indices": INDICES} if table else {}, {"w": WEIGHTS} if "Weighted" in type else {}
    nothing = {
        "x": floats(5 if table else 0, 2),
        **({"w": floats(0)} if weights else {}),
        **({"indices": integers()} if table else {}),
    }
    constants = list(weights)

    def call(about: str, x: object, lengths: Sequence[int] = (2, 0, 3, 1)) -> Case:
        inputs = {"x": x, **weights, **indices, "lengths": integers(*lengths)}
        return Case(type, about, inputs, constants=constants)  # type: ignore[arg-type]

    count = 5 if table else 6
    return [
        call("matrix", floats(count, 3)),
        call("vector", floats(count)),
        call("3 dims", floats(count, 2, 2)),
        call("one segment", floats(count, 2), [6]),
        call("rows of nothing", floats(count, 0)),
        Case(type, "no rows", {**nothing, "lengths": integers(0, 0)}, constants=constants),
        Case(type, "no segments", {**nothing, "lengths": integers()}, constants=constants),
    ]


def by_ids(type: str) -> list[Case]:
    """Calls of a type that adds up rows where each names its segment."""
    ids = integers(2, 0, 2, 2, 0, 3) if "Unsorted" in type else integers(0, 0, 1, 2, 2, 2)
    table = type.startswith("Sparse")
    indices = {"indices": INDICES} if table else {}
    count = 5 if table else 6
    none = {"indices": integers()} if table else {}
    calls = [
        Case(type, "matrix", {"x": floats(count, 3), **indices, "ids": ids}),
        Case(type, "vector", {"x": floats(count), **indices, "ids": ids}),
        Case(type, "no rows", {"x": floats(5 if table else 0, 2), **none, "ids": integers()}),
    ]
    if "Unsorted" in type:
        calls.append(Case(type, "said", {"x": floats(count, 3), **indices, "ids": ids}, {"num_segments": 6}))
    return calls


CASES = [
    Case("Gather", "rows", {"x": TABLE, "indices": INDICES}),
    Case("Gather", "elements", {"x": floats(5), "indices": INDICES}),
    Case("Gather", "a matrix of indices", {"x": TABLE, "indices": integers(4, 0, 0, 2).reshape(2, 2)}),
    Case("Gather", "one index", {"x": TABLE, "indices": integers(3).reshape(())}),
    Case("Gather", "no indices", {"x": TABLE, "indices": integers()}),
    *[
        Case(
            "Gather",
            f"axis {axis} by {indices.shape}",
            {"x": floats(*shape), "indices": indices},
            {"axis": axis, **args},
        )
        for axis, shape, indices, args in (
            (1, (2, 4, 3), integers(3, 0, 3), {}),
            (-1, (2, 4), integers(3, 0, 0, 1).reshape(2, 2), {}),
            (2, (2, 1, 4), integers(2).reshape(()), {"dense_gradient": 1}),
            (1, (2, 4), integers(), {}),
            (1, (0, 4), integers(1, 2), {}),
            (1, (2, 4, 3), integers(3, 0, 3, 1).reshape(2, 2), {"match_outer": 1}),
            (-1, (2, 1, 4), integers(3, 0, 3, 1).reshape(2, 1, 2), {"match_outer": 1}),
            (1, (2, 4, 3), integers(3, 1), {"match_outer": 1}),
            (1, (0, 4), integers().reshape(0, 2), {"match_outer": 1}),
        )
    ],
    Case("Gather", "dense gradient", {"x": TABLE, "indices": INDICES}, {"dense_gradient": 1}),
    Case("SparseToDense", "by values", {"indices": INDICES, "values": ROWS}),
    Case("SparseToDense", "like", {"indices": INDICES, "values": ROWS, "like": floats(7)}, constants=["like"]),
    Case("SparseToDense", "said", {"indices": INDICES, "values": ROWS}, {"output_first_dim": 8}),
    Case("SparseToDense", "nothing", {"indices": integers(), "values": floats(0, 3)}),
    Case("EnsureDense", "matrix", {"x": TABLE}),
    Case("ScatterAssign", "rows", {"x": TABLE, "indices": integers(3, 0), "slices": floats(2, 3, seed=5)}),
    Case("Unique", "numbers", {"x": integers(4, 1, 4, 2, 1)}),
    Case("Unique", "places too", {"x": integers(4, 1, 4, 2, 1)}, writes=("y", "places")),
    *[
        case
        for type in (
            "LengthsSum",
            "LengthsMean",
            "LengthsMax",
            "LengthsWeightedSum",
            "SparseLengthsSum",
            "SparseLengthsMean",
            "SparseLengthsWeightedSum",
        )
        for case in by_lengths(type)
    ],
    Case("LengthsWeightedSum", "weights too", {"x": ROWS, "w": WEIGHTS, "lengths": LENGTHS}, {"grad_on_weights": 1}),
    Case(
        "SparseLengthsWeightedSum",
        "weights too",
        {"x": TABLE, "w": WEIGHTS, "indices": INDICES, "lengths": LENGTHS},
        {"grad_on_weights": 1},
    ),
    Case("LengthsTile", "rows", {"x": floats(4, 3), "lengths": LENGTHS}),
    Case("LengthsTile", "elements", {"x": floats(4), "lengths": LENGTHS}),
    Case("LengthsTile", "nothing", {"x": floats(0, 2), "lengths": integers()}),
    *[
        case
        for order in ("Sorted", "Unsorted")
        for reducer in ("Sum", "Mean")
        for sparse in ("", "Sparse")
        for case in by_ids(f"{sparse}{order}Segment{reducer}")
    ],
]
