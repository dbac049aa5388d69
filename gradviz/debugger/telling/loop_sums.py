"""The ledgers of loops: how much of the gradient of a blob that every iteration reads came from which iteration.

The backward pass of a loop keeps a running sum for each such blob w. In iteration k it adds g_k(w), so that after the
last of them the sum is

    g(w) = sum over the iterations k of g_k(w)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from ...program.control_flow import RUNNING_SUM, take_apart
from ..document import Ledger
from ..journal import Key, NetHalves, NetText, ProgramText, Recording, Statement, Writing
from .ledger import Term, ledger

Ended = Callable[[Statement, int | None], int | None]
"""From an operator that runs nested nets, and the run around it, to the position after it ran; None: it has not."""


class LoopSum(NamedTuple):
    """What one run of a loop's backward pass has summed for a blob.

    Attributes:
        blob: it, in the net around the loop.
        total: the sum, in that net.
        term: the gradient of one iteration, in the net of the loop's Do.
        subnet: the id of the net around the loop; None: the outermost one.
        frame: the run of that, a number among all runs.
        at: the position after the loop's backward pass.
        rounds: the runs of its Do, in the order of the backward pass.
    """

    blob: Writing
    total: Writing
    term: Key
    subnet: str | None
    frame: int | None
    at: int
    rounds: Sequence[int]


def sums_of_loops(recording: Recording, text: ProgramText, ended: Ended) -> Iterator[LoopSum]:
    """A sum for each blob that the iterations of a loop read, and each time that the loop's backward pass ran."""
    runs: dict[int, list[int | None]] = {id(recording.nets): [None]}
    rounds: dict[tuple[int | None, int], list[int]] = {}
    inside: dict[int | None, int] = {}
    for number, run in enumerate(recording.runs):
        if run.is_backward:
            runs.setdefault(id(run.net), []).append(number)
            if run.net.argument == "loop_net":
                rounds.setdefault((run.around, run.operator), []).append(number)
            elif run.net.argument == "net":
                inside[run.around] = number
    for net in recording.nets:
        for (is_backward, index, argument), loop in net.inside.items():
            if not is_backward or argument != "loop_net":
                continue
            around = text.net(net.path)
            operator = index if net.path else index + len(net.forward)
            for blob, total, term in _summed(around, index, loop):
                for frame in runs.get(id(net), ()):
                    at = ended(around.operators[index], frame)
                    if at is not None:
                        within = [inside[number] for number in rounds.get((frame, operator), ())]
                        yield LoopSum(blob, total, term, around.id or None, frame, at, within)


def _summed(around: NetText, index: int, loop: NetHalves) -> Iterator[tuple[Writing, Writing, Key]]:
    """What gradient operator `index`, a While, sums over the iterations of `loop`: blob, sum and term."""
    body = loop.inside[True, 0, "net"]
    forward, backward = take_apart(loop.forward[0], 0), take_apart(loop.backward[0], 0)
    statement = around.operators[index]
    assert statement.of is not None
    read = {writing.name: writing for writing in around.forward[statement.of].inputs}
    written = {writing.name: writing for writing in statement.outputs}
    for ssa in body.program[len(body.forward) :]:
        total = ssa.op.outputs[0]
        if ssa.op.type != "Sum" or not total.endswith(RUNNING_SUM):
            continue
        term = ssa.reads[1]
        blob = forward.outer[total.removesuffix(RUNNING_SUM)]
        yield read[blob], written[backward.outer[total]], (term.name, term.version)


def loop_ledger(recording: Recording, one: LoopSum) -> Ledger:
    """One contribution for each iteration, in the order of the forward pass; the backward pass has them reversed."""
    name, version = one.term
    terms = [
        Term(
            gradient=f"{name}@{version}",
            producer=f"iteration {iteration}",
            of=None,
            how="generated",
            path=[],
            array=recording.runs[number].values.get(one.term),
            frame=number,
        )
        for iteration, number in enumerate(reversed(one.rounds))
    ]
    values = recording.values if one.frame is None else recording.runs[one.frame].values
    made = ledger(str(one.blob), one.at, str(one.total), terms, values.get(one.total.key))
    return msgspec.structs.replace(made, subnet=one.subnet, frame=one.frame)
