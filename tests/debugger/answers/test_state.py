"""The state at each position is the one that the engine has there."""

import msgspec
import pytest

from gradviz import IR, Net, debug, load
from gradviz.debugger.answers.state import state_at
from gradviz.debugger.journal import Pace
from gradviz.gradient.accumulation import Generator
from tests.debugger.answers.nets import random_programs, random_sessions, recorded
from tests.debugger.conftest import skip_net
from tests.debugger.loops import fed, gated
from tests.random_cases import counts


def of_engine(ir: IR) -> dict:
    """The state of an IR in the terms of a `StateView`."""

    def told(generator: Generator) -> tuple:
        return generator.gradient, generator.how, generator.index, generator.position

    return {
        "ssa": [str(ssa) for ssa in ir.ssa],
        "input_usages": ir.input_usages,
        "frontier": ir.frontier,
        "gradient_frontier": ir.gradient_frontier,
        "gradient_generators": {
            name: [list(map(told, generators)) for generators in versions]
            for name, versions in ir.gradient_generators.items()
        },
        "gradients": dict(ir.gradient_map),
        "gradient_ops": list(map(str, ir.gradient_ops)),
    }


def of_recording(session, position: int) -> dict:
    """The same as it is derived from the events up to a position."""
    state = state_at(session.at(0)._here, position, Pace(None))
    played = [line for line in session.trace().forward if line.made <= position]
    return {
        "ssa": [f"{', '.join(line.outputs)}|{line.type}|{', '.join(line.inputs)}" for line in played],
        "input_usages": state.input_usages,
        "frontier": state.frontier,
        "gradient_frontier": state.gradient_frontier,
        "gradient_generators": {
            name: [[msgspec.structs.astuple(one) for one in generators] for generators in versions]
            for name, versions in state.gradient_generators.items()
        },
        "gradients": state.gradients,
        "gradient_ops": state.gradient_ops,
    }


def assert_states_agree(session, ys, skip, operators) -> int:
    """Replay the pass in an IR and compare wherever it stops between two events; says how often that was."""
    ir = IR(operators, skip)
    compared = 0
    for position, event in enumerate(ir.backward_events(ys), 1):
        assert session.events[position - 1].kind == event.kind
        if ir.events and event is not ir.events[-1]:
            continue
        wanted, found = of_engine(ir), of_recording(session, position)
        wanted["ssa"] = [f"{', '.join(s.outputs)}|{s.op.type}|{', '.join(s.inputs)}" for s in ir.ssa]
        for part, value in wanted.items():
            assert found[part] == value, f"{part} at event {position}, {event.kind}"
        compared += 1
    return compared


def test_the_state_of_the_skip_net_at_every_stop():
    assert assert_states_agree(debug(skip_net(), ["loss"]), ["loss"], 0, skip_net().ops) == 10


def test_while_operators_are_played_the_state_is_that_of_the_program_so_far():
    session = debug(skip_net(), ["loss"])
    for count in range(1, 8):
        wanted, found = of_engine(IR(skip_net().ops[:count])), of_recording(session, count)
        for part in ("input_usages", "frontier", "gradients", "gradient_ops"):
            assert found[part] == wanted[part]


def test_a_given_gradient_that_nobody_needs_has_not_arrived():
    net = Net()
    net.Tanh("x", "y")
    net.ConstantFill("y", "y", value=1.0)
    ys = {"y": "dy"}
    session = debug(net, ys)
    assert assert_states_agree(session, ys, 0, net.ops) == 4
    session.finish()
    assert session.state().gradient_generators["y"] == [[], []]
    assert session.state().gradient_frontier == {"y": 1}


@counts(60)
def test_states_of_random_nets_are_those_of_the_ir(count):
    pytest.importorskip("torch", reason="random nets are drawn with PyTorch")
    cases = [(case, session) for case, session in random_sessions(count, seed=5) if session.events[-1].kind != "Failed"]
    assert sum(assert_states_agree(session, case.ys, case.skip, case.net.ops) for case, session in cases) > 3.4 * count


@counts(24)
def test_states_of_random_programs_are_those_of_the_ir(count):
    pytest.importorskip("torch", reason="random programs are compared with PyTorch")
    cases = [one for one in random_programs(count, seed=6) if one[1].events[-1].kind != "Failed"]
    assert sum(assert_states_agree(session, case.ys, case.skip, case.net.ops) for case, session in cases) > 2.5 * count


def test_the_last_event_is_said_to_have_changed_what_it_did():
    net = Net()
    net.Tanh("x", "a")
    net.Sigmoid("x", "b")
    net.Add(["a", "b"], "y")
    session = recorded(net, ["y"], x=[1.0])
    session.step()
    assert session.state().changed == [
        "ssa: a@0 = Tanh(x@0) joined",
        "frontier: x = 0 is new",
        "frontier: a = 0 is new",
        "input_usages: x@0 is read by #0",
    ]
    session.run_to("Seeded")
    assert "gradients: y = y_autogen_grad is new" in session.state().changed
    session.run_to("Accumulated")
    assert session.state().changed == [
        "gradient_ops: x_grad = TanhGradient(a, a_grad) became _x_grad_autosplit_0 = TanhGradient(a, a_grad)",
        "gradient_ops: x_grad = Sum(x_grad, _x_grad_autosplit_0) joined",
        "gradient_generators: of x@0, x_grad is now _x_grad_autosplit_0",
    ]
    session.run_to("Ran")
    assert session.state().changed == []


def test_in_a_nested_net_the_state_is_that_of_its_pass():
    session = debug(gated(), ["loss"], workspace=fed(1))
    at = next(at for at, event in enumerate(session.events, 1) if event.kind == "GeneratorAdded" and event.blob == "b")
    session.move_to(at)
    view = session.state()
    assert view.net == "2.loop_net/0.net"
    assert view.gradients == {"h": "h_grad", "b": "b_grad"}
    assert view.frontier["h"] == 2
    first = next(at for at, event in enumerate(session.events, 1) if event.path == ("2.loop_net", "0.net"))
    assert [len(session.at(at).state().ssa) for at in (first - 1, first, first + 1)] == [0, 1, 2]
    session.restart()
    assert (session.state().net, session.state().ssa) == ("", [])


def test_it_answers_from_a_file(tmp_path, session):
    session.save(tmp_path / "s.gradviz.json")
    again = load(tmp_path / "s.gradviz.json")
    for position in range(0, len(session) + 1, 7):
        session.move_to(position)
        again.move_to(position)
        assert again.state() == session.state()


def test_programs_with_nested_nets_answer_from_a_file(tmp_path):
    pytest.importorskip("torch", reason="random programs are compared with PyTorch")
    for _, session in random_programs(6, seed=4):
        session.save(tmp_path / "s.gradviz.json")
        again = load(tmp_path / "s.gradviz.json")
        for position in (0, len(session) // 2, len(session)):
            assert again.at(position).state() == session.at(position).state()


def test_a_look_through_everything_tells_how_far_it_is(session):
    heard = []
    pace = Pace(heard.append, "answer")
    pace.due = 0
    state_at(session.at(0)._here, len(session), pace)
    assert (heard[0].events, heard[0].work) == (0, "answer")


def test_there_is_a_place_for_a_schedule(session):
    assert session.state().schedule is None
    assert session.state().to_dict()["schedule"] is None
