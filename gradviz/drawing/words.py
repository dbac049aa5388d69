"""Names as a drawing can show them: printable and not too long."""

from collections.abc import Sequence

from ..program.control_flow import INNER_GRADIENT, INNER_RESULT, RUNNING_SUM

MAX_TITLE = 34
MAX_NET_TITLE = 40
MAX_LABEL = 26
MAX_LABEL_LINES = 3

CROSS = "✗"
"""Stands before the name of what keeps the program from being run."""


def fit(text: str, limit: int) -> str:
    """`text` on one line, with a mark for every character that cannot be printed, cut in the middle beyond `limit`."""
    if len(text) > limit:
        head = limit // 2
        text = f"{text[:head]}…{text[head + 1 - limit :]}"
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def title_width(title: str, size: float) -> float:
    """Pixels that bold `title` takes in the widest of the fonts that a page may choose."""
    return 0.66 * size * len(title)


def label_width(lines: Sequence[str], size: float) -> float:
    """Pixels that the lines beside an edge take in any monospaced font."""
    return 0.61 * size * max(map(len, lines), default=0)


def short(blob: str) -> str:
    """A blob's name or version with the long names that a Do gives gradients on their way cut: ``x⟨grad⟩@0``."""
    for suffix, word in ((INNER_RESULT, "result"), (RUNNING_SUM, "sum"), (INNER_GRADIENT, "grad")):
        name, found, version = blob.partition(suffix)
        if found:
            return f"{name}⟨{word}⟩{version}"
    return blob


def label(blobs: Sequence[str]) -> list[str]:
    """The lines beside an edge along which `blobs` flow; one that flows twice is written once, with its count."""
    if len(blobs) == 1:
        return [fit(short(blobs[0]), MAX_LABEL)]
    counts: dict[str, int] = {}
    for blob in map(short, blobs):
        counts[blob] = counts.get(blob, 0) + 1
    lines = [fit(blob, MAX_LABEL) + (f" ×{count}" if count > 1 else "") for blob, count in counts.items()]
    if len(lines) > MAX_LABEL_LINES:
        lines[MAX_LABEL_LINES - 1 :] = [f"+{len(lines) - MAX_LABEL_LINES + 1} more"]
    return lines


def in_one_line(names: Sequence[str]) -> str:
    """As many of the names as fit beside an edge, and how many more there are."""
    for count in range(len(names), 1, -1):
        rest = f", +{len(names) - count}" if count < len(names) else ""
        line = ", ".join(names[:count]) + rest
        if len(line) <= MAX_LABEL - 2:
            return line
    return f"{names[0]}, +{len(names) - 1}" if len(names) > 1 else names[0]
