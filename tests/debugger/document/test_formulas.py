"""The trace document says once for each operator type what it computes, in the words of the operator table."""

import json

import pytest

from gradviz import Net, Variable, debug, functions, register_kernel
from gradviz.debugger.document import Formula, Trace, TraceError, decode, encode
from tests.drawing.nested import loop


def test_each_type_has_its_formula_once_with_the_names_of_its_slots(session) -> None:
    formulas = session.trace().formulas
    assert formulas["ReluGradient"] == Formula(
        formula="dx = dy where y > 0, else 0",
        derivative="∂dy = ∂dx where y > 0, else 0",
        inputs=["y", "dy"],
        outputs=["dx"],
    )
    lines = [*session.trace().forward, *session.trace().backward]
    assert formulas.keys() == {line.type for line in lines}


def test_slots_that_may_be_missing_or_many_say_so(session) -> None:
    formulas = session.trace().formulas
    assert formulas["Sum"].inputs == ["x", "xs..."]
    assert formulas["SoftmaxWithLoss"].inputs == ["x", "labels", "weights?"]


def test_a_type_of_ones_own_has_none(own_types: None) -> None:
    @register_kernel("Twice")
    def twice(op, x):
        return x + x

    net = Net("own")
    net.add("Twice", ["x"], "y")
    net.Tanh("y", "z")
    assert "Twice" not in debug(net, ["z"]).trace().formulas


def test_nested_nets_count_too() -> None:
    net, ys, ws = loop()
    trace = debug(net, ys, workspace=ws).trace()
    assert {line.type for net in trace.subnets for line in net.forward} <= trace.formulas.keys()


@pytest.mark.parametrize("schedule", ["rank", "tape"])
def test_a_pass_that_ran_has_them_too(schedule: str) -> None:
    y = functions.tanh(Variable([1.0, 2.0]) * 2.0)
    assert "TanhGradient" in debug(functions.sum(y), schedule=schedule).trace().formulas


def test_documents_from_before_have_none_and_bad_ones_are_refused(session) -> None:
    document = json.loads(encode(session.trace()))
    assert decode(json.dumps(without(document))).formulas == {}
    with pytest.raises(TraceError, match="formulas"):
        decode(json.dumps(document | {"formulas": {"Relu": {"formula": 3}}}))


def without(document: dict[str, object]) -> dict[str, object]:
    return {name: field for name, field in document.items() if name != "formulas"}


def test_they_come_back_as_they_went_out(session) -> None:
    trace: Trace = session.trace()
    assert decode(encode(trace)).formulas == trace.formulas
