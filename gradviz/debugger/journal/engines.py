"""The engines that can be recorded, by the types of what they take."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ...eager import Variable
from ...eager.journal import watch_backward
from ...program import GradientError, NetDef, RegistrationError
from ...runtime.watched import Progress
from .engine_recorder import record_engine
from .limits import Budget, Folder, agreed
from .net_recorder import record
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


class Engine(NamedTuple):
    """What records objects of a type.

    Attributes:
        record: (object, progress=, options) -> Recording.
        what, call: how messages speak of the objects, and of recording one.
        options: that it takes; None: any.
    """

    record: Callable[..., Recording]
    what: str
    call: str
    options: tuple[str, ...] | None


def _options(record: Callable[..., Any]) -> tuple[str, ...] | None:
    """What `record` takes besides the object."""
    _, *others = inspect.signature(record).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in others):
        return None
    return tuple(one.name for one in others if one.kind is not one.VAR_POSITIONAL and one.name != "progress")


_ENGINES: dict[type, Engine] = {
    NetDef: Engine(lambda net, ys=None, **more: record(net, ys, **more), "a net", "debug(net, ys)", _options(record)),
    Variable: Engine(record_backward, "Variables", "debug(y), y a Variable", _options(record_backward)),
}
_OURS = tuple(_ENGINES)


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
    if not isinstance(of, type) or of is object or of in _OURS:
        raise RegistrationError(
            f"No engine can be registered for {of!r}.",
            kind="bad_engine",
            ways_out=["Write register_engine(Value, record): Value is a class of your own."],
        )
    try:
        options = _options(record)
    except (TypeError, ValueError):
        raise RegistrationError(
            f"{record!r} cannot record a {of.__name__}.",
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
        wrong = [name for name in options if name not in engine.options]
        if wrong:
            raise _bad_option(engine, engine.options, wrong)
    return engine.record(given, **options, progress=progress)


def _engine_for(given: Any) -> Engine:
    """The engine for an object; what has none goes to that of nets, which says what there is."""
    for one in [given, *given] if isinstance(given, list | tuple) else [given]:
        for base in type(one).__mro__:
            if base in _ENGINES:
                return _ENGINES[base]
    return _ENGINES[NetDef]


def _bad_option(engine: Engine, options: Sequence[str], wrong: Sequence[str]) -> GradientError:
    others = [other.call for other in _ENGINES.values() if other.options and {*wrong} & {*other.options}]
    ways_out = [f"Choose from {', '.join(options)}." if options else "Leave it out: it takes none."]
    return GradientError(
        f"debug takes no {', '.join(wrong)} where it records the backward pass of {engine.what}.",
        kind="bad_argument",
        ways_out=[*ways_out, *[f"It belongs to {call}." for call in others]],
    )
