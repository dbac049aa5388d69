"""What a pass says about its gradients: which blob versions are the gradient of which, and who says so."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...program import Gradient, Operator
from ...program.events import Accumulated, Event, Played, RuleApplied, Seeded, Visited
from ...program.net_halves import Key
from ...program.operator import parts_of
from ...program.ssa import BlobVersion, Ssa


class ExpectedGradient(NamedTuple):
    """A gradient that is said to be one of `blob`.

    Attributes:
        parts: the versions that it consists of: one, or indices and values.
        event: who says so: a rule, or a seed that was given.
        arrived: versions of the gradients that the rule was given.
        due: the operator of the program after which all of it is known; -1: before the first.
    """

    blob: Key
    parts: tuple[Key, ...]
    event: RuleApplied | Seeded
    arrived: tuple[Key, ...]
    due: int


def expected_gradients(events: Sequence[Event], program: Sequence[Ssa[BlobVersion]]) -> Iterator[ExpectedGradient]:
    """Every gradient around the nested nets that a rule of the pass made or passed on, and every one that was given.

    Args:
        program: the forward operators, then the gradient operators, as they read at the end: accumulations rename.
    """
    events = [event for event in events if not event.path]
    read = [list(zip(event.op.inputs, event.in_versions, strict=True)) for event in events if type(event) is Played]
    names = _Names(program, len(read))
    arrived: tuple[Key, ...] = ()
    for event in events:
        if type(event) is Visited:
            arrived = tuple([names.key(name) for gradient in event.g_output for name in parts_of(gradient)])
        elif type(event) is RuleApplied:
            names.write(event.position, event.operators)
            for blob, gradient in zip(read[event.index], event.g_input, strict=True):
                if gradient is not None:
                    yield names.expected(blob, gradient, event, arrived)
        elif type(event) is Accumulated:
            for rename in event.renames:
                names.rename(rename.position, rename.slot, rename.new)
            names.write(event.position, event.operators)
        elif type(event) is Seeded:
            if event.operator is not None and event.position is not None:
                names.write(event.position, [event.operator])
            elif names.are_outside(event.gradient):
                yield names.expected((event.y, event.version), event.gradient, event, ())


class _Names:
    """Which version of the final program a name means while the pass is being generated."""

    def __init__(self, program: Sequence[Ssa[BlobVersion]], forward: int) -> None:
        self._program = program
        self._forward = forward
        self._written: dict[str, tuple[int, int]] = {}
        self._maker = {
            (blob.name, blob.version): position for position, ssa in enumerate(program) for blob in ssa.writes
        }
        self._last = {blob.name: blob.version for ssa in program[:forward] for blob in ssa.writes}

    def write(self, position: int, operators: Sequence[Operator]) -> None:
        """Gradient operators `operators`, the first of them number `position`, write their outputs."""
        for number, op in enumerate(operators, position):
            for slot, name in enumerate(op.outputs):
                self._written[name] = (number, slot)

    def rename(self, position: int, slot: int, new: str) -> None:
        """Gradient operator `position` has `new` in output `slot`."""
        if slot >= 0:
            self._written[new] = (position, slot)

    def key(self, name: str) -> Key:
        """The version that `name` means now: what a gradient operator wrote, else the last of the forward program."""
        if name not in self._written:
            return name, self._last.get(name, 0)
        position, slot = self._written[name]
        blob = self._program[self._forward + position].writes[slot]
        return blob.name, blob.version

    def are_outside(self, gradient: Gradient) -> bool:
        """Whether a given gradient stays as it was given: no gradient operator takes its name, which nobody reads."""
        return all(self._maker.get(self.key(name), -1) < self._forward for name in parts_of(gradient))

    def expected(
        self, blob: Key, gradient: Gradient, event: RuleApplied | Seeded, arrived: tuple[Key, ...]
    ) -> ExpectedGradient:
        """That `gradient`, as its name reads now, is one of `blob`."""
        parts = tuple([self.key(name) for name in parts_of(gradient)])
        due = max([self._maker.get(key, -1) for key in (blob, *parts)])
        return ExpectedGradient(blob, parts, event, arrived, due)
