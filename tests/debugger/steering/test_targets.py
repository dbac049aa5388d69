"""What a document says that events are about is found without it, at the same positions."""

from collections import defaultdict
from contextlib import suppress

import numpy as np
import pytest

import gradviz.functions as F
from gradviz import Net, Session, Variable, Workspace, debug
from gradviz.debugger import CursorError
from tests.debugger.answers import nets
from tests.debugger.conftest import fed_workspace, skip_net
from tests.debugger.loops import fed, gated, recurrent


def by(schedule):
    x, w = (Variable(np.linspace(-1, 1, 6).reshape(2, 3), name=name) for name in "xw")
    return debug(F.sum(F.tanh(x) * w + x), schedule=schedule, retain_grad=True)


def sparse():
    net = Net("sparse")
    for ids, rows in (("i", "a"), ("j", "b")):
        net.Gather(["w", ids], rows)
    net.Add(["a", "b"], "sum")
    net.Log("sum", "y")
    ws = Workspace()
    for name, value in {"w": np.arange(-4.0, 4.0).reshape(4, 2), "i": np.array([1, 1]), "j": np.array([0, 3])}.items():
        ws.feed(name, value)
    return debug(net, ["y"], workspace=ws, deduplicate="sum")


def given():
    net = Net("given")
    net.add("RangeFill", ["x"], ["z"])
    return debug(net, {"z": "from_outside"})


RECORDINGS = {
    "a net": lambda: debug(skip_net(), ["loss"], workspace=fed_workspace()),
    "what stops": nets.overwritten,
    "a loop": lambda: debug(recurrent(), ["loss"], workspace=fed(3)),
    "branches in a loop": lambda: debug(gated(), ["loss"], workspace=fed(3)),
    "a loop that is not run": lambda: debug(gated(), ["loss"]),
    "rows, NaN and infinities": sparse,
    "a given gradient that nothing reads": given,
    "by rank": lambda: by("rank"),
    "by tape": lambda: by("tape"),
}


@pytest.fixture(params=RECORDINGS)
def session(request):
    return RECORDINGS[request.param]()


def targets(trace):
    """Every word of a document's events, and the positions after them."""
    found = defaultdict(list)
    for position, event in enumerate(trace.events, 1):
        for word in event.targets:
            found[word].append(position)
    return found


def test_every_target_is_found_without_the_document(session):
    for word, positions in targets(Session(None, session._recording).trace()).items():
        if not word.endswith("_net"):  # a name of a net is also the path of its runs
            assert session._finder.targets.find(word) == positions, word
    assert "_trace" not in session.__dict__


def test_words_are_those_of_the_document(session):
    words = set(targets(Session(None, session._recording).trace()))
    known = session._finder.targets.words
    assert words <= known
    assert [word for word in sorted(known) if not session._finder.targets.find(word)] == []


def test_rows_write_what_the_document_says(session):
    for event, row in zip(session.events, Session(None, session._recording).trace().events, strict=True):
        assert event.kind == row.kind
    rows = session._finder.rows
    blobs = [row.row.writes or row.blobs[:1] or [""] for row in Session(None, session._recording).trace().events]
    assert list(map(rows.blob, range(len(rows.events)))) == [blob for some in blobs for blob in some]


def test_verbs_conditions_and_watches_do_without_the_document(session):
    session.break_on("norm > 0.5 and kind == 'Ran'")
    session.break_on("Ran", log="{op.type} wrote {blob}")
    session.watch(session.net.ops[0].outputs[0])
    session.continue_()
    for ask in (session.other_clock, lambda: session.run_to("NaN"), lambda: session.run_back_to("x")):
        with suppress(CursorError):
            ask()
    assert [one.problem for one in (*session.breakpoints, *session.watches)] == ["", "", ""]
    assert "_trace" not in session.__dict__
