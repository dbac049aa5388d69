"""How far things are at a position: made or not, and what the current event concerns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..debugger.document import Trace
    from .view import Edge, Node


SUMS = ("Accumulated", "Deduplicated")
"""Kinds of events that bring gradients, or rows of one, together."""


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
