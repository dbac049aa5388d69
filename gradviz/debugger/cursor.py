"""The cursor: a position in a recording, the verbs that move it, and questions about what is there.

Position p means that p events have happened; the current event is the p-th, and at 0 nothing has happened yet.
Moving never runs anything again.
"""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cached_property

from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from ..program import GradvizError
from ..program.errors import shorten
from ..program.events import Event
from .ledger import LedgerView
from .merge import MergeView
from .places import Places
from .reading import ReadEvents
from .recording import Recording
from .scopes import find_ledger, find_value
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
        self._places = Places(trace)
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
        return ReadEvents(self._trace)

    @property
    def path(self) -> tuple[str, ...]:
        """The nested nets that we are in, from the outside in, each as ``<operator>.<argument>``.

        In a run of a loop with the iteration, from 0: ``("2.loop_net[3]", "0.net")``. Empty in the outermost net.
        """
        return self._places.path(self._position)

    @property
    def narration(self) -> str:
        """What the current event means, in a sentence or two."""
        if self._position:
            return self._trace.events[self._position - 1].narration
        return self._trace.summary

    def step(self) -> Event | None:
        """Move to the next event, into nested nets and out of them too. At the end it stays."""
        return self.move_to(self._position + 1)

    def back(self) -> Event | None:
        """Move to the event before. At the start it stays."""
        return self.move_to(self._position - 1)

    def over(self) -> Event | None:
        """Move over the next forward operator with all it brings, nested nets included.

        While the program runs: over the next operator. In a nested net one stays there up to its end, and between the
        iterations of a loop one moves over an iteration at a time.
        """
        return self.move_to(self._places.over(self._position))

    def back_over(self) -> Event | None:
        """Move back to before all that ends here: the reverse of `over`."""
        return self.move_to(self._places.back_over(self._position))

    def into(self) -> Event | None:
        """Move into the next nested net that the next operator enters; where it enters none, this is a `step`."""
        return self.move_to(self._places.into(self._position))

    def out(self) -> Event | None:
        """Move out of the nested net that we are in, to where it is left; else to the end of what the operator brings.

        What the net does until its end happens on the way.
        """
        return self.move_to(self._places.out(self._position))

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
                (``"Accumulated"``), ``"NaN"`` or ``"Inf"`` where an operator ran; a nested net (``"2.loop_net"``), a
                run of it (``"2.loop_net[3]"``, ``"2.loop_net[3]/0.net"``) or an ``"iteration 3"``; or a position.
                Blobs of nested nets are found by their names there.

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
        position = self._places.find(target, self._position)
        if position is None:
            raise self._not_found(target)
        return self.move_to(position)

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

        Of a blob that every iteration of a loop reads, each iteration contributes.

        Args:
            blob: a name or a version, or the version of the sum. In a nested net it is looked for there first; a path
                before a colon, as in `value`, says where. Of several ledgers the last one made by now is meant,
                before any the first.

        Raises:
            CursorError: ``not_found`` when no gradients of this blob were added.
        """
        places, position = self._places, self._position
        found = find_ledger(self._trace, blob, places.subnet(position), places.frame(position), position)
        if found is None:
            known = ", ".join(dict.fromkeys(ledger.blob for ledger in self._trace.ledgers[:8]))
            raise CursorError(
                f"No gradients of {shorten(blob)} were added up.",
                kind="not_found",
                blobs=[blob],
                ways_out=[f"Blobs with a ledger: {known}."] if known else ["In this net no blob has several readers."],
            )
        return LedgerView(found)

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

    def value(self, blob: str) -> Array | ScopeStack:
        """The array of a blob, read-only; of a scope blob its stack of workspaces, the last one first.

        Args:
            blob: a version (``"x@1"``), or a name, at its last version. In a run of a nested net it is looked for in
                that run first, then around it. A path before a colon says which run is meant:
                ``"2.loop_net[3]/0.net:x@1"``.

        Raises:
            CursorError: ``not_computed`` when it was never fed or executed, or the recording was read from a file.
        """
        frame = self._places.frame(self._position)
        found = None if self._recording is None else find_value(self._recording, blob, frame)
        if found is None:
            reason = "a saved trace keeps statistics, no arrays" if self._recording is None else "it was not computed"
            raise CursorError(
                f"There is no value of {shorten(blob)}: {reason}.",
                kind="not_computed",
                blobs=[blob],
                ways_out=["Feed the net's inputs and give the workspace: gradviz.debug(net, ys, workspace=ws)."],
            )
        return found

    def _not_found(self, target: object) -> CursorError:
        text = str(target)
        known = self._places.words
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
