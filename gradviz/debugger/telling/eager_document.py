"""From the recording of a pass that ran to its trace document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from ...program.events import GradWritten, Played
from ...version import __version__
from ..document import Grad, Pool, Schedule, Trace, json_safe
from ..journal import EagerRecording, Lending, Pace
from .eager_narration import summary, tape_summary
from .eager_story import EagerStory
from .narration import stored
from .sums import ledgers
from .values import Values


def eager_document(recording: EagerRecording, pace: Pace) -> Trace:
    """The trace document of `recording`, its graph not drawn yet."""
    values = Values(recording, {}).outermost
    story = EagerStory(recording, values, pace)
    return Trace(
        producer=f"gradviz {__version__}",
        engine=recording.schedule,
        name=recording.net.name,
        summary=summary(recording.ys, recording.events) + stored(recording),
        net=json_safe(recording.net.to_dict()),
        ys=dict(recording.ys) if isinstance(recording.ys, Mapping) else recording.ys,
        forward=[line.finish() for line in story.lines.forward],
        backward=[line.finish() for line in story.lines.backward],
        events=story.events,
        values=values,
        ledgers=ledgers(story.sums, recording),
        gradients=story.gradients,
        schedule=story.schedule(),
    )


def tape_document(trace: Trace, recording: EagerRecording) -> Trace:
    """`trace`, the document of a tape as that of a net, with what its schedule adds."""
    begin = next((at for at, event in enumerate(recording.events, 1) if not isinstance(event, Played)), 1)
    end = max(at for at, event in enumerate(recording.events, 1) if not isinstance(event, GradWritten))
    at = enumerate(recording.events, 1)
    held = [Grad(name, 0, version, "held") for name, version in recording.held.items()]
    grads = [Grad(event.blob, number, event.after, event.how) for number, event in at if isinstance(event, GradWritten)]
    pools = [row for lending in recording.lendings for row in _pools(lending, begin, end)]
    return msgspec.structs.replace(
        trace,
        engine="tape",
        summary=tape_summary(recording.ys, recording.events) + stored(recording),
        schedule=Schedule(ranks=[*recording.ranks], grads=held + grads, pools=pools),
    )


def _pools(lending: Lending, begin: int, end: int) -> Iterator[Pool]:
    """A pool of names from the start, from position `begin` on, and from position `end` on."""
    name, in_use, free, taken = lending
    yield Pool(name, 0, in_use, free)
    yield Pool(name, begin, in_use + taken, max(0, free - taken))
    yield Pool(name, end, in_use, max(free, taken))
