"""Moving through nested nets: into and out of them, over them, back, and to an iteration."""

import numpy as np
import pytest

from gradviz import debug, load
from gradviz.debugger import CursorError
from tests.debugger.loops import fed, gated, recurrent

ROUNDS = 3


@pytest.fixture(scope="module")
def recorded():
    return debug(gated(), ["loss"], workspace=fed(ROUNDS))


@pytest.fixture
def session(recorded):
    recorded.restart()
    return recorded


def positions(session, verb):
    """Where a verb leads until it leads no further."""
    found = [session.position]
    while getattr(session, verb)() is not None and session.position != found[-1]:
        found.append(session.position)
    return found if found[-1] == session.position else [*found, session.position]


def test_over_passes_a_loop_with_all_its_iterations(session):
    visited = []
    while session.position < len(session):
        session.over()
        assert session.path == ()
        visited.append(session.event)
    ran = [event for event in visited if event.kind == "Ran"]
    assert [event.position for event in ran] == list(range(len(session.net.ops)))


def test_back_over_goes_back_where_over_went(session):
    forth = positions(session, "over")
    back = [session.position]
    while session.position > 0:
        session.back_over()
        back.append(session.position)
    assert back[::-1] == forth


def test_over_stays_in_a_nested_net_and_passes_an_iteration_at_a_time(session):
    session.run_to("2.loop_net[1]")
    path = session.path
    session.over()
    assert session.event.kind == "Ran"
    assert session.event.op.type == "Do"
    assert session.path == path
    session.over()
    assert session.event.kind == "LeftSubnet"
    assert session.path == ()
    session.over()
    assert (session.event.kind, session.event.argument, session.event.iteration) == ("LeftSubnet", "cond_net", 2)
    session.over()
    assert (session.event.kind, session.event.argument, session.event.iteration) == ("LeftSubnet", "loop_net", 2)
    session.back_over()
    session.back_over()
    assert (session.event.kind, session.event.argument, session.event.iteration) == ("LeftSubnet", "loop_net", 1)


def test_into_goes_through_a_loop_and_its_body_into_the_branch_taken(session):
    session.run_to("2.loop_net[0]")
    session.into()
    assert session.path == ("2.loop_net[0]", "0.net")
    while not session.path[-1].startswith("4."):
        session.into()
    assert session.path[:2] == ("2.loop_net[0]", "0.net")
    assert session.event.kind == "EnteredSubnet"
    assert session.path[2] in ("4.then_net", "4.else_net")


def test_into_steps_where_nothing_is_entered(session):
    for _ in range(3):
        session.into()
    assert session.position == 3
    session.finish()
    session.into()
    assert session.position == len(session)


def test_out_leads_to_where_the_net_is_left(session):
    session.run_to("2.loop_net[1]/0.net")
    session.step()
    session.out()
    assert session.event.kind == "LeftSubnet"
    assert session.path == ("2.loop_net[1]",)
    session.out()
    assert (session.event.argument, session.event.iteration) == ("loop_net", 1)
    assert session.path == ()


def test_out_of_the_outermost_net_goes_to_the_end_of_what_an_operator_brings(session):
    session.run_to("Visited")
    session.out()
    at = session.position
    assert session.events[at].kind in ("Visited", "Skipped")


def test_out_of_any_place_leaves_one_net(session):
    for position in range(len(session) + 1):
        session.move_to(position)
        depth = len(session.path)
        session.out()
        assert session.position > position or position == len(session)
        assert depth == 0 or len(session.path) == depth - 1


def test_into_enters_the_pass_of_a_nested_net_too(session):
    while not session.path:
        session.into()
    assert session.path == ("2.loop_net",)
    session.into()
    assert session.path == ("2.loop_net", "0.net")
    assert session.events[session.position].kind == "Played"
    session.out()
    assert session.path == ("2.loop_net",)


def test_steps_enter_and_leave_one_net_at_a_time(session):
    depth = 0
    while session.position < len(session):
        kind = session.step().kind
        depth += (kind == "EnteredSubnet") - (kind == "LeftSubnet")
        assert len(session.path) == depth
    assert depth == 0


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("2.loop_net[1]", ("2.loop_net[1]",)),
        ("2.loop_net[1]/0.net", ("2.loop_net[1]", "0.net")),
        ("iteration 2", ("2.loop_net[2]",)),
        ("2.cond_net[3]", ("2.cond_net[3]",)),
        ("2.loop_net", ("2.loop_net",)),
        ("0.net", ("2.loop_net", "0.net")),
    ],
)
def test_run_to_finds_nets_and_iterations(session, target, path):
    session.run_to(target)
    assert session.path == path
    assert session.event.kind == "EnteredSubnet"


def test_run_to_an_iteration_comes_to_its_backward_pass_next(session):
    session.run_to("iteration 0")
    assert session.path == ("2.loop_net[0]",)
    session.run_to("iteration 0")
    assert session.path[0].endswith(".loop_net[0]")
    assert not session.path[0].startswith("2.")


def test_run_to_finds_blobs_inside_nested_nets(session):
    session.run_to("Completed")
    session.run_to("s")
    assert session.path[-1] == "0.net"
    session.run_to("2.loop_net[2]")
    session.run_to("s@0")
    assert session.path == ("2.loop_net[2]", "0.net")
    assert session.event.op.type == "SumElements"


def test_a_number_means_an_operator_of_the_outermost_net(session):
    session.run_to("Completed")
    while session.position < len(session):
        try:
            session.run_to("#0")
        except CursorError:
            break
        assert session.path == ()


def test_a_net_that_is_not_there_is_refused(session):
    with pytest.raises(CursorError, match=r"2\.loop_net\[9\]"):
        session.run_to("2.loop_net[9]")
    assert session.position == 0


def test_verbs_go_where_they_go_in_a_session_read_from_a_file(recorded, tmp_path):
    recorded.save(tmp_path / "loop.gradviz.json")
    again = load(tmp_path / "loop.gradviz.json")
    for verb in ("into", "over", "step"):
        recorded.restart()
        again.restart()
        assert positions(again, verb) == positions(recorded, verb)


def test_a_long_loop_is_left_in_one_move():
    session = debug(recurrent(), ["loss"], workspace=fed(50))
    session.run_to("iteration 25")
    session.over()
    assert session.path == ("2.loop_net[25]",)
    session.out()
    session.out()
    assert session.path == ()


def test_verbs_need_events_and_no_document():
    session = debug(gated(), ["loss"], workspace=fed(ROUNDS))
    for verb in (session.over, session.into, session.out, session.back_over, session.finish, session.back):
        verb()
        assert len(session.path) < 4
    assert "_trace" not in vars(session)


@pytest.mark.parametrize("position", [1.5, None, [], b"x", {}])
def test_what_is_no_position_moves_nothing(session, position):
    session.step()
    for verb in (session.run_to, session.run_back_to, session.move_to):
        with pytest.raises(CursorError, match="as an integer") as caught:
            verb(position)
        assert caught.value.kind == "bad_argument"
    assert session.position == 1


def test_integers_of_numpy_are_positions(session):
    for verb in (session.run_to, session.run_back_to, session.move_to):
        verb(np.int64(3))
        assert type(session.position) is int
        assert session.position == 3
        session.restart()
