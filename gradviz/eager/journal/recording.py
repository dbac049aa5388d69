"""Recordings of define-by-run passes: from Variables to everything that their ``backward`` would do."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any

from ...program import GradientError, NetDef
from ...program.code_line import stored
from ...program.errors import code, count_of, listed, repr_of
from ...program.events import Accumulated, Failed, Played
from ...program.net_halves import NetHalves, nets_of
from ...runtime.devices import copied
from ...runtime.watched import Journal, Limits, uncollected
from ..expression import Expression, Recalled, is_legal, recall, recorded, written
from ..faults import bad_schedule, named
from ..function import Function, in_mode
from ..passes import SCHEDULES, changes, seeds_of
from ..rank import Arrived
from ..variable import Variable
from .log import Log, copies, lendings, noted, shown
from .notes import Notes, Seed, WatchedPass
from .rank import RankLog
from .tape import TapeLog, watched_tape

Roots = list[tuple[Variable, Any]]
"""Where a pass starts: Variables, and the gradients that are given for them."""

Stand = Callable[[str, Callable[[], Journal]], None]
"""Is called before a function goes backward, ``#3 Tanh``, with what says what happened so far."""


def watch_backward(
    y: Variable | Sequence[Variable],
    limits: Limits,
    *,
    gradient: Any = None,
    schedule: str = "rank",
    retain_grad: bool = False,
    stand: Stand | None = None,
) -> Callable[[], Journal]:
    """Run backward from y and note what happens; every Variable stays as it is, its ``grad`` too.

    Hooks in force are not told.

    Args:
        y: where to start; from several, what they send to a Variable is added.
        limits: within which it is recorded. What the code has computed does not count: its Variables keep it.
        gradient: that of y, as `Variable.backward` takes it; for several a list.
        retain_grad: as `Variable.backward` takes it.
        stand: is called before each function that goes backward.

    Returns:
        What says what happened.

    Raises:
        GradientError: as `Variable.backward` does before it starts; ``bad_ys``: y is no Variable that requires a
            gradient, or there is none. A fault met on the way is recorded as the last event, `Failed`.
    """
    if schedule not in list(SCHEDULES):
        raise bad_schedule(schedule, SCHEDULES)
    roots = _roots(y, gradient)
    ys = [root for root, _ in roots]
    functions = recorded(ys)
    recalled = recall(functions, ys)._replace(callers_names=callers_names(functions))
    if len(set(map(recalled.identity, ys))) < len(ys):
        raise _bad_ys("A Variable is there twice.", "Give each y once.")
    seeds_of(roots)  # what raises here is no fault on the way
    given = {root for root, own in roots if own is not None or root._grad_is_given}
    watch = _by_tape if schedule == "tape" and recalled.functions else _by_rank
    # Who stands still does so for as long as people like.
    with in_mode(hooks=()), uncollected() if stand is None else nullcontext():
        return watch(recalled, roots, given, retain_grad, limits, stand)


def callers_names(functions: Sequence[Function]) -> dict[int, str]:
    """The number of a function -> the variable in which the caller stores its result.

    Of a call that applies several functions that is the result of the last one.

    Args:
        functions: in the order of creation.
    """
    names: dict[int, str] = {}
    after = None
    for function in reversed(functions):
        code, at = function.called_at
        goes_on = after is not None and after.called_at == (code, at) and after.label != function.label
        if code is not None and not goes_on and (name := stored(code, at)) and is_legal(name):
            names[function.uid] = name
        after = function
    return names


def _by_rank(
    recalled: Recalled, roots: Roots, given: set[Variable], retain_grad: bool, limits: Limits, stand: Stand | None
) -> Callable[[], Journal]:
    notes = Notes(copies(recalled.holding))

    @cache
    def log() -> RankLog:
        return RankLog(written(recalled), notes, limits.store)

    def so_far() -> Journal:
        log().catch_up()
        return _journal(log())

    @cache
    def whole() -> Journal:
        log().end()
        return _journal(log())

    def run(seeds: Sequence[tuple[Variable, Any]], **options: Any) -> Arrived:
        own = [(y, copied(gradient)) for y, gradient in seeds]
        notes.seeds += [Seed(y, gradient, y in given) for y, gradient in own]
        within = limits
        if stand is not None:
            within = limits._replace(stand=_standing(stand, log().expression, so_far))
        elif limits.store is not None:  # then the values of the functions before lie there
            within = limits._replace(stand=lambda function: log().catch_up())
        return WatchedPass(notes, within, len(recalled.functions), own, **options).run()

    try:
        notes.changes = noted(changes(roots, run, retain_grad))
    except Exception as error:
        notes.error = error
    limits.pace.end(None, notes.visited, notes.visited)
    if limits.store is not None:
        whole()
    return whole


def _standing(stand: Stand, expression: Expression, so_far: Callable[[], Journal]) -> Callable[[Function], None]:
    """What is called before a function of an expression."""
    operators = zip(expression.functions, expression.operators, strict=True)
    names = {
        function.uid: f"#{index} {shown(op).type}"
        for index, (function, op) in enumerate(operators)
        if function is not None
    }
    return lambda function: stand(names[function.uid], so_far)


def _by_tape(
    recalled: Recalled, roots: Roots, given: set[Variable], retain_grad: bool, limits: Limits, stand: Stand | None
) -> Callable[[], Journal]:
    expression = written(recalled)
    pools = lendings(expression)

    def journal() -> Journal:
        return _journal(log)._replace(pools=pools)

    if stand is not None:
        limits = limits._replace(stand=_standing(stand, expression, journal))
    log = TapeLog(expression, copies(recalled.holding), limits)
    try:
        log.written(noted(changes(roots, watched_tape(log, given), retain_grad)))
    except Exception as error:
        log.failed(error)
    limits.pace.end(len(log.events))
    return journal


def _journal(log: Log) -> Journal:
    expression, roots = log.expression, log.expression.roots
    name = " + ".join(roots[:2]) + (" + …" if len(roots) > 2 else "")
    net = NetDef(f"{name}.backward()", external_inputs=expression.leaves, external_outputs=roots)
    net.ops = list(expression.operators)  # their names are legal, and need no check
    operators = (*expression.operators, *log.operators)
    asked = dict(log.ys) if any(log.ys.values()) else list(log.ys)
    is_over = bool(log.events) and isinstance(log.events[-1], log.last)
    return Journal(
        log.engine, net, asked, operators, tuple(log.events), log.values, _summary, _nets,
        grads_before=log.grads_before, absent=_absent if is_over else None,
    )  # fmt: skip


def _absent(blob: str) -> tuple[str, str]:
    """Why a gradient has no value in a pass that is whole, and a way out."""
    return (
        "nobody wants it, or a function gave no gradient that it would be made of",
        "Make leaves with requires_grad=True, and return an array for each input from a backward method.",
    )


def _nets(journal: Journal) -> NetHalves:
    operators, count = list(map(shown, journal.operators)), len(journal.net.ops)
    return nets_of(operators[:count], operators[count:], ())


def _summary(journal: Journal) -> str:
    events = journal.events
    count = sum(isinstance(event, Played) for event in events)
    starts = listed(list(map(code, journal.ys)))
    sentence = f"{count_of(count, 'function')} led to {starts} when the code ran"
    if isinstance(last := events[-1], Failed):
        return f"{sentence}. The backward pass stops at the last event: {last.message}"
    if journal.engine == "tape":
        sentence += "; the tape that they are makes a program, whose gradient operators come next and then run"
        return f"{sentence} on the values that are there. Step to see how they come about."
    sums = sum(isinstance(event, Accumulated) and len(event.contributions) > 1 for event in events)
    go, ask = "they go" if count > 1 else "it goes", "asks" if len(journal.ys) == 1 else "ask"
    sentence += f"; {go} backward as {starts} {ask}, the greatest rank first"
    return f"{sentence}, with {count_of(sums, 'accumulation')}. Step to see who is next, and why."


def _roots(y: Any, gradient: Any) -> Roots:
    ys = [y] if isinstance(y, Variable) else list(y)
    for one in ys:
        if not isinstance(one, Variable):
            raise _bad_ys(
                f"{repr_of(one)} is no Variable.", "Give one Variable or a list of them: gradviz.debug(loss)."
            )
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
