"""Narration of control flow: how Do, If and While are differentiated and why so, and how they go into nested nets.

Code stands between backticks, blobs with their versions: `x@1`.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from typing import NamedTuple

from ...program.control_flow import RUNNING_SUM, nested_nets, scopes_of, take_apart
from ...program.errors import a_few, code, count_of
from ...program.events import Completed, EnteredSubnet, LeftSubnet
from ..journal import Reading, Recording, Run
from . import sentences as say
from .narration import Named, capital, coded, named
from .sentences import Sentences
from .values import DocumentValues


def pass_entered(event: EnteredSubnet, line: Reading) -> Sentences:
    if line.op.type == "Do":
        return [(say.INTO_DO, line.name, event.name, bindings(line))]
    into = say.INTO_BRANCH if line.op.type == "If" else say.INTO_LOOP
    return [(into, line.name, event.argument, event.name)]


def pass_left(event: LeftSubnet, line: Reading, inner: Sequence[Reading]) -> Sentences:
    """`inner`: the backward statements of the net that is left."""
    if not inner:
        return [(say.OUT_OF_EMPTY_NET, event.name, line.name)]
    count = count_of(sum(one.role != "passed" for one in inner), "gradient operator")
    return [(say.OUT_OF_NET, event.name, count, line.name)]


def completed(event: Completed, operators: int) -> Sentences:
    if not event.gradients:
        return [(say.NET_ENDS_WITH_NONE,)]
    return [(say.NET_ENDS, count_of(operators, "gradient operator"), _few(event.gradients))]


def rule_applied(line: Reading, new: Sequence[Reading]) -> Sentences:
    """What the rule of a control operator makes: copies, starts, and the operator that runs the backward passes."""
    runner = next((one for one in new if one.nets), None)
    duplicates = [one for one in new if one.role == "duplicate"]
    sentences: Sentences = [(say.DUPLICATED, one.inputs[0], line.name, one.text, one.outputs[0]) for one in duplicates]
    if runner is not None:
        starts = [one for one in new if one.role == "gradient" and one is not runner]
        tell = {"Do": _do, "If": _if, "While": _while}[line.op.type]
        sentences += tell(line, runner, starts)
    passed = [one for one in new if one.role == "passed"]
    sentences += [(say.PASSES_ON, coded(one.inputs), coded(one.outputs)) for one in passed]
    return sentences or [(say.NO_WAY_BACK, line.name)]


def bindings(line: Reading, among: Container[str] | None = None) -> str:
    """What the inner blobs of a Do, those `among` some, stand for: ``x stands for x@0 and h for y@1``."""
    do = take_apart(line.op, 0)
    around = {written.name: str(written) for written in (*line.outputs, *line.inputs)}
    pairs = [
        f"{code(inner)} for {code(around[outer])}"
        for inner, outer in do.outer.items()
        if outer in around and (among is None or inner in among)
    ]
    if not pairs:
        return "no blob stands for one around it"
    first, *rest = pairs
    return a_few([first.replace(" for ", " stands for ", 1), *rest])


def _do(line: Reading, runner: Reading, starts: Sequence[Reading]) -> Sentences:
    return [(say.DO_RULE, line.name, line.name, runner.inputs[-1].name, _results(runner))]


def _if(line: Reading, runner: Reading, starts: Sequence[Reading]) -> Sentences:
    sentences: Sentences = [(say.IF_RULE, line.name, runner.inputs[0], _results(runner))]
    for argument, net in runner.nets.items():
        zeros = [one.outputs[0].name for one in net.backward_at(runner.position) if _is_zeros(one)]
        if zeros:
            what = "a gradient" if len(zeros) == 1 else "gradients"
            sentences.append((say.FILLS_WITH_ZEROS, argument, _few(zeros), what))
    return sentences


def _while(line: Reading, runner: Reading, starts: Sequence[Reading]) -> Sentences:
    scope = nested_nets(runner.op)["loop_net"].ops[0].inputs[-1]
    sentences: Sentences = [(say.WHILE_RULE, line.name, scope)]
    summed = _summed(runner)
    carried = [new.outputs[0] for new in starts if new.outputs and new.op.type != "HasScope"]
    handed = [written for written in carried if written.name not in summed]
    sums = [written for written in carried if written.name in summed]
    if handed:
        sentences.append((say.HANDED_ON, _few(handed), "is" if len(handed) == 1 else "are"))
    if sums:
        are, blobs = ("is a running sum", "blob") if len(sums) == 1 else ("are running sums", "blobs")
        sentences.append((say.SUMMED, _few(sums), are, blobs))
    return sentences


def _summed(runner: Reading) -> set[str]:
    """The names around a gradient While of the sums over its iterations."""
    names: set[str] = set()
    for net in runner.nets.values():
        for body in net.backward_at(runner.position):
            for inner in body.nets.values():
                sums = [one for one in inner.backward_at(runner.position) if one.role == "accumulation"]
                written = [one.outputs[0].name for one in sums if one.of is None]
                outer = take_apart(body.op, 0).outer
                names |= {outer[name] for name in written if name.endswith(RUNNING_SUM) and name in outer}
    return names


def _results(runner: Reading) -> str:
    written = [written for written in runner.outputs if written.name not in scopes_of(runner.op)]
    return f"{_few(written)} {'comes' if len(written) == 1 else 'come'} out" if written else "nothing comes out"


def _few(names: Iterable[object]) -> str:
    return a_few(list(map(code, names)))


def _is_zeros(line: Reading) -> bool:
    return line.role == "handover" and line.op.type == "ConstantFill"


class Passage(NamedTuple):
    """Going into a run or out of it.

    Attributes:
        line: what runs it.
        values: the statistics of the recorded values.
    """

    recording: Recording
    run: Run
    line: Reading
    values: DocumentValues

    @property
    def names(self) -> Collection[str]:
        """The blobs of the workspace that the net ran in; of a file, those that have values in it."""
        return self.run.workspace if self.recording.saved is None else self.values.names(self.run.number)

    @property
    def bound(self) -> str:
        """What the inner blobs stand for that the net of a Do reads."""
        return bindings(self.line, {blob for blob, _ in self.run.net.parts[self.run.is_backward].reads})

    @property
    def forward_iteration(self) -> int:
        """The iteration of the forward loop whose workspace a round of its backward pass takes: the last one first."""
        assert self.run.iteration is not None
        return self.recording.rounds[self.run.number] - 1 - self.run.iteration


def entered(passage: Passage) -> Sentences:
    """Going into a run of a nested net."""
    line, run, net, runner = passage.line, passage.run, passage.run.net, named(passage.line)
    match net.argument, run.is_backward:
        case "net", False:
            return [(say.RUNS_DO, line.name, net.name, passage.bound)]
        case "net", True:
            scope = line.inputs[-1]
            return [(say.RUNS_DO_BACK, capital(runner), _left_by(passage, scope), scope, net.name, passage.bound)]
        case "cond_net", False:
            return [(say.ASKS, capital(runner), run.iteration)]
        case "cond_net", True:
            return [(say.LOOKS_FOR_WORKSPACE, capital(runner))]
        case "loop_net", False:
            return [(say.ITERATION, run.iteration, runner)]
        case "loop_net", True:
            return [(say.ITERATION_BACK, passage.forward_iteration, run.iteration)]
    runs = say.RUNS_BRANCH_BACK if run.is_backward else say.RUNS_BRANCH
    return [(runs, line.inputs[0], "true" if net.argument == "then_net" else "false", runner, net.argument, net.name)]


def left(passage: Passage) -> Sentences:
    """Going out of a run of a nested net."""
    run, net = passage.run, passage.run.net
    match net.argument, run.is_backward:
        case "net", _:
            return _out_of_do(passage)
        case "cond_net", _:
            return _out_of_condition(passage)
        case "loop_net", False:
            return [(say.ITERATION_ENDS, run.iteration)]
        case "loop_net", True:
            return [(say.ITERATION_ENDS_BACK, passage.forward_iteration)]
    return [(say.BRANCH_ENDS_BACK if run.is_backward else say.BRANCH_ENDS, net.argument, net.name)]


def _out_of_do(passage: Passage) -> Sentences:
    line, run = passage.line, passage.run
    scope = line.outputs[-1]
    do = take_apart(line.op, 0)
    around = {written.name: str(written) for written in line.outputs}
    results = [code(around[blob]) for blob in do.outputs if do.inner[blob] in passage.names]
    sentences: Sentences = [(say.DO_ENDS_BACK if run.is_backward else say.DO_ENDS, run.net.name)]
    sentences += [(say.GO_OUT, a_few(results), "goes" if len(results) == 1 else "go")] if results else []
    if run.is_backward:
        return [*sentences, (say.WORKSPACE_USED_UP, scope)]
    if passage.recording.saved:
        return [*sentences, (say.WORKSPACE_KEPT, scope)]
    return [*sentences, (say.WORKSPACE_KEPT_WITH, count_of(len(passage.names), "blob"), scope)]


def _out_of_condition(passage: Passage) -> Sentences:
    run = passage.run
    blob = passage.line.op.inputs[0]
    value = passage.values.last(run.number, blob)
    if value is None or value.size != 1:
        return [(say.CONDITION, blob)]
    if not value.preview[0][0]:
        return [(say.NO_MORE, blob, named(passage.line), count_of(run.iteration or 0, "iteration"))]
    return [(say.ONE_MORE_BACK, blob) if run.is_backward else (say.ONE_MORE, blob, run.iteration)]


def _left_by(passage: Passage, scope: Named) -> str:
    """Who left the workspace on top of `scope`: ``iteration 3 of While #2``, ``Do #4``, ``Do #0 in iteration 3``."""
    recording, outside = passage.recording, passage.run.around
    number = passage.values.left_by(outside, scope.key)
    if number is None:
        return "an earlier run"
    run = recording.runs[number]
    around = None if run.around is None else recording.runs[run.around]
    if around is not None and around.iteration is not None:
        return f"iteration {around.iteration} of While #{around.operator}"
    while around is not None and around.iteration is None:
        around = None if around.around is None else recording.runs[around.around]
    return f"Do #{run.operator}" + (f" in iteration {around.iteration}" if around is not None else "")
