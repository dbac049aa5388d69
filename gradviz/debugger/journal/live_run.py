"""What of a net has run that stands still between operators: what they wrote, and the runs of the nets nested in them.

Operators run in the order of the program, each on what those before it have left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

import msgspec
import numpy as np

from ...operators.registry import Array
from ...program import Device, Operator
from ...program.events import Event
from ...program.net_halves import Key, NetHalves
from ...program.operator import BlobVersion, Ssa
from ...runtime.notes import RAN, Notes
from ...runtime.pace import Pace
from ...runtime.planning import plan
from ...runtime.watched import Interrupts, Limits, WatchedExecution
from .run_events import RunEvents
from .timeline import NOWHERE, Timeline

Check = Callable[[int, Mapping[Key, Array]], None]


class Done(msgspec.Struct, eq=False):
    """An operator that ran.

    Attributes:
        position: in the whole program.
        outputs: what it wrote; None: a branch that was not taken writes it, and nothing was there.
        device: where it ran.
        seconds: how long that took.
        inside: the events of the nets nested in it, if it has any.
    """

    position: int
    outputs: list[Array | None]
    device: str
    seconds: float
    inside: Sequence[Event] = ()


class LiveRun:
    """The operators that have run.

    Attributes:
        done: they.
        leaves: what they have read and no operator has written.
        notes: of the runs of nested nets.

    Args:
        device: where operators run for which nothing else says it.
    """

    def __init__(self, device: Device) -> None:
        self.done: list[Done] = []
        self.leaves: dict[str, Array] = {}
        self.notes = Notes(())
        self._device = device
        # All is kept, and an interrupt ends the operator that runs, as if it had not begun.
        self._limits = Limits(None, Interrupts(), Pace(None))

    def run(self, op: Operator, nets: NetHalves, fed: Mapping[str, Array], check: Check | None = None) -> Done:
        """Run the operator that is next; where it fails, nothing has changed.

        Args:
            op: it, as it is to run.
            nets: the program, with the nets nested in it.
            fed: blobs that operators may read and none of those that ran has written.
            check: is called with its position and what is known once it has run, and may refuse that.

        Raises:
            RunError: as of `plan` and `run_step`. What `check` raises.
        """
        position = len(self.done)
        now = self.now(nets.program)
        values = {**fed, **now}
        before = [ssa.op for ssa in nets.program[:position]]
        ready = plan([*before, op], values, self._device, first=position)
        execution = WatchedExecution(nets, self._limits, self.notes)
        started = execution.start({name: values[name] for name in ready.external})
        with np.errstate(all="ignore"), closing(execution.run(ready.steps, started)) as running:
            for _ in running:
                pass
        notes, step = execution.notes, ready.steps[0]
        outputs = [execution.values.get(key) for key in notes.program[position][3]]
        done = Done(position, outputs, str(step.device), notes.seconds[-1])
        _look_inside(notes, [done] if len(notes.noted) > len(self.notes.noted) else [])
        if check is not None:
            check(position, self._values([*self.done, done], nets.program))
        self.leaves |= {name: fed[name] for name in ready.external if name not in now}
        self.notes = notes
        self.done.append(done)
        return done

    def rename(self, nets: NetHalves) -> None:
        """Blobs in nested nets that have run are called otherwise from now on, as they are in `nets`."""
        self.notes = self.notes.renamed(nets)
        _look_inside(self.notes, [one for one in self.done if one.inside])

    def values(self, program: Sequence[Ssa[BlobVersion]]) -> dict[Key, Array]:
        """What is known: leaves that were read, and what operators wrote.

        Args:
            program: every operator with its versions.
        """
        return self._values(self.done, program)

    def now(self, program: Sequence[Ssa[BlobVersion]]) -> dict[str, Array]:
        """What operators have read and written, as it is now."""
        return {name: array for (name, _), array in self.values(program).items()}

    def _values(self, done: Sequence[Done], program: Sequence[Ssa[BlobVersion]]) -> dict[Key, Array]:
        values: dict[Key, Array] = {(name, 0): array for name, array in self.leaves.items()}
        for one, ssa in zip(done, program, strict=False):
            for blob, array in zip(ssa.writes, one.outputs, strict=True):
                if array is not None:
                    values[blob.name, blob.version] = array
        return values


def _look_inside(notes: Notes, done: Sequence[Done]) -> None:
    """Give operators the events of the nets nested in them."""
    if not done:
        return
    timeline = Timeline(np.frombuffer(bytes(notes.codes), np.uint8))
    events = RunEvents((), notes, timeline)
    ends = np.flatnonzero((timeline.codes == RAN) & (timeline.around == NOWHERE)).tolist()
    for one in done:
        first = ends[one.position - 1] + 1 if one.position else 0
        one.inside = events[first : ends[one.position]]
