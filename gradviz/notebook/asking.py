"""Questions that a view puts to a session, and what it hears.

A view asks    {"type": "question", "id", "question", "arguments", "position"}
and hears      {"type": "answer", "id", "blocks": [...], "data": {...} or None}
or             {"type": "answer", "id", "problem", "ways_out": [...]}

`id` is the view's own, "question" a method of the session, which is asked at "position" and stays where it is. A `Verb`
moves the session from there, and the answer is what there is to say of that. "watched" is what an expression about
blobs is and was. "save" writes a file, whose name the data has, see `files`; after "to_ssa" the view shows the session
that this gives; "advance" lets a pass go on that stands still, by the verb that is its first argument; of "still" the
data are the `forms` that stay in the output where no widget lives, and the session stays where it is; of "cells" those
of `inserting` for a notebook. Blocks are rows of JSON:
["paragraph", text, is_title], ["bullets", items], ["grid", title, head, rows, foot].
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from ..debugger import Cursor, CursorError
from ..debugger.answers import Answer, Block, Bullets, Grid, Paragraph, Questions
from ..debugger.steering import Watch
from ..program import GradvizError
from .saving import Saved, save
from .session_protocol import Shown
from .still import forms

logger = logging.getLogger(__name__)

Name = Literal[
    "why_none", "provenance", "versions", "check", "checkable", "state", "paths", "diff", "ledger", "numbers"
]

Verb = Literal["over", "back_over", "into", "out", "run_to", "continue_", "reverse_continue", "other_clock"]

_VERBS = get_args(Verb)

GOING_ON = ("step", "over", "run_to", "continue_", "finish")
"""Verbs by which a pass goes on that stands still."""

Deed = Literal["save", "to_ssa", "still", "advance", "cells"]
"""Done at the position, to which the session moves; "still" where the session stands."""


def advance(session: Shown, verb: str, *given: str) -> Shown:
    """Let the pass go on that stands still at the end of a session, as one of its verbs says."""
    going = session.live
    if going is None or verb not in GOING_ON:
        raise CursorError(
            "Nothing more happens: the pass is over, or another session shows what has happened since.",
            kind="not_found",
            ways_out=["live.session is the newest one."],
        )
    getattr(going, verb)(*given)
    return session


_METHODS: dict[str, Callable[..., Any]] = {
    **{name: getattr(Cursor, name) for name in (*get_args(Name), *_VERBS)},
    "save": save,
    "to_ssa": lambda session: session.to_ssa(),
    "still": forms,
    "advance": advance,
    "cells": lambda session, of: {"cells": session.to_cells(of)},
    "watched": lambda session, on: session.watches.new_mark(str(on)),
}
_SIGNATURES = {name: inspect.signature(method) for name, method in _METHODS.items()}

WITH_DATA = ("check", "checkable", "numbers")
"""Answers of which a view shows more than the blocks."""


class Question(msgspec.Struct, frozen=True, tag_field="type", tag="question"):
    """What a view asks."""

    id: str
    question: Name | Verb | Deed | Literal["watched"]
    arguments: list[str | int]
    position: int


def reply(session: Shown | None, question: Question, *, is_there: bool = False) -> dict[str, Any]:
    """What to send back. Nothing is raised: a view waits for each reply.

    Args:
        session: None: it cannot be asked; it is gone, or if it `is_there` the view shows another one by now.
    """
    gone = _problem("The session is gone: nothing in the kernel refers to it any more.", ["Run its cell again."])
    if is_there:
        gone = _problem("Another session is the active one by now.", ["Choose this one again, and ask."])
    return {"type": "answer", "id": question.id, **(gone if session is None else answered(session, question))}


def shown_after(session: Shown | None, question: Question, answer: Mapping[str, Any]) -> Shown | None:
    """The other session that a view shows after an answer, if it does."""
    if session is None or question.question != "to_ssa" or "problem" in answer:
        return None
    return session.to_ssa()


def answered(session: Questions, question: Question) -> dict[str, Any]:
    """The answer as a view hears it, or why there is none."""
    method = _METHODS[question.question]
    try:
        _SIGNATURES[question.question].bind(session, *question.arguments)
    except TypeError as error:
        return _problem(f"{question.question} cannot be asked so: {error}.")
    try:
        if question.question in get_args(Deed) and isinstance(session, Shown):
            # A widget asks for this on its own, and Python may have moved the session since.
            if question.question != "still":
                session.move_to(question.position)
            return _done(method(session, *question.arguments))
        if question.question in _VERBS and isinstance(session, Cursor):
            return {"blocks": [_row(Paragraph(_moved(session, question)))], "data": None}
        if question.question == "watched":
            watch = method(session, *question.arguments)
            return {"blocks": list(map(_row, _watched(watch, question.position))), "data": None}
        return _shown(method(session.at(question.position), *question.arguments))
    except GradvizError as error:
        return _problem(error.message, error.ways_out)
    except KeyboardInterrupt:
        return _problem("It was interrupted before there was an answer.", ["Ask again."])
    except Exception as error:
        logger.warning("A question of a view failed: %s", question, exc_info=True)
        return _problem(f"The question failed, which is a fault of gradviz: {type(error).__name__}: {error}.")


def _done(result: Saved | Shown | dict[str, Any]) -> dict[str, Any]:
    if not isinstance(result, Saved):
        return {"blocks": [], "data": result if isinstance(result, dict) else None}
    text = ". ".join(filter(None, [f"Saved as {result.path}", result.summary]))
    return {"blocks": [_row(Paragraph(text))], "data": {"file": result.path.name}}


def _moved(session: Cursor, question: Question) -> str:
    """Move as a verb says, from where the view is; and what is to be said of the place."""
    session.move_to(question.position)
    getattr(session, question.question)(*question.arguments)
    stop = session.stopped
    if stop is None or question.question not in ("continue_", "reverse_continue"):
        return ""
    if stop.breakpoint is not None:
        return f"Breakpoint: {', '.join(filter(None, [stop.breakpoint.on, stop.value]))}"
    return "The start: no breakpoint before." if stop.reason == "start" else "The end: no breakpoint ahead."


LISTED = 5
"""Values of a watch that are listed, around the one that counts."""


def _watched(watch: Watch, position: int) -> Iterator[Block]:
    """What a watch is at a position, and what it was before and will be."""
    yield Paragraph(watch.text_at(position))
    rows = [("fed" if at == 0 else f"event {at}", value) for at, value in watch.near(position, LISTED)]
    if rows:
        count = len(watch.history)
        yield Grid("", ("", ""), rows, f"{count} values in all" if count > LISTED else "")


def _shown(answer: Answer) -> dict[str, Any]:
    """What a view shows of an answer."""
    data = answer.to_dict() if answer.answer in WITH_DATA else None
    return {"blocks": [_row(block) for block in answer.blocks()], "data": data}


def _problem(problem: str, ways_out: Sequence[str] = ()) -> dict[str, Any]:
    return {"problem": problem, "ways_out": list(ways_out)}


def _row(block: Block) -> list[Any]:
    match block:
        case Paragraph(text, is_title):
            return ["paragraph", text, is_title]
        case Bullets(items):
            return ["bullets", list(items)]
        case Grid(title, head, rows, foot):
            return ["grid", title, list(head), [list(row) for row in rows], foot]
