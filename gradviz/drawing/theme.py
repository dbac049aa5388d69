"""The look of every drawing: one object that holds all colours, fonts and measures."""

from dataclasses import dataclass


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
    """Inside of what was just made."""
    frame: str = "#c3cad2"
    """Pen around what is open."""
    future: str = "#aab2bb"
    """Pen of what is not made yet; dashes say the same without colour."""
    future_text: str = "#666f79"

    pen: float = 1.4
    strong_pen: float = 2.4
    """Outline of the current node and of new ones."""
    saved_pen: float = 1.0

    sans: str = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
    mono: str = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
    title_size: float = 11.5
    detail_size: float = 10.0
    label_size: float = 10.5

    node_width: float = 132.0
    """At least; a long operator type makes its node wider."""
    node_height: float = 36.0
    corner: float = 6.0
    row_gap: float = 24.0
    """Between two rows, beside the height of an edge's label, which stands in it."""
    lane_distance: float = 226.0
    """Between the middles of the lanes, at least."""
    lane_gap: float = 48.0
    """Between the widest nodes of the two lanes, at least."""
    port_width: float = 22.0
    port_height: float = 6.0
    """Of the port of a nested net."""
    sum_size: float = 17.0
    """Of the letter in an accumulation."""
    sum_radius: float = 15.0
    """Of the circle of an accumulation."""


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
    frame="#454e58",
    future="#55606c",
    future_text="#8b959f",
)
