"""A net that stands still between operators: each joins and runs, then each gradient operator as its rule makes it.

An operator that runs nested nets joins and runs as one; what happens in these is told with it.

Names are as they are by now: where an accumulation renames a gradient that was computed before, the recording has its
new name from the start. Values equal those of `record`; positions need not.

A blob that is changed by hand gets a new version, copied from a leaf that holds what was given, ``h_by_hand``: so the
program that happened can be run again, and what was given has a gradient. The version before is copied, too, for the
operators of the backward pass that need it.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from msgspec.structs import replace

from ...gradient import IR, Ys
from ...gradient.nesting import Surroundings
from ...gradient.refusals import skip_of
from ...operators.gradients import is_gradient_of
from ...operators.registry import Array
from ...operators.scopes import ScopeStack
from ...program import Device, GradientError, GradvizError, NetDef, Operator
from ...program.control_flow import NETS, check_structure, implicit_inputs, operators_in
from ...program.crossing import Copies, Crossing
from ...program.errors import code, count_of, listed, shorten
from ...program.events import Accumulated, ChangedByHand, Event, Played, outermost_operators, stopped
from ...program.net import check_depth
from ...program.net_halves import NetHalves, nets_of, numbered
from ...program.operator import BlobVersion, Ssa, check_name, free_name, parts_of
from ...program.renaming import renamed, steps_renamed
from ...runtime import Workspace
from ...runtime.devices import available, device_of
from ...runtime.watched import Journal, interrupted
from .gradient_shapes import Fit
from .live_events import LiveEvents, placed
from .live_run import Done, LiveRun, fitting, on_device
from .net_recorder import blobs_of, check_arguments, check_seeds, given_seeds, refuse_sums

_ROUND = re.compile(r"\[\d+\]")


class NetPass:
    """A forward net and then its backward pass, of which each operator runs when it is told to.

    Neither the net nor the workspace is changed. Operators that are added to the net while its backward pass has not
    begun come too.

    Args:
        net, workspace, skip: as of `record`; the workspace is needed.
        ys: as of `record`; None: `differentiate` gives them when the net has run.

    Raises:
        GradientError: ``not_live``: there is no workspace. What `record` raises.
    """

    fixed = None

    def __init__(self, net: NetDef, ys: Ys | None = None, *, workspace: Workspace | None = None, skip: int = 0) -> None:
        check_arguments(net, ys, workspace)
        if workspace is None:
            raise _not_live("There is nothing to run on: no workspace is given.", "Write live(net, ys, workspace=ws).")
        self._net, self._net_ops = net, list(net.ops)
        self._ys = ys
        self._skip = self._skipped = skip_of(skip, net.ops, grows=True)
        self._device = workspace.device
        self._blobs = blobs_of(workspace)
        self._ops = list(net.ops)
        _check_nested(self._ops)
        # How many operators of the net have run: the others are next, in their order.
        self._joined = 0
        # The gradient operators, and the number among them of each that the IR has made.
        self._backward: list[Operator] = []
        self._places: list[int] = []
        self._run = LiveRun(workspace.device)
        # The events of the pass, and among them the operators that ran, in order.
        self._happened: list[Event | Done] = []
        self._steps: Iterator[Sequence[Event]] | None = None
        # What the pass brings next, with the operators that run then.
        self._coming: list[Event] = []
        # Versions that were changed by hand -> the blob that has a copy.
        self._copies: dict[str, str] = {}
        # Blobs and devices -> what their copies there are called.
        self._crossed: Copies = {}
        # Gradient operators that put a value that was given in place of what another one has written -> that one.
        self._replaced: dict[int, int] = {}
        # What has joined, with its versions and as a whole, and the events so far.
        self._program: list[Ssa[BlobVersion]] = []
        self._versions: dict[str, list[BlobVersion]] = {}
        self._halves: NetHalves | None = None
        self._events = LiveEvents()
        self._is_over = False

    @property
    def next(self) -> str | None:
        """The operator that is next, as ``#3 Tanh``; None: the pass is over."""
        with suppress(GradientError):  # the net was changed: who lets it go on hears so
            self._look_for_more()
        if self._is_over:
            return None
        if self._joined < len(self._ops):
            return f"#{self._joined} {self._ops[self._joined].type}"
        coming = [op for event in self._coming for op in outermost_operators(event)]
        if operators := [*self._backward[self._gone_back :], *coming]:
            return f"{operators[0].type} of the backward pass"
        return "what is added to the net" if self._ys is None else "the backward pass"

    @property
    def _gone_back(self) -> int:
        """How many operators of the backward pass have run."""
        return len(self._run.done) - self._joined

    @property
    def left(self) -> int:
        """As of `ChangeablePass`; raises GradientError, ``not_live``: the net was changed, too late."""
        self._look_for_more()
        return len(self._ops) - self._joined

    def is_to_come(self, word: str) -> bool:
        """Whether something may yet be called so: an operator, a blob, the gradient of one, a run of a nested net."""
        operators = [one for op in self._ops for one in (op, *operators_in(op))]
        names = {name for op in operators for name in (*op.inputs, *op.outputs)}
        types = {f"{op.type}Gradient" for op in operators}
        types.update(one.type for op in self._ops[self._joined :] for one in (op, *operators_in(op)))
        paths = [net.path for net in nets_of(self._ops, [], ()) if net.path]
        nets = {word for path in paths for word in (path[-1], "/".join(path))}
        run = _ROUND.sub("", word)
        return not self._is_over and (word in names | types or run in nets or is_gradient_of(word, names))

    def advance(self, device: str | None = None) -> bool:
        """Run the next operator, on a device if one is named; whether another one is next.

        Raises:
            RunError: it fails; everything is as before, and it is still next. ``bad_device``.
            GradientError: ``not_live``: the net has run, and nothing says what to differentiate. What `IR` raises
                where the backward pass cannot begin; ``device_conflict``: the net says that gradients which are added
                are computed on different devices, and does not ask for copies.
        """
        where = None if device is None else available(Device.parse(device) or self._device)
        self._look_for_more()
        if self._is_over:
            return False
        if self._joined < len(self._ops):
            self._join(where)
        else:
            if self._steps is None:
                self._begin()
            with self._undone_if_it_fails(more=bool(self._coming)):
                if self._coming:
                    self._happen()
                if self._gone_back < len(self._backward) and not self._is_over:
                    self._run_backward_op(where)
            if self._gone_back == len(self._backward):
                self._look_ahead()
        return not self._is_over and (self._ys is not None or self._joined < len(self._ops))

    def differentiate(self, ys: Ys) -> None:
        """Say what the backward pass is to start from, before it begins.

        Raises:
            GradientError: ``not_live``: it has begun. ``bad_ys``.
        """
        if self._steps is not None:
            raise _not_live("The backward pass has begun.", "Begin anew: live(net, ys, workspace=ws).")
        check_arguments(self._net, ys, None)
        self._ys = ys

    def feed(self, blob: str, value: Any) -> None:
        """Give a blob another value. Where an operator has read or written it, this is a new version of it.

        Args:
            value: as of `Workspace.feed`; of the shape and dtype of what the blob is, if an operator has read or
                written it, or the pass starts from it. Numbers and lists get that dtype.

        Raises:
            NetError: ``bad_name``. RunError: ``bad_value``, ``shape_mismatch``.
            GradientError: ``not_live``: the pass is over; an operator has not run yet that came together with the last
                one; the backward pass has begun, and the blob belongs to the net.
        """
        check_name(blob, "blob")
        self._look_for_more()
        done = [*self._ops[: self._joined], *self._backward[: self._gone_back]]
        is_met = any(blob in op.inputs or blob in op.outputs for op in done)
        now = self._run.now.get(blob)
        array = fitting(blob, value, now, self._device)
        if self._is_over:
            why = f"The pass is over: {shorten(blob)} is read by nobody any more."
            raise _not_live(why, "Begin anew, and feed it.")
        if not is_met:
            self._blobs[blob] = array
            if now is not None:  # the pass starts from it, and nothing has read it yet
                self._run.give_anew(blob, array)
            return
        if self._gone_back < len(self._backward):
            following = self._backward[self._gone_back].type
            raise _not_live(
                f"{following} came together with the operator before it, and has not run yet.",
                f"Step once more, then feed {shorten(blob)}.",
            )
        if self._steps is not None and any(blob in (*op.inputs, *op.outputs) for op in self._ops):
            why = f"it goes back through the net as this has run, with {shorten(blob)}"
            way_out = f"Feed {shorten(blob)} before the backward pass begins; or change a gradient."
            raise _not_live(f"The backward pass has begun: {why}.", way_out)
        with self._undone_if_it_fails():
            self._change(blob, array)

    @property
    def workspace(self) -> Workspace:
        """The blobs as they are now, but for stacks of workspaces, in a workspace of their own."""
        now = Workspace(self._device)
        for name, array in {**self._blobs, **self._run.now}.items():
            if not isinstance(array, ScopeStack):
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
        del self._ops[self._joined]
        self._skip -= self._joined < self._skip

    def abort(self) -> None:
        """End it here; what happened stays recorded."""
        if (following := self.next) is not None:
            self._fail(interrupted(f"before {following}"))

    def _look_for_more(self) -> None:
        """The operators of the net that have not run may be others."""
        if len(self._net.ops) == len(self._net_ops) and self._net.ops == self._net_ops:
            return
        settled = len(self._net_ops) - (len(self._ops) - self._joined)
        more = self._net.ops[settled:]
        if self._net.ops[:settled] != self._net_ops[:settled] or self._steps is not None:
            when = "after its backward pass has begun" if self._steps is not None else "in what has run"
            raise _not_live(f"The net {self._net.name} was changed {when}.", "Begin anew: live(net, ys).")
        _check_nested(more, self._joined)
        self._net_ops[settled:] = more
        self._ops[self._joined :] = more

    def _join(self, device: Device | None) -> None:
        """Run the next operator of the net, which joins, behind those that copy what it reads on another device."""
        added = self._ops[self._joined]
        crossing = self._crossing(added)
        *copies, op = crossing.join(on_device(added, device))
        with self._undone_if_it_fails(more=bool(copies)):
            for copy in copies:
                self._insert(copy)
                self._join_as(copy, added)
            self._join_as(op, added)
        self._crossed = crossing.copies

    def _insert(self, op: Operator) -> None:
        """Let an operator be the next one of the net."""
        self._ops.insert(self._joined, op)
        self._skip += self._joined < self._skip

    @contextmanager
    def _undone_if_it_fails(self, *, more: bool = True) -> Iterator[None]:
        """All is as before where what runs inside fails; `more` than one operator, which by itself changes nothing."""
        before = self.__dict__ | {"_run": self._run.copy()} if more else {}
        lists = {name: one.copy() for name, one in before.items() if isinstance(one, list | dict)}
        try:
            yield
        except BaseException:
            self.__dict__.update(before | lists)
            self._renumber()
            raise

    def _crossing(self, op: Operator) -> Crossing:
        """What lies where that an operator reads, and its copies on other devices."""
        arrays = ChainMap(self._run.now, self._blobs)
        copies = {} if self._joined == self._skip else self._crossed  # what is skipped has copies of its own
        lying = {name: device_of(arrays[name]) for name in (*op.inputs, *copies.values()) if name in arrays}
        return Crossing(lying, self._device, lambda name: name in self._taken, copies)

    def _join_as(self, op: Operator, added: Operator) -> None:
        """Run the next operator as `op`: one that was `added` to the net, or one that copies what that reads."""
        program = [*self._numbered, numbered(op, self._versions)]
        nets = nets_of([*self._ops[: self._joined], op], [], (), program)
        done = self._run.run(op, nets, self._blobs)
        self._ops[self._joined], self._program, self._halves = op, program.copy(), nets
        ssa, implicit = program[-1], implicit_inputs(op)
        # What it may leave as it is it reads, too: the version before the one that it writes.
        written = dict(zip(op.outputs, ssa.out_versions, strict=True))
        played = Played(
            self._joined,
            replace(ssa.op, inputs=[*ssa.op.inputs, *implicit]) if implicit else ssa.op,
            (*ssa.in_versions, *[written[name] - 1 for name in implicit]),
            ssa.out_versions,
            code=self._net.calls.line_of(added),
            inside=tuple(map(self._net.calls.line_of, operators_in(op))),
            numbered=True,
        )
        self._happened += [played, done]
        self._joined += 1

    def _change(self, blob: str, array: Array) -> None:
        """Let a blob have another value, which is a new version of it."""
        given = free_name(f"{blob}_by_hand", self._taken.__contains__)
        self._blobs[given] = array
        put = Operator("Copy", [given], [blob], is_gradient=self._steps is not None)
        blobs = (one for ssa in reversed(self._numbered) for one in (*ssa.writes, *ssa.reads))
        before = next(one for one in blobs if one.name == blob)
        if self._steps is not None:
            number = len(self._backward)
            writer = next((at for at in reversed(range(number)) if blob in self._backward[at].outputs), None)
            if writer is not None:
                self._replaced[number] = self._replaced.get(writer, writer)
            self._backward.append(put)
            self._happened.append(
                ChangedByHand(blob=blob, version=before.version + 1, operators=[put], position=number)
            )
            self._halves = None
            self._run_backward_op(None)
            return
        joining = [put]
        if blob in self._run.now:  # else a branch that was not taken writes it
            copy = free_name(f"{blob}_before", self._taken.__contains__)
            copies = {of: copy if name == blob else name for of, name in self._copies.items()}
            self._copies = copies | {str(before): copy}
            joining.insert(0, Operator("Copy", [blob], [copy]))
        first = len(self._happened)
        for op in joining:
            self._insert(op)
            self._join(None)
        played, ran = self._happened[first::2], self._happened[first + 1 :: 2]
        self._happened[first:] = [*played, ChangedByHand(blob=blob, version=before.version + 1), *ran]

    @property
    def _taken(self) -> set[str]:
        """The names of all blobs."""
        return {blob for op in (*self._ops, *self._backward) for blob in (*op.inputs, *op.outputs)} | self._blobs.keys()

    def _begin(self) -> None:
        """The backward pass begins.

        Raises:
            GradientError: it cannot; operators may still be added.
        """
        if self._ys is None:
            raise _not_live(
                "The net has run, and nothing says what to differentiate.",
                'Write live.differentiate(["loss"]), or add operators to the net.',
            )
        if not self._net.copies:
            refuse_sums(self._net.ops, self._skipped, self._ys)
        steps = IR(self._ops, self._skip, around=Surroundings(copies=self._copies)).backward_steps(self._ys)
        self._coming = [event for event in next(steps) if not isinstance(event, Played)]
        self._steps = steps
        try:
            check_seeds(self._coming, self._blobs)
            self._happen()
            fit = self._fit()
            for position in range(-1, len(self._ops)):
                fit.check(position, self._run.values)
        except GradvizError as error:
            self._fail(error)
        if not self._backward:
            self._look_ahead()

    def _look_ahead(self) -> None:
        """Let the pass go on to the next operators; at its end, all happens."""
        assert self._steps is not None
        try:
            while not (self._is_over or any(map(outermost_operators, self._coming))):
                events = next(self._steps, None)
                self._coming += events or ()
                self._is_over = events is None
        except GradientError as error:
            self._happen()
            self._fail(error)
        if self._is_over:
            self._happen()

    def _happen(self) -> None:
        """What was to come happens: operators join, and are called as they are from now on."""
        for event in self._coming:
            operators = outermost_operators(event)
            self._places += range(len(self._backward), len(self._backward) + len(operators))
            self._backward += operators
            if isinstance(event, Accumulated) and not event.path and event.renames:
                self._rename(event)
            for seed in given_seeds([event]):
                self._run.give({name: self._blobs[name] for name in parts_of(seed.gradient) if name in self._blobs})
            self._happened.append(placed(event, self._places))
        self._coming, self._halves = [], None

    def _rename(self, event: Accumulated) -> None:
        """Gradients that are added are called otherwise from now on, those too that were computed before."""
        is_inside = False
        for one, reads in steps_renamed(event.renames):
            number = self._places[one.position]
            self._backward[number] = renamed(self._backward[number], one, reads=reads)
            is_inside |= self._backward[number].type in NETS and number < self._gone_back
            for other in [other for other, of in self._replaced.items() if of == number]:
                if one.old in self._backward[other].outputs:
                    self._backward[other] = renamed(self._backward[other], replace(one, slot=0), reads=False)
        self._renumber()
        self._run.rename(self._nets, is_inside=is_inside)
        self._events = LiveEvents()

    def _renumber(self) -> None:
        """Number what has joined anew: operators are others now, or read or write other names."""
        self._program, self._versions, self._halves, self._events = [], {}, None, LiveEvents()

    def _run_backward_op(self, device: Device | None) -> None:
        number = self._gone_back
        op = on_device(self._backward[number], device)
        # Two gradients of one blob have one name until an accumulation tells them apart.
        own = [name if op.outputs.index(name) == slot else f"{name}_{slot}" for slot, name in enumerate(op.outputs)]
        fit = self._fit()
        try:
            done = self._run.run(replace(op, outputs=own), self._nets, self._blobs, fit.check)
        except GradvizError as error:
            raise fit.blamed(error) from error
        if op is not self._backward[number]:
            self._backward[number] = op
            self._renumber()
        self._happened.append(done)

    def _fit(self) -> Fit:
        """The gradients so far, to be compared with their blobs."""
        return Fit(self._current_events.of_pass, self._nets)

    def _fail(self, error: GradvizError) -> None:
        self._happened.append(stopped(error, self._current_events.of_pass))
        self._is_over = True

    @property
    def _current_events(self) -> LiveEvents:
        self._events.go_on(self._happened, self._numbered, len(self._ops))
        return self._events

    @property
    def _nets(self) -> NetHalves:
        """What has joined, with the nets nested in it."""
        if self._halves is None:
            events = self._current_events.of_pass
            self._halves = nets_of(self._ops[: self._joined], self._backward, events, [*self._numbered])
        return self._halves

    @property
    def _numbered(self) -> list[Ssa[BlobVersion]]:
        """The operators that have joined, with their versions."""
        for op in [*self._ops[: self._joined], *self._backward][len(self._program) :]:
            self._program.append(numbered(op, self._versions))
        return self._program

    def journal(self) -> Journal:
        """What happened so far."""
        nets, runs, net = self._nets, self._run.notes.runs, NetDef(self._net.name)
        net.ops = self._ops.copy()
        operators, events = (*self._ops, *self._backward), tuple(self._current_events.events)
        ys, values = [] if self._ys is None else self._ys, self._run.values.copy()
        return Journal("live", net, ys, operators, events, values, self._summary, lambda _: nets, self._skip, runs=runs)

    def _summary(self, journal: Journal) -> str:
        summary = f"A net of {count_of(len(self._ops), 'operator')}, "
        if self._ys is None:
            summary += "run one by one, and not differentiated yet"
        else:
            summary += f"to be differentiated from {listed([code(y) for y in self._ys])}, run one by one"
        following = self.next
        if following is None:
            return f"{summary}. The pass is over."
        return f"{summary}. It stands still before {following}: what is behind has not happened yet."


def _check_nested(operators: Sequence[Operator], first: int = 0) -> None:
    """Refuse operators, numbered from `first` on, that run nested nets and are misbuilt."""
    for index, op in enumerate(operators, first):
        if op.type in NETS:
            check_depth(op, index, GradientError)
            check_structure(op, index, GradientError)


def _not_live(message: str, *ways_out: str) -> GradientError:
    return GradientError(message, kind="not_live", ways_out=ways_out)
