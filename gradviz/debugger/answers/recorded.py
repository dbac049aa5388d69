"""A recording as questions look at it: its events and texts, the runs of its nested nets, and its values."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from operator import itemgetter

from ...operators.scopes import ScopeStack
from ..document import Schedule, Source, Trace
from ..journal import Key, Recording, Writing
from ..statistics import WORKSPACES, norm_of
from ..telling import DocumentValues, Story, schedule_of, sources_of

Maker = tuple[int, Writing]
"""The run of a nested net in which a kernel computed an array, and what it wrote it as."""


class Recorded:
    """A recording, with what is looked up in it once and kept for the next question.

    Attributes:
        recording: it; of a session read from a file one without arrays.
        text: the statements of every net.
        trace: the document that has the statistics where there may be no arrays: of what was read from a file, and of
            values within a budget; else None.
        is_saved: whether it was read from a file.
        values: its values, of a document their statistics.
        story: tells its events.
    """

    def __init__(self, recording: Recording, trace: Trace | None, values: DocumentValues) -> None:
        self.recording = recording
        self.text = recording.text
        self.events = recording.events
        self.runs = recording.runs
        self.trace = trace
        self.is_saved = recording.saved is not None
        self.story = Story(recording)
        self.values = values
        # By the identities of arrays, which are kept with them, so that these stay their own.
        self._norms: dict[int, tuple[object, float]] = {}

    @cached_property
    def sources(self) -> list[Source]:
        """The text of the user's code, as it was when somebody asked first, or the document was written."""
        return sources_of(self.text.codes) if self.trace is None else self.trace.sources

    def runs_in(self, around: int | None, path: tuple[str, ...], *, is_backward: bool) -> list[int]:
        """The runs of a nested net, forward or backward, that a run of the net around has begun; None: the program."""
        runs = self.recording.halves.get((path, is_backward), [])
        if around is None:
            return runs
        # Those that a run begins follow each other.
        first = bisect_left(runs, around, key=self._around)
        return runs[first : bisect_right(runs, around, first, key=self._around)]

    def _around(self, run: int) -> int:
        return -1 if (around := self.runs[run].around) is None else around

    def counterpart(self, number: int) -> int | None:
        """The run of the backward pass that belongs to a run forward, and the reverse; None: there is none.

        The last iteration of a loop is the first that its backward pass goes through.
        """
        run = self.runs[number]
        around = None if run.around is None else self.counterpart(run.around)
        if run.around is not None and around is None:
            return None
        at = 0 if run.iteration is None else self.recording.rounds[number] - 1 - run.iteration
        runs = self.runs_in(around, run.net.path, is_backward=not run.is_backward)
        return runs[at] if at < len(runs) else None

    def norm(self, run: int | None, key: Key) -> float | None:
        """The norm of a version, of which no more is measured; None: it was not computed, or holds no numbers."""
        if self.trace is not None:
            value = self.values.of(run, key)
            return None if value is None or value.dtype == WORKSPACES else float(value.norm or 0)
        array = self.recording.values.get(key) if run is None else self.runs.entry(run, key)
        if array is None or isinstance(array, ScopeStack):
            return None
        if id(array) not in self._norms:
            self._norms[id(array)] = array, norm_of(array)
        return self._norms[id(array)][1]

    def identity(self, run: int, key: Key) -> int | None:
        """The same number for the same array, whatever it is called; None: it was not computed."""
        if self.is_saved:
            return self.values.number(run, key)
        array = self.runs.entry(run, key)
        return None if array is None else id(array)

    def maker(self, run: int, key: Key) -> Maker | None:
        """Which kernel in a nested net computed the array that a run has, perhaps under another name in another run."""
        array = self.identity(run, key)
        if array is None:
            return None
        maker = self._forward_makers.get(array)
        return self._backward_makers.get(array) if maker is None and self.runs.half_of(run).is_backward else maker

    @cached_property
    def _forward_makers(self) -> dict[int, Maker]:
        return self._makers(is_backward=False)

    @cached_property
    def _backward_makers(self) -> dict[int, Maker]:
        return self._makers(is_backward=True)

    def _makers(self, *, is_backward: bool) -> dict[int, Maker]:
        """The kernels that computed the arrays of one direction; what they handed on of their inputs is not theirs."""
        makers: dict[int, Maker] = {}
        for (path, half), runs in self.recording.halves.items():
            if half != is_backward:
                continue
            net, identities = self.text.net(path), self._identities(runs)
            kernels = [one for one in (net.operators if half else net.forward) if not one.nets]
            for kernel in kernels:
                read = [identities(one.key) for one in kernel.inputs]
                for writing in kernel.outputs:
                    wrote = identities(writing.key)
                    for before in read:
                        wrote = [None if one == other else one for one, other in zip(wrote, before, strict=True)]
                    # Of several runs the first stays.
                    pairs = zip(reversed(wrote), reversed(runs), strict=True)
                    of_output = {array: (run, writing) for array, run in pairs if array is not None}
                    for array in of_output.keys() & makers.keys():
                        of_output[array] = min(makers[array], of_output[array], key=itemgetter(0))
                    makers |= of_output
        return makers

    def _identities(self, runs: Sequence[int]) -> Callable[[Key], list[int | None]]:
        """Gives the identity of a version in each of some runs."""
        if self.is_saved:
            return lambda key: [self.identity(run, key) for run in runs]
        return lambda key: [None if one is None else id(one) for one in self.runs.column(key, runs)]

    @cached_property
    def schedule(self) -> Schedule | None:
        """What was in the schedule of a define-by-run pass; None: the pass was not run by one."""
        if self.trace is not None:
            return self.trace.schedule
        return schedule_of(self.recording)
