"""The engines that can be recorded, by the types of what they take.

Of what a foreign engine yields, the net and its gradient operators are those of its events. What breaks a rule ends the
recording: the last event says which event it was and which rule, and what was recorded before stays.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np

from ...eager import Variable
from ...eager.journal import LiveBackward, watch_backward
from ...gradient import Ys
from ...program import GradientError, GradvizError, NetDef, RegistrationError
from ...program.errors import code, count_of, listed, message_of, repr_of
from ...program.events import About, Accumulated, Event, Failed, GradWritten, Ran, Seeded
from ...program.net_halves import nets_of
from ...runtime import Workspace
from ...runtime.pace import Progress
from ...runtime.watched import Journal, Limits, interrupted
from .engine_rules import Broken, EngineRules
from .gradient_shapes import Fit
from .net_pass import NetPass
from .net_recorder import Budget, Folder, agreed, record
from .recording import Recording


def record_backward(
    y: Variable | Sequence[Variable],
    *,
    gradient: Any = None,
    schedule: str = "rank",
    retain_grad: bool = False,
    budget: Budget = None,
    spill: Folder = None,
    progress: Progress | None = None,
) -> Recording:
    """Record what ``y.backward()`` would do; the arguments are those of `watch_backward` and of `record`.

    Raises:
        StoreError: ``bad_budget``, ``bad_spill``.
        GradientError: as `watch_backward`.
    """
    with agreed(budget, spill, progress) as limits:
        journal = watch_backward(y, limits, gradient=gradient, schedule=schedule, retain_grad=retain_grad)
        return Recording(journal, limits.store)


class LivePass(Protocol):
    """A backward pass that stands still between operators.

    Attributes:
        next: the operator that is next, as ``#3 tanh``; None: it is over.
        fixed: why nothing that is to come can be changed, and what to do instead; None: it is a `ChangeablePass`.
    """

    @property
    def next(self) -> str | None: ...
    @property
    def fixed(self) -> tuple[str, str] | None: ...
    def is_to_come(self, word: str) -> bool:
        """Whether something that is called so, and that the recording does not have, may come."""
        ...

    def advance(self) -> bool:
        """Run the next operator; whether another one is next."""
        ...

    def abort(self) -> None:
        """End it here; what happened stays recorded."""
        ...

    def journal(self) -> Journal:
        """What happened so far."""
        ...


class ChangeablePass(LivePass, Protocol):
    """A pass of which people change what is to come.

    Attributes:
        workspace: the blobs as they are now.
        left: how many operators of the net have not run.
    """

    @property
    def workspace(self) -> Workspace: ...
    @property
    def left(self) -> int: ...

    def advance(self, device: str | None = None) -> bool:
        """Run the next operator, on a device if one is named; whether another one is next."""
        ...

    def feed(self, blob: str, value: Any) -> None:
        """Give a blob another value."""
        ...

    def skip(self) -> None:
        """Leave out the next operator."""
        ...

    def differentiate(self, ys: Ys) -> None:
        """Say what the backward pass is to start from."""
        ...


class Engine(NamedTuple):
    """What records objects of a type.

    Attributes:
        record: (object, progress=, options) -> Recording.
        what, call: how messages speak of the objects, and of recording one.
        options: that it takes; None: any.
        live: (object, options) -> a pass that stands still; None: it cannot.
    """

    record: Callable[..., Recording]
    what: str
    call: str
    options: tuple[str, ...] | None
    live: Callable[..., LivePass] | None = None


def _options(record: Callable[..., Any]) -> tuple[str, ...] | None:
    """What `record` takes besides the object."""
    _, *others = inspect.signature(record).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in others):
        return None
    return tuple(one.name for one in others if one.kind is not one.VAR_POSITIONAL and one.name != "progress")


_ENGINES: dict[type, Engine] = {
    NetDef: Engine(
        lambda net, ys=None, **more: record(net, ys, **more), "a net", "debug(net, ys)", _options(record), NetPass
    ),
    Variable: Engine(record_backward, "Variables", "debug(y), y a Variable", _options(record_backward), LiveBackward),
}
_OURS = {*_ENGINES}


def add_engine(
    of: type, record: Callable[..., Recording], what: str, call: str, live: Callable[..., LivePass] | None = None
) -> None:
    """Let `gradviz.debug` take objects of a type that a bridge has an engine for; the arguments are `Engine`'s."""
    _ENGINES[of] = Engine(record, what, call, _options(record), live)
    _OURS.add(of)


def register_engine(of: type, record: Callable[..., Iterable[Any]]) -> None:
    """Let `gradviz.debug` take objects of a type: ``debug(object, **options)`` shows what `record` yields.

    Args:
        of: the type; objects of its subclasses, and lists and tuples of them, are taken too. Where it was registered
            before, the new `record` takes the place of the old one.
        record: ``record(object, **options)`` yields what a backward pass from `object` does, in order: events of
            `gradviz.events`, and among them mappings ``{"x@0": array or number}`` with the values of blob versions,
            each at or before the `Ran` or `GradWritten` that it belongs to. An `About` may come first.

    Raises:
        RegistrationError: ``bad_engine``: `of` is no type, or one that gradviz has an engine for; `record` is no
            function of an object.
    """
    if not isinstance(of, type) or of is object or issubclass(of, tuple(_OURS)):
        raise RegistrationError(
            f"No engine can be registered for {repr_of(of)}.",
            kind="bad_engine",
            ways_out=[
                "Write register_engine(Value, record): Value is a class of your own, and no net, Variable or tensor."
            ],
        )
    try:
        options = _options(record)
    except (TypeError, ValueError):
        raise RegistrationError(
            f"{repr_of(record)} cannot record a {of.__name__}.",
            kind="bad_engine",
            ways_out=["Write def record(value, **options): ... and yield events."],
        ) from None
    name = of.__name__
    _ENGINES[of] = Engine(partial(record_engine, record, name), f"a {name}", f"debug({name.lower()})", options)


def record_any(given: Any, options: dict[str, Any], progress: Progress | None) -> Recording:
    """Record with the engine for `given`, or for what a list or tuple of several is.

    Raises:
        GradientError: ``bad_argument``: its engine does not take an option. What the engine raises.
    """
    engine = _engine_for(given)
    if engine.options is not None:
        _check_options(engine, engine.options, options, "debug")
    return engine.record(given, **options, progress=progress)


def live_any(given: Any, options: dict[str, Any]) -> LivePass:
    """A pass from `given` that stands still before the first operator.

    Raises:
        GradientError: ``not_live``: its engine cannot. ``bad_argument``: it does not take an option. What it raises.
    """
    engine = _engine_for(given)
    if engine.live is None:
        lives = [other.what for other in _ENGINES.values() if other.live is not None]
        raise GradientError(
            f"A backward pass from a {type(given).__name__} cannot stand still.",
            kind="not_live",
            ways_out=[*[f"Give {one}." for one in lives], f"Record it whole, and step in that: {engine.call}."],
        )
    _check_options(engine, _options(engine.live) or (), options, "live")
    return engine.live(given, **options)


def _engine_for(given: Any) -> Engine:
    """The engine for an object; what has none goes to that of nets, which says what there is."""
    for one in [given, *given] if isinstance(given, list | tuple) else [given]:
        for base in type(one).__mro__:
            if base in _ENGINES:
                return _ENGINES[base]
    return _ENGINES[NetDef]


def _check_options(engine: Engine, taken: Sequence[str], given: Iterable[str], call: str) -> None:
    """Raise GradientError ``bad_argument`` where a call is given an option that an engine does not take."""
    wrong = [name for name in given if name not in taken]
    if not wrong:
        return
    others = [other.call for other in _ENGINES.values() if other.options and {*wrong} & {*other.options}]
    ways_out = [f"Choose from {', '.join(taken)}." if taken else "Leave it out: it takes none."]
    raise GradientError(
        f"{call} takes no {', '.join(wrong)} where it records the backward pass of {engine.what}.",
        kind="bad_argument",
        ways_out=[*ways_out, *[f"It belongs to {other}." for other in others]],
    )


END = object()
"""What is yielded last of all."""


def record_engine(
    record: Callable[..., Iterable[Any]], name: str, given: Any, /, *, progress: Progress | None = None, **options: Any
) -> Recording:
    """Record what ``record(given, **options)`` yields, which `name` is said of unless it says more.

    Raises:
        GradientError: ``bad_event``, ``engine_failed``: not even the first event can be recorded. A later fault is the
            last event, `Failed`.
    """
    with agreed(None, None, progress) as limits, np.errstate(all="ignore"):
        about, rules, error = _read(lambda: record(given, **options), name, limits)
        rules, error = _fitting(rules, error, about.engine or name)
        limits.pace.end(len(rules.events))
    if error is not None and not rules.events:
        raise error
    if error is not None:
        rules.events.append(_failed(error))
    journal = _journal(rules, about, name)
    return Recording(lambda: journal)


def _read(
    record: Callable[[], Iterable[Any]], name: str, limits: Limits
) -> tuple[About, EngineRules, GradvizError | None]:
    """What is yielded, up to its end or to what ends it."""
    about, rules, item = About(), EngineRules(), END
    try:
        for number, item in enumerate(_items(record)):
            if isinstance(item, About) and not number:
                about = _about(item)
            elif isinstance(item, Mapping):
                rules.take_values(item)
            elif isinstance(item, Event):
                rules.take(item)
            else:
                raise Broken("engines yield events of gradviz.events, and mappings from blob versions to values")
            if limits.interrupts.is_asked:
                raise interrupted(f"after event {len(rules.events)}")
            limits.pace.reached(len(rules.events))
        item = END
        rules.end()
        return about, rules, None
    except Broken as broken:
        fault: GradvizError = _bad_event(rules, item, broken, about.engine or name)
    except GradvizError as error:
        fault = error
    except Exception as error:
        fault = _engine_failed(rules, error, about.engine or name)
    return about, _beginning(rules, len(rules.events)), fault


def _items(record: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    yielded = record()
    if not isinstance(yielded, Iterable):
        raise Broken(f"events must be yielded; what it returned is {type(yielded).__name__}")
    return iter(yielded)


def _about(item: About) -> About:
    try:
        return msgspec.json.decode(msgspec.json.encode(item), type=About)
    except (TypeError, ValueError) as error:
        raise Broken(f"its fields must be those of About: {error}") from None


def _beginning(rules: EngineRules, count: int) -> EngineRules:
    """The first `count` events of `rules`, and the values that belong to them."""
    values = {key: (array, 0) for key, array in rules.values.items()}
    beginning = EngineRules({**values, **rules.given})
    with suppress(Broken):  # by a value that came late
        for event in rules.events[:count]:
            beginning.take(event)
    beginning.settle()
    return beginning


def _fitting(rules: EngineRules, error: GradvizError | None, engine: str) -> tuple[EngineRules, GradvizError | None]:
    """The events up to the first that brings a gradient that does not fit its blob."""
    operators = rules.program.operators
    nets = nets_of(operators[: rules.forward], operators[rules.forward :], rules.events)
    fit = Fit(rules.events, nets, is_table=False)
    for number, event in enumerate(rules.events):
        position = event.position if isinstance(event, Ran) else -1 if isinstance(event, Seeded) else None
        if position is not None:
            try:
                fit.check(position, rules.values)
            except GradvizError as misfit:
                what = f"Event {number + 1} of {engine}, {event.kind}, breaks"
                return _beginning(rules, number), _fault(what, misfit.message, misfit.blobs, number)
    return rules, error


def _journal(rules: EngineRules, about: About, name: str) -> Journal:
    operators, ys = rules.program.operators, rules.ys
    net = NetDef(about.name or f"{name}.backward()", operators[: rules.forward])
    return Journal(
        about.engine or name,
        net,
        dict(ys) if any(ys.values()) else list(ys),
        tuple(operators),
        tuple(rules.events),
        rules.values,
        (lambda _: about.summary) if about.summary else _summary,
        grads_before={
            event.blob: event.before
            for event in reversed(rules.events)
            if isinstance(event, GradWritten) and event.before is not None
        },
    )


def _summary(journal: Journal) -> str:
    """What a recording is about, where its engine does not say so."""
    forward, events = len(journal.net.ops), journal.events
    summary = f"{count_of(forward, 'operator')} of {journal.engine}"
    if journal.ys:
        summary += f", differentiated from {listed(list(map(code, journal.ys)))}"
    if isinstance(last := events[-1], Failed):
        return f"{summary}. It stops at the last event: {last.message}"
    sums = sum(isinstance(event, Accumulated) for event in events)
    summary += f": {count_of(len(journal.operators) - forward, 'gradient operator')}"
    return f"{summary}, with {count_of(sums, 'accumulation')}. Step to see how they come about."


def _bad_event(rules: EngineRules, item: Any, broken: Broken, engine: str) -> GradientError:
    """What `item` breaks."""
    count = len(rules.events) if broken.before is None else broken.before
    if isinstance(item, Mapping) or broken.before is not None:
        what = f"The values before event {count + 1} of {engine} break"
    elif item is END:
        what = f"The end of {engine}, after event {count}, breaks"
    else:
        what = f"Event {count + 1} of {engine}, {type(item).__name__}, breaks"
    return _fault(what, broken.rule, broken.blobs, len(rules.events))


def _fault(what: str, rule: str, blobs: Iterable[str], recorded: int) -> GradientError:
    return GradientError(
        f"{what} a rule: {rule.rstrip('.')}.",
        kind="bad_event",
        blobs=list(blobs),
        ways_out=[*_before(recorded), "Mend what the engine yields there, and record it again."],
    )


def _before(recorded: int) -> list[str]:
    """What is said of so many events that were recorded before a fault: of none there is no session to look at."""
    return ["What was recorded before is here."] if recorded else []


def _failed(error: GradvizError) -> Failed:
    """The last event; the engine's messages may hold characters that no file can."""

    def writable(texts: Iterable[object]) -> list[str]:
        return [str(text).encode(errors="backslashreplace").decode() for text in texts]

    kind, message, explanation = writable([error.kind, error.message, error.explain()])
    return Failed(kind, message, explanation, None, writable(error.blobs), writable(error.ways_out))


def _engine_failed(rules: EngineRules, error: Exception, engine: str) -> GradientError:
    count = len(rules.events)
    where = f"after event {count}, {rules.events[-1].kind}" if count else "before its first event"
    failed = GradientError(
        f"{engine} raised {type(error).__name__} {where}: {message_of(error).removesuffix('.')}.",
        kind="engine_failed",
        ways_out=_before(count),
    )
    failed.__cause__ = error
    return failed
