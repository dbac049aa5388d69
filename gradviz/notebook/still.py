"""A recording standing still at one position, as text and as HTML without scripts: for where no widget lives."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..debugger.document import Line, Trace
from ..debugger.telling import reminder
from .program import Row, rows

__all__ = ["html", "text"]


def text(trace: Trace, position: int) -> str:
    """Where `trace` is at `position`, what just happened, and the program as it reads there."""
    parts = [_where(trace, position), *(said.replace("`", "") for said in _said(trace, position))]
    for title, lines in _halves(trace):
        parts.append("\n".join([title, *(_plain(row) for row in rows(trace, lines, position))]))
    return "\n\n".join(parts)


def html(trace: Trace, position: int, picture: str) -> str:
    """The same as `text`, with `picture`, an SVG element or nothing, beside the program."""
    halves = "".join(_half(title, rows(trace, lines, position)) for title, lines in _halves(trace))
    return (
        f"<div><p><strong>{escape(_where(trace, position))}</strong></p>"
        f"{''.join(f'<p>{_with_code(said)}</p>' for said in _said(trace, position))}"
        f'<div style="display:flex;flex-wrap:wrap;gap:12px;align-items:flex-start"><div>{picture}</div>'
        f"<div>{halves}</div></div></div>"
    )


def _half(title: str, lines: Iterable[Row]) -> str:
    program = "\n".join(_marked(row) for row in lines)
    return f"<p><strong>{title}</strong></p><pre>{program}</pre>"


def _where(trace: Trace, position: int) -> str:
    return f"{trace.name}: event {position} of {len(trace.events)}"


def _said(trace: Trace, position: int) -> list[str]:
    narration = trace.events[position - 1].narration if position else trace.summary
    return [said for said in (narration, reminder(trace, position)) if said]


def _halves(trace: Trace) -> list[tuple[str, list[Line]]]:
    return [("Forward", trace.forward), ("Backward", trace.backward)]


def _plain(row: Row) -> str:
    notes = ["not made yet"] * (not row.made) + ["cannot be run"] * row.is_obstacle
    noted = f"  ({', '.join(notes)})" if notes else ""
    return f"{row.mark} {row.text}{noted}"


def _marked(row: Row) -> str:
    line = escape(_plain(row))
    if not row.made:
        return f'<i style="opacity:.7">{line}</i>'
    return line if row.mark == " " else f"<b>{line}</b>"


def _with_code(narration: str) -> str:
    """Narration as HTML: what stands between backticks is code."""
    words = narration.split("`")
    return "".join(f"<code>{escape(word)}</code>" if index % 2 else escape(word) for index, word in enumerate(words))
