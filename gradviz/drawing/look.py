"""How a node and an edge look in a state: pens, fills and dashes from the theme, the same for every layout."""

from dataclasses import dataclass

from .state import State
from .theme import Theme
from .view import Edge, Node
from .words import MAX_TITLE, fit, title_width

NODE_PADDING = 20.0


@dataclass(frozen=True)
class Look:
    """Colours are `#rrggbb`, `width` is the pen's."""

    pen: str
    fill: str
    ink: str
    width: float
    dashed: bool


def node_look(node: Node, state: State, theme: Theme) -> Look:
    """Blue fill: visited; orange fill: just made, or purple outline: just added; pale and dashed: not made yet."""
    dashed = node.role == "passed"
    if state.is_future(node):
        return Look(theme.future, theme.fill, theme.future_text, theme.pen, True)
    is_new = node.id in state.new
    width = theme.strong_pen if is_new or node.id == state.current else theme.pen
    if node.role == "accumulation":
        return Look(theme.accumulation, theme.accumulation, theme.background, width, False)
    if node.id == state.current:
        return Look(theme.forward, theme.current_fill, theme.text, width, dashed)
    if node.is_forward:
        return Look(theme.forward, theme.fill, theme.text, width, dashed)
    is_sum = node.role == "deduplication" or (is_new and state.accumulates)
    pen = theme.accumulation if is_sum else theme.backward
    return Look(pen, theme.new_fill if is_new else theme.fill, theme.text, width, dashed)


def edge_look(edge: Edge, state: State, theme: Theme) -> Look:
    """The pen of an edge; its label has the same colour."""
    pen = {"forward": theme.forward, "backward": theme.backward, "saved": theme.muted}[edge.kind]
    width = theme.saved_pen if edge.kind == "saved" else theme.strong_pen if state.is_hot(edge) else theme.pen
    if state.is_future(edge):
        return Look(theme.future, "none", theme.future_text, width, True)
    return Look(pen, "none", pen, width, False)


def node_text(node: Node, state: State) -> tuple[str, str]:
    """The two lines of a node; the second one of an accumulation is empty."""
    detail = node.detail
    if detail and state.is_future(node):
        detail += ", not made yet"
    return fit(node.title, MAX_TITLE), detail


def node_size(node: Node, theme: Theme) -> tuple[float, float]:
    """Width and height in pixels."""
    if node.role == "accumulation":
        return 2 * theme.sum_radius, 2 * theme.sum_radius
    width = title_width(fit(node.title, MAX_TITLE), theme.title_size) + NODE_PADDING
    return max(theme.node_width, width), theme.node_height
