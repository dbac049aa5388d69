"""Sessions: what is recorded, and travelling in it."""

from pathlib import Path

import graphviz
import numpy as np
import pytest

import gradviz
from gradviz import GradientError, GradvizError, Net, RunError, Variable, Workspace, debug, live, load
from gradviz.debugger import CursorError
from gradviz.program.errors import MOST_COMPARED, get_close_matches
from gradviz.program.events import Accumulated, Completed, Failed, Played, Ran
from gradviz.program.net_halves import number
from tests.debugger.conftest import fed_workspace, skip_net


def test_recording_changes_neither_net_nor_workspace():
    net, ws = skip_net(), fed_workspace()
    debug(net, ["loss"], workspace=ws)
    assert len(net.ops) == 7
    assert "h" not in ws
    assert "w1_grad" not in ws


def test_generation_comes_first_then_every_operator_runs(session):
    kinds = [event.kind for event in session.events]
    first_run = kinds.index("Ran")
    assert kinds[first_run - 1] == "Completed"
    assert set(kinds[first_run:]) == {"Ran"}
    assert kinds.count("Ran") == 7 + 8
    assert kinds.count("Played") == 7
    assert kinds.count("Accumulated") == 1


def test_a_session_starts_before_anything_has_happened(session):
    assert session.position == 0
    assert session.event is None
    assert "7 operators" in session.narration


def test_stepping_forward_and_back(session):
    assert isinstance(session.step(), Played)
    assert session.position == 1
    assert session.event is session.events[0]
    session.step()
    session.back()
    assert session.position == 1
    assert session.restart() is None
    assert session.back() is None
    assert session.position == 0
    assert isinstance(session.finish(), Ran)
    assert session.position == len(session)
    assert session.step() is session.events[-1]
    assert session.position == len(session)


def test_over_moves_one_forward_operator_with_all_it_brings(session):
    session.run_to("Seeded")
    kinds = []
    while not isinstance(session.event, Completed):
        session.over()
        kinds.append(session.event.kind)
    assert kinds == ["GeneratorAdded"] * 4 + ["Accumulated"] + ["GeneratorAdded"] * 2 + ["Completed"]
    for _ in range(8):
        session.back_over()
    assert session.event.kind == "Seeded"


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("Accumulated", "Accumulated"),
        ("Σ", "Accumulated"),
        ("#3", "Played"),
        ("SoftmaxWithLoss", "Played"),
        ("ReluGradient", "RuleApplied"),
        ("a_grad@1", "Accumulated"),
        ("w2_grad", "RuleApplied"),
        ("label", "Played"),
    ],
)
def test_run_to_finds_operators_blobs_and_events(session, target, kind):
    assert session.run_to(target).kind == kind


def test_run_to_goes_on_from_where_it_is(session):
    session.run_to("#2")
    first = session.position
    session.run_to("#2")
    assert session.position == first + session.events[first:].index(session.event) + 1 > first + 1


@pytest.mark.parametrize("target", ["nowhere", "w2_grda", 10_000, -1])
def test_run_to_what_is_not_there_stays(session, target):
    session.step()
    with pytest.raises(CursorError) as caught:
        session.run_to(target)
    assert caught.value.kind == "not_found"
    assert caught.value.ways_out
    assert session.position == 1


def test_observers_hear_of_every_move_until_they_leave(session):
    heard = []
    leave = session.observe(lambda cursor: heard.append(cursor.position))
    session.step()
    session.step()
    session.back()
    session.move_to(1)
    leave()
    session.finish()
    assert heard == [1, 2, 1]


def test_the_lines_end_as_the_final_program_reads(session):
    trace = session.trace()
    program = [(ssa.op.type, ssa.inputs, ssa.outputs) for ssa in number(session.net.ops)]
    lines = [*trace.forward, *(line for line in trace.backward if line.kind == "operator")]
    assert [(line.type, line.inputs, line.outputs) for line in lines] == program


def test_every_event_has_a_sentence_and_every_focus_a_value(session):
    trace = session.trace()
    assert all(trace.narration(at).endswith(".") for at in range(1, len(trace.events) + 1))
    focused = {blob for event in trace.events for blob in event.blobs}
    assert focused <= set(trace.values)


def test_the_accumulation_is_told_with_versions_and_why(session):
    session.run_to("Accumulated")
    assert session.narration == (
        "`a@0` is read by FC #2 and Sum #4. FC #2 is the first of them, so both gradients are in "
        "and are added here: `a_grad@1 = a_grad@0 + s_grad@0`."
    )


def test_renamed_gradients_read_differently_before_and_after():
    net = Net()
    net.Tanh("x", "a")
    net.Sigmoid("x", "b")
    net.Add(["a", "b"], "y")
    session = debug(net, ["y"])
    session.run_to("Accumulated")
    (line,) = [line for line in session.trace().backward if line.type == "TanhGradient"]
    assert [revision.outputs for revision in line.history] == [["x_grad@1"], ["_x_grad_autosplit_0@0"]]
    assert line.history[1].at == session.position
    assert "the former `x_grad@1` became `_x_grad_autosplit_0`" in session.narration


def test_only_where_no_gradient_goes_further_back_than_the_ys_it_is_said():
    in_place, cut = Net(), Net()
    in_place.Tanh("x", "x")  # the y is x@1, and x@0 gets a gradient
    cut.StopGradient("x", "s")
    cut.Tanh("s", "y")
    for net, ys, words in ((in_place, ["x"], ""), (cut, ["y", "s"], " None goes further back than `y` and `s`")):
        session = debug(net, ys)
        assert session.run_to("Completed").kind == "Completed"
        assert session.narration.partition(" blobs." if len(ys) > 1 else " blob.")[2].partition(";")[0] == words


def test_the_ledger_adds_up(session):
    view = session.ledger("a")
    ledger = view.ledger
    total = session.value("a_grad@1")
    assert sum(c.share for c in ledger.contributions) == pytest.approx(1)
    assert ledger.norm == pytest.approx(np.linalg.norm(total))
    parts = [session.value(c.gradient) for c in ledger.contributions]
    np.testing.assert_allclose(sum(parts), total)
    for contribution, part in zip(ledger.contributions, parts, strict=True):
        assert contribution.norm == pytest.approx(np.linalg.norm(part))
        assert contribution.cosine == pytest.approx((part * total).sum() / np.linalg.norm(part) / ledger.norm)
    assert ledger.cancellation == pytest.approx(1 - ledger.norm / sum(np.linalg.norm(p) for p in parts))
    assert [c.path for c in ledger.contributions] == [
        ["#4", "s", "z", "loss"],
        ["#2", "u", "v", "s", "z", "loss"],
    ]
    assert "Sum #4" in repr(view)
    assert "<table>" in view._repr_html_()


def test_a_ledger_without_values_says_not_computed_instead_of_zero():
    session = debug(skip_net(), ["loss"])
    ledger = session.ledger("a@0").ledger
    assert ledger.norm is None
    assert all(c.share is None for c in ledger.contributions)
    assert "not computed" in repr(session.ledger("a"))
    assert session.trace().values == {}
    with pytest.raises(CursorError, match="not computed"):
        session.value("a_grad")


def test_a_gradient_that_came_alone_is_a_ledger_of_one_row(session):
    session.finish()
    ledger = session.ledger("w1").ledger
    (only,) = ledger.contributions
    assert (only.gradient, only.producer, only.share, only.cosine) == ("w1_grad@0", "FCGradient #0", 1.0, 1.0)
    assert only.norm == ledger.norm == pytest.approx(np.linalg.norm(session.value("w1_grad")))
    with pytest.raises(CursorError, match="No gradient of label@0 arrived"):
        session.ledger("label")


def test_the_recorded_gradients_are_the_true_ones(session):
    gradients = session.trace().gradients
    ws = fed_workspace()
    net = skip_net()
    plain = net.add_gradient_operators(["loss"])
    ws.run(net)
    for blob, name in plain.items():
        np.testing.assert_array_equal(session.value(gradients[blob]), ws[name])


def test_a_fault_on_the_way_is_the_last_event():
    net = skip_net()
    net.Relu("a", "a")
    session = debug(net, ["loss"])
    assert "stops" in session.narration
    event = session.finish()
    assert isinstance(event, Failed)
    assert event.error == "version_overwritten"
    assert "Ways out" in event.explanation
    assert session.trace().gradients == {}


def test_a_misfit_is_the_last_event_and_nothing_ran():
    ws = fed_workspace()
    ws.feed("w2", np.ones((5, 6)))
    session = debug(skip_net(), ["loss"], workspace=ws)
    assert isinstance(session.finish(), Failed)
    assert session.event.error == "shape_mismatch"
    assert not any(isinstance(event, Ran) for event in session.events)
    assert any(isinstance(event, Accumulated) for event in session.events)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"net": None}, "bad_net"),
        ({"workspace": {}}, "bad_value"),
        ({"skip": 8}, "bad_skip"),
        ({"skip": -1}, "bad_skip"),
        ({"skip": "1"}, "bad_skip"),
        ({"ys": []}, "bad_ys"),
    ],
)
def test_arguments_that_do_not_fit_raise_at_once(arguments, kind):
    given = {"net": skip_net(), "ys": ["loss"], "workspace": fed_workspace()} | arguments
    with pytest.raises(GradvizError) as caught:
        debug(given.pop("net"), given.pop("ys"), **given)
    assert caught.value.kind == kind
    assert caught.value.ways_out


@pytest.mark.parametrize("skip", [np.int64(2), np.array(2)])
def test_operators_to_skip_are_counted_in_integers_of_numpy_too(skip):
    forward = len(debug(skip_net(), ["loss"], workspace=fed_workspace(), skip=2))
    assert len(debug(skip_net(), ["loss"], workspace=fed_workspace(), skip=skip)) == forward
    assert len(live(skip_net(), ["loss"], workspace=fed_workspace(), skip=skip).finish()) == forward
    with pytest.raises(GradientError, match="skip='2' does not fit"):
        live(skip_net(), ["loss"], workspace=fed_workspace(), skip="2")


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (lambda session: session.save(5), "bad_path"),
        (lambda session: session.to_html(None), "bad_path"),
        (lambda session: session.to_notebook(5), "bad_path"),
        (lambda session: load(5), "bad_path"),
        (lambda session: gradviz.ranks(None), "bad_path"),
        (lambda session: load("."), "no_file"),
        (lambda session: load("nowhere.gradviz.json"), "no_file"),
        (lambda session: session.to_html("lesson.html", budget="much"), "bad_budget"),
        (lambda session: session.to_html("lesson.html", title=1), "bad_name"),
        (lambda session: session.to_html("lesson.html", answers=-1), "bad_budget"),
        (lambda session: session.graph(5), "bad_theme"),
        (lambda session: session.latest(5), "bad_argument"),
    ],
)
def test_what_is_no_path_theme_budget_or_name_is_refused(ask, kind, session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GradvizError) as caught:
        ask(session)
    assert caught.value.kind == kind
    assert caught.value.ways_out
    assert list(tmp_path.iterdir()) == []


def test_a_page_takes_its_budget_as_text(session, tmp_path):
    session.to_html(tmp_path / "number.html", budget=2_000, answers=0)
    session.to_html(tmp_path / "text.html", budget="2 kB", answers=0)
    assert (tmp_path / "number.html").read_bytes() == (tmp_path / "text.html").read_bytes()


@pytest.mark.parametrize("ys", ["loss", ["nowhere"], {"loss": 1.0}, None])
def test_bad_ys_raise_at_once(ys):
    with pytest.raises(GradientError) as caught:
        debug(skip_net(), ys)
    assert caught.value.kind == "bad_ys"


def test_a_nan_in_a_given_gradient_is_refused():
    ws = fed_workspace()
    ws.feed("seed", np.array(np.nan))
    with pytest.raises(RunError, match="NaN") as caught:
        debug(skip_net(), {"loss": "seed"}, workspace=ws)
    assert caught.value.blobs == ("seed", "loss")
    assert caught.value.ways_out


def test_a_nan_born_on_the_way_can_be_run_to():
    net = Net()
    net.Log("x", "y")
    ws = Workspace()
    ws.feed("x", np.array([-1.0, 1.0]))
    session = debug(net, ["y"], workspace=ws)
    assert session.run_to("NaN").op.type == "Log"
    assert session.trace().values["y@0"].nan == 1


def test_a_given_gradient_that_nobody_reads_leaves_its_name_to_the_pass():
    net = Net()
    net.Tanh("x", "y")
    net.ConstantFill("y", "x", value=1.0)
    ws = Workspace()
    ws.feed("x", np.array([0.5]))
    ws.feed("x_grad", np.array([2.0]))
    session = debug(net, {"y": None, "x": "x_grad"}, workspace=ws)
    assert session.finish().kind == "Ran"
    np.testing.assert_allclose(session.value("x_grad@0"), 1 - np.tanh(0.5) ** 2)


def test_skip_leaves_leading_operators_out():
    net = Net()
    net.Tanh("raw", "x")
    net.Sigmoid("x", "y")
    session = debug(net, ["y"], skip=1)
    assert not [event for event in session.events if event.kind == "Visited" and event.index == 0]
    assert set(session.trace().gradients) == {"y", "x"}


def test_a_session_saved_and_loaded_is_the_same_to_look_at(session, tmp_path):
    session.save(tmp_path / "lesson.gradviz.json")
    again = load(tmp_path / "lesson.gradviz.json")
    assert again.trace() == session.trace()
    assert again.events == session.events
    again.run_to("Accumulated")
    assert again.narration.startswith("`a@0` is read by")
    assert repr(again.ledger("a")) == repr(session.ledger("a"))
    with pytest.raises(CursorError, match="no arrays"):
        again.value("a@0")


def test_a_file_that_is_no_trace_is_refused(tmp_path):
    path = tmp_path / "cut.gradviz.json"
    path.write_bytes(b'{"format": "gradviz-tr')
    with pytest.raises(GradvizError):
        load(path)


def test_the_graph_follows_the_position(session):
    assert isinstance(session.graph(), graphviz.Digraph)
    start = session.graph().source
    session.run_to("Accumulated")
    assert session.graph().source != start


def test_the_version_is_in_the_document(session):
    assert session.trace().producer == f"gradviz {gradviz.__version__}"


def test_the_ssa_form_of_a_refused_pass_is_recorded_with_its_options_and_from_the_same_versions() -> None:
    net = Net("in place")
    net.Mul(["t", "w"], "t")
    ws = Workspace()
    ws.feed("t", np.array([2.0, 3.0]))
    ws.feed("w", np.array([5.0, 7.0]))
    refused = debug(net, ["t"], workspace=ws)
    assert refused.events[-1].kind == "Failed"
    whole = refused.to_ssa()
    assert whole is refused.to_ssa()
    assert whole.events[-1].kind == "Ran"
    np.testing.assert_array_equal(whole.value("t_grad"), [5.0, 7.0])
    np.testing.assert_array_equal(whole.value("w_grad"), [2.0, 3.0])


def test_code_has_no_ssa_form() -> None:
    with pytest.raises(gradviz.NetError) as caught:
        debug(gradviz.functions.tanh(Variable(np.ones(())))).to_ssa()
    assert caught.value.ways_out


def test_a_mistyped_name_is_held_against_a_few_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def closest(word: str, names: list[str], *_: object) -> list[str]:
        compared.append(len(names))
        return names[:1]

    monkeypatch.setattr("difflib.get_close_matches", closest)
    names = [f"b{number}_grad" for number in range(50_000)]
    for mistyped in ("b12345_gradd", "b12345_gra", "b12345grad", "xb12345_grad"):
        assert get_close_matches(mistyped, names) == ["b12345_grad"]
    assert compared == [MOST_COMPARED] * 4


def test_of_a_gradient_with_another_name_it_is_said_who_tells_that_name() -> None:
    session = gradviz.debug(gradviz.Net("n", [gradviz.Operator("Tanh", ["x"], ["y"])]), ["y"])
    with pytest.raises(CursorError) as caught:
        session.value("y_grad")
    assert 'session.why_none("y_grad") says what that gradient is called.' in caught.value.ways_out
    assert str(session.why_none("y_grad")).startswith("There is no y_grad: the gradient of y@0 is y_autogen_grad@0.")
    with pytest.raises(CursorError) as caught:
        session.value("z_grad")
    assert "why_none" not in str(caught.value)


def test_a_blob_that_is_not_there_has_no_value_in_a_file_either(session: gradviz.Session, tmp_path: Path) -> None:
    session.save(tmp_path / "s.gradviz.json")
    saved = load(tmp_path / "s.gradviz.json")
    for one, asked, near in ((session, "hh", "h"), (session, "h@9", "h@0"), (saved, "hh", "h")):
        with pytest.raises(CursorError, match="has no blob") as caught:
            one.value(asked)
        assert (caught.value.kind, caught.value.ways_out[0]) == ("not_found", f"Did you mean {near}?")
