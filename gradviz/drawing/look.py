"""How far things are at a position, and how a node and an edge look there, the same for every layout."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from math import ceil

from ..debugger.document import Trace
from .theme import Theme
from .view import Edge, Node
from .words import MAX_TITLE, fit, label_width, title_width

SUMS = ("Accumulated", "Deduplicated")
"""Kinds of events that bring gradients, or rows of one, together."""

NODE_PADDING = 20.0

DETAIL_PADDING = 8.0

NOT_MADE = ", not made yet"

FOLD_ROOM = 28.0
"""For the mark of an operator that can open, and as much on the other side."""


@dataclass(frozen=True)
class State:
    """What a drawing marks.

    Attributes:
        position: events that have happened; None: the end of the recording, with no event marked.
        current: id of the forward operator visited, or None.
        net: id of the nested net that the position is in, or None.
        new: ids of the lines that the current event made, changed or ran.
        accumulates: whether the current event adds gradients or merges their rows.
        obstacles: ids of the lines that are at fault that nothing is run.
    """

    position: int | None = None
    current: str | None = None
    net: str | None = None
    new: frozenset[str] = frozenset()
    accumulates: bool = False
    obstacles: frozenset[str] = frozenset()

    def is_future(self, thing: Node | Edge) -> bool:
        """Whether `thing` is not made yet."""
        return self.position is not None and thing.made > self.position

    def is_new(self, node: Node) -> bool:
        """Whether the current event made, changed or ran it, or something in it."""
        return node.id in self.new or not self.new.isdisjoint(node.holds)

    def is_current(self, node: Node) -> bool:
        """Whether it is the forward operator visited, or holds it."""
        return self.current is not None and (node.id == self.current or self.current in node.holds)

    def is_obstacle(self, node: Node) -> bool:
        """Whether it is at fault that nothing is run, or holds what is."""
        return node.id in self.obstacles or not self.obstacles.isdisjoint(node.holds)

    def is_hot(self, edge: Edge) -> bool:
        """Whether `edge` brings what the current event worked on."""
        return edge.kind == "backward" and edge.target in self.new and not self.is_future(edge)


def state_at(trace: Trace, position: int | None) -> State:
    """The state of `trace` after `position` events.

    Raises IndexError where the recording has no such position.
    """
    obstacles = frozenset(trace.obstacle.lines if trace.obstacle else ())
    if position is None:
        return State(obstacles=obstacles)
    if not 0 <= position <= len(trace.events):
        raise IndexError(f"there is no position {position}: the recording goes from 0 to {len(trace.events)}")
    if position == 0:
        return State(0, obstacles=obstacles)
    event = trace.events[position - 1]
    prefix = f"{event.subnet}." if event.subnet else ""
    current = None if event.forward is None else f"{prefix}f{event.forward}"
    return State(position, current, event.subnet, frozenset(event.lines), event.kind in SUMS, obstacles)


@dataclass(frozen=True)
class Look:
    """Colours are `#rrggbb`, `width` is the pen's."""

    pen: str
    fill: str
    ink: str
    width: float
    dashed: bool


def node_look(node: Node, state: State, theme: Theme) -> Look:
    """Blue fill: visited; orange fill: just made, or purple outline: just added; pale and dashed: not made yet.

    What keeps the program from being run is outlined in red, and has a cross before its name.
    """
    dashed = node.role == "passed"
    if node.role == "port":
        pen = theme.future if state.is_future(node) else theme.forward if node.is_forward else theme.backward
        return Look(pen, pen, pen, theme.pen, False)
    if state.is_future(node):
        return Look(theme.future, theme.fill, theme.future_text, theme.pen, True)
    is_new, is_current = state.is_new(node), state.is_current(node)
    width = theme.strong_pen if is_new or is_current else theme.pen
    if state.is_obstacle(node):
        fill = theme.current_fill if is_current else theme.new_fill if is_new else theme.fill
        return Look(theme.wrong, fill, theme.text, theme.strong_pen, dashed)
    if node.role == "accumulation":
        return Look(theme.accumulation, theme.accumulation, theme.background, width, False)
    if is_current:
        return Look(theme.forward, theme.current_fill, theme.text, width, dashed)
    if node.is_forward:
        return Look(theme.forward, theme.fill, theme.text, width, dashed)
    is_sum = node.role in ("deduplication", "duplicate") or (is_new and state.accumulates)
    pen = theme.accumulation if is_sum else theme.backward
    return Look(pen, theme.new_fill if is_new else theme.fill, theme.text, width, dashed)


def edge_look(edge: Edge, state: State, theme: Theme) -> Look:
    """The pen of an edge; its label has the same colour."""
    pen = {"forward": theme.forward, "backward": theme.backward, "saved": theme.muted}[edge.kind]
    width = theme.saved_pen if edge.kind == "saved" else theme.strong_pen if state.is_hot(edge) else theme.pen
    if state.is_future(edge):
        return Look(theme.future, "none", theme.future_text, width, True)
    return Look(pen, "none", pen, width, edge.carried)


def node_text(node: Node, state: State) -> tuple[str, str]:
    """The two lines of a node; the second one of an accumulation is empty."""
    title, detail = fit(node.title, MAX_TITLE), node.detail
    if node.role == "group":
        return title, _group_detail(node, state)
    if detail and state.is_future(node):
        detail += NOT_MADE
    return title, detail


def _group_detail(node: Node, state: State) -> str:
    """Where we are, if that is in the group; else which operators it has, or how many of them are made."""
    here = state.new & node.holds or node.holds & {state.current}
    if here and node.is_forward:
        return f"here: #{min(here).rpartition('.')[2][1:]}"
    made = len(node.mades) if state.position is None else bisect_right(node.mades, state.position)
    progress = f"{made} of {len(node.mades)} made" if made < len(node.mades) else node.detail
    return f"here · {progress}" if here else progress


def node_size(node: Node, theme: Theme) -> tuple[float, float]:
    """Width and height in pixels; halves of them are whole ones, which are crisp and short to write."""
    if node.role == "accumulation":
        return 2 * theme.sum_radius, 2 * theme.sum_radius
    if node.role == "port":
        return theme.port_width, theme.port_height
    detail = node.detail if node.is_forward or node.role == "group" else node.detail + NOT_MADE
    width = max(
        title_width(fit(node.title, MAX_TITLE), theme.title_size) + NODE_PADDING,
        label_width([detail], theme.detail_size) + DETAIL_PADDING,
    )
    if node.fold:
        width += FOLD_ROOM
    return max(theme.node_width, 2.0 * ceil(width / 2)), theme.node_height


def has_bar(node: Node) -> bool:
    """Whether a bar marks it as an operator of the backward lane."""
    return not node.is_forward and node.role not in ("accumulation", "passed", "port")
