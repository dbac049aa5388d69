"""A net that stands still between operators: each joins and runs, then each gradient operator as its rule makes it.

Names are as they are by now: where an accumulation renames a gradient that was computed before, the recording has its
new name from the start. Values equal those of `record`; positions need not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from msgspec.structs import replace

from ...gradient import IR, Ys
from ...operators.registry import Array
from ...program import Device, Gradient, GradientError, GradientSlice, GradvizError, NetDef, Operator, RunError
from ...program.control_flow import NETS
from ...program.errors import code, count_of, listed, shorten
from ...program.events import (
    Accumulated,
    Completed,
    Event,
    GeneratorAdded,
    Played,
    Ran,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    stopped,
)
from ...program.net_halves import Key, nets_of
from ...program.operator import BlobVersion, Ssa, parts_of, play
from ...runtime import Workspace
from ...runtime.devices import available, device_of
from ...runtime.executor import execute
from ...runtime.planning import plan
from ...runtime.watched import Journal, interrupted
from .engine_rules import renamed, steps_renamed
from .gradient_shapes import Fit
from .net_recorder import check_arguments, check_seeds
from .recording import Recording

BEGIN = (Seeded, Visited, Skipped, Completed)
"""What a part of the pass begins with: what it brings is named for good when the next one begins."""


class Done(NamedTuple):
    """An operator that ran: forward operator `number`, or gradient operator."""

    is_backward: bool
    number: int
    outputs: list[Array]
    device: str
    seconds: float


class NetPass:
    """A forward net and then its backward pass, of which each operator runs when it is told to.

    Neither the net nor the workspace is changed. Operators that are added to the net while its backward pass has not
    begun come too.

    Args:
        net, ys, workspace, skip: as of `record`; the workspace is needed.

    Raises:
        GradientError: ``not_live``: the net has nested nets, or there is no workspace. What `record` raises.
    """

    fixed = None

    def __init__(self, net: NetDef, ys: Ys | None = None, *, workspace: Workspace | None = None, skip: int = 0) -> None:
        check_arguments(net, ys, workspace)
        if ys is None or workspace is None:
            missing = "differentiate: no ys are given" if ys is None else "run on: no workspace is given"
            raise _not_live(f"There is nothing to {missing}.", "Write live(net, ys, workspace=ws).")
        self._net, self._known = net, list(net.ops)
        self._ys, self._skip = ys, skip
        self._device = workspace.device
        self._blobs = {name: workspace.fetch(name, device=None) for name in workspace}
        self._leaves: dict[str, Array] = {}
        self._ops = list(net.ops)
        self._lines = [net.calls.line_of(op) for op in net.ops]
        _refuse_nested(self._ops)
        self._joined = 0
        self._made: list[Operator] = []
        # The events of the pass, and among them the operators that ran, in order.
        self._happened: list[Event | Done] = []
        self._events: Iterator[Event] | None = None
        self._ahead: Event | None = None
        # Gradient operators that were made and have not run.
        self._due: deque[int] = deque()
        self._is_over = False

    @property
    def next(self) -> str | None:
        """The operator that is next, as ``#3 Tanh``; None: the pass is over."""
        self._look_for_more()
        if self._is_over:
            return None
        if self._joined < len(self._ops):
            return f"#{self._joined} {self._ops[self._joined].type}"
        if self._due:
            return f"{self._made[self._due[0]].type} of the backward pass"
        return "the backward pass"

    def is_to_come(self, word: str) -> bool:
        """Whether something may yet be called so: an operator, a blob, or the gradient of one."""
        names = {name for op in self._ops for name in (*op.inputs, *op.outputs)}
        blob, sign, _ = word.partition("_grad")
        types = {f"{op.type}Gradient" for op in self._ops} | {op.type for op in self._ops[self._joined :]}
        return not self._is_over and (word in names or word in types or bool(sign and blob in names))

    def advance(self, device: str | None = None) -> bool:
        """Run the next operator, on a device if one is named; whether another one is next.

        Raises:
            RunError: it fails; everything is as before, and it is still next. ``bad_device``.
        """
        where = None if device is None else available(Device.parse(device) or self._device)
        self._look_for_more()
        if self._is_over:
            return False
        if self._joined < len(self._ops):
            self._join(where)
        else:
            if self._events is None:
                self._begin()
            if self._due:
                self._run_made(where)
            if not self._due:
                self._generate()
        return self.next is not None

    def feed(self, blob: str, value: Any) -> None:
        """Give a blob another value before anybody has read or written it.

        Raises:
            RunError: ``was_read``: an operator has; ``bad_value``.
        """
        done = [*self._ops[: self._joined], *(self._made[one.number] for one in self._done if one.is_backward)]
        readers = [op for op in done if blob in (*op.inputs, *op.outputs)]
        if readers:
            raise RunError(
                f"{shorten(blob)} was read or written by {readers[0].type} already: what was computed from it would be "
                "of another value.",
                kind="was_read",
                blobs=[blob],
                ways_out=["Begin anew, and feed it before: live(net, ys, workspace=ws)."],
            )
        holder = Workspace(self._device)
        holder.feed(blob, value)
        self._blobs[blob] = holder.fetch(blob, device=None)

    @property
    def workspace(self) -> Workspace:
        """The blobs as they are now, in a workspace of their own."""
        now = Workspace(self._device)
        values = self._values(self._done)
        last = {name: values[name, version] for name, version in sorted(values)}
        for name, array in {**self._blobs, **last}.items():
            now.feed(name, array)
        return now

    def skip(self) -> None:
        """Leave out the next operator of the net.

        Raises:
            GradientError: ``not_live``: the backward pass has begun.
        """
        if self._joined >= len(self._ops):
            raise _not_live(
                "An operator of the backward pass is not left out: gradients would be missing.",
                "Leave out an operator of the net before the backward pass begins.",
            )
        del self._ops[self._joined], self._lines[self._joined]

    def abort(self) -> None:
        """End it here; what happened stays recorded."""
        if (following := self.next) is not None:
            self._fail(interrupted(f"before {following}"))

    def recording(self) -> Recording:
        """What happened so far."""
        journal = self._journal()
        return Recording(lambda: journal)

    @property
    def _done(self) -> Iterator[Done]:
        """The operators that ran."""
        return (one for one in self._happened if isinstance(one, Done))

    @property
    def _of_pass(self) -> list[Event]:
        """The events, but for runs of operators."""
        return [one for one in self._happened if isinstance(one, Event)]

    def _look_for_more(self) -> None:
        """Operators may have been added to the net."""
        if len(self._net.ops) == len(self._known) and self._net.ops == self._known:
            return
        more = self._net.ops[len(self._known) :]
        if self._net.ops[: len(self._known)] != self._known or self._events is not None:
            when = "after its backward pass has begun" if self._events is not None else "in its beginning"
            raise _not_live(f"The net {self._net.name} was changed elsewhere, {when}.", "Begin anew: live(net, ys).")
        _refuse_nested(more)
        self._known += more
        self._ops += more
        self._lines += [self._net.calls.line_of(op) for op in more]

    def _join(self, device: Device | None) -> None:
        """Run the next operator of the net, which joins."""
        op = _on(self._ops[self._joined], device)
        done = self._executed(op, self._joined, is_backward=False)
        self._ops[self._joined] = op
        ssa = self._numbered()[self._joined]
        self._happened.append(
            Played(self._joined, op, ssa.in_versions, ssa.out_versions, code=self._lines[self._joined], numbered=True)
        )
        self._happened.append(done)
        self._joined += 1

    def _begin(self) -> None:
        """The backward pass begins.

        Raises:
            GradientError: it cannot; operators may still be added.
        """
        events = IR(self._ops, self._skip).backward_events(self._ys)
        for _ in self._ops:
            next(events)  # Played
        self._ahead = next(events)
        self._events = events
        self._generate()
        try:
            check_seeds(self._of_pass, self._blobs)
            fit, values = self._fit(), self._values(self._done)
            for position in range(-1, len(self._ops)):
                fit.check(position, values)
        except GradvizError as error:
            self._fail(error)

    def _generate(self) -> None:
        """Let the pass go on: to all that one operator of the net brings once that made an operator, or to its end."""
        assert self._events is not None
        try:
            while self._ahead is not None and not (self._due and isinstance(self._ahead, BEGIN)):
                self._happen(self._ahead)
                self._ahead = next(self._events, None)
        except GradientError as error:
            self._fail(error)
        self._is_over = self._is_over or (self._ahead is None and not self._due)

    def _happen(self, event: Event) -> None:
        """An event of the pass: operators that it makes are due."""
        self._happened.append(event)
        if isinstance(event, Accumulated):
            self._rename(event)
        if isinstance(event, Seeded) and event.operator is None:
            self._leaves.update({name: self._blobs[name] for name in parts_of(event.gradient) if name in self._blobs})
        made = [event.operator] if isinstance(event, Seeded) else getattr(event, "operators", ())
        for op in made:
            if op is not None:
                self._due.append(len(self._made))
                self._made.append(op)

    def _rename(self, event: Accumulated) -> None:
        """Gradients that are added are called otherwise from now on, those too that were computed before."""
        for one, reads in steps_renamed(event.renames):
            self._made[one.position] = renamed(self._made[one.position], one, reads=reads)

    def _run_made(self, device: Device | None) -> None:
        """Run the next gradient operator."""
        number = self._due[0]
        op = _on(self._made[number], device)
        fit = self._fit()
        try:
            done = self._executed(op, number, is_backward=True)
            fit.check(self._position(done), self._values([*self._done, done]))
        except GradvizError as error:
            raise fit.blamed(error) from error
        self._made[number] = op
        self._happened.append(done)
        self._due.popleft()

    def _fit(self) -> Fit:
        """The gradients so far, to be held against their blobs."""
        events = self._told(self._of_pass)
        return Fit(events, nets_of(self._ops, self._made, events))

    def _executed(self, op: Operator, number: int, *, is_backward: bool) -> Done:
        """Run an operator on what it reads by the names of now; where it fails, nothing has changed."""
        position = number + (len(self._ops) if is_backward else 0)
        reads: list[Key] = [(blob.name, blob.version) for blob in self._numbered()[position].reads]
        known = self._values(self._done)
        leaves = {key[0]: self._blobs[key[0]] for key in reads if key not in known and key[0] in self._blobs}
        values = leaves | {key[0]: known[key] for key in reads if key in known}
        # Two gradients of one blob have one name until an accumulation tells them apart.
        own = [name if op.outputs.index(name) == slot else f"{name}_{slot}" for slot, name in enumerate(op.outputs)]
        begun = perf_counter()
        try:
            execute(plan([replace(op, outputs=own)], values, self._device).steps, values)
        except RunError as error:
            # It was planned alone, as number 0.
            message = error.message.replace("Operator #0", f"Operator #{position}", 1)
            raise RunError(
                message, kind=error.kind, operator_index=position, blobs=error.blobs, ways_out=error.ways_out
            ) from error
        seconds = perf_counter() - begun
        self._leaves |= leaves
        outputs = [values[name] for name in own]
        return Done(is_backward, number, outputs, str(device_of(outputs[0])) if outputs else "cpu", seconds)

    def _position(self, one: Done) -> int:
        """Where an operator that ran stands in the whole program."""
        return one.number + (len(self._ops) if one.is_backward else 0)

    def _fail(self, error: GradvizError) -> None:
        self._happened.append(stopped(error, self._of_pass))
        self._due.clear()
        self._ahead, self._is_over = None, True

    def _numbered(self) -> list[Ssa[BlobVersion]]:
        """Every operator with its versions."""
        blobs: dict[str, list[BlobVersion]] = {}
        return [play(op, blobs, BlobVersion) for op in (*self._ops, *self._made)]

    def _values(self, ran: Iterable[Done]) -> dict[Key, Array]:
        """What is known: leaves that were read, and what operators wrote."""
        numbered = self._numbered()
        values: dict[Key, Array] = {(name, 0): array for name, array in self._leaves.items()}
        for one in ran:
            for blob, array in zip(numbered[self._position(one)].writes, one.outputs, strict=True):
                values[blob.name, blob.version] = array
        return values

    def _journal(self) -> Journal:
        numbered = self._numbered()
        operators = tuple(ssa.op for ssa in numbered)
        events = tuple(self._told(self._happened))
        net = NetDef(self._net.name, self._ops)
        return Journal(
            "live", net, self._ys, operators, events, self._values(self._done), self._summary, skip=self._skip
        )

    def _told(self, happened: Sequence[Event | Done]) -> list[Event]:
        """The events, with the names that gradients have by now."""
        numbered, events = self._numbered(), list[Event]()
        # Of the rule that was applied last, what it called its outputs, and what these are called now.
        names: dict[str, deque[str]] = {}
        for one in happened:
            match one:
                case Done():
                    ssa = numbered[position := self._position(one)]
                    event: Event = Ran(position, ssa.op, ssa.in_versions, ssa.out_versions, one.device, one.seconds)
                case Seeded() if one.position is not None:
                    op = self._made[one.position]
                    event = replace(one, operator=op, gradient=op.outputs[0])
                case RuleApplied():
                    made = self._made[one.position : one.position + len(one.operators)]
                    names, of_inputs = _new_names(one.operators, made), _new_names(one.operators, made)
                    event = replace(one, operators=made, g_input=[_named(each, of_inputs) for each in one.g_input])
                case GeneratorAdded() if one.position is not None:
                    named = _named(one.gradient, names)
                    event = one if named is None else replace(one, gradient=named)
                case Accumulated():
                    made = self._made[one.position : one.position + len(one.operators)]
                    event = replace(one, renames=[], operators=made)
                case _:
                    event = one
            events.append(event)
        return events

    def _summary(self, journal: Journal) -> str:
        ys = listed([code(y) for y in self._ys])
        following = self.next
        said = f"A net of {count_of(len(self._ops), 'operator')}, to be differentiated from {ys}, run one by one"
        if following is None:
            return f"{said}. The pass is over."
        return f"{said}. It stands still before {following}: what is behind has not happened yet."


def _on(op: Operator, device: Device | None) -> Operator:
    """An operator that is to run on a device, where one is named."""
    return op if device is None else replace(op, device=device)


def _new_names(before: Sequence[Operator], now: Sequence[Operator]) -> dict[str, deque[str]]:
    """What outputs of operators were called -> what they are called now, one after the other where inputs shared it."""
    found: dict[str, deque[str]] = {}
    for one, other in zip(before, now, strict=True):
        for old, new in zip(one.outputs, other.outputs, strict=True):
            if new not in (called := found.setdefault(old, deque())):
                called.append(new)
    return found


def _named(gradient: Gradient | None, names: Mapping[str, deque[str]]) -> Gradient | None:
    """A gradient as it is called now; where there are several of its name, the next of them."""
    if gradient is None:
        return None
    parts = [
        called.popleft() if len(called := names.get(one, deque([one]))) > 1 else called[0] for one in parts_of(gradient)
    ]
    return GradientSlice(*parts) if isinstance(gradient, GradientSlice) else parts[0]


def _refuse_nested(operators: list[Operator]) -> None:
    for op in operators:
        if op.type in NETS:
            raise _not_live(
                f"{op.type} runs nested nets, between whose operators there is no standing still.",
                "Record the whole pass, and step in that: debug(net, ys, workspace=ws).",
            )


def _not_live(message: str, *ways_out: str) -> GradientError:
    return GradientError(message, kind="not_live", ways_out=ways_out)
