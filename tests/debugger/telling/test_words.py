"""Words for names that a pass made up: the narration and the graph speak of gradients."""

import numpy as np
import pytest

import gradviz
import gradviz.functions as F
from gradviz.debugger.document import Trace
from tests.drawing.nested import loop, trace, two_branches

INTERNAL = ("_autosplit_", "INNER_GRAD")


def skip_connection() -> gradviz.Session:
    net = gradviz.Net("skip")
    net.Tanh("x", "h")
    net.Sigmoid("h", "s")
    net.Add(["h", "s"], "sum")
    net.SumElements("sum", "loss")
    ws = gradviz.Workspace()
    ws.feed("x", np.ones(3))
    return gradviz.debug(net, ["loss"], workspace=ws)


def said(session: gradviz.Session) -> list[str]:
    return [session.trace().narration(at) for at in range(1, len(session) + 1)]


def test_parts_of_a_sum_are_named_by_their_order_in_the_drawing():
    svg = skip_connection().trace().graph.svg or ""
    assert ">gradient of h@0,<" in svg.replace(" ", " ").replace("> ", ">").replace(" <", "<")
    assert "second of 2 parts" in svg
    assert ">_h_grad_autosplit_0@0<" not in svg.replace(" ", "")


def test_a_pass_by_rank_counts_the_parts_as_they_arrive():
    x = gradviz.Variable(np.ones(2), name="x")
    h = F.tanh(x)
    narration = "\n".join(said(gradviz.debug(F.sum(h * h + F.sin(h) * h))))
    assert "`gradient of h@0, second part` arrives at `h@0`" in narration
    assert "`gradient of h@0, fourth part` arrives at `h@0`" in narration


def test_an_operator_that_reads_a_blob_twice_gives_it_two_gradients():
    net = gradviz.Net("square")
    net.Mul(["x", "x"], "y")
    net.SumElements("y", "loss")
    session = gradviz.debug(net, ["loss"])
    narration = "\n".join(said(session))
    assert "`x_grad@0` is gradient number 1 of `x@0`" in narration
    assert "`x_grad@1` is gradient number 2 of `x@0`" in narration
    added = [event.blobs[0] for event in session.trace().events if event.kind == "GeneratorAdded"]
    assert added == ["y_grad@0", "x_grad@0", "_x_grad_autosplit_0@0"]


@pytest.mark.parametrize("document", [trace(two_branches), trace(loop)], ids=["branches", "loop"])
def test_what_a_do_calls_its_gradients_is_not_said_where_they_are_reached(document: Trace):
    reached = [
        document.narration(at)
        for at, event in enumerate(document.events, 1)
        if event.kind in ("Visited", "Seeded", "InputChecked", "GeneratorAdded")
    ]
    assert any("is reached with the gradient of `" in one for one in reached)
    assert not [one for one in reached if any(word in one for word in INTERNAL)]


def test_python_and_the_program_keep_the_names():
    session = skip_connection()
    assert session.value("_h_grad_autosplit_0").shape == (3,)
    assert "_h_grad_autosplit_0@0" in [blob for line in session.trace().backward for blob in line.outputs]
