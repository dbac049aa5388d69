"""The answers that a page holds: they are those of the session, at every position, as far as there is room."""

import gzip
import random
import time
from base64 import b64decode
from typing import Any

import msgspec
import numpy as np
import pytest

import gradviz
import gradviz.functions as F
from gradviz.debugger.document import Trace, decode, encode
from gradviz.debugger.steering import path_of
from gradviz.notebook.asking import Question, answered
from gradviz.notebook.page import page
from gradviz.notebook.page_answers import Answers, answers
from tests.debugger import loops
from tests.debugger.answers.nets import overwritten
from tests.notebook.test_page import Parts, chain
from tests.random_cases import fresh_seed

PLENTY = 60.0  # s


def held(made: Answers, question: str, *arguments: str | int, at: int) -> dict[str, Any] | None:
    """What a reader of the page hears; None: there is no room for it."""
    key = msgspec.json.encode([question, *arguments]).decode()
    numbers = [number for start, number in made.asked.get(key, []) if start <= at]
    if not numbers or numbers[-1] is None:
        return None
    reply = made.replies[numbers[-1]]
    return reply if "problem" in reply else {**reply, "blocks": [_block(made, number) for number in reply["blocks"]]}


def _block(made: Answers, number: int) -> list[Any]:
    block = made.blocks[number]
    return block if block[0] != "grid" else [*block[:3], [made.rows[row] for row in block[3]], block[4]]


def loop() -> gradviz.Session:
    return gradviz.debug(loops.gated(), ["loss"], workspace=loops.fed(rounds=2))


def in_focus(trace: Trace, at: int) -> list[str]:
    """The blobs of the event at a position, as a view asks for them."""
    event = trace.events[at - 1]
    if event.subnet is None:
        return [f":{blob}" if trace.subnets else blob for blob in event.blobs]
    net = next(net for net in trace.subnets if net.id == event.subnet)
    path = net.path if event.frame is None else path_of(trace, event.frame)
    return [f"{'/'.join(path)}:{blob}" for blob in event.blobs]


@pytest.mark.parametrize("record", [overwritten, loop, lambda: chain(6, 3)])
def test_every_blob_in_focus_has_the_answer_of_its_position(record: Any) -> None:
    session = record()
    trace = session.trace()
    made = answers(session, trace, seconds=PLENTY)
    for at in range(1, len(session) + 1):
        for blob in in_focus(trace, at):
            for question in ("why_none", "versions"):
                said = answered(session, Question("", question, [blob], at))  # type: ignore[arg-type]
                assert held(made, question, blob, at=at) == said, (question, blob, at)


def test_every_version_of_the_net_has_the_answer_of_every_position() -> None:
    session = chain(4, 3)
    trace = session.trace()
    made = answers(session, trace, seconds=PLENTY)
    blobs = {blob for line in (*trace.forward, *trace.backward) for blob in (*line.inputs, *line.outputs)}
    for at in range(len(session) + 1):
        assert held(made, "state", at=at) == answered(session, Question("", "state", [], at))
        for blob in blobs:
            for question in ("why_none", "versions"):
                said = answered(session, Question("", question, [blob], at))  # type: ignore[arg-type]
                assert held(made, question, blob, at=at) == said, (question, blob, at)


def accumulated(**options: Any) -> gradviz.Session:
    """Gradients come to one Variable while others of it have run, and take other names."""
    x = gradviz.Variable(np.linspace(-1, 1, 6).reshape(2, 3), name="x")
    h = F.sin(x[0:1]) + x
    return gradviz.debug(F.sum((h - h) * x), **options)


def given_rows() -> gradviz.Session:
    """Rows of a gradient are given, and made dense later."""
    net = gradviz.Net("rows")
    net.Sub(["x", "x"], "y")
    net.Gather(["y", "i"], "z")
    ws = gradviz.Workspace()
    for name, value in {"x": np.ones((3, 2)), "i": [0, 2], "rows": [1], "dy": np.ones((1, 2))}.items():
        ws.feed(name, value)
    return gradviz.debug(net, {"y": gradviz.GradientSlice("rows", "dy"), "z": None}, workspace=ws)


def live_loop() -> gradviz.Session:
    live = gradviz.live(loops.gated(), ["loss"], workspace=loops.fed(rounds=2))
    return live.finish()


@pytest.mark.parametrize(
    "record", [accumulated, lambda: accumulated(schedule="tape"), given_rows, overwritten, loop, live_loop]
)
def test_what_a_page_holds_is_the_answer_of_the_position_whoever_brings_the_change(record: Any) -> None:
    session, rng = record(), random.Random(fresh_seed())
    made = answers(session, session.trace(), seconds=PLENTY)
    for key, entries in made.asked.items():
        question, *arguments = msgspec.json.decode(key)
        if question not in ("why_none", "versions", "provenance"):
            continue
        changes = [at for start, _ in entries for at in (start - 1, start) if at >= 0]
        for at in rng.sample(changes, min(3, len(changes))) + rng.choices(range(len(session) + 1), k=3):
            reply = held(made, question, *arguments, at=at)
            said = answered(session, Question("", question, arguments, at))
            assert reply in (None, said), (question, arguments, at)


def test_checks_paths_changes_and_faults_are_there() -> None:
    net = gradviz.Net("twice")
    net.Tanh("x", "a")
    net.Sum(["a", "a"], "s")
    ws = gradviz.Workspace()
    ws.feed("x", np.zeros(3, np.float32))
    session = gradviz.debug(net, ["s"], workspace=ws)
    made = answers(session, session.trace(), seconds=PLENTY)
    for question, argument in (("check", "#0"), ("check", "x@0"), ("paths", "a@0"), ("provenance", "x@0")):
        said = answered(session, Question("", question, [argument], 5))  # type: ignore[arg-type]
        assert held(made, question, argument, at=5) == said
    assert held(made, "diff", 4, at=5) == answered(session, Question("", "diff", [4], 5))
    assert held(made, "diff", 4, at=6) is None, "what changed since is asked at one position alone"


def test_a_session_from_a_file_says_what_is_missing() -> None:
    trace = decode(encode(chain(2, 3).trace()))
    made = answers(gradviz.Session(trace), trace, seconds=PLENTY)
    reply = held(made, "check", "#0", at=0)
    assert reply is not None
    assert "a saved trace keeps statistics, no arrays" in str(reply)


@pytest.mark.parametrize("budget", [0, 3_000, 30_000])
def test_the_budget_holds_and_what_is_held_is_right(budget: int) -> None:
    session = chain(10, 3)
    made = answers(session, session.trace(), budget=budget, seconds=PLENTY)
    assert len(msgspec.json.encode([made.rows, made.blocks, made.replies])) <= budget + 2_000
    for at in range(0, len(session) + 1, 7):
        reply = held(made, "why_none", "b1@0", at=at)
        assert reply in (None, answered(session, Question("", "why_none", ["b1@0"], at)))


def test_asking_ends_in_time() -> None:
    session = chain(40)
    trace = session.trace()
    start = time.monotonic()
    answers(session, trace, seconds=0.2)
    assert time.monotonic() - start < 5


def test_a_page_holds_them_beside_the_recording() -> None:
    session = chain(2, 3)
    parts = Parts(page(session.trace(), questions=session))
    (packed,) = [text for attributes, text in parts.all("script") if attributes.get("id") == "gv-answers"]
    assert b'"asked":{"[\\"why_none\\"' in gzip.decompress(b64decode(packed))
    assert 'id="gv-answers"' not in page(session.trace()).partition("<script>")[0]
