"""A session standing still at one position, as text, as HTML without scripts, and as all that an output has of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Any

from ..debugger.document import Line, Trace
from ..debugger.telling import reminder
from ..drawing import DARK, LIGHT, svg
from ..program.errors import joined
from .session_protocol import Shown

SESSION_TYPE = "application/vnd.gradviz.session+json"
"""By this type the JupyterLab plugin knows an output of ours; it then uses the other forms in the bundle."""

MOST_PICTURE = 500_000
"""Characters of SVG that an output may carry; it is saved with the notebook."""

MOST_ROWS = 200
"""Longer programs are cut in an output; the widget and the trace have them whole."""


def forms(session: Shown) -> dict[str, Any]:
    """What needs no kernel, wherever the notebook is read: our own type, SVG, HTML and text, by MIME type."""
    trace, position = session.view(), session.position
    picture = svg(trace, position)
    if len(picture) > MOST_PICTURE:
        picture = ""
    return {
        SESSION_TYPE: {
            "version": 1,
            "id": session.id,
            "name": trace.name,
            "position": position,
            "dark": dark_colours(),
        },
        **({"image/svg+xml": picture} if picture else {}),
        "text/html": html(trace, position, picture),
        "text/plain": text(trace, position),
    }


def dark_colours() -> dict[str, str]:
    """The colours of a light picture and what they are in a dark one."""
    colours = [field.name for field in fields(LIGHT) if str(field.default).startswith("#")]
    return {getattr(LIGHT, name): getattr(DARK, name) for name in colours}


def text(trace: Trace, position: int) -> str:
    """Where `trace` is at `position`, what just happened, and the program as it reads there."""
    parts = [_where(trace, position), *(sentence.replace("`", "") for sentence in _sentences(trace, position))]
    parts += _written(trace, position)
    for title, lines in _halves(trace):
        parts.append("\n".join([title, *(plain(row) for row in rows(trace, lines, position))]))
    return "\n\n".join(parts)


def html(trace: Trace, position: int, picture: str) -> str:
    """The same as `text`, with `picture`, an SVG element or nothing, beside the program."""
    halves = "".join(_half(title, rows(trace, lines, position)) for title, lines in _halves(trace))
    return (
        f"<div><p><strong>{escape(_where(trace, position))}</strong></p>"
        f"{''.join(f'<p>{_with_code(sentence)}</p>' for sentence in _sentences(trace, position))}"
        f"{''.join(f'<pre>{escape(array)}</pre>' for array in _written(trace, position))}"
        f'<div style="display:flex;flex-wrap:wrap;gap:12px;align-items:flex-start"><div>{picture}</div>'
        f"<div>{halves}</div></div></div>"
    )


def _half(title: str, lines: Iterable[Row]) -> str:
    program = "\n".join(_marked(row) for row in lines)
    return f"<p><strong>{title}</strong></p><pre>{program}</pre>"


def _where(trace: Trace, position: int) -> str:
    return f"{trace.name}: event {position} of {trace.length}"


def _sentences(trace: Trace, position: int) -> list[str]:
    event = trace.event_at(position)
    is_narrated = event is None or (event.kind == "Failed" and event.phase == "run")
    return list(filter(None, (trace.narration(position), reminder(trace.obstacle, is_narrated=is_narrated))))


def _written(trace: Trace, position: int) -> Iterator[str]:
    """What the operator wrote that ran last, unless the position is in a nested net: numbers, at most a corner."""
    event = trace.event_at(position)
    lines = [line for line in (*trace.forward, *trace.backward) if line.ran is not None and line.ran <= position]
    if event is None or event.subnet is not None or not lines:
        return
    last = max(lines, key=lambda line: line.ran or 0)
    for version in last.outputs if last.kind == "operator" else ():
        if (value := trace.values.get(version)) is None or value.stack is not None:
            continue
        numbers = [[number if isinstance(number, str) else f"{number:.6g}" for number in row] for row in value.preview]
        width = max((len(number) for row in numbers for number in row), default=0)
        shape = " × ".join(map(str, value.shape)) or "a number"
        part = "" if sum(map(len, numbers)) == value.size else ", where it begins"
        corner = ("  ".join(one.rjust(width) for one in row) for row in numbers)
        yield "\n".join([f"{version}, {shape}{part}:", *corner])


def _halves(trace: Trace) -> list[tuple[str, list[Line]]]:
    return [("Forward", trace.forward), ("Backward", trace.backward)]


def plain(row: Row) -> str:
    """A line as text: its mark, what it says, and what has to be said about it."""
    notes = ["not made yet"] * (not row.exists) + [row.fault] * bool(row.fault)
    noted = f"  ({', '.join(notes)})" if notes else ""
    return f"{row.mark} {row.text}{noted}"


def _marked(row: Row) -> str:
    line = escape(plain(row))
    if not row.exists:
        return f'<i style="opacity:.7">{line}</i>'
    return line if row.mark == " " else f"<b>{line}</b>"


def _with_code(narration: str) -> str:
    """Narration as HTML: what stands between backticks is code."""
    words = narration.split("`")
    return "".join(f"<code>{escape(word)}</code>" if index % 2 else escape(word) for index, word in enumerate(words))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of text with what has to be said about it."""

    text: str
    mark: str = " "
    """">" the forward operator visited, "*" new, changed or run by the current event, "!" at fault, " " none of
    these."""
    exists: bool = True
    """False: it does not exist yet at this position."""
    fault: str = ""
    """For what it is at fault, that nothing is run or that it stops here; empty: it is not."""


def rows(trace: Trace, lines: Sequence[Line], position: int) -> Iterator[Row]:
    """The lines of one half of the program at `position`, in their order, at most MOST_ROWS of them."""
    event = trace.event_at(position)
    new = set(event.lines) if event is not None else set()
    obstacles, faults = trace.obstacle.lines if trace.obstacle else [], trace.faults(position)
    visited = f"f{event.forward}" if event is not None and event.subnet is None else None
    for line in lines[:MOST_ROWS]:
        fault = "" if line.id not in faults else "cannot be run" if line.id in obstacles else "it stops here"
        mark = "!" if fault else "*" if line.id in new else ">" if line.id == visited else " "
        # The net is there from the start; only what differentiation makes comes about.
        yield Row(_text(line, position), mark, line.role == "forward" or line.made <= position, fault)
    if len(lines) > MOST_ROWS:
        yield Row(f"… and {len(lines) - MOST_ROWS} more")


def _text(line: Line, position: int) -> str:
    """A line as it reads at `position`; one that does not exist yet as it will at first."""
    now = next((one for one in reversed(line.history) if one.at <= position), line.history[0])
    inputs, outputs = joined(now.inputs), joined(now.outputs)
    if line.kind == "passed":
        gradients = joined(f"∂{blob}" for blob in now.outputs)
        return f"{'':<4} {gradients} := {inputs}  passed through {line.type} #{line.of}"
    number = f"#{line.number}" if line.role == "forward" else line.id.rpartition(".")[2]
    return f"{number:<4} {outputs} = {line.type}({inputs})"
