"""The engine of PyTorch standing still: operators run when a verb says so, and in the end all is as `debug` has it."""

import gc
import os
import signal
import sys
import threading

import msgspec
import pytest
import torch

import gradviz
from gradviz.debugger import ConditionError, CursorError
from gradviz.events import Failed, Ran
from tests.bridges.torch.models import MODELS

REENTRANT = {name for name in MODELS if "reentrant" in name and "non" not in name}


LARGER = {"GPT"}
"""Than others of their kind: every stop of a pass is looked at."""


@pytest.fixture(params=[name for name in MODELS if name not in REENTRANT | LARGER])
def made(request):
    """What makes a model and its loss, the same at each call."""

    def make():
        torch.manual_seed(7)
        return MODELS[request.param]()

    return make


@pytest.fixture
def model():
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))


@pytest.fixture
def loss(model):
    with gradviz.torch.capture(model):
        return (model(torch.ones(5, 4)) ** 2).mean()


def timeless(events):
    """Events, but for the seconds that their operators took."""
    return [msgspec.structs.replace(one, seconds=None) if isinstance(one, Ran) else one for one in events]


@pytest.fixture
def waiting():
    """The threads of passes that stand still, but for those of tests before."""
    gc.collect()
    before = threading.enumerate()
    return lambda: [one for one in threading.enumerate() if one.name == "gradviz.live" and one not in before]


def test_what_is_run_node_by_node_is_what_debug_records(made):
    _, loss = made()
    live = gradviz.live(loss)
    stops = [live.session]
    while live.next is not None:
        live.step()
        stops.append(live.session)
    recorded = gradviz.debug(loss)
    assert timeless(live.session.events) == timeless(recorded.events)
    whole = list(live.session.events)
    for one in stops:
        assert list(one.events) == whole[: len(one)]
        assert one.narration
    assert len({len(one) for one in stops}) == len(stops)


def test_the_last_session_has_the_values_of_debug(made):
    _, loss = made()
    live, recorded = gradviz.live(loss).finish(), gradviz.debug(loss)
    versions = [f"{name}@{version}" for name, version in recorded._recording.values]
    assert {f"{name}@{version}" for name, version in live._recording.values} == set(versions)
    for one in versions:
        assert live.value(one).tobytes() == recorded.value(one).tobytes(), one


def test_with_write_it_is_the_users_backward(made):
    model, loss = made()
    gradviz.live(loss, write=True).finish()
    other, again = made()
    again.backward()
    for one, expected in zip(model.parameters(), other.parameters(), strict=True):
        assert (one.grad is None) is (expected.grad is None)
        assert one.grad is None or torch.equal(one.grad.to_dense(), expected.grad.to_dense())


def test_nothing_runs_before_it_is_asked_for(model, loss):
    ran = []
    node = loss.grad_fn.next_functions[0][0]
    handle = node.register_hook(lambda sent, arrived: ran.append(node.name()))
    live = gradviz.live(loss)
    assert live.next == "#6 mean"
    live.step()
    assert (ran, live.next) == ([], "#5 pow")
    live.step()
    assert ran == ["PowBackward0"]
    handle.remove()
    assert "#4 addmm is next" in repr(live)
    assert "It stands still before that of operator #4 addmm" in live.session._narrator.summary()


def test_breakpoints_stop_it_where_they_stop_a_session(loss):
    live = gradviz.live(loss)
    live.break_on("2.weight")
    live.break_on("norm > 0.1")
    recorded = gradviz.debug(loss)
    recorded.break_on("2.weight")
    recorded.break_on("norm > 0.1")
    begun = len(live.session)
    recorded.move_to(begun)
    stops = []
    while live.continue_() and live.session.stopped.breakpoint is not None:
        recorded.continue_()
        assert live.session.position == recorded.position
        assert repr(live.session.stopped) == repr(recorded.stopped)
        stops.append(live.next)
    assert stops == ["#5 pow", "#2 tanh"]
    assert live.next is None
    assert len(live.session) == len(recorded)


def test_a_breakpoint_stops_before_later_operators_have_run(loss):
    live = gradviz.live(loss)
    live.break_on("tanh")
    live.continue_()
    assert live.next == "#2 tanh"
    assert live.session.event.kind == "Visited"


@pytest.mark.parametrize("target", ["2.weight", "2.weight_grad", "AddmmBackward0", "Visited", "norm > 0.1", "#1"])
def test_run_to_ends_where_it_first_happens(loss, target):
    live, recorded = gradviz.live(loss), gradviz.debug(loss)
    recorded.move_to(len(live.session))
    assert live.run_to(target) == recorded.run_to(target) or isinstance(recorded.event, Ran)
    assert live.session.position == recorded.position
    assert live.next is not None or target == "#1"


@pytest.mark.parametrize("target", ["nothing", "nothing_grad", "norm >", "x_grad >", 3])
def test_a_target_that_cannot_come_runs_nothing(loss, target):
    live = gradviz.live(loss)
    with pytest.raises((CursorError, ConditionError)):
        live.run_to(target)
    assert live.next == "#6 mean"


def test_a_target_that_does_not_come(loss):
    live = gradviz.live(loss)
    with pytest.raises(CursorError, match=r"The pass is over, and no event after position \d+ was about NaN"):
        live.run_to("NaN")
    assert live.next is None


def test_the_past_of_a_session_does_not_move_the_engine(loss):
    live = gradviz.live(loss)
    live.step()
    session = live.session
    session.restart()
    session.step()
    assert live.next == "#5 pow"
    live.step()
    assert len(live.session) > len(session)
    assert live.session.position == len(live.session)
    assert session.position == 1


def test_what_is_to_come_is_not_none(loss):
    live = gradviz.live(loss)
    live.run_to("tanh")
    session = live.session
    assert session.why_none("0.weight").status == "not yet"
    assert "the pass has not come there" in str(session.why_none("0.weight"))
    assert session.why_none("2.weight").status == "has one"
    live.finish()
    assert live.session.why_none("0.weight").status == "has one"


def test_after_abort_the_graph_is_as_before(model, loss, waiting):
    live = gradviz.live(loss)
    live.step()
    session = live.abort()
    assert isinstance(session.events[-1], Failed)
    assert "before operator #5 pow" in session.narration
    assert live.next is None
    assert not waiting()
    live.step()
    assert live.session.narration == session.narration
    loss.backward()
    assert all(one.grad is not None for one in model.parameters())


def test_it_ends_with_whoever_has_it(loss, waiting):
    live = gradviz.live(loss)
    live.step()
    assert len(waiting()) == 1
    del live
    gc.collect()
    assert not waiting()
    assert len(gradviz.debug(loss)) > 0


def test_a_pass_of_the_users_own_meanwhile(model, loss):
    live = gradviz.live(loss)
    live.step()
    loss.backward(retain_graph=True)
    expected = [one.grad.clone() for one in model.parameters()]
    session = live.finish()
    for (name, one), gradient in zip(model.named_parameters(), expected, strict=True):
        assert torch.equal(one.grad, gradient)
        assert torch.equal(torch.tensor(session.value(f"{name}_grad")), gradient)


def test_two_passes_at_once(loss):
    one, other = gradviz.live(loss), gradviz.live(loss)
    one.step()
    other.finish()
    one.finish()
    assert timeless(one.session.events) == timeless(other.session.events)


def test_a_hook_that_raises_is_the_last_event(model, loss):
    def refuse(gradient):
        raise ValueError("no such gradient")

    handle = model[0].weight.register_hook(refuse)
    live = gradviz.live(loss)
    live.finish()
    handle.remove()
    assert "ValueError: no such gradient" in live.session.narration
    assert gradviz.live(loss).finish().event.kind == "Completed"


@pytest.mark.parametrize("verb", ["finish", "step", "continue_"])
def test_a_hook_that_ends_the_program_does_so(model, loss, verb):
    handle = model[0].weight.register_hook(lambda gradient: sys.exit("on purpose"))
    live = gradviz.live(loss)
    live.break_on("Failed")
    while verb == "step" and live.next != "#1 addmm":
        live.step()
    with pytest.raises(SystemExit, match="on purpose"):
        (live.step(), live.step()) if verb == "step" else getattr(live, verb)()
    handle.remove()
    assert live.next is None
    said = "The pass stops here. A hook of the gradient of 0.weight raised SystemExit: on purpose."
    assert live.session.narration == said
    assert live.session.run_back_to("GeneratorAdded") is not None


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_loses_nothing(loss):
    node = loss.grad_fn.next_functions[0][0]
    handle = node.register_hook(lambda sent, arrived: os.kill(os.getpid(), signal.SIGINT))
    live = gradviz.live(loss)
    live.step()

    def finish():
        live.finish()
        threading.Event().wait(10)  # for the signal, should it come late

    with pytest.raises(KeyboardInterrupt):
        finish()
    handle.remove()
    live.finish()
    assert timeless(live.session.events) == timeless(gradviz.debug(loss).events)


def test_what_runs_on_behind_an_interrupt_is_told_by_the_next_step(loss, interrupting):
    live = gradviz.live(loss)
    while live.next is not None:
        with interrupting(), pytest.raises(KeyboardInterrupt):
            live.step()
        live.step()
    assert timeless(live.session.events) == timeless(gradviz.debug(loss).events)
    assert all(one.seconds is None or one.seconds >= 0 for one in live.session.events if isinstance(one, Ran))


def test_what_cannot_be_done_is_refused_in_words(loss):
    live = gradviz.live(loss)
    for what, call in {
        "feed x": lambda: live.feed("x", 1),
        "leave out #6 mean": live.skip,
        "run an operator on cuda:0": lambda: live.step(device="cuda:0"),
    }.items():
        with pytest.raises(gradviz.GradvizError, match=what) as caught:
            call()
        assert "works on what its nodes have kept" in str(caught.value)
    assert live.next == "#6 mean"


@pytest.mark.parametrize("name", sorted(REENTRANT))
def test_a_reentrant_checkpoint_is_refused(name):
    _, loss = MODELS[name]()
    with pytest.raises(gradviz.GradientError, match="use_reentrant=False"):
        gradviz.live(loss)


def test_what_stands_still_and_what_does_not():
    class Foreign:
        """Of an engine that yields its events at once."""

    gradviz.register_engine(Foreign, lambda foreign: [])
    for given, call in ((gradviz.Net("n"), r"live\(net, ys, workspace=ws\)"), (Foreign(), r"debug\(foreign\)")):
        with pytest.raises(gradviz.GradientError, match=call) as caught:
            gradviz.live(given)
        assert caught.value.kind == "not_live"
    with pytest.raises(gradviz.GradientError, match="live takes no schedule"):
        gradviz.live(torch.ones(1, requires_grad=True).sum(), schedule="rank")


def test_a_freed_graph_stops_where_something_is_missing(loss):
    loss.backward()
    live = gradviz.live(loss)
    live.finish()
    assert "second time" in live.session.narration


def test_a_session_so_far_is_saved_drawn_and_asked(loss, tmp_path):
    live = gradviz.live(loss)
    live.run_to("2.weight")
    session = live.session
    session.save(tmp_path / "so-far.gradviz.json")
    loaded = gradviz.load(tmp_path / "so-far.gradviz.json")
    loaded.finish()
    session.finish()
    assert loaded.narration == session.narration
    assert "addmm" in str(session.graph())
    assert session.state()
    assert session.provenance("2.weight_grad")
