"""What a document that was read from a file tells of a recording: all but the arrays."""

from __future__ import annotations

from collections.abc import Sequence

from ...program import NetDef, Operator
from ...program.events import Accumulated, Deduplicated, Event, Played, RuleApplied, Seeded
from ...program.net_halves import nets_of
from ...runtime.watched import Journal
from ..document import Trace
from ..journal import Recording, Run
from ..steering import path_of


def saved_recording(trace: Trace, events: Sequence[Event]) -> Recording:
    """The recording that a document tells of, without values."""
    outermost = [event for event in events if not event.path]
    forward = [event.op for event in outermost if isinstance(event, Played)]
    backward = [op for event in outermost for op in _operators(event)]
    nets = nets_of(forward, backward, events)
    nested = {f"s{number}": net for number, net in enumerate(net for net in nets if net is not nets)}
    runs = [
        Run(nested[one.subnet], one.around, one.operator, one.iteration, one.is_backward, path_of(trace, number), {})
        for number, one in enumerate(trace.frames)
    ]
    journal = Journal(
        trace.engine,
        NetDef.from_dict(trace.net),
        trace.ys,
        (*forward, *backward),
        tuple(events),
        {},
        lambda _: trace.summary,
        lambda _: nets,
        skip=trace.skip,
        runs=runs,
    )
    return Recording(lambda: journal)


def _operators(event: Event) -> Sequence[Operator]:
    """The gradient operators that come with an event."""
    if isinstance(event, Seeded):
        return [] if event.operator is None else [event.operator]
    return event.operators if isinstance(event, RuleApplied | Accumulated | Deduplicated) else []
