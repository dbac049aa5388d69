"""The flow of gradients through one net: which gradient each operator sent to which blob version, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from ...operators.registry import Array
from ...program.events import Accumulated, ChangedByHand, Event, HookRan, How, RuleApplied, Visited
from ...runtime.devices import current, device_of, moved
from ..journal import Statement, Writing, dense
from ..telling import arrival
from .net_view import NetView

Parts = tuple[Writing, ...]
"""The blob versions that a gradient consists of: one, or indices and values."""

E = TypeVar("E", bound=Event)


class Sent(NamedTuple):
    """A gradient of a blob version.

    Attributes:
        at: the position after the event that brought it.
        parts: what it consists of.
        how: how it came to be; "sum": an accumulation formed it.
        through: the forward operator that it came through, or at whose visit it was added up; None for a seed.
    """

    at: int
    parts: Parts
    how: How | str
    through: int | None


def sent(view: NetView, blob: Writing) -> Iterator[Sent]:
    """The gradients of a version and their sums, in the order of their coming; a seed is one."""
    return (_sent(view, at) for at in blob.arrivals)


def _sent(view: NetView, at: int) -> Sent:
    """What the event before position `at` brought, or added up."""
    event, parts = view.recorded.story.arrived_at(at)
    if isinstance(event, Accumulated):
        return Sent(at, tuple(parts), "sum", event.index)
    one = arrival(event)
    return Sent(at, tuple(parts), one.how, one.index)


def gradient_of(view: NetView, blob: Writing) -> Sent | None:
    """The gradient of a version as it is in the end; None: there is none."""
    return _sent(view, blob.arrivals[-1]) if blob.arrivals else None


def meant(writings: Sequence[Writing]) -> Writing:
    """Of several versions the one whose gradient is meant: the earliest one that has any, else the first."""
    return next((blob for blob in writings if blob.arrivals), writings[0])


def seeds(view: NetView) -> dict[Writing, Sent]:
    """What the pass started from at each y."""
    ys = [(view.net.version(*key), at) for key, at in view.net.ys.items()]
    return {y: _sent(view, at) for y, at in ys if at in y.arrivals}


def hooked(view: NetView, blob: Writing) -> list[str]:
    """The blob versions that a version leads to, it included, whose gradient a hook has changed."""
    recording = view.recorded.recording
    events = (event for _, event in recording.events_of(HookRan))
    hooks = {f"{one.blob}@{one.version}" for one in events if one.path == view.net.path}
    return sorted(hooks.intersection(map(str, computed_from(view, blob)))) if hooks else []


def fed(view: NetView, blob: Writing) -> list[str]:
    """The blob versions that a version leads to, it included, for whose gradient somebody fed another value."""
    changes = [] if view.net.path else view.recorded.recording.events_of(ChangedByHand)
    before = {view.net.called(one.blob, one.version - 1, at) for at, one in changes if one.position is not None}
    behind = computed_from(view, blob) if before else set()
    return sorted(str(one) for one in behind for each in sent(view, one) if not before.isdisjoint(each.parts))


def after_hooks(view: NetView, blob: Writing) -> Parts:
    """What hooks have made of the gradient of a version; empty: they have left it as it was."""
    after: Parts = ()
    for at, event in view.recorded.recording.events_of(HookRan):
        if event.path == view.net.path and (event.blob, event.version) == blob.key:
            after = tuple(view.net.parts(event.after, at))
    return after


def computed_from(view: NetView, blob: Writing) -> set[Writing]:
    """A version, and those that are computed from it."""
    behind = {blob}
    for statement in view.net.forward:
        if not behind.isdisjoint(statement.inputs):
            behind.update(statement.outputs)
    return behind


def _last(view: NetView, index: int, kind: type[E]) -> tuple[int, E] | None:
    """The last event of a kind in which the pass was at a forward operator, and the position after it."""
    for at in reversed(view.net.forward[index].visits):
        event = view.recorded.events[at - 1]
        if isinstance(event, kind):
            return at, event
    return None


def arriving(view: NetView, index: int) -> list[Parts | None]:
    """The gradient of each output of a forward operator when the pass came to it; None: it had none."""
    visited = _last(view, index, Visited)
    if visited is None:
        return []
    at, event = visited
    return [None if gradient is None else tuple(view.net.parts(gradient, at)) for gradient in event.g_output]


def arriving_after(view: NetView, blob: Writing) -> Iterator[Array]:
    """The gradients of the outputs of operators that read a version, as far as they were computed."""
    for statement in view.readers(blob):
        if statement.role == "forward":
            for one, parts in zip(statement.outputs, arriving(view, statement.number), strict=False):
                if parts is not None and view.array(parts[-1]) is not None:
                    yield array_of(view, one, parts)


def applied(view: NetView, index: int) -> RuleApplied | None:
    """What the rule of a forward operator answered; None: it was not asked."""
    last = _last(view, index, RuleApplied)
    return None if last is None else last[1]


def gives(view: NetView, index: int) -> list[bool] | None:
    """For each input of a forward operator whether its rule gave it a gradient; None: the rule was not asked."""
    event = applied(view, index)
    return None if event is None else [gradient is not None for gradient in event.g_input]


def gradient_operators_of(view: NetView, index: int) -> Sequence[Statement]:
    """The gradient operators that the rule of a forward operator made."""
    event = applied(view, index)
    return [] if event is None else view.net.operators[event.position : event.position + len(event.operators)]


def array_of(view: NetView, blob: Writing, parts: Parts) -> Array:
    """A gradient of `blob` as an array like it; raises CursorError ``not_computed``."""
    values = view.needed(parts[-1])
    if len(parts) == 1:
        return values
    whole = dense(view.needed(parts[0]), values, view.needed(blob))
    if whole is None:  # rows that the blob does not have: the run stopped there
        raise view.no_value(parts[-1])
    return whole


def sum_through(view: NetView, blob: Writing, index: int) -> Array | None:
    """The sum of what forward operator `index` sent to `blob`; None: it sent nothing."""
    whole = None
    for one in sent(view, blob):
        if one.through == index and one.how != "sum":
            part = array_of(view, blob, one.parts)
            whole = part if whole is None else added(whole, part)
    return whole


def added(first: Array, second: Array) -> Array:
    """The sum of two arrays of one shape, where the first lies; of scalars too it is an array."""
    device = device_of(first)
    with current(device):
        return (first.reshape(-1) + moved(second, device).reshape(-1)).reshape(first.shape)
