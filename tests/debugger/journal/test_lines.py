"""The lines of the user's code in recordings: of every engine that knows them, and in what is read from a file."""

import numpy as np
import pytest

import gradviz
import gradviz.functions as F
from gradviz import Variable
from gradviz.program.events import Played
from tests.built_nets import fed


def texts(session):
    """The types and texts of the lines of a recording, those of nested nets last."""
    trace = session.trace()
    every = [*trace.forward, *(line for subnet in trace.subnets for line in subnet.forward)]
    return [(line.type, line.code and line.code.text) for line in every]


def looped():
    net = gradviz.Net("looped")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.Mul(["x", "w"], "x")
        net.Add(["i", "one"], "i")
    return net


def chained():
    x = Variable(np.linspace(-1, 1, 5), name="x")
    y = F.tanh(x)
    return F.sum(y * y)


def test_a_net_says_the_lines_of_all_its_operators_also_where_no_gradient_passes():
    assert texts(gradviz.debug(looped(), ["x"], workspace=fed())) == [
        ("ConstantFill", 'with net.While("go") as loop:'),
        ("CreateScope", 'with net.While("go") as loop:'),
        ("While", 'with net.While("go") as loop:'),
        ("LT", 'net.LT(["i", "n"], "go")'),
        ("Do", 'with net.While("go") as loop:'),
        ("Mul", 'net.Mul(["x", "w"], "x")'),
        ("Add", 'net.Add(["i", "one"], "i")'),
    ]


@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_code_says_the_lines_of_its_functions(schedule):
    assert texts(gradviz.debug(chained(), schedule=schedule)) == [
        ("Tanh", "y = F.tanh(x)"),
        ("Mul", "return F.sum(y * y)"),
        ("ReduceSum", "return F.sum(y * y)"),
    ]


@pytest.mark.parametrize("debugged", [lambda: gradviz.debug(looped(), ["x"]), lambda: gradviz.debug(chained())])
def test_what_is_loaded_says_the_same_without_the_source(debugged, tmp_path):
    session = debugged()
    session.save(tmp_path / "saved.gradviz.json")
    loaded = gradviz.load(tmp_path / "saved.gradviz.json")
    assert texts(loaded) == texts(session)
    played = [event.code for event in loaded.events if isinstance(event, Played) and not event.path]
    assert {line.file for line in played} == {"test_lines.py"}


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("Played", "Operator #0 ({line}) joins the program: `y@0 = Tanh(x@0)`"),
        ("Visited", "Tanh #0 ({line}) is reached with the gradient"),
        ("RuleApplied", "The rule of Tanh #0 makes"),
        ("Ran", "`y@0 = Tanh(x@0)` ({line}) ran on cpu"),
    ],
)
def test_the_narration_names_the_line_where_an_operator_comes_first(kind, said):
    net = gradviz.Net()
    net.Tanh("x", "y")
    session = gradviz.debug(net, ["y"], workspace=fed())
    session.run_to(kind)
    line = session.trace().forward[0].code
    assert session.narration.startswith(said.format(line=line))
    assert session.narration.count(str(line)) == said.count("{line}")
    assert session.trace().narration(session.position) == session.narration


def test_a_net_that_was_read_from_json_says_no_lines():
    session = gradviz.debug(gradviz.Net.from_dict(looped().to_dict()), ["x"])
    assert {text for _, text in texts(session)} == {None}


def test_lines_are_those_of_the_recording_though_the_net_grows():
    net = gradviz.Net()
    net.Tanh("x", "y")
    session = gradviz.debug(net, ["y"])
    net.Relu("y", "z")
    assert texts(session) == [("Tanh", 'net.Tanh("x", "y")')]
