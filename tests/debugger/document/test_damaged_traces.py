"""A damaged trace is refused when it is loaded, or it can be stepped, asked and shown: with no error but gradviz' own.

Each run draws other damages; a failure tells the seed. ``python -m tests.debugger.document.test_damaged_traces 20000``
draws more of them, ``... 1 SEED`` one again.
"""

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from secrets import randbits
from tempfile import TemporaryDirectory
from time import monotonic
from traceback import print_exc
from typing import Any

import pytest

import gradviz
from gradviz import GradvizError
from gradviz.debugger.document import TraceError, encode
from gradviz.drawing import svg
from gradviz.notebook import still
from gradviz.notebook.page import page
from tests.debugger.document.damage import RECORDINGS, damaged

SECONDS = 1.5
"""For the damages of each recording."""

ASKED = 4
"""Blobs that each question is put about."""

VERBS = ("step", "back", "over", "back_over", "into", "out", "restart", "finish", "continue_", "reverse_continue",
         "other_clock")  # fmt: skip
QUESTIONS = ("ledger", "rows", "paths", "why_none", "provenance", "check", "versions", "numbers", "value")
TARGETS = ("Accumulated", "Ran", "NaN", "norm > 1", "n > 1 and sparse", "iteration 1", "FC", "#1", "g.norm < x.norm",
           "event.iteration == 0", "inputs.devices > 1", "x in ['a', 'b']")  # fmt: skip


def opened(text: str, folder: Path) -> gradviz.Session | None:
    """The session in a file of this text; None: it was refused."""
    path = folder / "it.gradviz.json"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        return gradviz.load(path)
    except TraceError:
        return None


def names_of(session: gradviz.Session, chance: Random) -> list[str]:
    """Some words that a question may be about."""
    document = session.trace()
    nets = [document, *document.subnets]
    lines = [line for net in nets for line in (*net.forward, *net.backward)]
    blobs = [blob for line in lines for blob in (*line.inputs, *line.outputs)]
    blobs += [*document.values, *document.gradients, *(ledger.blob for ledger in document.ledgers)]
    blobs = sorted({*blobs, *(blob.rpartition("@")[0] for blob in blobs), "#0", "#3", ":x", "0.net:x@0"})
    return chance.sample(blobs, min(ASKED, len(blobs)))


def uses(session: gradviz.Session, folder: Path, chance: Random) -> Iterator[Callable[[], Any]]:
    """Everything that can be done with a session, at some of its positions."""
    yield session._repr_mimebundle_
    yield lambda: list(session.events)
    yield lambda: session.net
    for _ in range(len(session)):
        yield session.step
        yield lambda: (session.narration, session.path, session.event)
    names = names_of(session, chance)
    for name in names:
        yield lambda name=name: session.break_on(name)
        yield lambda name=name: session.watch(name)
    for target in TARGETS:
        yield lambda target=target: session.break_on(target, log="{x} {norm(x)}")
        yield lambda target=target: session.run_back_to(target)
        yield lambda target=target: session.run_to(target)
    for _ in range(3):
        session.move_to(chance.randrange(len(session) + 1))
        for verb in chance.sample(VERBS, len(VERBS)):
            yield getattr(session, verb)
        session.move_to(chance.randrange(len(session) + 1))
        for name in names:
            for question in QUESTIONS:
                yield lambda question=question, name=name: getattr(session, question)(name)
        yield session.state
        yield session.store
        yield lambda: session.diff(chance.randrange(len(session) + 1))
        yield session.graph
        yield lambda: svg(session.trace(), session.position)
        yield lambda: still.html(session.trace(), session.position, still.text(session.trace(), session.position))
    yield lambda: session.graph(opened="all")
    yield lambda: (str(session.breakpoints), session.breakpoints._repr_html_(), str(session.log), session.stopped)
    yield lambda: (str(session.watches), session.watches._repr_html_())
    yield lambda: page(session.trace(), session.position)
    yield lambda: session.to_html(folder / "it.html", answers=2_000)
    yield lambda: session.to_notebook(folder / "it.ipynb")
    yield lambda: session.save(folder / "again.gradviz.json")


class Faults(logging.Handler):
    """What a view was told that is a fault of gradviz: the kernel logs it, and is not stopped by it."""

    def emit(self, record: logging.LogRecord) -> None:
        raise AssertionError(record.getMessage()) from (record.exc_info or (None, None))[1]


def use(session: gradviz.Session, folder: Path, chance: Random) -> None:
    """Do it all; raises what is no error of ours."""
    for do in uses(session, folder, chance):
        with suppress(GradvizError):
            done = do()
            if hasattr(done, "blocks"):
                str(done), done._repr_html_(), done.to_dict()


def tried(recording: str, seed: int, folder: Path) -> bool:
    """Damage a recording by a seed, and use what is left; whether it was refused. Fails with the seed."""
    chance = Random(seed)
    text = damaged(recording, chance)
    logger, faults = logging.getLogger("gradviz"), Faults()
    logger.addHandler(faults)
    try:
        session = opened(text, folder)
        if session is not None:
            use(session, folder, chance)
    except Exception as error:
        raise AssertionError(f"{recording}, seed {seed}: {type(error).__name__}: {error}") from error
    finally:
        logger.removeHandler(faults)
    return session is None


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_damaged_trace_is_refused_or_can_be_used(recording: str, tmp_path: Path) -> None:
    end = monotonic() + SECONDS
    while monotonic() < end:
        tried(recording, randbits(48), tmp_path)


def test_a_merge_of_rows_without_operators_can_be_used(tmp_path: Path) -> None:
    document = json.loads(encode(RECORDINGS["rows"]().trace()))
    merge = next(event for event in document["events"] if event.get("kind") == "Deduplicated")
    merge["detail"]["operators"] = []
    session = opened(json.dumps(document), tmp_path)
    assert session is not None
    use(session, tmp_path, Random(0))


@pytest.mark.parametrize("recording", RECORDINGS)
def test_what_is_not_damaged_can_be_used(recording: str, tmp_path: Path) -> None:
    session = opened(encode(RECORDINGS[recording]().trace()).decode(), tmp_path)
    assert session is not None
    use(session, tmp_path, Random(0))


def main(count: int, *seeds: int) -> None:
    """Try so many damages of all recordings together, or those of the seeds; tells of each that fails."""
    with TemporaryDirectory() as made:
        refused = failed = 0
        for number in range(count):
            recording = list(RECORDINGS)[number % len(RECORDINGS)]
            for one in RECORDINGS if seeds else [recording]:
                start = monotonic()
                try:
                    refused += tried(one, seeds[number] if seeds else randbits(48), Path(made))
                except AssertionError:
                    failed += 1
                    print_exc()
                if monotonic() - start > 20:
                    print(f"{one} took {monotonic() - start:.0f} s")
        print(f"{count} damages: {refused} refused, {failed} failed")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
