"""What keeps a recorded program from being run, found before its first operator: said at once, not on reaching it."""

from __future__ import annotations

from ...program import GradvizError
from ..document import Obstacle
from ..journal import UNDEFINED, NetText


def entry(error: GradvizError, text: NetText) -> Obstacle:
    """What a document says of it, with the lines at fault: those of gradient operators only where no other is."""
    index = error.operator_index
    every = [*text.forward, *text.operators]
    missing = {f"{name}@0" for name in error.blobs} if error.kind == UNDEFINED else set()
    at_fault = [line.id for line in every if not missing.isdisjoint(map(str, line.inputs))]
    if index is not None and index < len(every) and not at_fault:
        at_fault = [every[index].id]
    return Obstacle(
        kind=error.kind,
        message=error.message,
        ways_out=list(error.ways_out),
        blobs=list(map(str, error.blobs)),
        lines=list(dict.fromkeys(id for id in at_fault if id[0] == at_fault[0][0])),
    )


def sentence(obstacle: Obstacle | GradvizError) -> str:
    """Why, and the ways out."""
    return " ".join([obstacle.message, *obstacle.ways_out])


def reminder(obstacle: Obstacle | GradvizError | None, *, is_told: bool) -> str:
    """That the program is not run, and why, for where the narration does not say it; else empty."""
    return "" if obstacle is None or is_told else f"Not run: {sentence(obstacle)}"
