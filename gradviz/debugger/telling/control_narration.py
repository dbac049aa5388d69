"""Narration of control flow while the pass is generated: how Do, If and While are differentiated, and why so.

Code stands between backticks, blobs with their versions: `x@1`.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from ...program.control_flow import RUNNING_SUM, nested_nets, scopes_of, take_apart
from ...program.events import Completed, EnteredSubnet, LeftSubnet, RuleApplied
from .lines import GrowingLine, Lines
from .narration import code, count_of, listed, name, shortened


def pass_entered(event: EnteredSubnet, line: GrowingLine) -> str:
    net = f"its {event.argument} {code(event.name)}"
    if line.op.type == "Do":
        net = f"its net {code(event.name)}"
        return f"To differentiate {name(line)}, the pass goes into {net}, where {bindings(line)}."
    if line.op.type == "If":
        return (
            f"{name(line)} may run either of its nets, so both are differentiated; "
            f"which one the backward pass runs is decided when the condition is known. Now {net}."
        )
    return (
        f"All iterations of {name(line)} run the same net, so one backward pass of {net} serves them all: "
        "it will run once for each iteration, in the workspace that the iteration has left."
    )


def pass_left(event: LeftSubnet, line: GrowingLine, inner: Lines) -> str:
    made = count_of(sum(one.role != "passed" for one in inner.backward), "gradient operator")
    if not inner.backward:
        return f"{code(event.name)} is left, back to {name(line)}."
    return f"The backward pass of {code(event.name)} is there, {made}. Back to {name(line)}, whose rule wraps it."


def completed(event: Completed, operators: int) -> str:
    blobs = [code(blob) for blob in event.gradients]
    if not blobs:
        return "The pass through the nested net is whole, and reaches no blob."
    return (
        f"The pass through the nested net is whole: {count_of(operators, 'gradient operator')}, "
        f"gradients of {shortened(blobs)}."
    )


def rule_applied(event: RuleApplied, line: GrowingLine, made: Sequence[GrowingLine]) -> str:
    """What the rule of a control operator makes: copies, starts, and the operator that runs the backward passes."""
    runner = next((new for new in made if new.subnets), None)
    passed = [new for new in made if new.role == "passed"]
    sentences = [_duplicated(new, line) for new in made if new.role == "duplicate"]
    if runner is not None:
        starts = [new for new in made if new.role == "gradient" and new is not runner]
        tell = {"Do": _do, "If": _if, "While": _while}[line.op.type]
        sentences += tell(line, runner, starts)
    sentences += [
        f"{listed([code(gradient) for gradient in new.inputs])} passes on unchanged to "
        f"{listed([code(blob) for blob in new.outputs])}."
        for new in passed
    ]
    if not sentences:
        return f"The rule of {name(line)} gives its inputs no gradient: nothing in its nets leads back to them."
    return " ".join(sentences)


def bindings(line: GrowingLine, among: Container[str] | None = None) -> str:
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


def _duplicated(copy: GrowingLine, line: GrowingLine) -> str:
    gradient, own = copy.inputs[0], copy.outputs[0]
    return (
        f"{code(gradient)} arrives at several outputs of {name(line)}. A gradient can be bound to one inner blob only, "
        f"so {code(copy.text)} makes {code(own)}, the same for a later one."
    )


def _do(line: GrowingLine, runner: GrowingLine, starts: Sequence[GrowingLine]) -> list[str]:
    return [
        f"The rule of {name(line)} makes a Do of its own: it takes the workspace that {name(line)} left off "
        f"{code(runner.inputs[-1].name)} and runs the backward pass there, where everything still is as the net saw "
        f"it; {_results(runner)}."
    ]


def _if(line: GrowingLine, runner: GrowingLine, starts: Sequence[GrowingLine]) -> list[str]:
    said = [
        f"The rule of {name(line)} makes an If of its own: it looks at the same condition, {code(runner.inputs[0])}, "
        f"and runs the backward pass of the branch that was taken; {_results(runner)}."
    ]
    for argument, lines in runner.subnets.items():
        zeros = [code(one.outputs[0].name) for one in lines.backward if _is_zeros(one)]
        if zeros:
            what = "a gradient" if len(zeros) == 1 else "gradients"
            said.append(
                f"Its {argument} fills {shortened(zeros)} with zeros: {what} that only the other branch computes."
            )
    return said


def _while(line: GrowingLine, runner: GrowingLine, starts: Sequence[GrowingLine]) -> list[str]:
    scope = nested_nets(runner.op)["loop_net"].ops[0].inputs[-1]
    said = [
        f"The rule of {name(line)} makes a While of its own: for each workspace that an iteration left on "
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


def _summed(runner: GrowingLine) -> set[str]:
    """The names around a gradient While of the sums over its iterations."""
    found: set[str] = set()
    for lines in runner.subnets.values():
        for body in lines.backward:
            for inner in body.subnets.values():
                names = [one.outputs[0].name for one in inner.backward if one.role == "accumulation" and one.of is None]
                outer = take_apart(body.op, 0).outer
                found |= {outer[written] for written in names if written.endswith(RUNNING_SUM) and written in outer}
    return found


def _results(runner: GrowingLine) -> str:
    written = [code(written) for written in runner.outputs if written.name not in scopes_of(runner.op)]
    return f"{shortened(written)} {'comes' if len(written) == 1 else 'come'} out" if written else "nothing comes out"


def _is_zeros(line: GrowingLine) -> bool:
    return line.role == "handover" and line.op.type == "ConstantFill"
