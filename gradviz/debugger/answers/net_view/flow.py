"""The flow of gradients through one net: which gradient each operator sent to which blob version, and when."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from ....operators.registry import Array
from ....program import Gradient
from ....program.events import Accumulated, GeneratorAdded, How, RuleApplied, Seeded, Skipped, Visited
from ....program.operator import parts_of
from ....runtime.devices import current, device_of, moved
from ...journal import dense
from .net_view import NetView
from .wording import split

Parts = tuple[str, ...]
"""The blob versions that a gradient consists of: one, or indices and values."""


class Sent(NamedTuple):
    """A gradient of a blob version.

    Attributes:
        at: the position after the event that brought it.
        parts: what it consists of, under final names.
        how: how it came to be; "sum": an accumulation formed it.
        through: the forward operator that it came through, or at whose visit it was added up; None for a seed.
    """

    at: int
    parts: Parts
    how: How | str
    through: int | None


class Asked(NamedTuple):
    """What a rule answered.

    Attributes:
        at: the position after that.
        gives: for each input whether it gave it a gradient.
        operators: the numbers of the gradient operators that it made.
    """

    at: int
    gives: list[bool]
    operators: range


class Flow:
    """What the pass over one net did.

    Attributes:
        sent: blob version -> its gradients, in the order of their coming; a seed is one.
        sums: blob version -> the sums of these, in the order of their coming.
        seeds: y -> what the pass started from there.
        arriving: forward operator -> the gradient of each output when its rule was asked; None: it had none.
        asked: forward operator -> what its rule answered.
        passed_by: forward operator -> why the pass had nothing to ask it.
    """

    def __init__(self, view: NetView) -> None:
        self._view = view
        self.sent: dict[str, list[Sent]] = defaultdict(list)
        self.sums: dict[str, list[Sent]] = defaultdict(list)
        self.seeds: dict[str, Sent] = {}
        self.arriving: dict[int, list[Parts | None]] = {}
        self.asked: dict[int, Asked] = {}
        self.passed_by: dict[int, str] = {}
        self._told: set[str] = set()
        for at, event in view.events:
            match event:
                case Seeded():
                    y = f"{event.y}@{event.version}"
                    made = self._made(event.position, event.gradient, at)
                    how = "given" if event.operator is None else "seed"
                    self.seeds[y] = Sent(at, made, how, None)
                    self.sent[y].append(self.seeds[y])
                case Visited():
                    self.arriving[event.index] = [
                        None if gradient is None else self._parts(gradient, at) for gradient in event.g_output
                    ]
                case RuleApplied():
                    made_by = range(event.position, event.position + len(event.operators))
                    gives = [gradient is not None for gradient in event.g_input]
                    self.asked[event.index] = Asked(at, gives, made_by)
                case GeneratorAdded():
                    made = self._made(event.position, event.gradient, at)
                    self.sent[f"{event.blob}@{event.version}"].append(Sent(at, made, event.how, event.index))
                case Accumulated():
                    made = self._parts(event.gradient, at)
                    self.sums[f"{event.blob}@{event.version}"].append(Sent(at, made, "sum", event.index))
                case Skipped():
                    self.passed_by[event.index] = event.reason

    def _parts(self, gradient: Gradient, at: int) -> Parts:
        return tuple(self._view.final(name, at) for name in parts_of(gradient))

    def _made(self, position: int | None, gradient: Gradient, at: int) -> Parts:
        """The writings that a gradient's names stand for, by the operator that wrote the last one where one did."""
        *before, last = parts_of(gradient)
        operators = self._view.operators
        if position is not None and position < len(operators):
            line = operators[position]
            then = [revision for revision in line.history if revision.at <= at][-1]
            found = [final for was, final in zip(then.outputs, line.outputs, strict=True) if split(was)[0] == last]
            if found:
                # An input that is read twice has two gradients, which one operator may write under one name.
                last = next((final for final in found if final not in self._told), found[0])
                self._told.add(last)
                return (*(self._view.final(name, at) for name in before), last)
        return (*(self._view.final(name, at) for name in before), self._view.final(last, at))

    def gradient(self, blob: str, at: int | None = None) -> Sent | None:
        """The gradient of a blob version as it is at position `at`, or in the end; None: there is none by then."""
        found = [sent for sent in (*self.sent.get(blob, ()), *self.sums.get(blob, ())) if at is None or sent.at <= at]
        return max(found, key=lambda sent: sent.at) if found else None

    def meant(self, word: str) -> str:
        """The version whose gradient a name means: the earliest one that has any, else the first."""
        if word not in self._view.versions:
            return word
        versions = [f"{word}@{version}" for version in self._view.versions[word]]
        return next((blob for blob in versions if blob in self.sent), versions[0])

    def array(self, blob: str, parts: Parts) -> Array:
        """A gradient of `blob` as an array like it; raises CursorError ``not_computed``."""
        values = self._view.needed(parts[-1])
        if len(parts) == 1:
            return values
        whole = dense(self._view.needed(parts[0]), values, self._view.needed(blob))
        if whole is None:  # rows that the blob does not have: the run stopped there
            raise self._view.no_value(parts[-1])
        return whole

    def added(self, blob: str, index: int) -> Array | None:
        """The sum of what forward operator `index` sent to `blob`; None: it sent nothing."""
        whole = None
        for sent in self.sent.get(blob, ()):
            if sent.through == index:
                part = self.array(blob, sent.parts)
                whole = part if whole is None else added(whole, part)
        return whole


def flow_of(view: NetView) -> Flow:
    """What the pass over the net of `view` did; it is looked through once."""
    if view.flow is None:
        view.flow = Flow(view)
    return view.flow


def added(first: Array, second: Array) -> Array:
    """The sum of two arrays of one shape, where the first lies; of scalars too it is an array."""
    device = device_of(first)
    with current(device):
        return (first.reshape(-1) + moved(second, device).reshape(-1)).reshape(first.shape)
