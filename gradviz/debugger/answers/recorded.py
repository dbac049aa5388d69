"""A recording as questions look at it: its events and texts, the runs of its nested nets, and its values."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...operators.registry import Array
from ..document import Schedule, Source, Trace
from ..journal import NOWHERE, Indices, Key, Recording, Writing
from ..statistics import norm_of
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

    def norm(self, array: Array) -> float:
        """The norm of an array, of which no more is measured."""
        if id(array) not in self._norms:
            self._norms[id(array)] = array, norm_of(array)
        return self._norms[id(array)][1]

    def entry(self, run: int, key: Key) -> Any:
        """What stands for a version in a run, whatever that is called: an array, or the number of one in a file; None:
        not computed."""
        return self.values.number(run, key) if self.is_saved else self.runs.entry(run, key)

    def maker(self, run: int, entry: Any) -> Maker | None:
        """Which kernel in a nested net computed what a run has, perhaps under another name in another run."""
        array = entry if self.is_saved else id(entry)
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
        outputs: list[Writing] = []
        computed = [np.zeros((3, 0), np.int64)]  # arrays, their runs, and the numbers of the outputs
        for (path, half), runs in self.recording.halves.items():
            if half != is_backward:
                continue
            net = self.text.net(path)
            kernels = [one for one in (net.operators if half else net.forward) if not one.nets]
            for kernel in kernels:
                read = [self._identities(runs, one.key) for one in kernel.inputs]
                for output in kernel.outputs:
                    arrays = self._identities(runs, output.key)
                    is_own = np.logical_and.reduce([arrays != before for before in (NOWHERE, *read)])
                    computed.append(np.stack([arrays, runs, np.full(len(runs), len(outputs))])[:, is_own])
                    outputs.append(output)
        arrays, runs, numbers = np.concatenate(computed, axis=1)
        order = np.argsort(runs, kind="stable")[::-1]  # of several runs the first stays
        makers = zip(runs[order].tolist(), map(outputs.__getitem__, numbers[order].tolist()), strict=True)
        return dict(zip(arrays[order].tolist(), makers, strict=True))

    def _identities(self, runs: Sequence[int], key: Key) -> Indices:
        """What identifies a version in each of some runs; `NOWHERE`: not computed."""
        if self.is_saved:
            numbers = (self.entry(run, key) for run in runs)
            return np.array([NOWHERE if one is None else one for one in numbers], np.int64)
        arrays = np.fromiter(map(id, self.runs.column(key, runs)), np.int64)
        return np.where(arrays == id(None), NOWHERE, arrays)

    @cached_property
    def schedule(self) -> Schedule | None:
        """What was in the schedule of a define-by-run pass; None: the pass was not run by one."""
        if self.trace is not None:
            return self.trace.schedule
        return schedule_of(self.recording)
