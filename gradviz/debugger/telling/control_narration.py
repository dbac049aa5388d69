"""Narration of control flow while the pass is generated: how Do, If and While are differentiated, and why so.

Code stands between backticks, blobs with their versions: `x@1`.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from ...program.control_flow import RUNNING_SUM, nested_nets, scopes_of, take_apart
from ...program.errors import code, count_of, listed
from ...program.events import Completed, EnteredSubnet, LeftSubnet
from ..journal import Reading
from .narration import shortened


def pass_entered(event: EnteredSubnet, line: Reading) -> str:
    net = f"its {event.argument} {code(event.name)}"
    if line.op.type == "Do":
        net = f"its net {code(event.name)}"
        return f"To differentiate {line.name}, the pass goes into {net}, where {bindings(line)}."
    if line.op.type == "If":
        return (
            f"{line.name} may run either of its nets, so both are differentiated; "
            f"which one the backward pass runs is decided when the condition is known. Now {net}."
        )
    return (
        f"All iterations of {line.name} run the same net, so one backward pass of {net} serves them all: "
        "it will run once for each iteration, in the workspace that the iteration has left."
    )


def pass_left(event: LeftSubnet, line: Reading, inner: Sequence[Reading]) -> str:
    """`inner`: the backward statements of the net that is left."""
    if not inner:
        return f"{code(event.name)} is left, back to {line.name}."
    count = count_of(sum(one.role != "passed" for one in inner), "gradient operator")
    return f"The backward pass of {code(event.name)} is there, {count}. Back to {line.name}, whose rule wraps it."


def completed(event: Completed, operators: int) -> str:
    blobs = [code(blob) for blob in event.gradients]
    if not blobs:
        return "The pass through the nested net is whole, and reaches no blob."
    return (
        f"The pass through the nested net is whole: {count_of(operators, 'gradient operator')}, "
        f"gradients of {shortened(blobs)}."
    )


def rule_applied(line: Reading, new: Sequence[Reading]) -> str:
    """What the rule of a control operator makes: copies, starts, and the operator that runs the backward passes."""
    runner = next((one for one in new if one.nets), None)
    passed = [one for one in new if one.role == "passed"]
    sentences = [_duplicated(one, line) for one in new if one.role == "duplicate"]
    if runner is not None:
        starts = [one for one in new if one.role == "gradient" and one is not runner]
        tell = {"Do": _do, "If": _if, "While": _while}[line.op.type]
        sentences += tell(line, runner, starts)
    sentences += [
        f"{listed([code(gradient) for gradient in one.inputs])} passes on unchanged to "
        f"{listed([code(blob) for blob in one.outputs])}."
        for one in passed
    ]
    if not sentences:
        return f"The rule of {line.name} gives its inputs no gradient: nothing in its nets leads back to them."
    return " ".join(sentences)


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
    return shortened([first.replace(" for ", " stands for ", 1), *rest])


def _duplicated(copy: Reading, line: Reading) -> str:
    gradient, own = copy.inputs[0], copy.outputs[0]
    return (
        f"{code(gradient)} arrives at several outputs of {line.name}. A gradient can be bound to one inner blob only, "
        f"so {code(copy.text)} makes {code(own)}, the same for a later one."
    )


def _do(line: Reading, runner: Reading, starts: Sequence[Reading]) -> list[str]:
    return [
        f"The rule of {line.name} makes a Do of its own: it takes the workspace that {line.name} left off "
        f"{code(runner.inputs[-1].name)} and runs the backward pass there, where everything still is as the net saw "
        f"it; {_results(runner)}."
    ]


def _if(line: Reading, runner: Reading, starts: Sequence[Reading]) -> list[str]:
    said = [
        f"The rule of {line.name} makes an If of its own: it looks at the same condition, {code(runner.inputs[0])}, "
        f"and runs the backward pass of the branch that was taken; {_results(runner)}."
    ]
    for argument, net in runner.nets.items():
        zeros = [code(one.outputs[0].name) for one in net.backward_at(runner.position) if _is_zeros(one)]
        if zeros:
            what = "a gradient" if len(zeros) == 1 else "gradients"
            said.append(
                f"Its {argument} fills {shortened(zeros)} with zeros: {what} that only the other branch computes."
            )
    return said


def _while(line: Reading, runner: Reading, starts: Sequence[Reading]) -> list[str]:
    scope = nested_nets(runner.op)["loop_net"].ops[0].inputs[-1]
    said = [
        f"The rule of {line.name} makes a While of its own: for each workspace that an iteration left on "
        f"{code(scope)}, the last one first, it runs the backward pass of that iteration."
    ]
    summed = _summed(runner)
    carried = [new.outputs[0] for new in starts if new.outputs and new.op.type != "HasScope"]
    handed = [code(written) for written in carried if written.name not in summed]
    sums = [code(written) for written in carried if written.name in summed]
    if handed:
        is_one = len(handed) == 1
        said.append(
            f"{shortened(handed)} {'is' if is_one else 'are'} handed on from iteration to iteration, starting from "
            "the gradient that arrives, or zeros."
        )
    if sums:
        is_one = len(sums) == 1
        said.append(
            f"{shortened(sums)} {'is a running sum' if is_one else 'are running sums'}, from zero: every iteration "
            f"reads the same {'blob' if is_one else 'blobs'} and adds its gradient."
        )
    return said


def _summed(runner: Reading) -> set[str]:
    """The names around a gradient While of the sums over its iterations."""
    found: set[str] = set()
    for net in runner.nets.values():
        for body in net.backward_at(runner.position):
            for inner in body.nets.values():
                sums = [one for one in inner.backward_at(runner.position) if one.role == "accumulation"]
                names = [one.outputs[0].name for one in sums if one.of is None]
                outer = take_apart(body.op, 0).outer
                found |= {outer[written] for written in names if written.endswith(RUNNING_SUM) and written in outer}
    return found


def _results(runner: Reading) -> str:
    written = [code(written) for written in runner.outputs if written.name not in scopes_of(runner.op)]
    return f"{shortened(written)} {'comes' if len(written) == 1 else 'come'} out" if written else "nothing comes out"


def _is_zeros(line: Reading) -> bool:
    return line.role == "handover" and line.op.type == "ConstantFill"
