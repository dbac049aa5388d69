"""The rows of events in a document: what conditions ask about, the same for all that read it."""

import numpy as np
import pytest

from gradviz import Net, Session, debug
from gradviz.debugger.document import TraceError, decode, encode
from gradviz.debugger.steering.rows import Rows
from gradviz.debugger.steering.runs import Runs
from gradviz.debugger.telling import MeasuredValues, Story, Subjects
from gradviz.events import EnteredSubnet, LeftSubnet, Ran
from tests.debugger.loops import fed, gated, recurrent


def rows_with(session):
    """The rows of a session, without its document."""
    recording = session._recording
    story, values = Story(recording), MeasuredValues(recording)
    return Rows(recording, Subjects(recording, story, values), Runs(recording), values)


def rows_of(session, kind):
    """The rows of the events of a kind."""
    return [event.row for event in session.trace().events if event.kind == kind]


def test_an_event_writes_what_it_makes_or_runs(session):
    assert rows_of(session, "Played")[0].writes == rows_of(session, "Ran")[0].writes == ["h@0"]
    assert rows_of(session, "Visited")[0].writes == []
    (accumulated,) = rows_of(session, "Accumulated")
    assert accumulated.writes == ["a_grad@1"]
    assert [row.is_gradient for row in rows_of(session, "Ran")] == [False] * 7 + [True] * 8


def test_an_event_is_about_the_operator_that_ran_or_else_the_forward_one(session):
    assert [row.operator for row in rows_of(session, "RuleApplied")][:2] == ["f6", "f5"]
    assert [row.operator for row in rows_of(session, "Ran")][6:9] == ["f6", "b0", "b1"]
    assert rows_of(session, "Completed")[0].operator is None


def test_an_accumulation_counts_sparse_and_dense_gradients():
    net = Net("mixed")
    net.Gather(["w", "ids"], "rows")
    net.MatMul(["rows", "w"], "y")
    session = debug(net, ["y"])
    assert [row.added for row in rows_of(session, "Accumulated")] == [(1, 1)]
    assert rows_of(session, "Visited")[0].added is None


def test_the_iterations_of_a_loop_share_their_rows():
    session = debug(gated(), ["loss"], workspace=fed(3))
    ran = [event for event in session.trace().events if event.lines == ["s2.f0"] and event.kind == "Ran"]
    assert len(ran) == 3
    assert len({id(event.row) for event in ran}) == 1


def test_rows_are_saved(session):
    read = decode(encode(session.trace()))
    assert [event.row for event in read.events] == [event.row for event in session.trace().events]
    assert Session(read).break_on("norm > 3").hits == session.break_on("norm > 3").hits


@pytest.mark.parametrize(
    ("written", "damaged"),
    [(b'"row":["f0",', b'"row":["f99",'), (b'["h@0"],false,null', b'["h@x"],false,null'), (b"[0,2]]", b"[0,2,3]]")],
)
def test_rows_that_refer_to_nothing_are_refused(session, written, damaged):
    document = encode(session.trace())
    assert written in document
    with pytest.raises(TraceError, match=r"row|blobs"):
        decode(document.replace(written, damaged))


def test_columns_have_what_is_known_in_each_row(session):
    rows = rows_with(session)
    values, norms = session.trace().values, rows.column("x", "norm")
    computed = np.flatnonzero(norms.has_value).tolist()
    assert len(computed) == sum(len(row.writes) for row in rows_of(session, "Ran"))
    assert [norms.at(number) for number in computed] == [values[rows.blob(number)].norm for number in computed]
    assert rows.column("event", "step").at(3) == rows.positions[3]
    assert rows.column(":nothing", "norm").at(0) is None


def test_a_named_blob_is_as_it_was_at_each_position(session):
    rows = rows_with(session)
    first, second = rows.computed_at(["a_grad"])
    versions = rows.as_of("a_grad", "version", np.array([first - 1, first, second - 1, second]))
    assert [versions.at(number) for number in range(4)] == [None, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("net", [gated, recurrent])
def test_what_is_looked_up_of_all_runs_at_once_is_what_each_event_says(net):
    session = debug(net(), ["loss"], workspace=fed(3))
    rows = rows_with(session)
    subjects = Subjects(session._recording, Story(session._recording), rows._values)
    types, roles = rows.column("op", "type"), rows.column("op", "role")
    seconds, versions = rows.column("event", "seconds"), rows.column("x", "version")
    passages = 0
    for row, number in enumerate(rows.events.tolist()):
        event = session.events[number]
        operator = subjects.operator(event, number + 1, subjects.of(event, number + 1))
        passages += isinstance(event, EnteredSubnet | LeftSubnet)
        if operator is not None and operator.role != "passed":
            assert (types.at(row), roles.at(row)) == (operator.op.type, operator.role)
        assert seconds.at(row) == (event.seconds if isinstance(event, Ran) else None)
        version = rows.blob(row).rpartition("@")[2]
        assert versions.at(row) == (float(version) if version.isdigit() else None)
    assert passages > 20
