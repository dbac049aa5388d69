"""Narration of going into nested nets and out of them while a program runs: why this net, on which blobs, what is kept.

Code stands between backticks, blobs with their versions: `x@1`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ...program.control_flow import take_apart
from ...program.errors import code, count_of
from ..journal import Reading, Recording, Run
from .control_narration import bindings
from .narration import shortened
from .values import DocumentValues


class Passage(NamedTuple):
    """Going into a run or out of it.

    Attributes:
        frame: the number of `run`.
        line: what runs it.
        values: what is known of the values.
    """

    recording: Recording
    run: Run
    frame: int
    line: Reading
    values: DocumentValues

    @property
    def runner(self) -> str:
        """``While #2``, ``the gradient of While #2``."""
        if self.line.role == "forward":
            return self.line.name
        of = "" if self.line.of is None else f" #{self.line.of}"
        return f"the gradient of {self.line.op.type}{of}"

    @property
    def names(self) -> Collection[str]:
        """The blobs of the workspace that the net ran in; of a file, those that have values in it."""
        return self.run.blobs if self.recording.saved is None else self.values.names(self.frame, self.run.net)


def entered(passage: Passage) -> str:
    run = passage.run
    tell = {"net": _into_do, "cond_net": _into_condition, "loop_net": _into_iteration}
    return tell.get(run.net.argument, _into_branch)(passage)


def left(passage: Passage) -> str:
    run = passage.run
    tell = {"net": _out_of_do, "cond_net": _out_of_condition, "loop_net": _out_of_iteration}
    return tell.get(run.net.argument, _out_of_branch)(passage)


def _into_do(passage: Passage) -> str:
    line, run = passage.line, passage.run
    net, found = code(run.net.name), {blob for blob, _ in run.net.part(run.is_backward).reads}
    if not run.is_backward:
        return f"{line.name} runs its net {net} in a workspace of its own, where {bindings(line, found)}."
    scope = line.inputs[-1]
    recording = passage.recording
    around = recording.nets if run.around is None else recording.runs[run.around].net
    left_by = _left_by(recording, passage.values.left_by(run.around, around, (scope.name, scope.version)))
    return (
        f"{_capital(passage.runner)} takes the workspace that {left_by} left off {code(scope)}, "
        f"and continues in it with the backward pass of {net}: {bindings(line, found)}."
    )


def _into_branch(passage: Passage) -> str:
    run = passage.run
    condition = code(passage.line.inputs[0])
    holds = "true" if run.net.argument == "then_net" else "false"
    net = f"{run.net.argument} {code(run.net.name)}"
    if run.is_backward:
        return f"{condition} was {holds}, so {passage.runner} runs the backward pass of the {net}."
    return f"{condition} is {holds}, so {passage.runner} runs its {net}."


def _into_condition(passage: Passage) -> str:
    run = passage.run
    if run.is_backward:
        return f"{_capital(passage.runner)} looks whether an iteration has left a workspace that is not taken yet."
    return f"{_capital(passage.runner)} asks whether iteration {run.iteration} is to run."


def _into_iteration(passage: Passage) -> str:
    run = passage.run
    if not run.is_backward:
        return f"Iteration {run.iteration} of {passage.runner} begins."
    forward = _forward_iteration(passage)
    return f"A workspace is left: the backward pass of iteration {forward} begins, round {run.iteration}."


def _out_of_do(passage: Passage) -> str:
    line, run = passage.line, passage.run
    net, scope = code(run.net.name), code(line.outputs[-1])
    do = take_apart(line.op, 0)
    around = {written.name: str(written) for written in line.outputs}
    results = [code(around[blob]) for blob in do.outputs if do.inner[blob] in passage.names]
    out = f"{shortened(results)} {'goes' if len(results) == 1 else 'go'} out; " if results else ""
    if run.is_backward:
        return f"The backward pass of {net} ends: {out}its workspace is used up, {scope} is the stack without it."
    count = "" if passage.recording.saved else f", {count_of(len(passage.names), 'blob')},"
    return f"The net {net} ends: {out}its workspace{count} is kept on {scope}."


def _out_of_condition(passage: Passage) -> str:
    run = passage.run
    blob = passage.line.op.inputs[0]
    value = passage.values.last(passage.frame, run.net, blob)
    if value is None or value.size != 1:
        return f"The condition {code(blob)} is there."
    if value.preview[0][0]:
        return f"{code(blob)} is true: {_rounds(run)}."
    return f"{code(blob)} is false: {passage.runner} ends after {count_of(run.iteration or 0, 'iteration')}."


def _rounds(run: Run) -> str:
    return "there is one more to go back through" if run.is_backward else f"iteration {run.iteration} is to run"


def _out_of_iteration(passage: Passage) -> str:
    run = passage.run
    if run.is_backward:
        return f"The backward pass of iteration {_forward_iteration(passage)} ends."
    return f"Iteration {run.iteration} ends."


def _out_of_branch(passage: Passage) -> str:
    run = passage.run
    what = "backward pass of the " if run.is_backward else ""
    return f"The {what}{run.net.argument} {code(run.net.name)} ends."


def _left_by(recording: Recording, number: int | None) -> str:
    """Who left a workspace in a run: ``iteration 3 of While #2``, ``Do #4``, ``Do #0 in iteration 3``."""
    if number is None:
        return "an earlier run"
    run = recording.runs[number]
    around = None if run.around is None else recording.runs[run.around]
    if around is not None and around.iteration is not None:
        return f"iteration {around.iteration} of While #{around.operator}"
    while around is not None and around.iteration is None:
        around = None if around.around is None else recording.runs[around.around]
    return f"Do #{run.operator}" + (f" in iteration {around.iteration}" if around is not None else "")


def _forward_iteration(passage: Passage) -> int:
    """The iteration of the forward loop whose workspace a round of its backward pass takes: the last one first."""
    rounds = passage.recording.rounds(passage.run)
    assert rounds is not None
    assert passage.run.iteration is not None
    return rounds - 1 - passage.run.iteration


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
