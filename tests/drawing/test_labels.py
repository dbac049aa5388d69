"""Names at edges: with the norms that a front end writes below them they lie over no node, mark or other name."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

import gradviz
from gradviz.debugger.document import Trace
from gradviz.drawing import LIGHT
from gradviz.drawing.assembly import view
from gradviz.drawing.lanes import lanes
from gradviz.drawing.nesting import Nesting
from gradviz.drawing.theme import Clock, label
from gradviz.drawing.view import State
from gradviz.drawing.ways import HEADINGS
from tests.browser.programs import random_program, record
from tests.drawing.nested import workspace
from tests.drawing.shapes import Rectangle, box, groups, line_of, overlap, points, text_boxes

NORM = 13
"""Between the last line of a name and the norm."""

THICKEST = 4.3
"""Of the lines of edges whose norms are shown."""


def read_five_times() -> gradviz.Net:
    """One operator reads a blob three times and another twice: the parts of their gradients flow together."""
    net = gradviz.Net("read five times")
    net.Mean(["x", "x", "x", "z", "z"], "m")
    net.Erf("z", "e")
    net.Min(["e", "m", "m", "e", "m"], "y")
    return net


def squared() -> gradviz.Net:
    """The rule of a square makes two operators, which stand side by side."""
    net = gradviz.Net("squared")
    net.Tanh("x", "a_long_name_of_a_blob")
    net.Sqr("a_long_name_of_a_blob", "s")
    net.Mul(["s", "z"], "y")
    return net


def squared_at_once() -> gradviz.Net:
    """The same, right below the headings of the lanes."""
    net = gradviz.Net("squared at once")
    net.Sqr("x", "s")
    net.Mul(["s", "z"], "y")
    return net


def looked_up() -> gradviz.Net:
    """A sparse gradient is made dense to be added to another, which comes from the operator above it."""
    net = gradviz.Net("looked up")
    net.Tanh("x", "t")
    net.Mul(["t", "z"], "m")
    net.Gather(["t", "rows"], "g")
    net.ReduceFrontSum("g", "f")
    net.Mul(["m", "f"], "y")
    return net


def read_by_three() -> gradviz.Net:
    """Two of three operators get the gradient of a sum around the lane, one of them below what it gives itself."""
    net = gradviz.Net("read by three")
    net.Tanh("x", "h")
    for name in "abc":
        net.Mul(["h", "z"], name)
    net.Sum(["a", "b", "c"], "y")
    return net


def document(build: Callable[[], gradviz.Net]) -> Trace:
    ws = workspace({"x": np.ones((3, 2)), "z": np.full((3, 2), 0.5), "rows": np.array([0, 2])})
    return gradviz.debug(build(), ["y"], workspace=ws).trace()


@pytest.mark.parametrize("build", [read_five_times, squared, squared_at_once, looked_up, read_by_three])
def test_names_and_norms_lie_over_nothing(build: Callable[[], gradviz.Net]) -> None:
    drawn = view(Nesting(document(build)))
    found = groups(lanes(drawn, State(), LIGHT, {}, Clock()))
    nodes = [box(group) for name, group in found.items() if name.startswith("node-")]
    marks = [(left - 6, top - 13, left + 12, top + 4) for left, top, _, _ in nodes]
    names: dict[str, Rectangle] = {}
    for edge in drawn.edges:
        lines = text_boxes(found[edge.id])
        if not lines:
            continue
        left, top, right, bottom = lines[0][0], lines[0][1], max(line[2] for line in lines), lines[-1][3]
        left = min(line[0] for line in lines)
        if edge.kind == "backward":
            # The name and its norm move up by half a line, above a line around a lane by a whole one.
            top, bottom = (top - NORM, bottom) if edge.skips else (top - NORM / 2, bottom + NORM / 2)
        names[edge.id] = left, top, right, bottom
    assert names
    for name, area in names.items():
        assert not any(overlap(area, other) for other in (*nodes, *marks)), name
        assert area[1] >= HEADINGS, name
    for (name, area), (other, beside) in combinations(names.items(), 2):
        assert not overlap(area, beside), (name, other)


def test_a_name_below_a_line_stays_off_it_where_a_norm_moves_it_up() -> None:
    drawn = view(Nesting(document(read_by_three)))
    found = groups(lanes(drawn, State(), LIGHT, {}, Clock()))
    below = 0
    for edge in (edge for edge in drawn.edges if edge.kind == "backward" and edge.skips):
        lines = text_boxes(found[edge.id])
        if not lines:
            continue
        left, top, right, _ = lines[0]
        over = [top - y for x, y in points(line_of(found[edge.id])) if left < x < right and top - 20 < y < top]
        below += bool(over)
        assert all(distance > NORM / 2 + THICKEST / 2 for distance in over)
    assert below


@pytest.mark.parametrize("seed", [60, 63, 68])
def test_names_rather_stand_where_no_saved_value_runs_through_them(seed: int) -> None:
    nesting = Nesting(record(random_program(seed)).trace())
    drawn = view(nesting, nesting.chosen("all"))
    found = groups(lanes(drawn, State(), LIGHT, {}, Clock()))
    saved = [point for edge in drawn.all_edges() if edge.kind == "saved" for point in points(line_of(found[edge.id]))]
    assert saved
    for edge in (edge for edge in drawn.all_edges() if edge.kind != "saved"):
        for left, top, right, bottom in text_boxes(found[edge.id]):
            assert not any(left < x < right and top < y < bottom for x, y in saved), edge.names


def test_parts_of_a_sum_that_flow_together_say_which_they_are() -> None:
    names = [label(edge.names) for edge in view(Nesting(document(read_five_times))).edges]
    assert ["x_grad@0", "and second of 3 parts", "and third of 3 parts"] in names
    alone = label(["gradient of x@0, second of 2 parts"])
    assert alone == ["gradient of x@0,", "second of 2 parts"]
    of_two = label(["gradient of x@0, second of 2 parts", "gradient of y@0, first of 2 parts"])
    assert all("gradient of" in line for line in of_two)
