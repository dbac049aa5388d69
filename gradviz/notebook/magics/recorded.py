"""The answer of `%value`: what was recorded of a blob."""

from __future__ import annotations

from collections.abc import Iterator

from ...debugger.answers import Answer, Block, Grid, Paragraph, digits
from ...debugger.document import Value
from ...debugger.steering import sparkline
from ...debugger.telling import measured
from ..session_protocol import Shown


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
