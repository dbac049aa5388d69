"""The program of a part of a recording: some of its operators line by line, those between them as stretches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import pairwise

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...program.operator import key_of
from ..document import Line, Revision
from ..journal import NetText, Statement, Writing

STRETCHES = 12
"""Before the first operator that is shown, and behind the last, where there are many."""
SHORTEST = 4
"""Operators of a stretch; fewer are shown."""
MOST_TITLE = 18
"""Characters of the types that a stretch is called by."""
MOST_INPUTS = 200
"""Of a line. A sum may have one for each operator there is."""
MOST_OF_NONE = 200
"""Gradient operators that came from no forward operator, seeds first: so many are shown."""

Numbers = NDArray[np.int64]


def gaps(count: int, chosen: Collection[int]) -> list[tuple[int, int]]:
    """The stretches, each from a first number to before another, of `count` operators of which some are `chosen`."""
    stretches: list[tuple[int, int]] = []
    bounds = [-1, *sorted(chosen), count]
    for before, end in pairwise(bounds):
        first = before + 1
        if end - first < SHORTEST:
            continue
        pieces = min(STRETCHES, (end - first) // SHORTEST) if before == -1 or end == count else 1
        stretches += pairwise([first + (end - first) * piece // pieces for piece in range(pieces + 1)])
    return stretches


class Outermost:
    """The statements around all nested nets, and what flows between them.

    A statement has a number here: the forward ones come first.
    """

    def __init__(self, net: NetText) -> None:
        self.text = net
        self.forward, self.operators, self.backward = net.forward, net.operators, net.backward
        self.of: Numbers = np.fromiter((-1 if one.of is None else one.of for one in net.backward), np.int64)
        self._types = [statement.op.type for statement in net.forward]
        self._blobs: list[Writing] = []
        number = {statement: place for place, statement in enumerate((*net.forward, *net.backward))}
        ends: list[tuple[int, int]] = []
        for statement, place in number.items():
            for blob in statement.inputs if statement.role != "passed" else ():
                if blob.statement is not None:
                    ends.append((number[blob.statement], place))
                    self._blobs.append(blob)
        self._ends: Numbers = np.array(ends, np.int64).reshape(-1, 2)

    def between(self, units: Numbers, ours: int) -> Iterator[tuple[int, int, Writing]]:
        """From unit, to unit at least `ours`, and the first blob that flows so.

        Args:
            units: that of each statement.
        """
        source, target = units[self._ends].T
        apart = np.flatnonzero((source != target) & (target >= ours))
        pairs = source[apart] * (units.max(initial=0) + 1) + target[apart]
        for place in apart[np.unique(pairs, return_index=True)[1]].tolist():
            yield int(source[place]), int(target[place]), self._blobs[place]

    def called(self, first: int, end: int) -> str:
        """The types of some operators, as far as there is room, and how many they are."""
        types = [*dict.fromkeys(self._types[first:end])]
        title = types[0]
        for type in types[1:]:
            if len(title) + len(type) + 2 > MOST_TITLE:
                title = f"{title}, …"
                break
            title = f"{title}, {type}"
        return f"{title} × {end - first}" if len(types) == 1 else title


class PartProgram:
    """The lines of a part.

    Attributes:
        forward, backward: the lines.
        shown: the forward operators that have lines of their own.
        ids: of all lines that there are; those of nested nets may be added.
        alone: of those around all nested nets that are no stretches.
    """

    def __init__(self, net: Outermost, chosen: Collection[int], line: Callable[[Statement], Line]) -> None:
        self._net = net
        self._gaps = gaps(len(net.forward), chosen)
        bounds = np.array(self._gaps, np.int64).reshape(-1, 2)
        count = len(net.forward)
        self._inside, self._inside_back = _inside(bounds, np.arange(count)), _inside(bounds, net.of)
        # The lines by themselves are units as their statements are numbered; behind them come the stretches.
        ours = count + len(net.backward)
        units = np.arange(ours)
        for inside, at, lane in ((self._inside, units[:count], 0), (self._inside_back, units[count:], 1)):
            at[inside >= 0] = ours + 2 * inside[inside >= 0] + lane
        self._reads: defaultdict[int, list[str]] = defaultdict(list)
        self._writes: defaultdict[int, list[str]] = defaultdict(list)
        for source, target, blob in net.between(units, ours):
            self._writes[source].append(str(blob))
            self._reads[target].append(str(blob))
        self.shown = [net.forward[number] for number in np.flatnonzero(self._inside < 0).tolist()]
        shown_back = np.flatnonzero(self._inside_back < 0)
        shown_back = np.setdiff1d(shown_back, np.flatnonzero(net.of < 0)[MOST_OF_NONE:])
        forward = [cut(line(statement)) for statement in self.shown]
        backward = {place: cut(line(net.backward[place])) for place in shown_back.tolist()}
        for name in dict.fromkeys(name for one in (*forward, *backward.values()) for name in one.inputs):
            unit = self._unit(net.text.version(*key_of(name)).statement, ours)
            if unit is not None:
                self._writes[unit].append(name)
        forward += [self._forward(number, ours + 2 * number) for number in range(len(self._gaps))]
        self.forward = sorted(forward, key=lambda one: one.number)
        self._back_ids: dict[int, str] = {}
        backward |= self._backward(ours)
        self.backward = [backward[place] for place in sorted(backward)]
        self.alone = {one.id for one in (*self.forward, *self.backward) if one.kind != "stretch"}
        self.ids = {one.id for one in (*self.forward, *self.backward)}

    def _unit(self, statement: Statement | None, ours: int) -> int | None:
        """The stretch that a statement is in; None: it has a line, or there is none."""
        if statement is None:
            return None
        gap = self._gap(statement.number if statement.role == "forward" else statement.of)
        return None if gap is None else ours + 2 * gap + (statement.role != "forward")

    def _gap(self, of: int | None) -> int | None:
        """The number of the stretch that a forward operator is in; None: it has a line, or there is none."""
        gap = -1 if of is None else int(self._inside[of])
        return gap if gap >= 0 else None

    def _forward(self, number: int, unit: int) -> Line:
        first, end = self._gaps[number]
        statements = self._net.forward[first], self._net.forward[end - 1]
        return self._stretch(unit, *statements, self._net.called(first, end), end - first, None)

    def _backward(self, ours: int) -> Iterator[tuple[int, Line]]:
        """What came from the operators of each stretch, by where the first of it stands."""
        places = np.flatnonzero(self._inside_back >= 0)
        operators = [place for place in places.tolist() if self._net.backward[place].role != "passed"]
        of = self._inside_back[operators]
        numbers, firsts, counts = np.unique(of, return_index=True, return_counts=True)
        lasts = len(of) - 1 - np.unique(of[::-1], return_index=True)[1]
        for number, first, last, many in zip(*(one.tolist() for one in (numbers, firsts, lasts, counts)), strict=True):
            begin = self._net.backward[operators[first]]
            title = f"∂ {self._net.called(*self._gaps[number])}"
            stretch = self._stretch(
                ours + 2 * number + 1, begin, self._net.backward[operators[last]], title, many, self._gaps[number][0]
            )
            self._back_ids[number] = stretch.id
            yield operators[first], stretch

    def _stretch(self, unit: int, first: Statement, last: Statement, title: str, many: int, of: int | None) -> Line:
        inputs, outputs = (list(dict.fromkeys(blobs[unit])) for blobs in (self._reads, self._writes))
        return Line(
            id=first.id,
            kind="stretch",
            many=many,
            type=title,
            inputs=inputs,
            outputs=outputs,
            of=of,
            role="forward" if of is None else "gradient",
            made=first.made,
            history=[Revision(at=first.made, inputs=inputs, outputs=outputs)],
            ran=last.ran,
        )

    def located(self, ids: Iterable[str]) -> list[str]:
        """The lines that tell of these of the recording, each once; of those in nested nets that are not shown none."""
        lines = (id if id in self.ids or "." in id else self._stretch_with(id) for id in ids)
        return [id for id in dict.fromkeys(lines) if id in self.ids]

    def _stretch_with(self, id: str) -> str:
        """The stretch that holds a line of the net; empty: none does."""
        number = int(id[1:])
        gap = self._gap(self._net.operators[number].of if id[0] == "b" else number)
        if gap is None:
            return ""
        return f"f{self._gaps[gap][0]}" if id[0] == "f" else self._back_ids.get(gap, "")


def cut(line: Line) -> Line:
    """A line with as many inputs as can be shown."""
    left_out = len(line.inputs) - MOST_INPUTS
    if left_out <= 0:
        return line
    history = [replace(one, inputs=one.inputs[:MOST_INPUTS]) for one in line.history]
    return replace(line, inputs=line.inputs[:MOST_INPUTS], history=history, left_out=left_out)


def _inside(bounds: Numbers, numbers: Numbers) -> Numbers:
    """In which of some stretches each number lies; -1: in none."""
    if not len(bounds):
        return np.full(len(numbers), -1)
    stretches = np.searchsorted(bounds[:, 0], numbers, "right") - 1
    return np.where((stretches >= 0) & (numbers < bounds[stretches, 1]), stretches, -1)
