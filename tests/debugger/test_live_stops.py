"""Where a live pass stops: by looking only at what is new, exactly where looking at everything stops it."""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
import pytest

import gradviz.functions as F
from gradviz import GradvizError, Live, Net, Variable, Workspace, debug, live
from gradviz.debugger import Cursor, Recording
from tests.debugger.answers.nets import random_programs, random_sessions, workspace_of
from tests.debugger.loops import fed, gated
from tests.random_cases import counts, fresh_seed

MOST_STOPS = 25
TEXTS = (
    "norm > 1",
    "norm(x) > 0.5 and not (op == 'Copy')",
    "event.step % 7 == 0",
    "op.index > 1",
    "op.role == 'forward' or event.phase == 'run'",
    "g.norm > 0.1",
    "inputs.norm > 1",
    "n >= 2",
    "NaN",
    "Inf",
    "NaN appears",
    "next accumulation",
    "device change",
    "Accumulated",
    "RuleApplied",
    "Ran if norm > 1",
    "LeftSubnet",
    "iteration 1",
    "event.iteration == 1",
    "Skipped",
    "event.path == ''",
)


class LooksAtEverything(Live):
    """Makes all that it looks at anew, each time that something has happened."""

    def _ahead(self, before: Cursor | None = None) -> Cursor:
        return super()._ahead()


def stops(one: Live, marks: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Where a live pass stops, and at what."""
    for text, options in marks:
        with suppress(GradvizError):  # nothing is called so by now
            one.break_on(text, **options)
    found: list[Any] = []
    with suppress(GradvizError):
        while len(found) < MOST_STOPS and len(one.session.breakpoints):
            one.continue_()
            stop = one.session.stopped
            found.append((one.session.position, len(one.session), str(stop), one.next))
            if one.next is None and (stop is None or stop.breakpoint is None):
                break
    return found


def marks_of(names: list[str], rng: random.Random) -> list[tuple[str, dict[str, Any]]]:
    """Some breakpoints."""
    marks = []
    for _ in range(rng.randint(1, 3)):
        blob = rng.choice(names) if names else "x"
        text = rng.choice([*TEXTS, blob, f"{blob}_grad", f"{blob}@1", f"{blob}.norm > 0.5", f"{blob} if norm > 0.1"])
        options = {"ignore": rng.randint(0, 3), "every": rng.randint(1, 3)} if rng.random() < 0.4 else {}
        marks.append((text, options))
    return marks


def random_nets(count: int, rng: random.Random) -> Iterator[tuple[Callable[[], Any], list[str]]]:
    cases = chain(random_sessions(count, rng.randrange(2**32)), random_programs(count // 2, rng.randrange(2**32)))
    for case, _ in cases:
        names = sorted({name for op in case.net.ops for name in (*op.inputs, *op.outputs)})
        yield lambda case=case: (case.net, case.ys, {"workspace": workspace_of(case), "skip": case.skip}), names


def engine_of(net: Any, ys: Any, options: dict[str, Any]) -> Any:
    return live(net, ys, **options)._engine


@counts(24)
def test_random_nets_stop_where_looking_at_everything_stops_them(count):
    rng, stopped = random.Random(fresh_seed()), 0
    for given, names in random_nets(count, rng):
        marks = marks_of(names, rng)
        try:
            engines = [engine_of(*given()) for _ in range(2)]
        except GradvizError:
            continue
        found, other = stops(Live(engines[0]), marks), stops(LooksAtEverything(engines[1]), marks)
        assert found == other, marks
        stopped += len(found)
    assert stopped > 24 or count < 24


@counts(24)
def test_targets_are_found_where_looking_at_everything_finds_them(count):
    rng, found = random.Random(fresh_seed()), 0
    for given, names in random_nets(count, rng):
        words = [text for text, options in marks_of(names, rng) for _ in range(3) if not options]
        try:
            passes = [kind(engine_of(*given())) for kind in (Live, LooksAtEverything)]
        except GradvizError:
            continue
        for word in words:
            outcomes = []
            for one in passes:
                try:
                    one.run_to(word)
                    outcomes.append((one.session.position, one.next))
                except GradvizError as error:
                    outcomes.append(str(error))
            assert outcomes[0] == outcomes[1], words
            found += isinstance(outcomes[0], tuple)
    assert found > 12 or count < 24


@pytest.mark.parametrize("schedule", ["rank", "tape"])
@counts(12)
def test_variables_stop_where_looking_at_everything_stops_them(schedule, count):
    rng = random.Random(fresh_seed())
    for _ in range(count):
        x, w = (Variable(np.random.default_rng(rng.randrange(100)).normal(size=3), name=name) for name in "xw")
        h = x
        for _ in range(rng.randint(2, 6)):
            h = rng.choice([F.tanh(h), h * w + x, F.sin(h) + h])
        marks = marks_of(["x", "w"], rng)
        found, other = (
            stops(kind(live(F.sum(h), schedule=schedule)._engine), marks) for kind in (Live, LooksAtEverything)
        )
        assert found == other, marks


@counts(8)
def test_tensors_stop_where_looking_at_everything_stops_them(count):
    torch = pytest.importorskip("torch")
    rng = random.Random(fresh_seed())
    for _ in range(count):
        x, w = (torch.randn(3, requires_grad=True) for _ in range(2))
        h = x
        for _ in range(rng.randint(2, 6)):
            h = rng.choice([torch.tanh(h), h * w + x, h.sin() + h])
        loss, marks = h.sum(), marks_of(["x", "w"], rng)
        found, other = (stops(kind(live(loss)._engine), marks) for kind in (Live, LooksAtEverything))
        assert found == other, marks


def test_breakpoints_of_a_loop_stop_once_in_each_round_as_in_its_recording():
    one = live(gated(), ["loss"], workspace=fed(4))
    mark = one.break_on("op.type == 'Tanh'")
    positions = []
    while one.next is not None:
        one.continue_()
        positions.append(one.session.position)
    hits = one.session.breakpoints[0].hits
    assert tuple(positions[: len(hits)]) == hits
    assert mark.on == "op.type == 'Tanh'"


def test_what_was_looked_at_is_not_looked_at_again():
    """The text goes over from one recording to the next, as long as no name has changed."""
    net = Net("chain")
    for number in range(4):
        net.Tanh(f"h{number}", f"h{number + 1}")
    ws = Workspace()
    ws.feed("h0", [0.5])
    one = live(net, ["h4"], workspace=ws)
    one.break_on("norm > 100")
    one._engine.advance()
    cursor = one._ahead()
    text = cursor._recording.text
    for _ in range(5):
        one._engine.advance()
        cursor = one._ahead(cursor)
        assert isinstance(cursor._recording, Recording)
        assert cursor._recording.text is text
    assert text.followed == len(cursor)


def test_a_breakpoint_at_what_is_to_come_says_so_until_it_has_come():
    one = live(gated(), ["loss"], workspace=fed(1))
    mark = one.break_on("Tanh")
    assert repr(mark) == "<Breakpoint 1: stops at Tanh, nothing is called so by now; no hit>"
    one.continue_()
    [mark] = one.session.breakpoints
    assert mark.description == "stops at Tanh"


def test_a_breakpoint_at_what_is_to_come_takes_all_that_one_at_what_has_come_takes():
    one, whole = live(gated(), ["loss"], workspace=fed(3)), debug(gated(), ["loss"], workspace=fed(3))
    marks = [("Tanh", {"ignore": 1}), ("TanhGradient", {"every": 2}), ("h_grad", {"log": "norm {norm}"})]
    marks += [("MatMul if norm > 0.4", {}), ("TanhGradient", {"when": "norm > 0.01"}), ("h_grad.norm > 0.01", {})]
    for text, options in marks:
        assert "nothing is called so by now" in repr(one.break_on(text, **options))
        whole.break_on(text, **options)
    for wrong, options in (
        ("Tahn", {}),
        ("Tahn if norm > 1", {}),
        ("nobody.norm > 1", {}),
        ("Tanh if norm >", {}),
        ("Tanh", {"every": 0}),
    ):
        with pytest.raises(GradvizError):
            one.break_on(wrong, **options)
    stopped = []
    while one.next is not None:
        one.continue_()
        stopped.append(one.session.event)
    ends = [[len(mark.hits) for mark in each.breakpoints] for each in (one.session, whole)]
    assert all(ends[0])
    assert ends[0] == ends[1]
    assert len(stopped) > 4


def test_a_pass_runs_to_where_what_is_to_come_fulfills_a_condition():
    one, whole = live(gated(), ["loss"], workspace=fed(3)), debug(gated(), ["loss"], workspace=fed(3))
    first, same = one.run_to("norm(h_grad) > 0.01"), whole.run_to("norm(h_grad) > 0.01")
    assert first.op == same.op
    assert first.position == same.position
    assert one.next is not None


def test_a_breakpoint_may_be_at_a_gradient_to_come_whose_name_is_no_word_of_a_condition():
    net, ws = Net("dotted"), Workspace()
    net.Tanh("0.weight", "y")
    ws.feed("0.weight", [0.5])
    one = live(net, ["y"], workspace=ws)
    for text in ("0.weight_grad", "0.weight_grad if norm > 0"):
        assert "nothing is called so by now" in repr(one.break_on(text))
    one.step()
    assert all("nothing is called so by now" in mark.description for mark in one.session.breakpoints)
    one.continue_()
    assert one.session.stopped.breakpoint.on == "0.weight_grad"


def test_what_lies_behind_is_no_event_after_where_it_stood():
    one = live(gated(), ["loss"], workspace=fed(2))
    while one.next != "#3 SumElements":
        one.step()
    position = len(one.session)
    with pytest.raises(GradvizError, match=rf"no event after position {position} was about 2\.loop_net\[1\]"):
        one.run_to("2.loop_net[1]")
    one.session.run_back_to("2.loop_net[1]")
    assert one.session.position < position
