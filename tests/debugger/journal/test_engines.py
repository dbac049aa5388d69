"""Engines that others register: what `debug` does with their types, and with what they yield."""

import re
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pytest

import gradviz
from gradviz import GradientError, Net, Operator, Variable, debug
from gradviz.debugger.journal import engines
from gradviz.events import (
    About,
    Accumulated,
    ChangedByHand,
    Completed,
    Contribution,
    EnteredSubnet,
    Failed,
    GeneratorAdded,
    GradWritten,
    HookRan,
    Played,
    Ran,
    Rename,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    Waiting,
)
from gradviz.program import RegistrationError
from gradviz.program.code_line import CodeLine

replace = msgspec.structs.replace

TANH = Operator("Tanh", ["x"], ["y"])
FILL = Operator("ConstantFill", ["y"], ["y_grad"], {"value": 1.0})
BACK = Operator("TanhGradient", ["y", "y_grad"], ["x_grad"])


@dataclass
class Given:
    """Has a pass of one function to tell, or whatever it was given."""

    items: list[Any]


class Unreadable:
    """Raises as a tensor that requires a gradient does."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("it lies elsewhere")


class Sub(Given):
    """One of these is one of those."""


def record(given):
    for item in given.items if isinstance(given, Given) else given[0].items:
        if isinstance(item, Exception):
            raise item
        yield item


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(engines, "_ENGINES", dict(engines._ENGINES))
    gradviz.register_engine(Given, record)


def items():
    """A pass back through y = tanh x, by an engine that runs as it goes."""
    return [
        Played(0, TANH, (0,), (0,)),
        {"x@0": [0.5, 1.0], "y@0": np.tanh([0.5, 1.0])},
        Ran(0, TANH, (0,), (0,), "cpu", None),
        Seeded("y", 0, "y_grad", FILL, 0),
        {"y_grad@0": np.ones(2)},
        Ran(1, FILL, (0,), (0,), "cpu", 1e-6),
        Visited(0, ["y_grad"]),
        RuleApplied(0, "here.py:3", 1, [BACK], ["x_grad"]),
        {"x_grad@0": np.full(2, 0.5)},
        Ran(2, BACK, (0, 0), (0,), "cpu", 1e-6),
        GeneratorAdded(0, "x", 0, "x_grad", "generated", 1, 1),
        {"x.grad@0": np.full(2, 0.5)},
        GradWritten("x", "new", "x_grad", None, "x.grad@0"),
        Completed({"y": "y_grad", "x": "x_grad"}),
    ]


def by_hand(position, **more):
    """The gradient of x is given another value."""
    put = Operator("Copy", ["given"], ["x_grad"])
    return ChangedByHand(**{"blob": "x_grad", "version": 1, "operators": [put], "position": position, **more})


KINDS = [type(item).__name__ for item in items() if not isinstance(item, dict)]


def test_a_pass_that_keeps_the_rules_is_recorded_whole():
    session = debug(Given(items()))
    assert [event.kind for event in session.events] == KINDS
    assert session.value("x_grad").tolist() == [0.5, 0.5]
    assert session.trace().gradients == {"y": "y_grad@0", "x": "x_grad@0"}
    assert [line.type for line in session.trace().backward] == ["ConstantFill", "TanhGradient"]
    assert session.name == "Given.backward()"


def test_values_may_be_changed_by_hand_before_the_pass_and_in_it():
    put, given, square = Operator("Copy", ["given_y"], ["y"]), by_hand(2), np.full(2, 7.0)
    [op] = given.operators
    made = [
        *items()[:3],
        Played(1, put, (0,), (1,)),
        ChangedByHand(blob="y", version=1),
        {"given_y@0": [1.0, 2.0], "y@1": [1.0, 2.0]},
        Ran(1, put, (0,), (1,), "cpu", 1e-6),
        replace(items()[3], version=1),
        replace(items()[5], position=2, in_versions=(1,)),
        Visited(1, ["y_grad"]),
        RuleApplied(1, "here.py:3", 1, [replace(BACK, outputs=["x_grad"])], ["x_grad"]),
        Ran(3, BACK, (1, 0), (0,), "cpu", 1e-6),
        given,
        {"given@0": square, "x_grad@1": square},
        Ran(4, op, (0,), (1,), "cpu", 1e-6),
        Completed({"y": "y_grad"}),
    ]
    session = debug(Given(made))
    assert not isinstance(session.events[-1], Failed), session.narration
    assert session.value("x_grad").tolist() == [7, 7]
    assert session.value("y").tolist() == [1, 2]
    session.restart()
    for blob in ("y", "x_grad"):
        session.run_to("ChangedByHand")
        assert f"`{blob}@1`" in session.narration
    assert session.trace().events


def test_values_that_come_early_are_those_of_their_events():
    values = {key: one for item in items() if isinstance(item, dict) for key, one in item.items()}
    session = debug(Given([values, *[item for item in items() if not isinstance(item, dict)]]))
    assert [event.kind for event in session.events] == KINDS
    assert session.value("x.grad").tolist() == [0.5, 0.5]


def test_values_may_be_complex(tmp_path):
    values = {"x@0": [1 + 2j, 3j], "y@0": [5.0, 9.0], "x_grad@0": [2 + 4j, 6j]}
    made = [
        {key: values.get(key, one) for key, one in each.items()} if isinstance(each, dict) else each for each in items()
    ]
    session = debug(Given([*made[:11], made[13]]))
    assert session.finish().kind == "Completed"
    assert session.value("x_grad").tolist() == [2 + 4j, 6j]
    assert session.ledger("x").ledger.norm == pytest.approx(np.sqrt(56))
    session.save(tmp_path / "complex.gradviz.json")
    assert gradviz.load(tmp_path / "complex.gradviz.json").finish().kind == "Completed"


def test_where_it_ends_before_the_pass_begins_nothing_is_proven_about_gradients():
    session = debug(Given([*items()[:3], ZeroDivisionError("by nothing")]))
    session.finish()
    assert session.why_none("x").status == "stopped"
    assert "by nothing" in str(session.why_none("x"))


def test_what_is_not_given_is_not_computed():
    session = debug(Given([item for item in items() if not isinstance(item, dict)]))
    assert [event.kind for event in session.events] == KINDS
    with pytest.raises(gradviz.GradvizError, match=r"not computed|no value"):
        session.value("x_grad")


def test_values_are_as_they_were_when_they_were_yielded():
    array, made = np.ones(2), items()
    made[4] = {"y_grad@0": array}
    made.insert(6, Visited(0, ["y_grad"]))
    given = Given(made)
    session = debug(given)
    array[:] = 7
    assert session.value("y_grad").tolist() == [1, 1]
    assert not session.value("y_grad").flags.writeable


def generated(second_part):
    """A pass back through y = x * x, generated, then run: two operators write a gradient of x, one of them renamed."""
    twice = Operator("Mul", ["x", "x"], ["y"])
    first = Operator("Mul", ["x", "y_grad"], ["x_grad"])
    second = Operator("Mul", ["y_grad", "x"], ["x_grad"])
    renamed = replace(second, outputs=["_x_grad_autosplit_0"])
    add = Operator("Sum", ["x_grad", "_x_grad_autosplit_0"], ["x_grad"])
    terms = [Contribution("x_grad", "generated", 0, 1), Contribution("_x_grad_autosplit_0", "generated", 0, 2)]
    return [
        About(engine="twice", name="square", summary="A square."),
        Played(0, twice, (0, 0), (0,)),
        Seeded("y", 0, "y_grad", FILL, 0),
        Visited(0, ["y_grad"]),
        RuleApplied(0, "", 1, [first, second], ["x_grad", "x_grad"]),
        GeneratorAdded(0, "x", 0, "x_grad", "generated", 1, 1),
        GeneratorAdded(0, "x", 0, "x_grad", "generated", 2, 2),
        Accumulated(0, "x", 0, terms, [Rename(2, 0, "x_grad", "_x_grad_autosplit_0")], [add], 3, "x_grad"),
        Completed({"x": "x_grad"}),
        {"x@0": 3.0, "y@0": 9.0},
        Ran(0, twice, (0, 0), (0,), "cpu", 0.0),
        {"y_grad@0": 1.0, "x_grad@0": 3.0, "_x_grad_autosplit_0@0": second_part, "x_grad@1": 6.0},
        Ran(1, FILL, (0,), (0,), "cpu", 0.0),
        Ran(2, first, (0, 0), (0,), "cpu", 0.0),
        Ran(3, renamed, (0, 0), (0,), "cpu", 0.0),
        Ran(4, add, (0, 0), (1,), "cpu", 0.0),
    ]


def test_a_pass_that_is_generated_and_then_run_renames_what_it_adds_up():
    session = debug(Given(generated(3.0)))
    assert session.events[-1].kind == "Ran"
    assert float(session.value("x_grad")) == 6
    assert session.narration == "A square."
    assert (session.name, session.trace().engine) == ("square", "twice")
    assert "sum of 2 contributions" in str(session.ledger("x"))


def test_what_does_not_fit_a_sum_leaves_its_ledger_without_numbers():
    session = debug(Given(generated(np.ones(2))))
    assert "not computed" in str(session.ledger("x"))
    assert session.trace().events


def at(place, /, **changes):
    """The pass with other fields in one item."""
    made = items()
    made[place] = replace(made[place], **changes)
    return made


def instead(place, *others):
    """The pass with others in the place of one item."""
    made = items()
    return [*made[:place], *others, *made[place + 1 :]]


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (at(2, in_versions=(1,)), "Event 2 of Given, Ran, breaks a rule: .*reads x@0, not x@1"),
        (at(2, out_versions=(1,)), "Event 2 of Given, Ran, .*writes y@0, not y@1"),
        (at(2, out_versions=()), "writes 1 blobs, and 0 versions"),
        (at(2, position=9), "no operator #9: 1 are there by now"),
        (at(2, position=-1), "no operator #-1"),
        (at(2, op=BACK), "operator #0 is y = Tanh"),
        (at(2, device="abacus"), "Event 2 of Given, Ran, .*abacus"),
        (at(6, rank=10**30), "ranks and arrivals count from 0"),
        (at(6, waiting=[Waiting(0, 1, -1)]), "ranks and arrivals count from 0, and -1 is none"),
        (instead(10, replace(items()[7], position=2)), "applied to the operator visited last, once"),
        (at(2, seconds=-1.0), "0 seconds or more"),
        (at(2, seconds=float("inf")), "0 seconds or more, not inf"),
        (instead(2, items()[2], items()[2]), "Event 3 of Given, Ran, .*has run before"),
        (at(3, y="q"), "q@0 is no blob version of the net"),
        (at(3, version=1), "y@1 is no blob version of the net"),
        (instead(4, Seeded("y", 0, "given", None, None)), "Event 4 of Given, Seeded, .*a pass starts once at y"),
        (at(3, position=4), "gradient operator number 0 is next, not 4"),
        (at(3, gradient="q"), "none of its operators writes the gradient q"),
        (at(3, queued=Waiting(7, 0, 1)), "Event 3 of Given, Seeded, .*no operator #7"),
        (at(6, index=7), "Event 5 of Given, Visited, .*no operator #7"),
        (instead(6, Failed("odd", "It is odd.", "", -1, [])), "Event 5 of Given, Failed, .*no operator #-1"),
        (instead(6, Failed("odd", "It is odd.", "", 7, [])), "Event 5 of Given, Failed, .*no operator #7"),
        (at(6, g_output=["nonsense"]), "nobody reads or writes nonsense"),
        (at(6, g_output=[]), "0 gradients for 1 blobs"),
        (at(6, path=("0.net",)), "nested nets"),
        (at(7, position=0), "gradient operator number 1 is next, not 0"),
        (at(7, g_input=["q"]), "nobody reads or writes q"),
        (at(7, g_input=[None, None]), "2 gradients for 1 blobs"),
        (at(7, unwanted=(3,)), "has 1 inputs"),
        (at(7, operators=[replace(BACK, outputs=["a b"])]), "cannot be a name"),
        (at(7, operators=[replace(BACK, outputs=["g", "g"])]), "one name twice"),
        (at(7, operators=["TanhGradient"]), "its fields must be those of RuleApplied"),
        (at(10, blob="q"), "q@0 is no blob version"),
        (at(10, blob="y"), "no rule of operator #0 has given y@0 the gradient x_grad"),
        (at(10, gradient="y_grad"), "no rule of operator #0 has given x@0 the gradient y_grad"),
        (at(7, g_input=[None]), "Event 8 of Given, GeneratorAdded, .*no rule of operator #0 has given x@0 the"),
        (instead(7, items()[10]), "Event 6 of Given, GeneratorAdded, .*nobody reads or writes x_grad"),
        (at(10, count=2), "gradient number 1 of x@0, not 2"),
        (at(10, position=5), "no gradient operator number 5"),
        (at(12, after="x.grad@3"), "x.grad@0 is next"),
        (at(12, after="x.grad"), "no blob version"),
        (at(12, blob="q"), "q@0 is no blob version of the net"),
        (at(12, blob="x_grad"), "x_grad@0 is no blob version of the net"),
        (at(13, gradients={"q": "x_grad"}), "nobody reads or writes q"),
        (instead(6, Skipped("zero", "why")), "its fields must be those of Skipped"),
        (instead(6, EnteredSubnet(0, "net", "n")), "nested nets"),
        (instead(6, "Visited"), "Event 5 of Given, str, .*events of gradviz.events"),
        (instead(6, None), "NoneType"),
        (instead(6, items()[0]), "the net is played before the pass begins"),
        (instead(3), "Event 3 of Given, Ran, .*no operator #1"),
        (instead(6), "operator visited last"),
        (instead(13), "The end of Given, after event 9, .*ends with Completed"),
        (instead(13, items()[13], items()[6]), "the pass is over with Completed"),
        (instead(8, {"x_grad@0": np.ones(3)}), r"Event 7 of Given, Ran, .*must have the shape \(2,\)"),
        (instead(8, {"x_grad@0": np.ones(2, int)}), "must be float64"),
        (instead(8, {"x_grad@0": ["a", "b"]}), "must consist of numbers"),
        (instead(8, {"x_grad@0": [[1], [1, 2]]}), "is no array"),
        (instead(8, {"x_grad@0": Unreadable()}), "value of x_grad@0 is no array: it lies elsewhere"),
        (instead(8, {"x_grad": 1.0}), "The values before event 7 of Given break a rule: 'x_grad' is no blob version"),
        (instead(8, {("x", 0): 1.0}), "is no blob version"),
        (instead(8, {"y_grad@0": np.ones(2)}), "given a value twice"),
        (instead(8, {"q@0": np.ones(2)}), "The values before event 7 of Given .*q@0 has a value, and nobody"),
        (instead(8, {"x_grad@1": np.ones(2)}), "x_grad@1 has a value"),
        ([*items(), {"x_grad@0": 1.0}], "twice"),
        (instead(11, {"x.grad@0": 0.5}), "does not fit x"),
        (instead(4, {"y_grad@0": np.ones(2) * 1j}), r"Event 4 .*y_grad \(complex128\) does not fit y@0 \(float64\)"),
        (instead(4, {"y_grad@0": 1.0}), r"Event 4 of Given, Ran, .*y_grad \(\) does not fit y@0 \(2,\)"),
        (instead(8, {"\ud800@0": 1.0}), r"\\ud800@0 has a value"),
        (instead(2, ChangedByHand(blob="y", version=1)), "what changes y writes the next version of it, not 1"),
        (instead(2, ChangedByHand(blob="y", version=0)), "what changes y writes the next version of it, not 0"),
        (instead(2, ChangedByHand(blob="x", version=1)), "what changes x writes the next version"),
        (instead(2, by_hand(0)), "changed by the operator played last"),
        (instead(10, ChangedByHand(blob="x", version=1)), "or in the pass by those of the event"),
        (instead(10, by_hand(0)), "gradient operator number 2 is next, not 0"),
        (instead(10, by_hand(2, version=2)), "what changes x_grad writes the next version of it, not 2"),
        (instead(10, by_hand(2, blob="y_grad")), "what changes y_grad writes the next version"),
    ],
)
def test_what_breaks_a_rule_ends_the_recording_and_is_named(broken, says, tmp_path):
    session = debug(Given(broken))
    last = session.events[-1]
    assert isinstance(last, Failed)
    assert last.error == "bad_event"
    assert re.search(says, last.message), last.message
    assert session.finish() is last
    assert last.message in session.narration
    before = [event.kind for event in session.events[:-1]]
    assert before == KINDS[: len(before)]
    session.save(tmp_path / "broken.gradviz.json")
    assert len(gradviz.load(tmp_path / "broken.gradviz.json")) == len(session)
    assert "The state at event" in str(session.state())


def test_a_value_that_comes_after_its_event_is_late():
    made = [item for item in items() if not isinstance(item, dict)]
    session = debug(Given([*made[:2], {"y@0": np.ones(2)}, *made[2:]]))
    assert "at or before what writes it" in session.events[-1].message


def test_of_several_hooks_the_last_has_made_the_gradient():
    def hooked(version, position, value):
        twice = Operator("Scale", ["x_grad"], ["x_grad"], {"scale": 2.0})
        yield HookRan(None, "x", 0, "x_grad", "x_grad", [twice], position)
        yield {f"x_grad@{version}": np.full(2, value)}
        yield Ran(position + 1, twice, (version - 1,), (version,), "cpu", 1e-6)

    session = debug(Given([*items()[:11], *hooked(1, 2, 1.0), *hooked(2, 3, 2.0), items()[13]]))
    assert "A hook has made x_grad@2 of x_grad@0: that is the gradient of x@0." in str(session.ledger("x"))
    assert "x_grad@2 is the gradient of x@0, as a hook has changed it." in str(session.why_none("x_grad@2"))


def test_an_exception_in_the_middle_ends_the_recording():
    session = debug(Given([*items()[:7], ZeroDivisionError("by nothing")]))
    assert session.events[-1].error == "engine_failed"
    assert "Given raised ZeroDivisionError after event 5, Visited: by nothing." in session.events[-1].message
    assert session.value("y_grad").tolist() == [1, 1]


def test_a_line_that_no_file_can_hold_is_told_when_it_is_recorded():
    played = replace(items()[0], code=CodeLine("notes.py", 10**20))
    with pytest.raises(GradientError, match="its fields must be those of Played"):
        debug(Given(instead(0, played)))


def test_an_exception_whose_text_raises_ends_the_recording_too():
    class Mute(Exception):
        def __str__(self):
            raise ZeroDivisionError

    said = "Given raised Mute after event 5, Visited: what it says is not known, for its __str__ raised"
    assert said in debug(Given([*items()[:7], Mute()])).events[-1].message


def test_an_operator_whose_gradient_was_made_and_never_came_cannot_be_checked():
    session = debug(Given([*items()[:8], ZeroDivisionError("by nothing")]))
    session.finish()
    found = session.check("#0")
    assert found.verdict == "not checkable"
    assert "x@0 is not checked: the gradient that the rule has made for it never came." in found.notes
    assert "never came" in session.checkable("#0").problem


def test_a_gradient_that_came_from_nowhere_cannot_be_checked():
    unread = Operator("Exp", ["x"], ["z"])
    made = [
        *items()[:3],
        Played(1, unread, (0,), (0,)),
        {"z@0": np.exp([0.5, 1.0])},
        Ran(1, unread, (0,), (0,), "cpu", None),
        *[replace(one, position=2) if isinstance(one, Ran) else one for one in items()[3:6]],
        Visited(1, [None]),
        RuleApplied(1, "here.py:4", 1, [replace(BACK, inputs=["z"])], ["x_grad"]),
        {"x_grad@0": np.full(2, 0.5)},
        Ran(3, replace(BACK, inputs=["z"]), (0,), (0,), "cpu", 1e-6),
        GeneratorAdded(1, "x", 0, "x_grad", "generated", 1, 1),
        Completed({"x": "x_grad"}),
    ]
    assert "no y was computed from x@0" in str(debug(Given(made)).check("x"))


def test_an_error_of_gradviz_keeps_its_kind():
    session = debug(Given([*items()[:7], GradientError("No rule.", kind="no_gradient_rule", ways_out=["Write one."])]))
    assert session.events[-1].error == "no_gradient_rule"


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [([3], "bad_event"), ([], "bad_event"), ([About()], "bad_event"), ([ValueError("no")], "engine_failed"),
     ([replace(items()[0], index=1)], "bad_event"), ([About(name=3), *items()], "bad_event"), ([{3: 3}], "bad_event")],
)  # fmt: skip
def test_where_nothing_was_recorded_it_raises(wrong, kind):
    with pytest.raises(GradientError) as caught:
        debug(Given(wrong))
    assert caught.value.kind == kind
    assert "What was recorded before is here." not in caught.value.ways_out


def test_what_yields_nothing_at_all_raises():
    gradviz.register_engine(Given, lambda given: None)
    with pytest.raises(GradientError, match="NoneType"):
        debug(Given([]))


def test_subclasses_and_sequences_are_recorded_too():
    assert len(debug(Sub(items()))) == len(KINDS)
    assert len(debug([Sub(items()), Sub([])])) == len(KINDS)
    gradviz.register_engine(Sub, lambda given: iter(items()[:-1]))
    assert debug(Sub([])).events[-1].kind == "Failed"
    assert debug(Given(items())).events[-1].kind == "Completed"


def test_options_go_to_the_engine():
    asked = []

    def with_options(given, depth=1, ys=None, name=""):
        asked.append((depth, ys, name))
        yield from items()

    gradviz.register_engine(Given, with_options)
    debug(Given([]), depth=3)
    debug(Given([]), ["y"], name="first")
    assert asked == [(3, None, ""), (1, ["y"], "first")]
    with pytest.raises(GradientError, match=r"debug takes no colour .* of a Given") as caught:
        debug(Given([]), colour="red")
    assert caught.value.kind == "bad_argument"
    assert "Choose from depth, ys, name." in caught.value.ways_out


@pytest.mark.parametrize("of", [3, object, Net, Net.__mro__[-2], Variable, gradviz.Parameter, "Value"])
def test_an_engine_needs_a_type_of_its_own(of):
    with pytest.raises(RegistrationError) as caught:
        gradviz.register_engine(of, record)
    assert caught.value.kind == "bad_engine"


@pytest.mark.parametrize("wrong", [3, lambda: iter(()), None])
def test_an_engine_needs_a_function_of_an_object(wrong):
    with pytest.raises(RegistrationError):
        gradviz.register_engine(Given, wrong)
