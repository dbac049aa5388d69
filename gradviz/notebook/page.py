"""A recording as one HTML file: the widget, the document and nothing that would have to be fetched.

The page holds the same module as the notebook widget, and the document as base64 of gzip, with as much of its values as
a budget has room for. Its policy lets that one script run, by its hash, and nothing else: whatever the names in a
recording are, they are text.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from base64 import b64encode
from html import escape
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ..debugger.answers import Questions
from ..debugger.document import Number, Trace, Value, as_rows, encode
from ..debugger.journal import Pace, Progress
from ..debugger.telling import PREVIEWS
from ..program.files import FileError
from ..runtime.watched import uncollected
from ..version import __version__
from . import ANSWERS, BUDGET, still
from .page_answers import answers
from .saving import GENERATOR

CORNERS = (*PREVIEWS[1:], (1, 4), (0, 0))
"""Rows and columns of elements that are tried, one after the other, where all do not fit."""

STATIC = Path(__file__).parent / "static"

MOST_DOCUMENT = 256_000_000
"""Bytes of JSON that a browser is asked to take in at once."""

NOT_ASCII = re.compile(r"[^\x00-\x7f]+")

MOST_PRODUCER = 40
"""Characters that a document may take to say who recorded it."""

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230072b2' "
    "fill-rule='evenodd' d='M1 2h14L8.9 14.5H7.1zm3.6 2L8.6 12.2 12.4 4z'/%3E%3C/svg%3E"
)


def page(
    trace: Trace,
    position: int = 0,
    *,
    first: Trace | None = None,
    questions: Questions | None = None,
    budget: int = BUDGET,
    most_answers: int = ANSWERS,
    title: str | None = None,
    progress: Progress | None = None,
) -> str:
    """The HTML of a page that shows `trace`, opened at `position`; it works from a file, without any request.

    Args:
        first: a part of it, which the page shows while it reads the whole.
        budget: the most bytes of JSON for values. Where they are more, fewer elements of each array are in the page,
            then none, then not even statistics; the page says so, and what is left out is never shown as a number.
        questions: answers what the page's reader may ask; None: the page has no answers.
        most_answers: the most bytes of JSON for them. What does not fit, or takes long, the page says how to ask.
        title: None: the name of the net.
        progress: is told of it if it takes long.

    Raises:
        FileError: ``too_large``: no browser would take the document.
        TraceError: the document contradicts itself.
    """
    pace, count = Pace(progress, "write"), len(trace.events)
    with uncollected():
        reduced, left_out = within(trace, budget)
        document = encode(reduced)
    if len(document) > MOST_DOCUMENT:
        raise too_large("The document", len(document))
    pace.reached(count)
    packed = _packed(document)
    pace.reached(count)
    begin = "" if first is None else _block("gv-first", encode(within(first, budget)[0]))
    asked = ""
    if questions is not None:
        asked = _block("gv-answers", msgspec.json.encode(answers(questions, trace, budget=most_answers)))
    pace.end(count)
    script, style = ((STATIC / name).read_text("utf-8") for name in ("page.js", "page.css"))
    name = escape(title if title is not None else trace.name or "A backward pass")
    extent = (
        f"{count} events"
        if trace.part is None
        else f"Events {trace.part.first + 1} to {trace.part.first + count} of {trace.length}"
    )
    subtitle = f"{extent} of a backward pass, recorded by {trace.producer[:MOST_PRODUCER]}."
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
{GENERATOR} {__version__}">
<title>{name} · gradviz</title>
<link rel="icon" href="{ICON}">
<style>{style}</style>
</head>
<body>
<header>
<h1>{name}</h1>
<p>{escape(" ".join(filter(None, [subtitle, left_out])))}</p>
<button type="button" id="gv-colours" aria-pressed="false" hidden>Dark colours</button>
</header>
<main>
<noscript>
<p>Stepping needs scripts, which are switched off here. This is where the recording opens, as text.</p>
{still.html(trace, position, "")}
</noscript>
</main>
<footer><p>Made by gradviz {__version__}. Everything is in this file: it needs no server and no network.</p></footer>
<script type="text/plain" id="gv-recording" data-position="{position}">{packed}</script>
{begin}{asked}<script>{script}</script>
</body>
</html>
"""


def too_large(what: str, size: int) -> FileError:
    """The error for a document that a page cannot hold."""
    return FileError(
        f"{what} has {size / 1e6:,.0f} MB; a page holds at most {MOST_DOCUMENT / 1e6:,.0f} MB.",
        kind="too_large",
        ways_out=["Record a smaller net, or fewer iterations.", "Step through it in Python: gradviz.load(path)."],
    )


def _block(id: str, document: bytes) -> str:
    return f'<script type="text/plain" id="{id}">{_packed(document)}</script>\n'


def _policy(script: str) -> str:
    """What the page may do: run this script, be styled, show its icon. It can reach nothing outside of itself."""
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _packed(document: bytes) -> str:
    # Browsers read ASCII several times as fast as other UTF-8.
    ascii = NOT_ASCII.sub(_escaped, document.decode()).encode("ascii")
    # The highest level takes three times as long for a fiftieth less. No time stamp: the same recording, the same page.
    return b64encode(gzip.compress(ascii, compresslevel=6, mtime=0)).decode()


def _escaped(match: re.Match[str]) -> str:
    """Characters as escapes of JSON, which are units of UTF-16."""
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def within(trace: Trace, budget: int) -> tuple[Trace, str]:
    """`trace` with values of at most `budget` bytes of JSON, as far as their numbers go; and what was left out.

    First fewer of the first elements of each array are kept, then none, then no statistics either. The shapes, dtypes
    and counts of NaN, infinities and zeros always stay. The second result is a sentence, empty where all is there.
    """
    values = [*trace.values.values(), *trace.arrays]
    size = len(msgspec.json.encode([trace.values, as_rows(trace.arrays)]))
    if size <= budget:
        return trace, ""
    without_elements = size - len(msgspec.json.encode([value.preview for value in values]))
    for rows, columns in CORNERS:
        corners = [_corner(value, rows, columns) for value in values]
        if without_elements + len(msgspec.json.encode(corners)) <= budget:
            smaller = [replace(value, preview=corner) for value, corner in zip(values, corners, strict=True)]
            reduction = (
                f"it has the first {rows} × {columns} elements of an array at most"
                if rows
                else "the elements of arrays were left out; their statistics are there"
            )
            return _with(trace, smaller), f"To keep the page small, {reduction}."
    bare = _with(trace, [_bare(value) for value in values])
    return bare, "To keep the page small, all numbers of values were left out; their shapes and types are there."


def _with(trace: Trace, values: list[Value]) -> Trace:
    """`trace` with other values: those of its blobs, then its arrays."""
    count = len(trace.values)
    return replace(trace, values=dict(zip(trace.values, values[:count], strict=True)), arrays=values[count:])


def _corner(value: Value, rows: int, columns: int) -> list[list[Number]]:
    """So many rows and columns of elements; a single number stays."""
    return value.preview if value.size == 1 else [row[:columns] for row in value.preview[:rows]]


def _bare(value: Value) -> Value:
    """Without elements and statistics. What has no numbers of its own, as a stack of workspaces, stays."""
    if value.norm is None:
        return value
    return replace(value, min=None, max=None, mean=None, mean_abs=None, norm=None, preview=[], histogram=[])
