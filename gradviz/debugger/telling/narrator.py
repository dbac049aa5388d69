"""What is said of one position of a recording, for which nothing else of its document is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from ...operators.registry import Array
from ...operators.scopes import ScopeStack
from ...program.events import Deduplicated, Ran
from ..document import Value, filled
from ..journal import Key, NetHalves, Recording
from ..statistics import of_stack, statistics
from .execution import Execution
from .narration import stored
from .sentences import joined
from .story import Story
from .values import DocumentValues, slots_of


class Narrator:
    """Tells the events of a recording, each by itself."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    @cached_property
    def _story(self) -> Story:
        return Story(self._recording, self._recording.text)

    @cached_property
    def _execution(self) -> Execution:
        saved = self._recording.saved
        values = MeasuredValues(self._recording) if saved is None else DocumentValues(saved)
        return Execution(self._recording, self._recording.text, values)

    def summary(self) -> str:
        """What the recording is about, before anything has happened."""
        return self._recording.summary + stored(self._recording)

    def narration(self, at: int, run: int | None, before: int | None) -> str:
        """What is said of the event before position `at`.

        Args:
            run, before: the run of a nested net that we are in there, and at the position before; None: in none.
        """
        event, whole = self._recording.events[at - 1], self._recording.text.whole
        with np.errstate(all="ignore"):
            is_over = whole is not None and at > whole and not isinstance(event, Deduplicated)
            found = self._execution.tell(event, run, before) if is_over or isinstance(event, Ran) else None
            description = self._story.tell(event, at) if found is None else found[0]
            return filled(*joined(description.narration))


class MeasuredValues(DocumentValues):
    """The values of a recording, each measured when it is asked for."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    @cached_property
    def blobs(self) -> dict[tuple[str, ...], dict[Key, int]]:  # type: ignore[override]
        """For each nested net the places of its blob versions in its runs."""
        return {net.path: slots_of(net) for net in self._recording.nets if net.path}

    def _values(self, frame: int | None) -> Mapping[Key, Array]:
        return self._recording.values if frame is None else self._recording.runs[frame].values

    def keys(self, frame: int, net: NetHalves) -> Iterator[Key]:
        """The blob versions that were computed in a run."""
        return iter(self._values(frame))

    def has(self, frame: int, net: NetHalves, key: Key) -> bool:
        """Whether a blob version was computed in a run."""
        return key in self._values(frame)

    def left_by(self, frame: int | None, net: NetHalves, key: Key) -> int | None:
        """The number of the run that has left the workspace on top of a stack; None: not known."""
        stack = self._values(frame).get(key)
        top = stack.top if isinstance(stack, ScopeStack) else None
        return None if top is None else self._recording.left_by.get(id(top))

    def of(self, frame: int | None, net: NetHalves, key: Key) -> Value | None:
        """What is known of a blob version; None: not computed."""
        array = self._values(frame).get(key)
        if array is None:
            return None
        return of_stack(0, len(array)) if isinstance(array, ScopeStack) else statistics(array)
