"""A recording as questions look at it: its events and texts, the runs of its nested nets, and what values are known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from ...operators.registry import Array
from ...operators.scopes import ScopeStack
from ...runtime.devices import CPU, moved
from ...runtime.store import Shelf
from ..document import Schedule, Trace, Value
from ..journal import Key, Recording
from ..statistics import WORKSPACES, norm, of_stack, short_statistics, statistics, vector
from ..telling import DocumentValues, Story, key_of, schedule_of

Maker = tuple[int, Key]
"""The run of a nested net in which a kernel made an array, and the version under which it did."""


class Recorded:
    """A recording, with what is looked up in it once and kept for the next question.

    Attributes:
        recording: it; of a session read from a file one without arrays.
        text: the statements of every net.
        trace: the document that has the statistics where there may be no arrays: of what was read from a file, and of
            values within a budget; else None.
        is_saved: whether it was read from a file.
        story: tells its events.
    """

    def __init__(self, recording: Recording, trace: Trace | None, *, is_saved: bool) -> None:
        self.recording = recording
        self.text = recording.text
        self.events = recording.events
        self.runs = recording.runs
        self.trace = trace
        self.is_saved = is_saved
        self.story = Story(recording, self.text)
        self._saved = None if trace is None else DocumentValues(trace)
        self._measured: dict[tuple[int, bool], tuple[object, Value]] = {}

    @cached_property
    def by_place(self) -> dict[tuple[int | None, int, bool], list[int]]:
        """The runs that operators have begun: by the run around, the operator, and whether it ran backward."""
        found: dict[tuple[int | None, int, bool], list[int]] = defaultdict(list)
        for number, run in enumerate(self.runs):
            found[run.around, run.operator, run.is_backward].append(number)
        return found

    def counterpart(self, number: int) -> int | None:
        """The run of the backward pass that belongs to a run forward, and the reverse; None: there is none.

        The last iteration of a loop is the first that its backward pass goes through.
        """
        run = self.runs[number]
        around = None if run.around is None else self.counterpart(run.around)
        if run.around is not None and around is None:
            return None
        count = self.recording.rounds(run)
        iteration = None if run.iteration is None or count is None else count - 1 - run.iteration
        return self._by_net.get((run.net.path, around, iteration, not run.is_backward))

    @cached_property
    def _by_net(self) -> dict[tuple[tuple[str, ...], int | None, int | None, bool], int]:
        return {
            (run.net.path, run.around, run.iteration, run.is_backward): number for number, run in enumerate(self.runs)
        }

    def value(self, run: int | None, key: Key) -> Value | None:
        """The statistics of a version, in a run of a nested net or around all; None: it was not computed."""
        if self._saved is not None:
            return self._saved.of(run, key)
        array = self.recording.values_of(run).get(key)
        if array is None:
            return None
        is_short = run is not None
        found = self._measured.get((id(array), is_short))
        if found is None:
            # The array is kept with its statistics, so that its identity stays its own.
            found = self._measured[id(array), is_short] = array, _measure(array, is_short=is_short)
        return found[1]

    def norm(self, run: int | None, key: Key) -> float | None:
        """The norm of a version, of which no more is measured; None: it was not computed, or holds no numbers."""
        array = None if self.trace is not None else self.recording.values_of(run).get(key)
        if isinstance(array, ScopeStack):
            return None
        if array is not None:
            return norm(vector(moved(array, CPU)))
        value = self.value(run, key)
        return None if value is None or value.dtype == WORKSPACES else float(value.norm or 0)

    def identity(self, run: int, key: Key) -> int | None:
        """The same number for the same array, whatever it is called; None: it was not computed."""
        if self.is_saved and self._saved is not None:
            return self._saved.number(run, key)
        values = self.runs[run].values
        array = values.entries.get(key) if isinstance(values, Shelf) else values.get(key)
        return None if array is None else id(array)

    def known(self, run: int | None) -> Iterator[Key]:
        """The versions that were fed or computed around all nested nets, or in a run of one."""
        if run is None and self.trace is not None:
            return map(key_of, self.trace.values)
        return iter(self.recording.values_of(run))

    @cached_property
    def makers(self) -> dict[int, Maker]:
        """Which kernel in a nested net made each array, which may go from iteration to iteration under other names."""
        found: dict[int, Maker] = {}
        halves: dict[tuple[tuple[str, ...], bool], list[tuple[list[Key], list[Key]]]] = {}
        for number, run in enumerate(self.runs):
            half = run.net.path, run.is_backward
            if half not in halves:
                net = self.text.net(run.net.path)
                kernels = [one for one in (net.operators if run.is_backward else net.forward) if not one.nets]
                halves[half] = [([w.key for w in one.inputs], [w.key for w in one.outputs]) for one in kernels]
            for read, wrote in halves[half]:
                before = {self.identity(number, key) for key in read}
                for key in wrote:
                    array = self.identity(number, key)
                    if array is not None and array not in before:
                        found.setdefault(array, (number, key))
        return found

    @cached_property
    def schedule(self) -> Schedule | None:
        """What the schedule of a define-by-run pass held; None: the pass was not run by one."""
        if self.trace is not None:
            return self.trace.schedule
        return schedule_of(self.recording)


def _measure(array: Array | ScopeStack, *, is_short: bool) -> Value:
    if isinstance(array, ScopeStack):
        return of_stack(0, len(array))
    return short_statistics([array], (1, 1))[0] if is_short else statistics(array)
