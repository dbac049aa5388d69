"""Breakpoints, log points and the runs that end at them, in both directions of time."""

import time

import msgspec
import numpy as np
import pytest

import gradviz
from gradviz import Net, Workspace, debug, load
from gradviz.debugger import ConditionError, CursorError
from gradviz.debugger.document import BreakpointEntry, Marked, TraceError, decode, encode
from gradviz.debugger.document.bounds import MOST_MARKS
from tests.debugger.conftest import skip_net
from tests.debugger.loops import fed, gated


def kinds(session, positions):
    """The names of events."""
    return [session.events[position - 1].kind for position in positions]


def at(session, kind, type_=None):
    """The positions of events of a kind, whose operator is of a type."""
    found = [(position, event) for position, event in enumerate(session.events, 1) if event.kind == kind]
    return tuple(position for position, event in found if type_ is None or event.op.type == type_)


def poisoned():
    """log of -1 is NaN, from which on everything is."""
    net = Net("poisoned")
    net.Log("x", "l")
    net.Exp("l", "e")
    net.SumElements("e", "loss")
    ws = Workspace()
    ws.feed("x", np.array([1.0, -1.0]))
    return debug(net, ["loss"], workspace=ws)


def test_a_run_stops_at_each_hit_and_at_the_end(session):
    point = session.break_on("Accumulated")
    session.continue_()
    assert session.event.kind == "Accumulated"
    assert (session.stopped.reason, session.stopped.breakpoint) == ("breakpoint", point)
    session.continue_()
    assert (session.position, session.stopped.reason) == (len(session), "end")
    session.reverse_continue()
    assert session.event.kind == "Accumulated"
    session.reverse_continue()
    assert (session.position, session.stopped.reason) == (0, "start")


def test_the_way_back_stops_where_the_way_forward_does(session):
    for on in ("FC", "norm > 3", "a_grad@1"):
        session.break_on(on)
    forward, back = [], []
    while session.position < len(session):
        session.continue_()
        forward.append(session.position)
    while session.position:
        session.reverse_continue()
        back.append(session.position)
    hits = sorted({hit for point in session.breakpoints for hit in point.hits} - {len(session)})
    assert forward == [*hits, len(session)]
    assert back == [*hits[::-1], 0]


@pytest.mark.parametrize("on", ["FC", "#2", "a", "Accumulated", "Ran", "FCGradient"])
def test_a_target_is_where_run_to_finds_it(session, on):
    hits = session.break_on(on).hits
    found = []
    while True:
        try:
            session.run_to(on)
        except CursorError:
            break
        found.append(session.position)
    assert list(hits) == found != []


def test_a_version_is_where_it_is_written(session):
    assert kinds(session, session.break_on("a_grad@1").hits) == ["Accumulated", "Ran"]
    assert kinds(session, session.break_on("h@0").hits) == ["Played", "Ran"]


def test_conditions_look_at_what_an_operator_writes(session):
    ran = [session.events[hit - 1] for hit in session.break_on("norm > 10").hits]
    norms = {name: float(np.linalg.norm(session.value(name))) for name in ("h@0", "a@0", "z@0", "loss@0", "z_grad@0")}
    for event in ran:
        assert any(np.linalg.norm(session.value(name)) > 10 for name in event.op.outputs)
    written = {f"{name}@0" for event in ran for name in event.op.outputs}
    assert {name for name in norms if norms[name] > 10} == written & norms.keys()


def test_of_several_blobs_that_an_operator_writes_one_is_enough(session):
    assert len(session.break_on("x == 'b3_grad' and kind == 'Ran'").hits) == 1
    assert len(session.break_on("x == 's_grad' and kind == 'Ran'").hits) == 1


def test_a_mistyped_event_is_answered_with_the_one_that_was_meant(session):
    with pytest.raises(ConditionError) as caught:
        session.break_on("RuleAplied")
    assert caught.value.ways_out[0] == "Did you mean RuleApplied?"


def test_a_named_blob_is_looked_at_where_it_is_computed(session):
    ran = at(session, "Ran", "ReluGradient")
    assert session.break_on("norm(h_grad) > 0").hits == ran[1:]
    # At the run that computes u_grad there is no h_grad yet.
    assert session.break_on("h_grad@0.norm < norm(u_grad) * 1e6").hits == ran[1:]


def test_a_gradient_is_told_from_other_blobs(session):
    backward = {f"b{k}" for k in range(20)}
    lines = [session.trace().events[hit - 1].lines[0] for hit in session.break_on("g.size > 0").hits]
    assert lines
    assert set(lines) <= backward


def test_a_target_and_a_condition(session):
    both = set(session.break_on("FC if norm > 20").hits)
    assert both == set(session.break_on("FC").hits) & set(session.break_on("norm > 20").hits)
    assert session.break_on("FC", when="norm > 20").hits == session.break_on("FC if norm > 20").hits


def test_a_target_stops_where_a_condition_on_blobs_by_name_holds_by_then(session):
    visits = at(session, "Visited")
    ran = at(session, "Ran", "ReluGradient")[1]
    gradients = session.break_on("FCGradient").hits
    assert session.break_on("Visited", when="x@0.size > 0 or kind == 'Ran'").hits == visits
    assert session.break_on("FCGradient if norm(h_grad) > 0").hits == tuple(hit for hit in gradients if hit > ran)


def test_accumulations_by_how_many_gradients_they_add(session):
    accumulated = at(session, "Accumulated")
    assert session.break_on("accumulation").hits == session.break_on("n >= 2").hits == accumulated
    assert session.break_on("n >= 3").hits == ()


def test_sparse_meets_dense():
    net = Net("mixed")
    net.Gather(["w", "ids"], "rows")
    net.MatMul(["rows", "w"], "y")
    session = debug(net, ["y"])
    (hit,) = session.break_on("sparse meets dense").hits
    assert session.events[hit - 1].kind == "Accumulated"
    assert session.break_on("sparse > 0 and dense == 0").hits == ()


def test_nan_is_found_where_it_appears():
    session = poisoned()
    assert kinds(session, session.break_on("NaN appears").hits) == ["Ran"]
    session.finish()
    session.reverse_continue()
    assert session.event.op.type == "Log"
    assert len(session.break_on("NaN").hits) > 3
    assert "nan of l@0 = 1" in session.stopped.value


def test_what_a_stop_has_nothing_of_is_called_as_it_was_asked_for():
    session = poisoned()
    session.break_on("g.norm > 0 or norm(x) > 1 or isnan(e)")
    session.continue_()
    assert session.stopped.value == "norm of g = not computed, norm of e@0 = NaN, e@0"


def test_infinities_and_subnormal_numbers():
    net = Net("extremes")
    net.Exp("x", "e")
    net.Mul(["x", "e"], "y")
    ws = Workspace()
    ws.feed("x", np.array([800.0, -740.0]))
    session = debug(net, ["y"], workspace=ws)
    exp = at(session, "Ran", "Exp")[:1]
    assert session.break_on("Inf appears").hits[:1] == exp
    assert session.break_on("subnormal appears").hits[:1] == exp
    assert session.trace().values["e@0"].subnormal == 1


def test_a_change_of_device():
    session = poisoned()
    assert session.break_on("device change").hits == ()
    document = session.trace()
    values = dict(document.values)
    values["e@0"] = msgspec.structs.replace(values["e@0"], device="cuda:0")
    moved = gradviz.Session(msgspec.structs.replace(document, values=values))
    hits = moved.break_on("device change").hits
    assert [document.events[hit - 1].lines for hit in hits][:2] == [["f1"], ["f2"]]


def test_what_was_not_computed_is_not_zero():
    session = debug(skip_net(), ["loss"])
    point = session.break_on("norm >= 0 or norm < 0 or nan == 0")
    assert point.hits == ()
    assert "x.norm and x.nan are never computed" in point.description
    assert session.break_on("not norm > 3").hits == ()
    assert "computed" not in session.break_on("n > 1").description


def test_the_first_hits_can_be_ignored_and_of_others_each_third_counts(session):
    every = session.break_on("Ran").hits
    assert session.break_on("Ran", ignore=2).hits == every[2:]
    assert session.break_on("Ran", every=3).hits == every[2::3]
    assert session.break_on("Ran", ignore=4, every=2).hits == every[5::2]


def test_a_log_point_speaks_and_does_not_stop(session):
    session.break_on("Ran if op == 'Relu'", log="{op} wrote {x}: {norm} of {{{size}}}")
    assert session.log == []
    session.continue_()
    assert session.position == len(session)
    norm = np.linalg.norm(session.value("a"))
    assert session.log[0][1] == f"Relu wrote a@0: {norm:.4g} of {{30}}"
    assert [position for position, _ in session.log] == list(at(session, "Ran", "Relu"))
    session.run_back_to("Ran")
    session.restart()
    assert session.log == []


def test_a_disabled_breakpoint_does_not_stop_and_a_removed_one_is_gone(session):
    point = session.break_on("Accumulated")
    point.enabled = False
    session.continue_()
    assert session.position == len(session)
    point.remove()
    assert list(session.breakpoints) == []
    assert session.break_on("FC").id == 1


def test_breakpoints_tell_themselves(session):
    session.break_on("FC", ignore=1, every=2)
    session.break_on("norm > 1e9", log="huge")
    text, html = repr(session.breakpoints), session.breakpoints._repr_html_()
    assert "stops at FC, ignores the first 1, one in 2; 5 hits" in text
    assert "logs at norm > 1e9; no hit" in text
    assert html.count("<tr>") == 3
    session.break_on("'<script>' == dtype")
    assert "<script>" not in session.breakpoints._repr_html_()


@pytest.mark.parametrize(
    ("on", "kind", "position"),
    [
        ("norm >", "bad_condition", 6),
        ("FC if norm >", "bad_condition", 12),
        ("nowhere", "not_found", 0),
        ("#99", "not_found", 0),
        ("next #99 if n > 1", "not_found", 5),
    ],
)
def test_a_malformed_breakpoint_is_refused_and_the_list_stays(session, on, kind, position):
    session.break_on("FC")
    with pytest.raises(ConditionError) as raised:
        session.break_on(on)
    assert (raised.value.kind, raised.value.position) == (kind, position)
    assert len(session.breakpoints) == 1


@pytest.mark.parametrize("log", ["{norm", "norm}", "{norm >}", "{nowhere}"])
def test_a_malformed_message_is_refused(session, log):
    with pytest.raises(ConditionError):
        session.break_on("FC", log=log)
    assert len(session.breakpoints) == 0


@pytest.mark.parametrize("options", [{"ignore": -1}, {"every": 0}, {"ignore": "2"}])
def test_counts_that_are_none_are_refused(session, options):
    with pytest.raises(CursorError, match="answerable"):
        session.break_on("FC", **options)


def test_breakpoints_are_saved_with_the_recording(session, tmp_path):
    session.break_on("FC if norm > 3", ignore=1).enabled = False
    session.break_on("Ran", log="{op}")
    session.watch("norm(h)")
    session.save(tmp_path / "lesson.gradviz.json")
    read = gradviz.load(tmp_path / "lesson.gradviz.json")
    assert [point.entry for point in read.breakpoints] == [point.entry for point in session.breakpoints]
    assert read.breakpoints[1].hits == session.breakpoints[1].hits
    assert [one.on for one in read.watches] == ["norm(h)"]


def test_a_breakpoint_of_a_file_that_says_nothing_is_shown_with_its_fault(session):
    session.break_on("Accumulated")
    written = encode(session.trace()).replace(b'"on":"Accumulated"', b'"on":"norm >"')
    read = gradviz.Session(decode(written))
    assert "stops too early" in read.breakpoints[0].problem
    assert "never stops" in repr(read.breakpoints)
    read.continue_()
    assert read.stopped.reason == "end"


def test_breakpoints_that_contradict_themselves_are_no_trace(session):
    session.break_on("Accumulated", every=2)
    written = encode(session.trace())
    with pytest.raises(TraceError, match=r"breakpoints\[0\]"):
        decode(written.replace(b'"every":2', b'"every":0'))


def test_a_document_without_breakpoints_is_read(session):
    document = msgspec.json.decode(encode(session.trace()))
    del document["breakpoints"], document["watches"]
    assert decode(msgspec.json.encode(document)) == session.trace()


def test_run_to_takes_phrases_and_conditions_in_both_directions(session):
    session.run_to("next accumulation")
    there = session.position
    assert session.event.kind == "Accumulated"
    session.finish()
    session.run_back_to("accumulation")
    assert session.position == there
    session.run_to("norm > 3")
    session.run_back_to("FC")
    assert session.event.kind == "RuleApplied"
    with pytest.raises(CursorError, match="No event before position"):
        session.run_back_to("Completed")
    with pytest.raises(ConditionError, match="stops too early"):
        session.run_to("norm >")


def test_the_two_clocks(session):
    session.run_to("FCGradient")
    made = session.position
    session.other_clock()
    assert (session.event.kind, session.event.op.type) == ("Ran", "FCGradient")
    session.other_clock()
    assert session.position == made
    session.restart()
    with pytest.raises(CursorError, match="no operator"):
        session.other_clock()


def test_a_rule_that_passes_gradients_through_has_no_other_clock():
    net = Net("a sum")
    net.Sum(["a", "b"], "y")
    session = debug(net, ["y"])
    session.run_to("RuleApplied")
    with pytest.raises(CursorError, match=f"The event at position {session.position} makes and runs no operator"):
        session.other_clock()


def test_an_operator_that_never_ran_has_one_clock():
    session = debug(skip_net(), ["loss"])
    session.step()
    with pytest.raises(CursorError, match="never run") as raised:
        session.other_clock()
    assert (raised.value.kind, session.position) == ("not_computed", 1)


def test_in_loops_the_iteration_and_the_run_count():
    session = debug(gated(), ["loss"], workspace=fed(4))
    tanh = session.break_on("Tanh if kind == 'Ran' and iteration == 2").hits
    assert all("2" in session.events[hit - 1].path[0] for hit in tanh)
    names = session.break_on("'loop_net[1]' in path and kind == 'Ran'").hits
    assert names
    assert all("[1]" in session.events[hit - 1].path[0] for hit in names)


ENTRY = BreakpointEntry(id=1, on="FC")


@pytest.mark.parametrize(
    ("marks", "why"),
    [
        (Marked(breakpoints=[ENTRY, ENTRY]), "two of them have the same number"),
        (Marked(breakpoints=[ENTRY], watches=["x"] * MOST_MARKS), "more than 1000"),
        (Marked(breakpoints=[BreakpointEntry(id=1, on="FC", log="a" * 1001)]), "its length is 1001, more than 1000"),
        (Marked(watches=["\ud800"]), "half a character"),
    ],
)
def test_what_no_document_can_have_is_not_marked(session, marks, why):
    session.break_on("Relu")
    before = session.marks
    with pytest.raises(CursorError, match=why) as caught:
        session.marks = marks
    assert caught.value.kind == "bad_argument"
    assert session.marks == before


def test_a_session_can_be_saved_whatever_was_marked(session, tmp_path):
    with pytest.raises(CursorError, match="more than 1000"):
        session.break_on("FC", log="a" * 1001)
    for number in range(MOST_MARKS // 2):
        session.break_on("FC", ignore=number)
        session.watch(f"norm(x) + {number}")
    for mark in (session.break_on, session.watch):
        with pytest.raises(CursorError, match="with the watches they are more than 1000"):
            mark("x")
    session.save(tmp_path / "marked.gradviz.json")
    assert load(tmp_path / "marked.gradviz.json").marks == session.marks
    session.marks = Marked(watches=[f"norm(x) + {number}" for number in range(MOST_MARKS)])
    assert len(session.watches) == MOST_MARKS


def test_a_define_by_run_pass_has_breakpoints_too():
    x = gradviz.Variable(np.ones((2, 3)), name="x")
    session = debug(gradviz.functions.sum(gradviz.functions.tanh(x) * x))
    session.break_on("accumulation")
    session.break_on("x.grad@0")
    session.continue_()
    assert session.event.kind == "Accumulated"
    session.continue_()
    assert session.event.kind == "GradWritten"
    session.run_back_to("TanhGradient")
    session.other_clock()


def test_a_hundred_thousand_events_and_twenty_breakpoints():
    session = debug(gated(), ["loss"], workspace=fed(250))
    for on in ("norm > 1e9", "Accumulated if n > 99", "NaN", "h_grad.norm > 1e9", "op == 'Foo'", "devices > 1") * 3:
        session.break_on(on)
    session.break_on("Completed")
    session.continue_()
    session.restart()
    started = time.perf_counter()
    for _ in range(20):
        session.continue_()
        session.reverse_continue()
    assert (time.perf_counter() - started) / 40 < 0.05 * len(session) / 100_000
