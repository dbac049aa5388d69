"""The user's code with the norm of the gradient of what each line made, as the pane of the widget shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec

from ...program.code_line import CodeLine
from ..document import Number, Source
from ..journal import NetText, Statement, Writing
from ..telling import Subjects
from .forms import Answer, Block, Grid, Paragraph, digits
from .net_view import NetView
from .recorded import Recorded


class CodeRow(msgspec.Struct, frozen=True):
    """A line of the user's code.

    Attributes:
        number: from 1.
        text: of the line, without its end.
        is_current: whether the last event is about what it made.
        has_called: whether it called operators.
        gradient: of what the last operator that it called made, and that gets one; None: none does.
        norm: of this gradient, ``nan`` or ``inf`` where it holds one; None: not computed by now.
    """

    number: int
    text: str
    is_current: bool
    has_called: bool
    gradient: str | None
    norm: Number | None


class CodeSource(msgspec.Struct, frozen=True):
    """What a recording has of a cell or file: lines, with gaps between their numbers where it has not all of them."""

    file: str
    rows: list[CodeRow]


class CodeView(Answer, frozen=True):
    """The user's code at a position.

    Attributes:
        position: where this was asked.
        sources: the cells and files that called operators.
        is_over: whether nothing more comes of the pass.
    """

    answer = "code"
    position: int
    sources: list[CodeSource]
    is_over: bool

    def blocks(self) -> Iterator[Block]:
        if not self.sources:
            yield Paragraph("The recording knows no line of the user's code.", is_title=True)
        for source in self.sources:
            title = f"{source.file} at event {self.position}, with the norm of the gradient of what each line made"
            yield Grid(title, ("", "line", "norm", "code"), list(_shown(source.rows, self.is_over)), is_code=True)


class Called(NamedTuple):
    """A line of code that called operators.

    Attributes:
        net: the one that the operators are in.
        gradient: of the result of the last of them that gets one; None: none gets any.
    """

    code: CodeLine
    net: NetText
    gradient: Writing | None


def answer(here: NetView, subjects: Subjects) -> CodeView:
    """The code of a recording at a position."""
    recorded, position = here.recorded, here.position
    lines, current = _called_in(recorded), _current(recorded, subjects, position)

    def row(file: str, number: int, text: str) -> CodeRow:
        place = f"{file}:{number}"
        line = lines.get(place)
        if line is None or line.code.text != text.strip():
            return CodeRow(number, text, place == current, False, None, None)
        gradient = None if line.gradient is None else str(line.gradient)
        return CodeRow(number, text, place == current, True, gradient, _norm(recorded, line, position))

    def rows(stretches: Iterable[Source]) -> Iterator[CodeRow]:
        for source in stretches:
            for number, text in enumerate(source.text.split("\n"), source.first):
                yield row(source.file, number, text)

    files = groupby(recorded.sources, lambda source: source.file)
    sources = [CodeSource(file, list(rows(stretches))) for file, stretches in files]
    return CodeView(position, sources, is_over=not here.is_halted)


def _called_in(recorded: Recorded) -> dict[str, Called]:
    """The lines that called operators, by their places. Of operators in several nets the outermost count."""
    lines: dict[str, Called] = {}
    for net in recorded.text.nets:
        own: dict[str, Called] = {}
        for statement in net.forward:
            if statement.code is not None:
                gradient = recorded.story.first_gradient(statement)
                if gradient is not None or str(statement.code) not in own:
                    own[str(statement.code)] = Called(statement.code, net, gradient)
        lines = own | lines
    return lines


def _norm(recorded: Recorded, called: Called, position: int) -> Number | None:
    """The norm of the gradient of what a line made; in a loop that of the last run by then; None: not computed."""
    gradient = called.gradient
    if gradient is None:
        return None
    for run in _runs(recorded, called.net, gradient.statement, position):
        value = recorded.values.of(run, gradient.key)
        if value is not None and _is_computed(recorded, gradient.statement, run, position):
            return "nan" if value.nan else "inf" if value.inf else value.norm
    return None


def _runs(recorded: Recorded, net: NetText, writer: Statement | None, position: int) -> Sequence[int | None]:
    """The runs in which an operator may have run by a position, the last one first; None: around all nets."""
    if not net.path:
        return [None]
    recording = recorded.recording
    halves = (True, False) if writer is None else (writer.role != "forward",)
    runs = [run for half in halves for run in recording.halves.get((net.path, half), [])]
    return sorted((run for run in runs if recording.begun[run] < position), reverse=True)


def _is_computed(recorded: Recorded, writer: Statement | None, run: int | None, position: int) -> bool:
    """Whether what an operator writes is there at a position; around all nets what never ran was there before."""
    if writer is None:
        return True
    ran = recorded.recording.ran(writer, run)
    return run is None if ran is None else ran <= position


def _current(recorded: Recorded, subjects: Subjects, position: int) -> str | None:
    """The place of the line that the event before a position is about; None: it is about none."""
    if not position:
        return None
    subject = subjects.of(recorded.events[position - 1], position)
    forward = [] if subject.forward is None else [recorded.recording.net_after(position).forward[subject.forward]]
    codes = (_code_of(recorded, statement) for statement in (*forward, *reversed(subject.statements)))
    return next((str(code) for code in codes if code is not None), None)


def _code_of(recorded: Recorded, statement: Statement) -> CodeLine | None:
    """The line that called an operator, or the one that it came from, or else the one that runs its net."""
    forward = statement.net.forward[statement.of] if statement.of is not None else statement
    if forward.code is not None or not statement.net.path:
        return forward.code
    owner = next(filter(None, recorded.text.owners[statement.net.id]), None)
    return None if owner is None else _code_of(recorded, owner)


def _shown(rows: Iterable[CodeRow], is_over: bool) -> Iterator[tuple[str, ...]]:
    last, absent = None, "none" if is_over else "none yet"
    for row in rows:
        if last is not None and row.number > last + 1:
            yield "", "⋯", "", ""
        last = row.number
        norm = "" if not row.has_called else absent if row.gradient is None else digits(row.norm)
        yield "→" if row.is_current else "", str(row.number), norm, row.text
