"""Random live sessions: what is changed by hand, run elsewhere and tried in vain ends as one run of all that did."""

import random
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from gradviz import GradvizError, Live, Net, Session, Workspace, debug, live, load
from gradviz.debugger.journal import Recording
from gradviz.program.control_flow import NETS
from gradviz.program.operator import parts_of
from tests.debugger.answers.nets import random_blocks, random_programs, random_sessions, workspace_of
from tests.random_cases import counts, fresh_seed

NORM = re.compile(r"norm \S+")
ELSEWHERE = ("cpu", "cuda:0", "cuda:1")


def random_cases(count: int, rng: random.Random) -> Iterator[tuple[Any, Session]]:
    """Random nets and their sessions, half of them with control flow."""
    for more, share in ((random_sessions, 2), (random_programs, 4), (random_blocks, 4)):
        yield from more(count // share, rng.randrange(2**32))


def recording_of(session: Session) -> Recording:
    assert session._recording is not None
    return session._recording


def other_value(array: Any, rng: random.Random) -> Any:
    """Another array of the same shape and dtype, whose whole numbers are not larger: they may be indices."""
    draw = np.random.default_rng(rng.randrange(2**32))
    if array.dtype.kind in "fc":
        return draw.normal(size=array.shape).astype(array.dtype)
    return draw.permutation(array.reshape(-1)).reshape(array.shape)


def fail_in_vain(one: Live, rng: random.Random) -> None:
    """Something that is refused, and leaves everything as it was."""
    before = one.next, len(one.session), list(one.workspace)
    blob = rng.choice(before[2])
    wrong = rng.choice(
        [
            lambda: one.step(device="cuda:7"),
            lambda: one.step(device="moon"),
            lambda: one.feed("no name", 1.0),
            lambda: one.feed(blob, object()),
            lambda: one.run_to("nothing is called so"),
        ]
    )
    with pytest.raises(GradvizError):
        wrong()
    assert (one.next, len(one.session), list(one.workspace)) == before


def fail_and_mend(one: Live, rng: random.Random) -> None:
    """Let the next operator find what it cannot work on, where it can still be fed, and mend that."""
    session = one.session
    unread = [name for name in one.workspace if not session.is_target(name)]
    if not unread:
        return
    blob = rng.choice(unread)
    good, before = one.workspace[blob], (one.next, len(session))
    one.feed(blob, np.ones((7, 3, 2)))
    try:
        one.step()
    except GradvizError:
        assert (one.next, len(one.session)) == before
    if one.next is not None and not one.session.is_target(blob):
        one.feed(blob, good)


def go_back(session: Session, rng: random.Random) -> None:
    """Look at what has happened, and return to its end."""
    for _ in range(4):
        rng.choice([session.back, session.back_over, session.step, session.over, session.restart])()
        assert session.narration
    session.finish()


def lived(case: Any, rng: random.Random) -> Iterator[Live]:
    """A live pass of a net with what people may do between its steps; yielded after each of these."""
    ys = case.ys
    is_late = rng.random() < 0.3
    one = live(case.net, None if is_late else ys, workspace=workspace_of(case), skip=case.skip)
    if is_late:
        for _ in case.net.ops:
            one.step()
        one.differentiate(ys)
    while one.next is not None:
        if rng.random() < 0.3 and (blobs := list(one.workspace)):
            blob = rng.choice(blobs)
            with suppress(GradvizError):  # a blob of the net cannot be changed in the backward pass
                one.feed(blob, other_value(one.workspace[blob], rng))
        if rng.random() < 0.1:
            fail_in_vain(one, rng)
        if rng.random() < 0.1:
            fail_and_mend(one, rng)
        if rng.random() < 0.1:
            go_back(one.session, rng)
        yield one
        # What nested nets do is done where their operators say.
        is_elsewhere = rng.random() < 0.3 and NETS.keys().isdisjoint((one.next or "").split())
        one.step(device=rng.choice(ELSEWHERE) if is_elsewhere else None)
    yield one


def leaves_of(recording: Recording) -> dict[str, Any]:
    """What the recorded program reads and nobody in it has written."""
    text = recording.text.outermost
    found = {name: array for (name, version), array in recording.values.items() if not version}
    return {name: array for name, array in found.items() if text.version(name, 0).statement is None}


def gradient_of(session: Session, leaf: str) -> Any:
    """The gradient of what a leaf was at the start, as the events have said last."""
    found = None
    for event in session.events:
        blob = (
            event.y if event.kind == "Seeded" else event.blob if event.kind in ("GeneratorAdded", "Accumulated") else ""
        )
        if blob == leaf and not event.version and not event.path:
            found = event.gradient
    return found


@counts(64)
def test_a_live_session_is_what_one_run_of_its_program_gives(cupy: Any, count: int) -> None:
    rng, compared, changed = random.Random(fresh_seed()), 0, 0
    for case, _ in random_cases(count, rng):
        one = None
        try:
            for one in lived(case, rng):  # noqa: B007
                pass
        except GradvizError:
            # It cannot run, or not go back from there: it stands still where it was.
            assert one is None or one.next is not None
            continue
        assert one is not None
        session = one.session
        if session.events[-1].kind == "Failed":
            continue
        recording = recording_of(session)
        ws = Workspace()
        for name, array in leaves_of(recording).items():
            ws._values[name] = array  # as it lies, on whatever device
        ws.run(session.net)
        for name in {name for name, _ in recording.values} & {*one.workspace}:
            assert np.array_equal(ws.fetch(name), one.workspace[name], equal_nan=one.workspace[name].dtype.kind in "fc")
        compared += 1
        changed += any(event.kind == "ChangedByHand" for event in session.events)
    assert (compared > 15 and changed > 7) or count < 64


@counts(64)
def test_gradients_are_true_where_blobs_of_the_net_were_changed_by_hand(count: int) -> None:
    """They are those of the net in which each change is one more operator, in SSA form."""
    rng, compared = random.Random(fresh_seed()), 0
    for case, _ in random_cases(count, rng):
        try:
            one = live(case.net, case.ys, workspace=workspace_of(case), skip=case.skip)
            for _ in case.net.ops:
                one.step()
                blob = rng.choice(list(one.workspace))
                if rng.random() < 0.3:
                    one.feed(blob, other_value(one.workspace[blob], rng))
            session = one.finish()
            recording = recording_of(session)
            reference = Workspace()
            for name, array in leaves_of(recording).items():
                reference.feed(name, array)
            if recording.skip or not any(event.kind == "ChangedByHand" for event in session.events):
                continue
            whole = debug(Net("changed", recording.net.ops), case.ys, workspace=reference).to_ssa()
        except GradvizError:
            continue
        if "Failed" in (session.events[-1].kind, whole.events[-1].kind):
            continue
        compared += 1
        true = next(one for one in whole.events if one.kind == "Completed" and not one.path).gradients
        for leaf in leaves_of(recording):
            mine, other = gradient_of(session, leaf), true.get(leaf)
            assert (mine is None) == (other is None), leaf
            for part, same in zip(parts_of(mine), parts_of(other), strict=True):
                assert np.allclose(session.value(part), whole.value(same), equal_nan=True), leaf
    assert compared > 6 or count < 64


@counts(32)
def test_the_recording_of_a_live_session_loads_asks_and_steps_as_any_other(tmp_path, cupy: Any, count: int) -> None:
    rng = random.Random(fresh_seed())
    for number, (case, _) in enumerate(random_cases(count, rng)):
        one = None
        with suppress(GradvizError):
            for one in lived(case, rng):  # noqa: B007
                pass
        if one is None:
            continue
        session = one.session
        session.save(tmp_path / f"{number}.gradviz.json")
        loaded = load(tmp_path / f"{number}.gradviz.json")
        session.restart()
        for _ in range(len(session)):
            session.step()
            loaded.step()
            # Norms of many runs at once are added up otherwise than those of one.
            assert NORM.sub("", loaded.narration) == NORM.sub("", session.narration)
        for blob in recording_of(session).text.outermost.writings:
            assert str(loaded.versions(blob)) == str(session.versions(blob))


@counts(32)
def test_a_pass_that_stands_still_never_says_never_of_what_comes(count: int) -> None:
    rng, asked = random.Random(fresh_seed()), 0
    for case, whole in random_cases(count, rng):
        whole.finish()
        coming = [blob for blob in whole.blobs if has_one(whole, blob)]
        one = live(case.net, case.ys, workspace=workspace_of(case), skip=case.skip)
        with suppress(GradvizError):  # it stops where the whole one did
            while one.next is not None:
                one.step()
                session = one.session
                session.finish()
                known = set(session.blobs)
                for blob in known.intersection(coming):
                    assert session.why_none(blob).status != "none", (blob, one.next)
                    asked += 1
    assert asked > 100 or count < 32


def has_one(session: Session, blob: str) -> bool:
    """Whether the first version of a blob is the one whose gradient its name means."""
    found = session.why_none(blob)
    return found.status == "has one" and not found.asked and found.blob.endswith("@0")
