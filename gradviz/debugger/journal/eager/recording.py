"""Recordings of define-by-run passes: from Variables to everything that their ``backward`` would do."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from ....eager.expression import Expression, Recalled, recall, recorded, written
from ....eager.faults import bad_schedule, named
from ....eager.mode import current_mode, mode
from ....eager.passes import changes
from ....eager.rank import Arrived
from ....eager.variable import Variable
from ....gradient import Ys
from ....operators.registry import gradient_name
from ....program import GradientError, NetDef
from ....program.collection import uncollected
from ....program.events import Ran
from ....runtime.devices import copied, device_of
from ....runtime.store import Store
from ..limits import Budget, Folder, Limits, agreed
from ..nets import NetHalves, nets_of
from ..progress import Progress
from ..recording import Contents, Recording
from .grads import copies, noted
from .keeping import settle
from .lending import Lending
from .log import Log
from .rank_log import LogWriter, Notes, Seed, ToldAtOnce, told
from .shown import shown
from .tape import TapeLog, watched_tape
from .watched import WatchedPass

Roots = list[tuple[Variable, Any]]
"""Where a pass starts: Variables, and the gradients that are given for them."""

Schedule = Literal["rank", "tape"]

SCHEDULES: tuple[Schedule, ...] = ("rank", "tape")
"""The orders of which a recording can be made."""


class EagerRecording(Recording):
    """What a pass did that ran while it was recorded.

    Attributes:
        schedule: in which order functions were run backward.
        held: the Variables that held a gradient before the pass -> its version.
        lendings: what a tape takes from the pools of names while it is run backward.
    """

    schedule: Schedule
    lendings: Sequence[Lending] = ()

    @cached_property
    def expression(self) -> Expression:
        """What the code has computed."""
        raise NotImplementedError

    @cached_property
    def held(self) -> Mapping[str, str]:
        raise NotImplementedError

    @cached_property
    def net(self) -> NetDef:
        made = self.expression
        name = " + ".join(made.roots[:2]) + (" + …" if len(made.roots) > 2 else "")
        net = NetDef(f"{name}.backward()", external_inputs=made.leaves, external_outputs=made.roots)
        net.ops = list(made.operators)  # their names are legal, and need no check
        return net

    @cached_property
    def ranks(self) -> list[int]:
        """Of each forward operator; 0 where it is no function."""
        return [0 if function is None else function.rank for function in self.expression.functions]

    @cached_property
    def wanted(self) -> list[int]:
        """For each forward operator the inputs that want a gradient, as in `Function.wanted`."""
        return [-1 if function is None else function.wanted for function in self.expression.functions]

    @cached_property
    def nets(self) -> NetHalves:
        """The program as it is shown."""
        operators, count = list(map(shown, self.operators)), len(self.net.ops)
        return nets_of(operators[:count], operators[count:], ())


class RankRecording(EagerRecording):
    """What the rank schedule did: generating and running take turns, and `events` has them as they did.

    It is told from notes when it is looked at.
    """

    schedule = "rank"

    def __init__(self, recalled: Recalled, notes: Notes, store: Store | None, writer: LogWriter | None) -> None:
        self.store = store
        self._recalled = recalled
        self._notes = notes
        if writer is not None:
            self._writer = writer
            self.contents = self._contents_of(writer.log)

    @cached_property
    def expression(self) -> Expression:
        return written(self._recalled)

    @cached_property
    def _writer(self) -> LogWriter:
        return LogWriter(self.expression, self._notes, None)

    @cached_property
    def held(self) -> Mapping[str, str]:
        return self._writer.held

    @cached_property
    def ys(self) -> Ys:
        names = [(str(self.expression.name_of(y)), is_given) for y, _, is_given in self._notes.seeds]
        return _ys({name: gradient_name(name) if is_given else None for name, is_given in names})

    @cached_property
    def contents(self) -> Contents:
        with uncollected():
            return self._contents_of(told(self._writer, self._notes))

    def _contents_of(self, log: Log) -> Contents:
        settle(log.values)
        events = tuple(log.events)
        generation = tuple([event for event in events if not isinstance(event, Ran)])
        execution = tuple([event for event in events if isinstance(event, Ran)])
        return Contents((*self.net.ops, *log.operators), generation, execution, events, log.values)


class TapeRecording(EagerRecording):
    """What the tape schedule did: the pass was generated, and then its operators ran."""

    schedule = "tape"

    def __init__(self, expression: Expression, log: TapeLog, store: Store | None) -> None:
        self.store = store
        self.expression = expression
        self.held = log.grads.held
        self.ys = _ys(log.ys)
        operators = (*expression.operators, *log.operators)
        made, ran = tuple(log.generation), tuple(log.execution)
        self.contents = Contents(operators, made, ran, made + ran, log.values)
        self.lendings = log.lendings


def record_backward(
    y: Variable | Sequence[Variable],
    *,
    gradient: Any = None,
    schedule: str = "rank",
    retain_grad: bool = False,
    budget: Budget = None,
    spill: Folder = None,
    progress: Progress | None = None,
) -> EagerRecording:
    """Run backward from y and keep what happens; every Variable stays as it is, its ``grad`` too.

    Hooks in force are not told.

    Args:
        y: where to start; from several, what they send to a Variable is added.
        gradient: that of y, as `Variable.backward` takes it; for several a list.
        retain_grad: as `Variable.backward` takes it.
        budget, spill, progress: as in `gradviz.debugger.record`, interrupts too. What the code has computed does not
            count: its Variables keep it.

    Raises:
        StoreError: ``bad_budget``, ``bad_spill``.
        GradientError: as `Variable.backward` does before it starts; ``bad_ys``: y is no Variable that requires a
            gradient, or there is none. A fault met on the way is recorded as the last event, `Failed`.
    """
    by = next((known for known in SCHEDULES if known == schedule), None)
    if by is None:
        raise bad_schedule(schedule, SCHEDULES)
    roots = _roots(y, gradient)
    with agreed(budget, spill, progress) as limits:
        ys = [root for root, _ in roots]
        recalled = recall(recorded(ys), ys)
        if len(set(map(recalled.identity, ys))) < len(ys):
            raise _bad_ys("A Variable is there twice.", "Give each y once.")
        given = {root for root, own in roots if own is not None or root._grad_is_given}
        token = mode.set(current_mode()._replace(hooks=()))
        try:
            with uncollected():
                way = _by_tape if by == "tape" and recalled.functions else _by_rank
                return way(recalled, roots, given, retain_grad, limits)
        finally:
            mode.reset(token)


def _by_rank(
    recalled: Recalled, roots: Roots, given: set[Variable], retain_grad: bool, limits: Limits
) -> EagerRecording:
    notes = Notes(copies(recalled.holding))
    writer, at_once = None, None
    if limits.store is not None:
        writer = LogWriter(written(recalled), notes, limits.store)
        notes.visits = at_once = ToldAtOnce(writer, limits.store)

    def run(seeds: Sequence[tuple[Variable, Any]], **options: Any) -> Arrived:
        own = [(y, copied(gradient, device_of(gradient))) for y, gradient in seeds]
        notes.seeds += [Seed(y, gradient, y in given) for y, gradient in own]
        notes.has_begun = True
        return WatchedPass(notes.visits, notes.sums, limits, own, **options).run()

    try:
        notes.changes = noted(changes(roots, run, retain_grad))
    except Exception as error:
        if not notes.has_begun:
            raise
        notes.error = error
    if at_once is not None:
        at_once.end()
    return RankRecording(recalled, notes, limits.store, writer)


def _by_tape(
    recalled: Recalled, roots: Roots, given: set[Variable], retain_grad: bool, limits: Limits
) -> EagerRecording:
    made = written(recalled)
    log = TapeLog(made, copies(recalled.holding), limits)
    try:
        log.written(noted(changes(roots, watched_tape(log, made, given), retain_grad)))
    except Exception as error:
        if not log.has_begun:
            raise
        log.failed(error)
    settle(log.values)
    return TapeRecording(made, log, limits.store)


def _roots(y: Any, gradient: Any) -> list[tuple[Variable, Any]]:
    """Each y with the gradient that is given for it."""
    ys = [y] if isinstance(y, Variable) else list(y)
    for one in ys:
        if not isinstance(one, Variable):
            raise _bad_ys(f"{one!r} is no Variable.", "Give one Variable or a list of them: gradviz.debug(loss).")
        if not one.requires_grad:
            raise _bad_ys(
                f"{named(one)} requires no gradient, nor does anything that it was computed from.",
                "Make leaves that require one: gradviz.Variable(array, requires_grad=True).",
                "Compute it outside of no_grad().",
            )
    gradients = [gradient] if isinstance(y, Variable) else [None] * len(ys) if gradient is None else list(gradient)
    if not ys or len(gradients) != len(ys):
        raise _bad_ys(
            f"{len(gradients)} gradients are given for {len(ys)} Variables." if ys else "There is nothing to start at.",
            "Give one gradient for each, None for 1." if ys else "Give one Variable or a list of them.",
        )
    return list(zip(ys, gradients, strict=True))


def _bad_ys(message: str, *ways_out: str) -> GradientError:
    return GradientError(message, kind="bad_ys", ways_out=ways_out)


def _ys(ys: Mapping[str, str | None]) -> Ys:
    """What the pass started from, as nets are told: names, or with the names of the gradients that were given."""
    return dict(ys) if any(ys.values()) else list(ys)
