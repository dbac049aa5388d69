"""The cursor: a position in a recording, the verbs that move it, and questions about what is there.

Position p means that p events have happened; the current event is the p-th, and at 0 nothing has happened yet.
Moving never runs anything again.
"""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cached_property

from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from ..program.errors import shorten
from ..program.events import Event, Failed
from .answers import Questions
from .document import document
from .faults import CursorError, no_value
from .marks import Marks
from .places import Places
from .reading import ReadEvents
from .recording import Recording
from .scopes import find_value
from .trace import Trace

Observer = Callable[["Cursor"], None]


class Cursor(Questions, Marks):
    """Time travel over a recording.

    Args:
        trace: the trace document; None: made of the recording when it is needed.
        recording: what it was made of; None for a document read from a file, which has statistics but no arrays.
    """

    def __init__(self, trace: Trace | None, recording: Recording | None = None) -> None:
        self._recording = recording
        if trace is not None:
            self._trace = trace
        self._position = 0
        self._observers: list[Observer] = []

    @cached_property
    def _trace(self) -> Trace:
        assert self._recording is not None
        return document(self._recording)

    @cached_property
    def _places(self) -> Places:
        return Places(self._trace)

    @property
    def name(self) -> str:
        """The net's name."""
        return self._trace.name if self._recording is None else self._recording.net.name

    @property
    def position(self) -> int:
        """How many events have happened, from 0 to ``len(self)``."""
        return self._position

    def __len__(self) -> int:
        return len(self.events)

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
            has_stopped = isinstance(self.events[-1], Failed)
            raise no_value(blob, is_read=self._recording is None, has_stopped=has_stopped)
        return found

    def _not_found(self, target: object, *, is_back: bool = False) -> CursorError:
        text = str(target)
        known = self._places.words
        ways_out = ["Targets: an operator (#3) or type (FC), a blob (x) or version (x@1), an event (Accumulated)."]
        if text in known:
            ways_out.insert(0, "It lies ahead: run_to." if is_back else "It lies behind: restart() first.")
        elif near := get_close_matches(text, known, n=3):
            ways_out.insert(0, f"Did you mean {' or '.join(near)}?")
        where = f"{'before' if is_back else 'after'} position {self._position}"
        return CursorError(f"No event {where} is about {shorten(text)}.", kind="not_found", ways_out=ways_out)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} at event {self._position} / {len(self)}>\n{self.narration}"
