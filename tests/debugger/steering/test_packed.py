"""Recordings that are saved packed: they step and answer as what was recorded, without its arrays."""

import base64
import copy
import json
import random
import re
import zlib

import msgspec
import numpy as np
import pytest

import gradviz
import gradviz.functions as F
from gradviz import Variable, Workspace
from gradviz.debugger.document import TraceError
from gradviz.debugger.steering import CursorError
from gradviz.program.events import to_dict
from tests.debugger import loops
from tests.debugger.answers import nets
from tests.random_cases import fresh_seed

QUESTIONS = ("ledger", "versions", "why_none", "provenance", "paths")


def looped():
    return gradviz.debug(loops.recurrent(), ["h"], workspace=loops.fed(3))


def gated():
    return gradviz.debug(loops.gated(), ["h"], workspace=loops.fed(3))


def by(schedule):
    x, w = (Variable(np.linspace(-1, 1, 6).reshape(2, 3), name=name) for name in "xw")
    return gradviz.debug(F.sum(F.tanh(x) * w + x), schedule=schedule)


def merged():
    net = gradviz.Net("merged")
    net.Gather(["table", "index"], "y")
    ws = Workspace()
    ws.feed("table", np.ones((3, 2)))
    ws.feed("index", [0, 2, 0])
    return gradviz.debug(net, ["y"], workspace=ws, deduplicate="sum")


def unrun():
    net = gradviz.Net("unrun")
    net.Tanh("x", "y")
    return gradviz.debug(net, ["y"], workspace=Workspace())


RECORDINGS = {
    "a net": nets.diamond,
    "what stops": nets.overwritten,
    "a loop": looped,
    "branches in a loop": gated,
    "by rank": lambda: by("rank"),
    "by tape": lambda: by("tape"),
    "what cannot be run": unrun,
}


@pytest.fixture(params=RECORDINGS)
def session(request):
    return RECORDINGS[request.param]()


@pytest.fixture
def saved(session, tmp_path, monkeypatch):
    monkeypatch.setattr("gradviz.session.MOST_EVENTS", 0)
    session.save(tmp_path / "large.gradviz.json")
    return tmp_path / "large.gradviz.json"


def said(question, *args):
    try:
        return str(question(*args))
    except gradviz.GradvizError as error:
        return f"{type(error).__name__} {error.kind}"


def test_every_event_is_there_and_told_in_the_same_words(session, saved):
    loaded = gradviz.load(saved)
    assert list(map(to_dict, loaded.events)) == list(map(to_dict, session.events))
    for position in range(len(session) + 1):
        session.move_to(position)
        loaded.move_to(position)
        # How much a workspace held, but for what was computed, is not in the file.
        assert loaded.narration == re.sub(r"its workspace, \d+ blobs?,", "its workspace", session.narration)
        assert loaded.path == session.path
        assert str(loaded).splitlines()[2:] == str(session).splitlines()[2:]


def test_a_tuple_is_told_as_the_list_that_a_file_has(tmp_path, monkeypatch):
    monkeypatch.setattr("gradviz.session.MOST_EVENTS", 0)
    net = gradviz.Net("axes")
    net.Transpose("x", "y", axes=(1, 0))
    x = Variable(np.ones((2, 3)), name="x")
    for session in (gradviz.debug(net, ["y"]), gradviz.debug(F.sum(F.transpose(x, (1, 0)), axis=(0, 1)))):
        session.save(tmp_path / "axes.gradviz.json")
        loaded = gradviz.load(tmp_path / "axes.gradviz.json")
        for position in range(len(session) + 1):
            session.move_to(position)
            loaded.move_to(position)
            assert loaded.narration == session.narration
        session.move_to(1)
        assert "axes=[1, 0]" in session.narration


def failed():
    net = gradviz.Net("fails in a round")
    with net.While("go") as loop:
        with loop.condition():
            net.LT(["i", "n"], "go")
        net.Add(["i", "one"], "i")
        net.MatMul(["x", "w"], "y")
    fed = {"go": True, "i": 0, "n": 3, "one": 1, "x": np.ones((4, 4)), "w": np.ones((3, 2))}
    workspace = Workspace()
    for name, value in fed.items():
        workspace.feed(name, value)
    return gradviz.debug(net, ["x"], workspace=workspace)


def overwritten_twice():
    """Gradients of a blob that an If reads are added, so that what its backward pass writes is called otherwise."""
    net = gradviz.Net("an If and what else reads x")
    net.Copy("x", "y")
    with net.If("yes"):
        net.Tanh("x", "y")
    with net.Else():
        net.Sigmoid("x", "y")
    net.Mul(["x", "x"], "z")
    net.Add(["y", "z"], "s")
    workspace = Workspace()
    workspace.feed("yes", True)
    workspace.feed("x", np.linspace(-1, 1, 3))
    return gradviz.debug(net, ["s"], workspace=workspace)


@pytest.mark.parametrize("make", [failed, overwritten_twice])
def test_what_ran_follows_from_the_operators_as_they_are_called_in_the_end(make, tmp_path, monkeypatch):
    monkeypatch.setattr("gradviz.session.MOST_EVENTS", 0)
    session = make()
    session.save(tmp_path / "large.gradviz.json")
    loaded = gradviz.load(tmp_path / "large.gradviz.json")
    assert list(map(to_dict, loaded.events)) == list(map(to_dict, session.events))


def test_verbs_lead_to_the_same_positions(session, saved):
    loaded = gradviz.load(saved)
    for position in range(len(session) + 1):
        for verb in ("over", "back_over", "into", "out"):
            session.move_to(position)
            loaded.move_to(position)
            getattr(session, verb)()
            getattr(loaded, verb)()
            assert loaded.position == session.position, (verb, position)


def test_questions_are_answered_as_before(session, saved):
    loaded = gradviz.load(saved)
    session.finish()
    loaded.finish()
    blobs = {name for op in session.net.ops for name in (*op.inputs, *op.outputs)}
    for blob in sorted(blobs):
        for question in ("ledger", "versions", "why_none"):
            assert said(getattr(loaded, question), blob) == said(getattr(session, question), blob), (question, blob)


def test_arrays_are_not_there(session, saved):
    loaded = gradviz.load(saved)
    with pytest.raises(CursorError) as caught:
        loaded.value(session.net.ops[0].outputs[0])
    assert caught.value.kind == "not_computed"


def test_it_can_be_looked_at_and_saved_again(session, saved, tmp_path, monkeypatch):
    loaded = gradviz.load(saved)
    assert [line.history[-1].outputs for line in loaded.trace().backward] == [
        line.history[-1].outputs for line in session.trace().backward
    ]
    loaded.save(tmp_path / "again.gradviz.json")
    again = gradviz.load(tmp_path / "again.gradviz.json")
    assert list(map(to_dict, again.events)) == list(map(to_dict, session.events))


def test_the_file_is_json_that_says_what_it_is(saved, session):
    written = json.loads(saved.read_text())
    assert written["format"] == "gradviz-trace"
    assert written["name"] == session.name
    assert set(written) == {"format", "version", "producer", "name", "summary", "packed"}


def compressed(data):
    return base64.b64encode(zlib.compress(data)).decode()


def blocks_of(path):
    """What the file at `path` has packed: the document with the columns of what ran, and lists of the events before."""
    packed = json.loads(path.read_text())["packed"]
    return [msgspec.msgpack.decode(zlib.decompress(base64.b64decode(block))) for block in packed]


def pack(path, *blocks):
    packed = [compressed(msgspec.msgpack.encode(block)) for block in blocks]
    path.write_text(json.dumps({**json.loads(path.read_text()), "packed": packed}))


@pytest.mark.parametrize(
    "damage",
    [
        lambda block: block[:-8],
        lambda block: "%" + block,
        lambda block: compressed(b"[1, 2]"),
        lambda block: "",
        lambda block: compressed(zlib.decompress(base64.b64decode(block))[:-5]),
    ],
)
@pytest.mark.parametrize("number", [0, 1])
def test_what_is_damaged_is_refused(damage, number, tmp_path, monkeypatch):
    monkeypatch.setattr("gradviz.session.MOST_EVENTS", 0)
    path = tmp_path / "large.gradviz.json"
    nets.diamond().save(path)
    written = json.loads(path.read_text())
    written["packed"][number] = damage(written["packed"][number])
    path.write_text(json.dumps(written))
    with pytest.raises(TraceError) as caught:
        gradviz.load(path)
    assert caught.value.kind == "bad_structure"


def test_a_file_without_anything_packed_is_refused(saved):
    pack(saved)
    with pytest.raises(TraceError, match="packed part"):
        gradviz.load(saved)


@pytest.mark.parametrize("record", [nets.diamond, looped, gated, merged])
def test_events_that_contradict_each_other_are_refused_and_not_failed_on(record, tmp_path, monkeypatch):
    """Whatever one event is replaced by, there is an answer or an error of gradviz."""
    monkeypatch.setattr("gradviz.session.MOST_EVENTS", 0)
    path = tmp_path / "large.gradviz.json"
    record().save(path)
    packed = blocks_of(path)
    rng = random.Random(fresh_seed())
    for _ in range(40):
        (outline, ran), events = copy.deepcopy(packed)
        events[rng.randrange(len(events))] = copy.deepcopy(rng.choice(events))
        event = rng.choice(events)
        field = rng.choice([name for name, value in event.items() if isinstance(value, int)] or ["event"])
        if field != "event":
            event[field] = rng.choice([-1, 0, 7, 10**6])
        happened = bytearray(ran[0])
        happened[rng.randrange(len(happened))] = rng.choice(happened)
        ran[0] = bytes(happened)
        ran[1] = ran[1][:8] * happened.count(b".")
        pack(path, (outline, ran), events)
        try:
            session = gradviz.load(path)
            for position in range(len(session) + 1):
                session.move_to(position)
                assert session.narration
            for verb in (session.back_over, session.over, session.out, session.into):
                verb()
        except gradviz.GradvizError:
            continue
        for question in (session.ledger, session.versions, session.why_none):
            said(question, "x")


def damaged(number, value, dtype):
    """Puts `value` at the start of a column."""

    def damage(outline, ran):
        column = np.frombuffer(ran[number], dtype).copy()
        column[0] = value
        ran[number] = column.tobytes()

    return damage


def shorter(outline, ran):
    ran[1] = ran[1][:-8]


def more_than_there_is(outline, ran):
    ran[0] += b"."
    ran[1] += ran[1][:8]


def without_entering(outline, ran):
    ran[0] = ran[0].replace(b"(", b"")


def without_a_device(outline, ran):
    ran[2] = []


def around(outline, ran):
    last = outline["frames"][-1]
    last[1] = None if last[1] is not None else 0


def circle(outline, ran):
    outline["frames"][0][1] = 0


def no_array(outline, ran):
    outline["frames"][0][6][0] = 10**6


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (damaged(0, ord("x"), np.uint8), "bad_structure"),
        (damaged(1, np.inf, "<f8"), "bad_structure"),
        (damaged(4, -1, "<i4"), "bad_structure"),
        (damaged(4, 10**6, "<i4"), "bad_structure"),
        (shorter, "bad_structure"),
        (without_entering, "bad_structure"),
        (without_a_device, "bad_structure"),
        (more_than_there_is, "bad_reference"),
        (around, "bad_reference"),
        (circle, "bad_reference"),
        (no_array, "bad_reference"),
    ],
)
def test_columns_and_runs_that_contradict_themselves_are_refused(damage, kind, tmp_path, monkeypatch):
    monkeypatch.setattr("gradviz.session.MOST_EVENTS", 0)
    path = tmp_path / "large.gradviz.json"
    looped().save(path)
    (outline, ran), *events = blocks_of(path)
    damage(outline, ran)
    pack(path, (outline, ran), *events)
    with pytest.raises(TraceError) as caught:
        gradviz.load(path)
    assert caught.value.kind == kind


def test_a_packed_recording_that_misses_a_merge_of_rows_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("gradviz.session.MOST_EVENTS", 0)
    path = tmp_path / "large.gradviz.json"
    merged().save(path)
    assert "y_autogen_grad" in str(gradviz.load(path).ledger("table"))
    (outline, ran), *events = blocks_of(path)
    pack(path, ({**outline, "merges": []}, ran), *events)
    with pytest.raises(TraceError) as caught:
        gradviz.load(path)
    assert caught.value.kind == "bad_reference"


@pytest.mark.parametrize(("version", "kind"), [(5, "older_version"), (7, "newer_version")])
def test_those_of_other_versions_are_refused(version, kind, saved):
    saved.write_text(json.dumps({**json.loads(saved.read_text()), "version": version}))
    with pytest.raises(TraceError) as caught:
        gradviz.load(saved)
    assert caught.value.kind == kind
    assert "this gradviz reads" in str(caught.value)


def test_a_loop_takes_no_more_events_for_more_iterations(tmp_path, monkeypatch):
    monkeypatch.setattr("gradviz.session.MOST_EVENTS", 0)
    path = tmp_path / "large.gradviz.json"
    counts = []
    for rounds in (3, 30):
        gradviz.debug(loops.recurrent(), ["h"], workspace=loops.fed(rounds)).save(path)
        counts.append(sum(map(len, blocks_of(path)[1:])))
    assert counts[0] == counts[1]
