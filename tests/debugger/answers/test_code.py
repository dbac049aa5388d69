"""The user's code in an answer: the norm of the gradient of what each line made, and which line is the current one."""

import numpy as np
import pytest

import gradviz
import gradviz.functions as F
from gradviz import Net, Variable, debug
from tests.built_nets import fed, power
from tests.debugger.answers.nets import recorded


def straight():
    net = Net("straight")
    net.Tanh("x", "a")
    net.Mul(["a", "a"], "s"), net.SumElements("s", "loss")

    net.Relu("x", "unused")
    return recorded(net, x=[3.0, 4.0])


def calls(session):
    """What the lines that called operators say, by their text; of a recording of one file."""
    (source,) = session.code().sources
    return {row.text.strip(): row for row in source.rows if row.has_called}


def norms(session):
    return {text: row.norm for text, row in calls(session).items()}


def current(session):
    """The lines that are marked."""
    return [text for text, row in calls(session).items() if row.is_current]


def test_the_answer_is_a_table_of_each_source():
    session = straight()
    session.run_to("Mul")
    first = straight.__code__.co_firstlineno
    assert str(session.code()).splitlines() == [
        "test_code.py at event 2, with the norm of the gradient of what each line made",
        "     line  norm          code",
        f"     {first}                  def straight():",
        f'     {first + 1}                      net = Net("straight")',
        f'     {first + 2}    not computed      net.Tanh("x", "a")',
        f'  →  {first + 3}    not computed      net.Mul(["a", "a"], "s"), net.SumElements("s", "loss")',
        f"     {first + 4}",
        f'     {first + 5}    none              net.Relu("x", "unused")',
        f"     {first + 6}                      return recorded(net, x=[3.0, 4.0])",
    ]
    line = '<code style="white-space: pre">    net = Net(&quot;straight&quot;)</code>'
    assert f'<td style="text-align: left">{line}</td>' in session.code()._repr_html_()


def test_a_line_has_the_gradient_of_the_last_thing_that_it_made_and_that_gets_one():
    session = straight()
    session.finish()
    a = np.tanh([3.0, 4.0])
    assert norms(session) == {
        'net.Tanh("x", "a")': pytest.approx(np.linalg.norm(2 * a)),
        'net.Mul(["a", "a"], "s"), net.SumElements("s", "loss")': 1,
        'net.Relu("x", "unused")': None,
    }
    assert [row.gradient for row in calls(session).values()] == ["a_grad@1", "loss_autogen_grad@0", None]


def test_a_gradient_is_there_once_it_is_computed():
    x = Variable(np.ones(3), name="x")
    a = F.tanh(x)
    session = debug(F.sum(a * 2))
    tanh = "a = F.tanh(x)"
    at = next(at for at in range(len(session) + 1) if norms(session.at(at))[tanh])
    assert session.events[at - 1].kind == "Ran"
    assert norms(session.at(at - 1))[tanh] is None
    assert norms(session.at(at))[tanh] == pytest.approx(12**0.5)
    assert current(session.at(at)) == ["session = debug(F.sum(a * 2))"]


def test_in_a_loop_the_last_run_by_now_counts():
    session = debug(power(), ["x"], workspace=fed(x=2.0, w=3.0, n=3))
    mul = 'net.Mul(["x", "w"], "x")'
    told = [norms(session.at(at))[mul] for at in range(len(session) + 1)]
    assert list(dict.fromkeys(told)) == [None, 1, 3, 9]
    assert told[told.index(1) :].count(None) == 0


def test_what_is_not_finite_is_said_so():
    x = Variable(np.ones(2), name="x")
    a = F.tanh(x)
    session = debug(F.sum(a * np.nan))
    session.finish()
    assert norms(session)["a = F.tanh(x)"] == "nan"


def test_what_was_saved_has_the_code_that_was_there(tmp_path):
    session = straight()
    session.save(tmp_path / "straight.gradviz.json")
    loaded = gradviz.load(tmp_path / "straight.gradviz.json")
    for at in range(0, len(session) + 1, 3):
        assert loaded.at(at).code() == session.at(at).code()


def test_a_net_that_was_read_from_json_has_no_code():
    net = Net("read")
    net.SumElements("x", "loss")
    session = recorded(Net.from_dict(net.to_dict()), x=[1.0])
    assert str(session.code()) == "The recording knows no line of the user's code."
