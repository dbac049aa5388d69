"""What magics show of a session: where it stands, what has changed on the way there, and what a blob was."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...debugger.answers import Answer, Block, Bullets, DiffView, Grid, Paragraph, digits, first_texts
from ...debugger.document import Line, Number, Trace, Value
from ...debugger.steering import sparkline
from ...debugger.telling import measured
from ...drawing import svg
from ..session_protocol import Shown
from ..still import MOST_PICTURE, dark_colours, plain, rows

MOST_COMPARED = 20_000
"""Events of a recording; of a larger one a comparison would take longer than a person waits for a step."""

MOST_CHANGES, MOST_ITEMS = 6, 3
"""Changes that are said, and of a change the things that it is about."""

_COLOUR = re.compile('"(#[0-9a-f]{6})"')


class Glance(Answer, frozen=True):
    """Where a session stands.

    Attributes:
        where: the session and its position.
        said: sentences about the event there.
        changed: what changed on the way there.
        program: the lines about which the event is, and their neighbours.
        picture: the same as an SVG element; empty where it would be too large.
    """

    answer = "glance"
    where: str
    said: list[str]
    changed: list[str]
    program: list[str]
    picture: str

    def blocks(self) -> Iterator[Block]:
        yield Paragraph(self.where, is_title=True)
        yield from map(Paragraph, self.said)
        if self.changed:
            yield Bullets(self.changed)

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *self.program])

    def _repr_html_(self) -> str:
        return beside(super()._repr_html_(), self.picture)


def glance(session: Shown, since: int | None = None, *notes: str) -> Glance:
    """Where `session` stands.

    Args:
        since: the position that it comes from; None: nothing is compared.
        notes: what else there is to say.
    """
    trace, position = session.nearby(), session.position
    event, path = trace.event_at(position), "/".join(session.path)
    net = next((one for one in trace.subnets if event is not None and one.id == event.subnet), trace)
    return Glance(
        f"{session.name}: event {position} of {len(session)}{f', in {path}' if path else ''}",
        [sentence.replace("`", "") for sentence in (session.narration, *notes) if sentence],
        _changed(session, since),
        [line for lines in (net.forward, net.backward) for line in _near(trace, lines, position)],
        small_picture(trace, position),
    )


def beside(html: str, picture: str) -> str:
    """HTML, and a picture beside it where there is room."""
    return (
        '<div class="gradviz-lab-Glance" style="display:flex;flex-wrap:wrap;gap:0 24px;align-items:flex-start">'
        f'<div style="flex:1 1 320px;max-width:640px">{html}</div>'
        f'<div style="max-width:100%;overflow:auto;zoom:.9">{picture}</div></div>'
    )


def small_picture(trace: Trace, position: int) -> str:
    """An SVG element in the colours of the page around it, where that says whether it is light or dark."""
    dark = dark_colours()
    drawn = _COLOUR.sub(lambda match: f'"light-dark({match[1]}, {dark.get(match[1], match[1])})"', svg(trace, position))
    return drawn if len(drawn) <= MOST_PICTURE else ""


def _changed(session: Shown, since: int | None) -> list[str]:
    """The state tells of one event, the difference of several."""
    position = session.position
    if since is None or since == position or len(session) > MOST_COMPARED:
        return []
    if since == position - 1:
        return first_texts(session.state().changed, MOST_CHANGES)
    undone = "Undone. " if since > position else ""
    return [undone + change for change in _difference(session.diff(since))]


def _difference(diff: DiffView) -> Iterator[str]:
    """What changed, one sentence for each kind of change."""
    for title, items in (
        ("Joined", diff.played),
        ("Made", diff.made),
        ("Renamed", [f"{one.before} became {one.after}" for one in diff.rewritten]),
        ("Gradients that arrived", [f"{gradient} for {blob}" for blob, gradient in diff.gradients]),
        ("Added up", [f"{total}, the gradient of {blob}" for blob, total in diff.ledgers]),
        ("Rows merged", diff.merged),
        ("Computed", [f"{one.blob}, {one.shape}{_norm(one.norm)}" for one in diff.computed]),
        ("Stopped", [diff.stopped] * bool(diff.stopped)),
    ):
        if items:
            yield f"{title}: {'; '.join(first_texts(items, MOST_ITEMS))}"


def _norm(norm: Number | None) -> str:
    return "" if norm is None else f", norm {digits(norm)}"


def _near(trace: Trace, lines: Sequence[Line], position: int) -> Iterator[str]:
    """The lines of one half of the program that are marked, and those beside them."""
    all_rows = list(rows(trace, lines, position))
    marked = [number for number, row in enumerate(all_rows) if row.mark != " "]
    for number, row in enumerate(all_rows):
        if any(abs(number - at) <= 1 for at in marked):
            yield plain(row)


class RecordedView(Answer, frozen=True):
    """What was recorded of a blob version.

    Attributes:
        blob: the version.
        when: when it is computed, where that is later than the position of the question; else empty.
        value: its statistics and its first numbers.
    """

    answer = "value"
    blob: str
    when: str
    value: Value

    def blocks(self) -> Iterator[Block]:
        value = self.value
        number = f" = {digits(value.preview[0][0])}" if value.size == 1 and value.preview else ""
        yield Paragraph(f"{self.blob}{number}: {measured(value)}", is_title=True)
        if self.when:
            yield Paragraph(self.when)
        if value.size > 1 and value.norm is not None:
            numbers = [("min", value.min), ("mean", value.mean), ("max", value.max), ("zeros", value.zero or None)]
            yield Paragraph(", ".join(f"{name} {digits(number)}" for name, number in numbers if number is not None))
        if value.histogram:
            bars = sparkline(list(map(float, value.histogram)))
            yield Paragraph(f"{digits(value.min)} {bars} {digits(value.max)}")
        if value.preview and not number:
            rows = [(str(row), *map(digits, numbers)) for row, numbers in enumerate(value.preview)]
            head = ("", *map(str, range(len(value.preview[0]))))
            shown = len(value.preview) * len(value.preview[0])
            yield Grid("numbers", head, rows, f"the first of {value.size:,} numbers" if shown < value.size else "")


def recorded(session: Shown, blob: str) -> RecordedView:
    """What is recorded of a blob at the position of `session`; where it is computed later, what it will be.

    Raises:
        CursorError: ``not_found``, ``not_computed``.
    """
    now = session.latest(blob)
    if now is not None:
        return RecordedView(now[0], "", now[1])
    later = session.latest(blob, len(session))
    # Of a run of a nested net, which stands before a colon, it may have been there before.
    version, value, at = session.measured(blob) if later is None else (*later, None)
    is_there = later is None and (at is None or at <= session.position)
    when = "" if is_there else f"It is computed later: at event {session.position} it was not there yet."
    return RecordedView(version, when, value)
