"""What every writing was called at each position, held against the engine as it was then."""

import random

import pytest

from gradviz import IR, GradvizError, Net
from gradviz.debugger.journal import ProgramText, Timeline, codes_of
from gradviz.program.control_flow import NETS
from gradviz.program.events import Completed, Visited
from gradviz.program.net_halves import nets_of, number
from tests.debugger.answers.nets import random_programs
from tests.gradient.nets.strategy import MOST_OPERATORS, SEED_BYTES, decoded
from tests.gradient.nets.themes import THEMES
from tests.random_cases import counts, fresh_seed


def followed(ops, ys, skip=0):
    """The text of a pass, and the engine's gradient operators with their versions whenever it is done with one."""
    ir = IR(ops, skip)
    events, then, now = [], {}, []
    for event in ir.backward_events(ys):
        if isinstance(event, Visited | Completed) and not event.path:
            then[len(events)] = now
        events.append(event)
        now = [(ssa.op.type, ssa.inputs, ssa.outputs) for ssa in number([*ops, *ir.gradient_ops])[len(ops) :]]
    text = ProgramText()
    text.follow(nets_of(ops, ir.gradient_ops, events), events, Timeline(codes_of(map(type, events))))
    return text, then


def as_read(text, position):
    return [
        (one.op.type, list(map(str, one.inputs)), list(map(str, one.outputs)))
        for one in text.outermost.backward_at(position)
        if one.role != "passed"
    ]


def random_nets(count):
    rng = random.Random(fresh_seed())
    for index in range(count):
        yield decoded(THEMES[index % len(THEMES)], rng.randbytes(SEED_BYTES + MOST_OPERATORS + 1))


@counts(80)
def test_every_statement_reads_at_each_position_as_the_engine_had_it_then(count):
    compared = 0
    for case in random_nets(count):
        try:
            text, then = followed(case.net.ops, case.ys, case.skip)
        except GradvizError:
            continue
        for position, operators in then.items():
            assert as_read(text, position) == operators
        compared += 1
    assert compared > 20 or count < 80


@pytest.fixture
def fan():
    net = Net("fan")
    for index in range(3):
        net.Tanh("x", f"a{index}")
    net.Sum(["a0", "a1", "a2"], "y")
    return followed(net.ops, ["y"])[0]


def test_a_writing_that_an_accumulation_renames_knows_what_it_was_called_before(fan):
    net = fan.outermost
    terms = [one.outputs[0] for one in net.operators if one.op.type == "TanhGradient"]
    at = next(one.made for one in net.operators if one.op.type == "Sum")
    assert [str(one.at(at - 1)) for one in terms] == ["x_grad@0", "x_grad@1", "x_grad@2"]
    assert [str(one) for one in terms] == ["x_grad@0", "_x_grad_autosplit_0@0", "_x_grad_autosplit_1@0"]
    assert net.operators[-1].changes() == [at]
    assert [one.statement.changes()[1:] for one in terms] == [[], [at], [at]]


def test_the_latest_writing_of_a_name_depends_on_the_position(fan):
    net = fan.outermost
    at = next(one.made for one in net.operators if one.op.type == "Sum")
    first, second, third = (one.outputs[0] for one in net.operators if one.op.type == "TanhGradient")
    made = [one.statement.made for one in (first, second, third)]
    assert [net.latest("x_grad", position) for position in made] == [first, second, third]
    assert net.latest("x_grad", at).statement.op.type == "Sum"
    assert str(net.latest("x_grad")) == "x_grad@1"
    assert net.latest("nobody", at).version == 0


@counts(40)
def test_what_runs_writes_the_versions_that_the_text_says_it_writes(count):
    compared = 0
    for _, session in random_programs(count, fresh_seed()):
        text = session._recording.text.outermost
        for at, event in enumerate(session.events, 1):
            if event.kind == "Ran" and not event.path:
                written = [text.version(*one) for one in zip(event.op.outputs, event.out_versions, strict=True)]
                assert all(one.statement is not None and one.statement.ran == at for one in written)
                compared += event.op.type in NETS and event.op.is_gradient
    assert compared > 10 or count < 40
