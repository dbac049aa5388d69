"""The tape schedule, watched: the IR's events, the run of its operators on what is there already, and ``grad``.

The pass is that of the schedule, with an eye on each operator.
"""

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import msgspec

from ...gradient import IR
from ...operators.gradients import gradient_name
from ...operators.registry import Array
from ...program import GradvizError, Operator
from ...program.events import Accumulated, Event, GradWritten, Played, Ran, RuleApplied, Seeded, stopped
from ...program.net_halves import Key, nets_of
from ...program.operator import BlobVersion, Ssa
from ...runtime.devices import CPU, copied, device_of
from ...runtime.watched import Limits, interrupted
from ..expression import Expression
from ..function import Function
from ..gradients import ABSENT
from ..plan import Step, kernel_of, timed
from ..rank import Arrived
from ..tape import TapePass
from ..variable import Variable
from .log import Log, NotedChange, called, failed, is_python, shown, unwanted


class TapeLog(Log):
    """Grows while a tape is differentiated and run: the events of the IR, then those of the run, in which no forward
    operator runs again.

    Attributes:
        program: the gradient operators with the versions of their blobs.
        running: the function that goes backward on its own, by its index; None: none, or all are of the table.
        limits: within which it is recorded.
    """

    engine = "tape"
    last = GradWritten

    def __init__(self, expression: Expression, grads_before: Mapping[Variable, Array], limits: Limits) -> None:
        super().__init__(expression, grads_before, limits.store)
        self.program: Sequence[Ssa[BlobVersion]] = ()
        self.running: int | None = None
        self._gradients: Mapping[str, Any] = {}
        self._runs = False
        self.limits = limits

    def generate(self, ys: dict[str, str | None]) -> None:
        """The IR makes the backward pass of `ys`; the forward operators follow, which ran when they were called.

        Raises:
            GradvizError: as the IR does; what has happened until then is kept.
        """
        self.ys = ys
        ir = IR(self.expression.operators)
        try:
            for event in ir.backward_events(ys):
                self.events.append(self._shown(event))
                if self.limits.interrupts.is_asked:
                    raise interrupted(f"after event {len(self.events)}, while the pass was generated")
        finally:
            self.operators = ir.gradient_ops
        self._gradients = ir.gradient_map
        self._runs = True
        net = nets_of(self.expression.operators, self.operators, [])
        self.program = net.parts[True].program
        for index, ssa in enumerate(net.parts[False].program):
            self._ran_forward(index, shown(ssa.op), ssa.in_versions, ssa.out_versions)

    def ran(self, position: int, outputs: Sequence[Array | None], seconds: float) -> None:
        """Gradient operator `position` has run."""
        ssa = self.program[position]
        for key, array in zip(ssa.written, outputs, strict=False):
            if array is not None:
                self.values[key] = array
        device = str(next((device_of(array) for array in outputs if array is not None), "cpu"))
        at = len(self.expression.operators) + position
        op = shown(ssa.op)
        self.events.append(Ran(at, op, ssa.in_versions, ssa.out_versions, device, seconds))
        self.limits.pace.reached(len(self.events), position + 1, len(self.operators))
        if self.limits.interrupts.is_asked:
            raise interrupted(f"after gradient operator #{at} {op}")

    def adds_up(self, event: Accumulated) -> bool:
        """Whether gradients are added where the IR has it so: it does not know for what none is wanted."""
        return sum(one.index is None or self._wants(one.index, event.blob) for one in event.contributions) > 1

    def _wants(self, index: int, blob: str) -> bool:
        """Whether a function sends a gradient to what it has read as `blob`."""
        function = self.expression.functions[index]
        slots = [slot for slot, name in enumerate(self.expression.operators[index].inputs) if name == blob]
        return function is None or any(function.wanted >> slot & 1 for slot in slots)

    def written(self, changes: Sequence[NotedChange]) -> None:
        """What becomes of every ``grad``."""
        self._write_grads(changes, self._gradients.get)

    def failed(self, error: Exception) -> None:
        """The pass stops with an error."""
        if self._runs or not isinstance(error, GradvizError):
            self.events.append(failed(error, self.expression, self.running))
        else:
            self.events.append(stopped(error, self.events))

    def seed(self, y: str, gradient: Array) -> str:
        """The name of the gradient that is given for y."""
        name = self._names.take(gradient_name(y))
        self.values[name, 0] = copied(gradient)
        return name

    def _shown(self, event: Event) -> Event:
        """An event of the IR, its operators as people read them, with rank, line and unwanted inputs of functions."""
        if isinstance(event, Played):
            return called(event.index, shown(event.op), self.expression.functions[event.index])
        if isinstance(event, RuleApplied):
            op, function = self.expression.operators[event.index], self.expression.functions[event.index]
            return msgspec.structs.replace(
                event,
                operators=list(map(shown, event.operators)),
                unwanted=unwanted(function, len(op.inputs)),
                by="method" if is_python(op) else "rule",
            )
        return event


class WatchedTape(TapePass):
    """A pass that tells `log` of each gradient operator that runs, under the position that the IR has given it."""

    is_watched = True

    def __init__(self, log: TapeLog, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._log = log
        outermost = [event for event in log.events if not event.path]
        self._starts = {event.index: event.position for event in outermost if isinstance(event, RuleApplied)}
        sums = [event for event in outermost if isinstance(event, Accumulated) and log.adds_up(event)]
        self._sums = iter([event.position + at for event in sums for at in range(len(event.operators))])
        self._places: Sequence[int] = ()
        self._values: list[Any] = []
        self._keys: dict[int, Key] = {}
        for event in outermost:
            if isinstance(event, Seeded) and event.operator is not None and event.position is not None:
                fill = Step(kernel_of(event.operator, CPU), event.operator, tuple)
                log.ran(event.position, *timed(fill, [log.values[event.y, 0]]))

    def _input_gradients(self, function: Function, gys: Sequence[Any], wanted: int) -> Sequence[Any]:
        if (stand := self._log.limits.stand) is not None:
            stand(function)
        self._log.running = index = len(self._visits)
        plan, first, start = self._plan(function, gys), self._starts[index], perf_counter()
        self._places = [] if plan is None else [first + place for place in plan.places]
        gxs = super()._input_gradients(function, gys, wanted)
        if plan is None:
            wanted_ones = [gx for at, gx in enumerate(gxs) if wanted >> at & 1]
            # A function of the user's may keep what it returned, and change it.
            outputs = [None if gx is None else copied(gx) for gx in wanted_ones]
            self._log.ran(first, outputs, perf_counter() - start)
        else:
            for answer, gx in zip(plan.answers, gxs, strict=True):
                if len(answer) == 1 and answer[0] in self._keys and gx is not self._values[answer[0]]:  # it was cast
                    self._log.values[self._keys[answer[0]]] = gx
        self._log.running = None
        return gxs

    def _run_steps(self, steps: Sequence[Step], values: list[Any]) -> None:
        self._values, self._keys = values, {}
        for step, position in zip(steps, self._places, strict=True):
            outputs, seconds = timed(step, step.pick(values))
            self._keys.update(enumerate(self._log.program[position].written[: len(outputs)], len(values)))
            values += outputs
            self._log.ran(position, outputs, seconds)

    def _combined(self, op: Operator, arrays: Sequence[Any]) -> Any:
        position, start = next(self._sums), perf_counter()
        result = super()._combined(op, arrays)
        if result is not ABSENT:
            self._log.ran(position, [result], perf_counter() - start)
        return result


def watched_tape(log: TapeLog, given: set[Variable]) -> Callable[..., Arrived]:
    """The tape schedule, as `passes` takes it, that tells `log`; `given`: the seeds that somebody gave."""

    def run(seeds: Sequence[tuple[Variable, Any]], **options: Any) -> Arrived:
        starts = [(y, gradient) for y, gradient in seeds if y.creator is not None]
        names = [str(log.expression.name_of(y)) for y, _ in starts]
        log.generate(
            {
                name: log.seed(name, gradient) if y in given else None
                for name, (y, gradient) in zip(names, starts, strict=True)
            }
        )
        functions = [function for function in log.expression.functions if function is not None]
        arrived = WatchedTape(log, functions, starts, **options).run()
        arrived.leaves.update((y, gradient) for y, gradient in seeds if y.creator is None)
        return arrived

    return run
