"""What of a net has run that stands still between operators: what they wrote, and the runs of the nets nested in them.

Operators run in the order of the program, each on what those before it have left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from ...operators.registry import Array
from ...operators.scopes import ScopeStack
from ...program import Device, Operator, RunError
from ...program.control_flow import NETS
from ...program.errors import shorten
from ...program.events import Event
from ...program.net_halves import Key, NetHalves
from ...runtime import Workspace
from ...runtime.devices import device_of
from ...runtime.notes import NOWHERE, RAN, Notes
from ...runtime.pace import Pace
from ...runtime.planning import plan
from ...runtime.watched import Interrupts, Limits, WatchedExecution
from .run_events import RunEvents
from .timeline import Timeline

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
        values: leaves that were read, and what operators wrote.
        now: the same by name, as it is now.
        notes: of the runs of nested nets.

    Args:
        device: where operators run for which nothing else says it.
    """

    def __init__(self, device: Device) -> None:
        self.done: list[Done] = []
        self.values: dict[Key, Array] = {}
        self.now: dict[str, Array] = {}
        self._leaves: dict[str, Array] = {}
        self.notes = Notes(None)
        self._device = device
        # Every value stays in memory, and an interrupt ends the operator that runs, as if it had not begun.
        self._limits = Limits(None, Interrupts(), Pace(None))

    def run(self, op: Operator, nets: NetHalves, fed: Mapping[str, Array], check: Check | None = None) -> Done:
        """Run the operator that is next; where it fails, nothing has changed.

        Args:
            op: it, as it is to run.
            nets: the program, with the nets nested in it.
            fed: blobs that operators may read and none of those that ran has written.
            check: is called with its position and all values once it has run, and may refuse that.

        Raises:
            RunError: as of `plan` and `run_step`. What `check` raises.
        """
        position = len(self.done)
        values = {**fed, **self.now}
        before = [ssa.op for ssa in nets.program[:position]]
        try:
            ready = plan([*before, op], values, self._device, first=position)
        except RunError as error:  # the workspace was copied when the pass began
            error.ways_out = tuple(way.replace("ws.feed(", "live.feed(") for way in error.ways_out)
            raise
        execution = WatchedExecution(nets, self._limits, self.notes)
        started = execution.start({name: values[name] for name in ready.external})
        with np.errstate(all="ignore"), closing(execution.run(ready.steps, started)) as running:
            for _ in running:
                pass
        notes, step = execution.notes, ready.steps[0]
        written = nets.program[position].written
        done = Done(position, list(map(execution.values.get, written)), str(step.device), notes.seconds[-1])
        _look_inside(notes, [done] if len(notes.noted) > len(self.notes.noted) else [])
        if check is not None:
            check(position, self.values | _outputs(written, done))
        self.give({name: fed[name] for name in ready.external if name not in self.now})
        self._take(written, done)
        self.notes = notes
        self.done.append(done)
        return done

    def copy(self) -> LiveRun:
        """The same, to go back to."""
        other = LiveRun(self._device)
        other.done, other.values, other.now = self.done.copy(), self.values.copy(), self.now.copy()
        other._leaves, other.notes = self._leaves.copy(), self.notes
        return other

    def give(self, leaves: Mapping[str, Array]) -> None:
        """Something is read that no operator has written."""
        self._leaves |= leaves
        for name, array in leaves.items():
            self.values.setdefault((name, 0), array)
            self.now.setdefault(name, array)

    def give_anew(self, name: str, array: Array) -> None:
        """Something that was given and that nothing has read is another array."""
        self._leaves[name] = self.values[name, 0] = self.now[name] = array

    def _take(self, written: Sequence[Key], done: Done) -> None:
        outputs = _outputs(written, done)
        self.values |= outputs
        self.now |= {name: array for (name, _), array in outputs.items()}

    def rename(self, nets: NetHalves, *, is_inside: bool) -> None:
        """Blobs are called otherwise from now on, as they are in `nets`: in nested nets that have run, too, or not."""
        self.values, self.now = {}, {}
        self.give(self._leaves)
        for one, ssa in zip(self.done, nets.program, strict=False):
            self._take(ssa.written, one)
        if is_inside:
            self.notes = self.notes.renamed(nets)
            _look_inside(self.notes, [one for one in self.done if one.inside])


def _outputs(written: Sequence[Key], done: Done) -> dict[Key, Array]:
    pairs = zip(written, done.outputs, strict=True)
    return {key: array for key, array in pairs if array is not None}


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


def fitting(blob: str, value: Any, now: Array | None, device: Device) -> Array:
    """What is given for a blob, as an array where the blob lies; `now`: what it is, if that is to be replaced.

    Raises:
        RunError: ``bad_value``, ``shape_mismatch``.
    """
    if isinstance(now, ScopeStack):
        raise RunError(
            f"{shorten(blob)} holds a stack of workspaces: operators put them there, and take them off.",
            kind="bad_value",
            blobs=[blob],
            ways_out=["Give a blob of numbers another value: one that the nested net reads, before it runs."],
        )
    where = device if now is None else device_of(now)
    if now is not None and not hasattr(value, "dtype"):
        with suppress(TypeError, ValueError):  # said below, or by the workspace
            value = np.asarray(value).astype(now.dtype, casting="same_kind")
    holder = Workspace(where)
    holder.feed(blob, value)
    array = holder.fetch(blob, device=None)
    if now is not None and (array.shape, array.dtype) != (now.shape, now.dtype):
        raise RunError(
            f"{shorten(blob)} is {now.dtype} {now.shape}, and what is given for it is {array.dtype} {array.shape}.",
            kind="shape_mismatch",
            blobs=[blob],
            ways_out=[f"Give an array of {now.dtype} and shape {now.shape}."],
        )
    return array


def on_device(op: Operator, device: Device | None) -> Operator:
    """An operator that is to run on a device, where one is named.

    Raises:
        RunError: ``bad_device``: it runs nested nets.
    """
    if device is None:
        return op
    if op.type in NETS:
        raise RunError(
            f"{op.type} runs nested nets, each operator of which runs where it says itself, or where its inputs lie: "
            f"the {op.type} cannot be told to run on {device}.",
            kind="bad_device",
            ways_out=[
                "Step without a device.",
                f'Give the operators in its nets one: net.Tanh(..., device="{device}").',
            ],
        )
    return replace(op, device=device)
