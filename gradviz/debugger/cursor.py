"""The cursor: a position in a recording, the verbs that move it, and questions about what is there."""

from __future__ import annotations

from functools import cached_property

from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from ..program import GradvizError
from ..program.events import Event, Failed
from ..runtime.devices import guarded
from .answers import NetView, Questions, asked
from .document import Obstacle, Value
from .journal import Writing
from .steering import CursorError, Marks
from .telling import Narrator, reminder


class Cursor(Questions, Marks):
    """Time travel over a recording; its arguments are those of `Placed`."""

    @property
    def path(self) -> tuple[str, ...]:
        """The nested nets that we are in, from the outside in, each as ``<operator>.<argument>``.

        In a run of a loop with the iteration, from 0: ``("2.loop_net[3]", "0.net")``. Empty in the outermost net.
        """
        return self._places.path(self._position)

    @property
    @asked
    def narration(self) -> str:
        """What the current event means, in a sentence or two."""
        if self._recording is None:
            return self._trace.narration(self._position)
        if not self._position:
            return self._narrator.summary()
        return self._narrator.narration(self._position)

    @cached_property
    def _narrator(self) -> Narrator:
        assert self._recording is not None
        return Narrator(self._recording)

    @property
    def _obstacle(self) -> Obstacle | GradvizError | None:
        return self._trace.obstacle if self._recording is None else self._recording.obstacle

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

    @asked
    def value(self, blob: str, *, at: int | None = None) -> Array | ScopeStack:
        """The array of a blob, read-only; of a scope blob its stack of workspaces, the last one first.

        Args:
            blob: a version (``"x@1"``), or a name, at its last version. In a run of a nested net it is looked for in
                that run first, then around it. A path before a colon says which run is meant:
                ``"2.loop_net[3]/0.net:x@1"``.
            at: the position where it is called so: an accumulation gives gradients other names. None: this one.

        Raises:
            CursorError: ``not_computed`` when it was never fed or executed, or the recording was read from a file.
                ``not_found`` when nothing is called so. ``bad_argument`` when there is no such position.
        """
        view, writings = self._found(self._here if at is None else self.at(at)._here, blob)
        array = view.array(view.computed(writings))
        if array is None:
            raise view.no_value(writings[-1], blob)
        return guarded(array)

    @asked
    def measured(self, blob: str) -> tuple[str, Value, int | None]:
        """What `value` means by a blob: its name from anywhere, its statistics, and since which position it is there.

        Raises:
            CursorError: as `value`, but for what was read from a file: statistics are there.
        """
        view, writings = self._found(self._here, blob)
        for writing in reversed(writings):
            if (measured := view.value(writing)) is not None:
                at = None if writing.statement is None else view.ran_at(writing.statement)
                return view.named(writing), measured, at
        raise view.no_value(writings[-1], blob)

    def _found(self, here: NetView, blob: str) -> tuple[NetView, list[Writing]]:
        try:
            return here.find(blob)
        except CursorError:
            # A `grad` that was written has a name, and no place among the blobs of the net.
            if isinstance(blob, str) and self._finder.rows.has_blob(blob):
                raise here.no_value(here.net.version(blob, 0), blob) from None
            raise

    def __repr__(self) -> str:
        where = f"<{type(self).__name__} {self.name!r} at event {self._position} / {len(self)}>"
        is_narrated = not self._position or (isinstance(self.event, Failed) and self._position > self._generated)
        return "\n".join(filter(None, [where, self.narration, reminder(self._obstacle, is_narrated=is_narrated)]))

    @property
    def _generated(self) -> int:
        """The position after which the program runs."""
        whole = self._recorded.text.whole
        return len(self) if whole is None else whole
