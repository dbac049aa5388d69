"""From a recording to its trace document: what happened in words, the lines of every net, values and ledgers."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from ...operators import lookup
from ...program.collection import uncollected
from ...version import __version__
from ..document import Formula, Subnet, Trace, json_safe
from ..journal import EagerRecording, Pace, Progress, Recording
from . import narration
from .eager_document import eager_document, tape_document
from .event_groups import EventGroups
from .execution import Execution
from .loop_sums import loop_ledgers
from .obstacle import entry
from .programs import Program
from .story import Story
from .sums import ledgers
from .values import Values


def document(recording: Recording, progress: Progress | None = None) -> Trace:
    """The trace document of `recording`, its graph not drawn yet. `progress` is told how far it is if it takes long."""
    with uncollected(), np.errstate(all="ignore"):
        pace = Pace(progress, "describe")
        trace = _of(recording, pace)
        pace.before = 0
        pace.end(len(trace.events))
        return msgspec.structs.replace(trace, formulas=formulas_of(trace))


def _of(recording: Recording, pace: Pace) -> Trace:
    if isinstance(recording, EagerRecording):
        by_rank = recording.schedule == "rank"
        return eager_document(recording, pace) if by_rank else tape_document(_of_net(recording, pace), recording)
    return _of_net(recording, pace)


def _of_net(recording: Recording, pace: Pace) -> Trace:
    """The document of a pass that was generated and then run."""
    program, groups = Program(recording.nets), EventGroups()
    values = Values(recording, program.ids)
    story = Story(recording, program, groups, pace)
    pace.before = len(recording.generation)
    execution = Execution(recording, program, values, groups, pace)
    return Trace(
        producer=f"gradviz {__version__}",
        name=recording.net.name,
        summary=narration.summary(recording) + narration.stored(recording),
        obstacle=None if recording.obstacle is None else entry(recording.obstacle, program.outermost),
        net=json_safe(recording.net.to_dict()),
        ys=_ys(recording.ys),
        skip=recording.skip,
        forward=[line.finish() for line in program.outermost.forward],
        backward=[line.finish() for line in program.outermost.backward],
        subnets=_subnets(program, values),
        events=[*story.events(), *execution.events],
        frames=values.frames,
        values=values.outermost,
        arrays=values.arrays,
        stacks=values.stacks,
        ledgers=[*ledgers(story.sums, recording), *loop_ledgers(recording, program, execution.ended)],
        merges=story.merges,
        gradients=story.gradients,
    )


def _subnets(program: Program, values: Values) -> list[Subnet]:
    return [
        msgspec.structs.replace(
            subnet, blobs=[f"{name}@{version}" for name, version in values.blobs[tuple(subnet.path)]]
        )
        for subnet in program.subnets()
    ]


def _ys(ys: Any) -> Any:
    if isinstance(ys, list):
        return list(ys)
    return dict(ys)


def formulas_of(trace: Trace) -> dict[str, Formula]:
    """The formulas of the operator types that occur in `trace`, by type; types without one are left out."""
    nested = (line for net in trace.subnets for line in (*net.forward, *net.backward))
    types = dict.fromkeys(line.type for line in (*trace.forward, *trace.backward, *nested))
    return {type: found for type in types if (found := _formula_of(type)) is not None}


def _formula_of(type: str) -> Formula | None:
    """What the operator table says of `type`; None: it says nothing, or not what the inputs are called."""
    known = lookup(type)
    if known is None or known.inputs is None or known.outputs is None or not known.formula:
        return None
    return Formula(
        formula=known.formula,
        derivative=known.derivative,
        inputs=known.inputs.written(),
        outputs=known.outputs.written(),
    )
