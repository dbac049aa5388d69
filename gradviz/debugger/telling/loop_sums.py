"""The ledgers of loops: how much of the gradient of a blob that every iteration reads came from which iteration.

The backward pass of a loop keeps a running sum for each such blob w. In iteration k it adds g_k(w), so that after the
last of them the sum is

    g(w) = sum over the iterations k of g_k(w)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from ...operators.registry import Array
from ...program.control_flow import RUNNING_SUM, take_apart
from ..document import Ledger
from ..journal import Key, NetHalves, ProgramText, Recording
from .ledger import Term, ledger

Ended = Mapping[tuple[int | None, int], int]
"""(frame around, operator) -> the position after it ran, for operators that run nested nets."""


class _Summed(NamedTuple):
    """A blob whose gradient a loop sums.

    Attributes:
        blob: it, in the net around the loop.
        total: the sum, in that net.
        term: the gradient of one iteration, in the net of the loop's Do.
    """

    blob: str
    total: str
    term: Key


def loop_ledgers(recording: Recording, text: ProgramText, ended: Ended) -> Iterator[Ledger]:
    """A ledger for each blob that the iterations of a loop read, and each time that the loop's backward pass ran."""
    contexts: dict[int, list[tuple[int | None, Mapping[Key, Array]]]] = {id(recording.nets): [(None, recording.values)]}
    rounds: dict[tuple[int | None, int], list[int]] = {}
    inside: dict[int, int] = {}
    for number, run in enumerate(recording.runs):
        if run.is_backward:
            contexts.setdefault(id(run.net), []).append((number, run.values))
            if run.net.argument == "loop_net":
                rounds.setdefault((run.around, run.operator), []).append(number)
            elif run.net.argument == "net" and run.around is not None:
                inside[run.around] = number
    for net in recording.nets:
        for (is_backward, index, argument), loop in net.inside.items():
            if not is_backward or argument != "loop_net":
                continue
            operator = index if net.path else index + len(net.forward)
            for summed in _summed(text, net, index, loop):
                for frame, values in contexts.get(id(net), ()):
                    at = ended.get((frame, operator))
                    if at is not None:
                        frames = [inside[number] for number in rounds.get((frame, operator), ())]
                        made = _ledger(recording, summed, at, frames, values)
                        yield msgspec.structs.replace(made, subnet=text.net(net.path).id or None, frame=frame)


def _summed(text: ProgramText, net: NetHalves, index: int, loop: NetHalves) -> Iterator[_Summed]:
    """What gradient operator `index` of `net`, a While, sums over the iterations of `loop`."""
    body = loop.inside[True, 0, "net"]
    forward, backward = take_apart(loop.forward[0], 0), take_apart(loop.backward[0], 0)
    statement = text.net(net.path).operators[index]
    assert statement.of is not None
    read = {writing.name: str(writing) for writing in text.net(net.path).forward[statement.of].inputs}
    written = {writing.name: str(writing) for writing in statement.outputs}
    for ssa in body.program[len(body.forward) :]:
        total = ssa.op.outputs[0]
        if ssa.op.type != "Sum" or not total.endswith(RUNNING_SUM):
            continue
        blob = forward.outer[total.removesuffix(RUNNING_SUM)]
        term = ssa.reads[1]
        yield _Summed(read[blob], written[backward.outer[total]], (term.name, term.version))


def _ledger(recording: Recording, summed: _Summed, at: int, frames: list[int], values: Mapping[Key, Array]) -> Ledger:
    """One contribution for each iteration, in the order of the forward pass; the backward pass has them reversed."""
    name, version = summed.term
    terms = [
        Term(
            gradient=f"{name}@{version}",
            producer=f"iteration {iteration}",
            of=None,
            how="generated",
            path=[],
            array=recording.runs[frame].values.get(summed.term),
            frame=frame,
        )
        for iteration, frame in enumerate(reversed(frames))
    ]
    blob, _, number = summed.total.rpartition("@")
    return ledger(summed.blob, at, summed.total, terms, values.get((blob, int(number))))
