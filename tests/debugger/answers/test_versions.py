"""The versions of a blob: who wrote, who reads, who still needs them, which one is there."""

import pytest

from gradviz import IR, Net, debug, load
from gradviz.debugger import CursorError
from tests.debugger.answers.nets import overwritten, random_sessions, recorded
from tests.debugger.loops import fed, gated


def in_place():
    """y = relu(tanh x + sigmoid x), the Relu in place."""
    net = Net("in_place")
    net.Tanh("x", "a")
    net.Sigmoid("x", "b")
    net.Add(["a", "b"], "y")
    net.Relu("y", "y")
    net.SumElements("y", "loss")
    return recorded(net, x=[0.0, 1.0])


def test_each_version_has_its_writer_and_readers():
    first, second = in_place().versions("y").versions
    assert (first.blob, first.writer, first.readers, first.overwritten_by) == ("y@0", "Add #2", ["Relu #3"], "Relu #3")
    assert (second.blob, second.writer, second.readers, second.overwritten_by) == (
        "y@1",
        "Relu #3",
        ["SumElements #4"],
        "",
    )


def test_what_is_there_follows_the_position():
    session = in_place()
    played = [event.index if event.kind == "Played" else None for event in session.events]

    def current():
        return [one.blob for one in session.versions("y").versions if one.is_current]

    assert current() == []
    assert "None of them is there yet" in str(session.versions("y"))
    session.move_to(played.index(2) + 1)
    assert current() == ["y@0"]
    session.move_to(played.index(3) + 1)
    assert current() == ["y@1"]
    session.run_to("Completed")
    assert current() == ["y@1"]
    session.step()
    assert session.event.kind == "Ran"
    assert current() == []
    session.finish()
    assert current() == ["y@1"]


def test_who_needs_a_version_is_done_with_it_when_its_operator_has_run():
    session = in_place()
    needs = ["SumElementsGradient of #4", "ReluGradient of #3"]
    assert session.versions("y").versions[1].needed_by == needs
    assert session.versions("y").versions[1].gradient_readers == []
    session.run_to("Completed")
    assert session.versions("y").versions[1].gradient_readers == needs
    ran = [at for at, event in enumerate(session.events, 1) if event.kind == "Ran"]
    by_type = {session.events[at - 1].op.type: at for at in ran}
    session.move_to(by_type["SumElementsGradient"])
    assert session.versions("y").versions[1].needed_by == needs[1:]
    session.move_to(by_type["ReluGradient"])
    assert session.versions("y").versions[1].needed_by == []


def test_the_versions_of_its_gradient_read_as_they_do_at_the_position():
    session = in_place()
    session.run_to("Accumulated")
    assert session.versions("x").versions[0].gradients == ["x_grad@0", "_x_grad_autosplit_0@0", "x_grad@1"]
    session.back()
    assert session.versions("x").versions[0].gradients == ["x_grad@0", "x_grad@1"]
    session.restart()
    assert session.versions("x").versions[0].gradients == []


def test_a_version_that_is_needed_and_overwritten_is_marked_when_the_pass_stops():
    session = overwritten()
    assert not any(one.is_lost for one in session.versions("y").versions)
    session.finish()
    view = session.versions("y")
    assert [one.is_lost for one in view.versions] == [True, False]
    assert view.versions[0].needed_by == ["the gradient of Sigmoid #0"]
    assert "y@0 is needed by the gradient of Sigmoid #0, and Scale #2 overwrites it." in str(view)


def test_a_version_or_a_gradient_may_be_asked_for():
    session = in_place()
    assert session.versions("y@0") == session.versions("y")
    (first, second) = session.versions("y_grad").versions
    assert (first.writer, second.writer) == ("SumElementsGradient of #4", "ReluGradient of #3")


def test_a_workspace_keeps_what_its_net_overwrites():
    session = debug(gated(), ["loss"], workspace=fed(3))
    session.finish()
    first, _ = session.versions("2.loop_net[1]/0.net/4.then_net/0.net:h").versions
    assert first.is_kept
    assert first.gradient_readers == ["MatMul of #0", "MatMul of #0"]
    assert "the workspace keeps it" in str(session.versions("2.loop_net[1]/0.net/4.then_net/0.net:h"))


def test_in_a_run_of_a_loop_only_its_own_operators_count():
    session = debug(gated(), ["loss"], workspace=fed(2))
    session.run_to("2.loop_net[1]/0.net")
    assert [one.is_current for one in session.versions("h").versions] == [True, False, False]
    assert [one.is_current for one in session.versions("2.loop_net[0]/0.net:h").versions] == [False, False, True]


def test_it_answers_from_a_file(tmp_path):
    session = in_place()
    session.save(tmp_path / "s.gradviz.json")
    again = load(tmp_path / "s.gradviz.json")
    for position in (0, 5, 20, len(session)):
        session.move_to(position)
        again.move_to(position)
        assert again.versions("y") == session.versions("y")


def test_an_unknown_blob_is_refused():
    with pytest.raises(CursorError) as caught:
        in_place().versions("yy")
    assert caught.value.kind == "not_found"
    assert "Did you mean y" in caught.value.ways_out[0]


def test_readers_and_writers_in_random_nets_are_those_of_the_ir():
    pytest.importorskip("torch", reason="random nets are drawn with PyTorch")
    compared = 0
    for case, session in random_sessions(30, seed=9):
        ir = IR(case.net.ops)
        for name, versions in ir.blobs.items():
            found = session.versions(name).versions
            assert [one.blob for one in found][: len(versions)] == list(map(str, versions))
            for one, blob in zip(found, versions, strict=False):
                readers = [f"{s.op.type} #{index}" for index, s in enumerate(ir.ssa) if blob in s.reads]
                assert one.readers == readers
                writers = [f"{s.op.type} #{index}" for index, s in enumerate(ir.ssa) if blob in s.writes]
                assert one.writer == "".join(writers)
                compared += 1
    assert compared > 150


@pytest.mark.parametrize("name", [":x", "x:", "1.net:x", "a:b", "#0"])
def test_a_blob_is_found_by_its_whole_name_though_a_path_could_be_read_in_it(name):
    net = Net()
    net.Tanh(name, "h")
    with net.Do(outputs=["y"]):
        net.Sqr("h", "x")
        net.Tanh("x", "y")
    session = recorded(net, ["y"], **{name: [1.0, 2.0]})
    for blob in (name, f"{name}@0"):
        assert session.versions(blob).name == name
        assert session.why_none(blob).blob == f"{name}@0"
        assert session.ledger(blob).ledger.blob == f"{name}@0"
        assert session.paths(blob).x == f"{name}@0"
