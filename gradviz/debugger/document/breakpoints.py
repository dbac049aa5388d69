"""The parts of a trace document that a person brings to a recording: breakpoints and watches."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec


class BreakpointEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A breakpoint as a document has it. Its texts are parsed when it is used; nothing in them is executed."""

    id: Annotated[int, msgspec.Meta(ge=1)]
    """Unique in its list."""
    on: str
    """What `Session.break_on` takes: a target of `run_to`, "target if condition", or a condition."""
    log: str | None = None
    """A message with conditions between braces; the breakpoint then tells it and does not stop."""
    ignore: Annotated[int, msgspec.Meta(ge=0)] = 0
    """So many of the first occurrences do not count."""
    every: Annotated[int, msgspec.Meta(ge=1)] = 1
    """Of those that count, each so many-th."""
    enabled: bool = True


class Marked(msgspec.Struct, frozen=True, kw_only=True):
    """All that is marked in a recording, as views of it exchange it."""

    breakpoints: list[BreakpointEntry] = []
    watches: list[str] = []

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, with every field of a breakpoint."""
        return {"breakpoints": [msgspec.structs.asdict(one) for one in self.breakpoints], "watches": self.watches}
