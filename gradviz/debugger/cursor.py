"""The cursor: a position in a recording, the verbs that move it, and questions about what is there.

Position p means that p events have happened; the current event is the p-th, and at 0 nothing has happened yet.
Moving never runs anything again.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cached_property

import msgspec

from ..operators.registry import Array
from ..program import GradvizError
from ..program.errors import shorten
from ..program.events import AnyEvent, Event
from .ledger import LedgerView
from .merge import MergeView
from .recording import Recording
from .trace import Trace

Observer = Callable[["Cursor"], None]


class CursorError(GradvizError):
    """A place or a blob that the recording does not have."""


class Cursor:
    """Time travel over a recording.

    Args:
        trace: the trace document.
        recording: what it was made of; None for a document read from a file, which has statistics but no arrays.
    """

    def __init__(self, trace: Trace, recording: Recording | None = None) -> None:
        self._trace = trace
        self._recording = recording
        self._position = 0
        self._observers: list[Observer] = []

    @property
    def name(self) -> str:
        """The net's name."""
        return self._trace.name

    @property
    def position(self) -> int:
        """How many events have happened, from 0 to ``len(self)``."""
        return self._position

    def __len__(self) -> int:
        return len(self._trace.events)

    @property
    def event(self) -> Event | None:
        """The event that happened last, None at the start."""
        return self.events[self._position - 1] if self._position else None

    @cached_property
    def events(self) -> Sequence[Event]:
        """Every event, first to last."""
        if self._recording is not None:
            return self._recording.events
        return tuple(msgspec.convert({"event": event.kind, **event.detail}, AnyEvent) for event in self._trace.events)

    @property
    def narration(self) -> str:
        """What the current event means, in a sentence or two."""
        if self._position:
            return self._trace.events[self._position - 1].narration
        return self._trace.summary

    def step(self) -> Event | None:
        """Move to the next event. At the end it stays."""
        return self.move_to(self._position + 1)

    def back(self) -> Event | None:
        """Move to the event before. At the start it stays."""
        return self.move_to(self._position - 1)

    def over(self) -> Event | None:
        """Move over the next forward operator with all it brings: to the last event of the next event's group."""
        if self._position == len(self):
            return self.event
        return self.move_to(bisect_right(self._groups, self._groups[self._position]))

    def back_over(self) -> Event | None:
        """Move back to before the current event's group."""
        if self._position == 0:
            return None
        return self.move_to(bisect_right(self._groups, self._groups[self._position - 1] - 1))

    def restart(self) -> Event | None:
        """Move to the start: the net is there and nothing has happened."""
        return self.move_to(0)

    def finish(self) -> Event | None:
        """Move to the end: everything has happened."""
        return self.move_to(len(self))

    def run_to(self, target: str | int) -> Event | None:
        """Move forward to the next event that `target` names.

        Args:
            target: an operator (``"#3"``) or operator type, a blob (``"x"``) or version (``"x@1"``), an event's name
                (``"Accumulated"``), ``"NaN"`` or ``"Inf"`` where an operator ran; or a position.

        Raises:
            CursorError: ``not_found``; the position stays.
        """
        if isinstance(target, int):
            if not 0 <= target <= len(self):
                raise CursorError(
                    f"There is no position {target}.",
                    kind="not_found",
                    ways_out=[f"Positions go from 0 to {len(self)}."],
                )
            return self.move_to(target)
        for position in range(self._position + 1, len(self) + 1):
            if target in self._trace.events[position - 1].targets:
                return self.move_to(position)
        raise self._not_found(target)

    def move_to(self, position: int) -> Event | None:
        """Move to `position`, or the end nearest to it, and tell the observers."""
        position = min(max(position, 0), len(self))
        if position != self._position:
            self._position = position
            for observer in tuple(self._observers):
                observer(self)
        return self.event

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer(self)` after each move; the function returned ends that."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def ledger(self, blob: str) -> LedgerView:
        """What was added up to the gradient of `blob`: each contribution with norm, share, cosine, producer and path.

        Args:
            blob: a name or a version. Of several versions that have a ledger, the last one made by now is meant,
                before any the first.

        Raises:
            CursorError: ``not_found`` when no gradients of this blob were added.
        """
        found = [ledger for ledger in self._trace.ledgers if blob in (ledger.blob, ledger.blob.rpartition("@")[0])]
        if not found:
            known = ", ".join(ledger.blob for ledger in self._trace.ledgers[:8])
            raise CursorError(
                f"No gradients of {shorten(blob)} were added up.",
                kind="not_found",
                blobs=[blob],
                ways_out=[f"Blobs with a ledger: {known}."] if known else ["In this net no blob has several readers."],
            )
        made = [ledger for ledger in found if ledger.at <= self._position]
        return LedgerView(made[-1] if made else found[0])

    def rows(self, blob: str) -> MergeView:
        """How the rows of equal index in the sparse gradient of `blob` were merged: which repeated, how many are left.

        Args:
            blob: a name or a version.

        Raises:
            CursorError: ``not_found`` when no rows of a gradient of this blob were merged.
        """
        for merge in self._trace.merges:
            if blob in (merge.blob, merge.blob.rpartition("@")[0]):
                return MergeView(merge)
        known = ", ".join(merge.blob for merge in self._trace.merges[:8])
        raise CursorError(
            f"No rows in a gradient of {shorten(blob)} were merged.",
            kind="not_found",
            blobs=[blob],
            ways_out=[f"Blobs whose rows were: {known}."]
            if known
            else ['Record it so: gradviz.debug(net, ys, deduplicate="sum"); it merges sparse gradients of inputs.'],
        )

    def value(self, blob: str) -> Array:
        """The array of a blob, read-only: of a version (``"x@1"``), or of a name at its last version.

        Raises:
            CursorError: ``not_computed`` when it was never fed or executed, or the recording was read from a file.
        """
        values = self._recording.values if self._recording else {}
        name, _, version = blob.rpartition("@")
        if not name:
            versions = [number for known, number in values if known == blob]
            name, version = blob, str(max(versions, default=0))
        array = values.get((name, int(version))) if version.isdigit() else None
        if array is None:
            reason = "a saved trace keeps statistics, no arrays" if self._recording is None else "it was not computed"
            raise CursorError(
                f"There is no value of {shorten(blob)}: {reason}.",
                kind="not_computed",
                blobs=[blob],
                ways_out=["Feed the net's inputs and give the workspace: gradviz.debug(net, ys, workspace=ws)."],
            )
        return array

    @cached_property
    def _groups(self) -> list[int]:
        return [event.group for event in self._trace.events]

    def _not_found(self, target: object) -> CursorError:
        text = str(target)
        known = dict.fromkeys(word for event in self._trace.events for word in event.targets)
        ways_out = ["Targets: an operator (#3) or type (FC), a blob (x) or version (x@1), an event (Accumulated)."]
        if text in known:
            ways_out.insert(0, "It lies behind: restart() first.")
        elif near := get_close_matches(text, known, n=3):
            ways_out.insert(0, f"Did you mean {' or '.join(near)}?")
        return CursorError(
            f"No event after position {self._position} is about {shorten(text)}.", kind="not_found", ways_out=ways_out
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} at event {self._position} / {len(self)}>\n{self.narration}"
