"""What every drawing keeps to: its colours, fonts and measures, how long names get, and how long it may take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic

from ..debugger.journal import Pace, Progress, inner_words
from ..program.errors import GradvizError

MAX_TITLE = 29
MAX_NET_TITLE = 40
MAX_LABEL = 26
MAX_LABEL_LINES = 3

CROSS = "✗"
"""Stands before the name of what keeps the program from being run."""


@dataclass(frozen=True, kw_only=True)
class Theme:
    """Colours are `#rrggbb`, measures are CSS pixels. The defaults are the light theme.

    A picture is made for a background of its own only where it stands alone (`background`); in a page it is
    transparent. Every text colour has a contrast of at least 4.5 with `background` and with `fill`.
    """

    background: str = "#ffffff"
    text: str = "#1b1f24"
    muted: str = "#5b6570"
    """Second lines of nodes, saved-value edges."""
    fill: str = "#f6f7f9"
    """Inside of a node."""

    forward: str = "#0072b2"
    backward: str = "#b84a00"
    accumulation: str = "#8a3a7a"
    wrong: str = "#b3261e"
    """Outline of what keeps the program from being run."""

    current_fill: str = "#e6f2fb"
    """Inside of the forward operator visited."""
    new_fill: str = "#fff4e5"
    """Inside of what is new."""
    gpu_fill: str = "#e2f2ea"
    """Inside of what runs on a GPU."""
    frame: str = "#c3cad2"
    """Pen around what is open."""
    future: str = "#aab2bb"
    """Pen of what does not exist yet; dashes say the same without colour."""
    future_text: str = "#666f79"

    pen: float = 1.4
    strong_pen: float = 2.4
    """Outline of the current node and of new ones."""
    saved_pen: float = 1.0

    sans: str = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
    mono: str = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
    title_size: float = 12.5
    detail_size: float = 11.0
    label_size: float = 11.0

    node_width: float = 116.0
    """At least; a long operator type makes its node wider."""
    node_height: float = 36.0
    corner: float = 6.0
    row_gap: float = 20.0
    """Between two rows, beside the height of an edge's label, which stands in it."""
    lane_distance: float = 172.0
    """Between the middles of the lanes, at least."""
    lane_gap: float = 40.0
    """Between the widest nodes of the two lanes, at least."""
    port_width: float = 22.0
    port_height: float = 6.0
    """Of the port of a nested net."""
    sum_size: float = 17.0
    """Of the letter in an accumulation."""
    sum_radius: float = 15.0
    """Of the circle of an accumulation."""

    @property
    def line_height(self) -> float:
        """Between two lines of a label."""
        return self.label_size + 1


LIGHT = Theme()

DARK = Theme(
    background="#14171a",
    text="#e8ebee",
    muted="#a3adb8",
    fill="#1b1f24",
    forward="#6cb8ea",
    backward="#f2a064",
    accumulation="#dfa3d0",
    wrong="#ff9a91",
    current_fill="#16293a",
    new_fill="#33261a",
    gpu_fill="#15302a",
    frame="#454e58",
    future="#55606c",
    future_text="#8b959f",
)


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
    """A blob's name or version, in words where a Do gives gradients on their way long names."""
    return inner_words(blob) or blob


def label(names: Sequence[str]) -> list[str]:
    """The lines beside an edge along which blobs flow; one that flows twice is written once, with its count.

    Several parts of one sum say whose parts they are by what flows beside them.
    """
    if len(names) == 1:
        whole, comma, part = names[0].partition(", ") if names[0].startswith("gradient of ") else (names[0], "", "")
        return [fit(line, MAX_LABEL) for line in ([f"{whole},", part] if comma else [whole])]
    parts = {name: name.rpartition(", ") for name in names if ", " in name and "part" in name.rpartition(", ")[2]}
    if len({whole for whole, _, _ in parts.values()}) == 1:
        names = [f"{'and ' if at else ''}{parts[name][2]}" if name in parts else name for at, name in enumerate(names)]
    counts = Counter(names).items()
    lines = [fit(blob, MAX_LABEL) + (f" ×{count}" if count > 1 else "") for blob, count in counts]
    if len(lines) > MAX_LABEL_LINES:
        lines[MAX_LABEL_LINES - 1 :] = [f"+{len(lines) - MAX_LABEL_LINES + 1} more"]
    return lines


def norms(count: int) -> str:
    """Blanks as wide as the norms of so many gradients, as 1.23·10⁻⁴, which a front end writes below their names."""
    return " " * (11 * count - 2)


def in_one_line(names: Sequence[str]) -> str:
    """As many of the names as fit beside an edge, and how many more there are."""
    for count in range(len(names), 1, -1):
        rest = f", +{len(names) - count}" if count < len(names) else ""
        line = ", ".join(names[:count]) + rest
        if len(line) <= MAX_LABEL - 2:
            return line
    return f"{names[0]}, +{len(names) - 1}" if len(names) > 1 else names[0]


class DrawingError(GradvizError):
    """A picture that cannot be made.

    ``kind`` is one of ``too_slow``, ``no_engine``, ``bad_dot``, ``bad_svg``, ``too_large``, ``not_found``,
    ``bad_theme``.
    """


class Clock:
    """Runs from its construction on.

    Args:
        seconds: how long all may take.
        progress: is told how many of the `operators` are drawn.
    """

    def __init__(self, seconds: float = inf, progress: Progress | None = None, operators: int = 0) -> None:
        self._seconds = seconds
        self._until = monotonic() + seconds
        self._pace = Pace(progress, "draw")
        self._operators = operators
        self._drawn = 0

    def tick(self, drawn: int = 0) -> None:
        """So many more operators are drawn.

        Raises DrawingError, kind ``too_slow``, where the time is over.
        """
        self._drawn += drawn
        self._pace.reached(None, self._drawn, self._operators)
        if monotonic() > self._until:
            raise DrawingError(f"It was not laid out within {self._seconds:g} seconds.", kind="too_slow")

    def end(self) -> None:
        """All is drawn."""
        self._pace.end(None, self._operators, self._operators)
