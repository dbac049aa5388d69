"""Tables for notebooks: HTML without script and colours, in which numbers stand on the right and words on the left.

Notebooks put what does not say where it stands on the right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

NUMBER = re.compile(r"[-−]?(\d[\d.,]*(e[-+]?\d+)?|inf|nan)( ?(%|bytes?|[KMGT]B|s|ms|µs))?")
"""A number with its unit, as answers write it."""

WORDS, NUMBERS = "text-align: left", "text-align: right; white-space: nowrap"


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], foot: str = "", *, is_code: bool = False
) -> str:
    """A table of texts as HTML.

    Args:
        head: of the columns; empty: it has none.
        foot: a line below.
        is_code: whether the last column has lines of code, which keep their spaces.
    """
    rows = list(rows)
    sides = [NUMBERS if _is_numeric(column) else WORDS for column in zip(*rows, strict=True)] or [WORDS] * len(head)

    def line(tag: str, texts: Iterable[str]) -> str:
        kind = tag + (' scope="col"' if tag == "th" else "")
        cells = (f'<{kind} style="{side}">{text}</{tag}>' for side, text in zip(sides, texts, strict=True))
        return f"<tr>{''.join(cells)}</tr>"

    def texts(row: Sequence[str]) -> list[str]:
        *others, last = map(escape, row)
        return [*others, f'<code style="white-space: pre">{last}</code>' if is_code else last]

    first = f"<thead>{line('th', map(escape, head))}</thead>" if head else ""
    body = "".join(line("td", texts(row)) for row in rows)
    below = f'<td colspan={len(head)} style="{WORDS}">{escape(foot)}</td>'
    last = f"<tfoot><tr>{below}</tr></tfoot>" if foot else ""
    return f"<table><caption>{escape(caption)}</caption>{first}<tbody>{body}</tbody>{last}</table>"


def _is_numeric(column: Sequence[str]) -> bool:
    """Whether there are numbers in it, and words only where one is missing."""
    numbers = [cell for cell in column if NUMBER.fullmatch(cell)]
    return bool(numbers) and not any(re.search(r"\d", cell) for cell in column if cell not in numbers)
