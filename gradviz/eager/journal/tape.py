"""The tape schedule, watched: the IR's events, the run of the flow on the values that are there, and ``grad``.

The plan and its run are those of the schedule, with an eye on each step.
"""

from collections.abc import Callable, Container, Iterator, Mapping, MutableMapping, Sequence
from time import perf_counter
from typing import Any

import msgspec

from ...gradient import IR
from ...operators.registry import Array, gradient_name
from ...program import GradvizError, Operator
from ...program.events import Event, Played, Ran, RuleApplied, stopped
from ...program.net_halves import Key, NetHalves, nets_of
from ...runtime.devices import copied, device_of
from ...runtime.shelf import feed, new_values
from ...runtime.watched import Limits, interrupted
from ..call import OperatorFunction
from ..expression import Expression
from ..function import Function
from ..plan import Observer, observed
from ..rank import Arrived
from ..tape import Segment, TapePlan, TapeRun, gradient_flow, plan_tape
from ..variable import Variable
from .functions import failed, is_python, known_before, shown, unwanted
from .grads import Grads, NotedChange
from .naming import RankNames

Ys = dict[str, str | None]
"""The roots by name -> the name of the gradient that is given, None for ones."""


class TapeLog:
    """Grows while a tape is differentiated and run.

    Attributes:
        events: those of the IR, then those of the run, in which no forward operator runs again.
        operators: the gradient operators.
        values: blob version -> array.
        held: the Variables that held a gradient before the pass -> its version.
        ys: what the pass started from.
        has_begun: whether the pass has started.
        running: the function that goes backward on its own, by its index; None: none, or all are of the table.
    """

    def __init__(self, expression: Expression, held: Mapping[Variable, Array], limits: Limits) -> None:
        self.events: list[Event] = []
        self.operators: list[Operator] = []
        self.values: MutableMapping[Key, Array] = new_values(limits.store)
        feed(self.values, {(name, 0): array for name, array in expression.values.items()})
        self._names = RankNames(expression.values)
        self._grads = Grads(expression, held, self._names.fresh, self.values)
        self.held = self._grads.held
        self.ys: Ys = {}
        self.has_begun = False
        self.running: int | None = None
        self._gradients: Mapping[str, Any] = {}
        self._runs = False
        self._expression = expression
        self._limits = limits

    def generate(self, ys: Ys) -> None:
        """The IR makes the backward pass of `ys`.

        Raises:
            GradvizError: as the IR does; what has happened until then is kept.
        """
        self.ys = ys
        ir = IR(self._expression.operators)
        try:
            for event in ir.backward_events(ys):
                self.events.append(self._shown(event))
                if self._limits.interrupts.is_asked:
                    raise interrupted(f"after event {len(self.events)}, while the pass was generated")
        finally:
            self.operators = ir.gradient_ops
        self._gradients = ir.gradient_map

    def net(self) -> NetHalves:
        """The program with the versions of its blobs."""
        return nets_of(self._expression.operators, self.operators, [])

    def known(self, net: NetHalves) -> None:
        """What the forward operators have returned is known."""
        self._runs = True
        for index, (op, ins, outs, _) in enumerate(net.part(False).steps):
            self.events.append(known_before(self._expression, index, shown(op), ins, outs))

    def ran(self, net: NetHalves, position: int, outputs: Sequence[Array | None], seconds: float) -> None:
        """Gradient operator `position` has run."""
        op, ins, outs, keys = net.part(True).steps[position]
        for key, array in zip(keys, outputs, strict=False):
            if array is not None:
                self.values[key] = array
        device = str(next((device_of(array) for array in outputs if array is not None), "cpu"))
        at = len(self._expression.operators) + position
        self.events.append(Ran(at, shown(op), ins, outs, device, seconds))
        limits = self._limits
        if (now := perf_counter()) > limits.pace.due:
            limits.pace.tell(now, len(self.events), position + 1, len(self.operators))
        if limits.interrupts.is_asked:
            raise interrupted(f"after gradient operator #{at} {shown(op)}")

    def written(self, changes: Sequence[NotedChange]) -> None:
        """What becomes of every ``grad``."""
        for event in self._grads.written(changes):
            gradient = None if event.after is None else self._gradients.get(event.blob)
            self.events.append(msgspec.structs.replace(event, gradient=gradient))

    def failed(self, error: Exception) -> None:
        """The pass stops with an error."""
        if self._runs or not isinstance(error, GradvizError):
            self.events.append(failed(error, self._expression, self.running))
        else:
            self.events.append(stopped(error, self.events))

    def seed(self, y: str, gradient: Array) -> str:
        """The name of the gradient that is given for y."""
        name = self._names.fresh(gradient_name(y))
        self.values[name, 0] = copied(gradient, device_of(gradient))
        return name

    def _shown(self, event: Event) -> Event:
        """An event of the IR with its operators as people read them, and with what is known of the functions."""
        if isinstance(event, Played):
            function = self._expression.functions[event.index]
            rank = None if function is None else function.rank
            return msgspec.structs.replace(event, op=shown(event.op), rank=rank)
        if isinstance(event, RuleApplied):
            op, function = self._expression.operators[event.index], self._expression.functions[event.index]
            return msgspec.structs.replace(
                event,
                operators=list(map(shown, event.operators)),
                unwanted=unwanted(function, len(op.inputs)),
                by="method" if is_python(op) else "rule",
            )
        return event


class WatchedTape(TapeRun):
    """One run of a tape that tells `log` of each gradient operator.

    Args:
        positions: of the gradient operators that the segments run, in order.
    """

    def __init__(self, log: TapeLog, plan: TapePlan, positions: Sequence[int], *given: Any) -> None:
        self._log = log
        self._net = log.net()
        self._keys: dict[int, Key] = {}
        self._places: dict[int, list[int]] = {}
        places = iter(positions)
        segments = []
        for segment in plan.segments:
            own = self._places[segment.end] = [next(places) for _ in segment.steps]
            steps = [observed(step, self._noting(at)) for step, at in zip(segment.steps, own, strict=True)]
            segments.append(segment._replace(steps=tuple(steps)))
            self._number(segment, own)
        log.known(self._net)
        super().__init__(TapePlan(segments, plan.leaves, plan.kept, plan.has_python), *given)

    def _number(self, segment: Segment, places: Sequence[int]) -> None:
        """Note which blob version each value is that a segment makes."""
        number = segment.end - sum(step.outputs for step in segment.steps)
        for step, at in zip(segment.steps, places, strict=True):
            for key in self._net.part(True).steps[at][3][: step.outputs]:
                self._keys[number] = key
                number += 1

    def _noting(self, at: int) -> Observer:
        return lambda outputs, seconds: self._log.ran(self._net, at, outputs, seconds)

    def _run_segment(self, segment: Segment, function: Function | None) -> None:
        self._log.running = segment.function
        super()._run_segment(segment, function)
        self._log.running = None

    def _run_function(self, segment: Segment, function: Function) -> None:
        start = perf_counter()
        super()._run_function(segment, function)
        if type(function) is OperatorFunction:
            return
        for step, at in zip(segment.steps, self._places[segment.end], strict=True):
            made = [plain_copy(value) for value in self._values[segment.end - step.outputs : segment.end]]
            self._log.ran(self._net, at, made, perf_counter() - start)

    def _cast(self, casts: Sequence[tuple[int, int]], function: Function) -> None:
        super()._cast(casts, function)
        for number, _ in casts:
            self._log.values[self._keys[number]] = self._values[number]


def plain_copy(array: Array | None) -> Array | None:
    """A copy of what a function of the user's returned, which it may keep and change."""
    return None if array is None else copied(array, device_of(array))


def watched_tape(log: TapeLog, expression: Expression, given: set[Variable]) -> Callable[..., Arrived]:
    """The tape schedule, as `passes` takes it, that tells `log`; `given`: the seeds that somebody gave."""

    def run(
        seeds: Sequence[tuple[Variable, Any]], *, create_graph: bool, retain: bool = False, keep: Container[int] = ()
    ) -> Arrived:
        log.has_begun = True
        starts = [(y, gradient) for y, gradient in seeds if y.creator is not None]
        named = {str(expression.name_of(y)): gradient for y, gradient in starts if y in given}
        ys = {
            str(name): log.seed(str(name), named[str(name)]) if name in named else None
            for name in (expression.name_of(y) for y, _ in starts)
        }
        log.generate(ys)
        kept = {f.uid for f in expression.functions if f is not None and (retain or id(f) in keep)}
        seeded = [name for name in ys.values() if name is not None]
        flow = gradient_flow(expression.operators, ys)
        plan = plan_tape(expression, flow, seeded, lambda function: function.uid in kept)
        tape = WatchedTape(
            log, plan, list(_positions(plan, flow.operators)), expression.functions,
            [gradient for y, gradient in starts if y in given], create_graph, None,
        )  # fmt: skip
        tape.run()
        leaves = {y: gradient for y, gradient in seeds if y.creator is None}
        return tape.arrived(Arrived(leaves, {}, []), kept, retain)

    return run


def _positions(plan: TapePlan, operators: Sequence[Operator]) -> Iterator[int]:
    """The positions of the steps of a plan among the operators of its flow, of which it leaves some out."""
    position = -1
    for step in (step for segment in plan.segments for step in segment.steps):
        position += 1
        while not _is_of(step.op, operators[position]):
            position += 1
        yield position


def _is_of(op: Operator, whole: Operator) -> bool:
    """Whether `op` is `whole`, perhaps without its last outputs."""
    return op.type == whole.type and op.inputs == whole.inputs and op.outputs == whole.outputs[: len(op.outputs)]
