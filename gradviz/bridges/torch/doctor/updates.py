"""Updates that reach no parameter: gradients are gone, the optimizer holds others, or a result is written nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import torch

from ....program.errors import count_of
from ..capture import Module
from ..flow import PASSES, Step, parameters_of
from ..graph import Tensor
from ..instances import instances
from .case import Case, each_of, in_line, subject, them
from .diagnosis import Finding
from .reach import reads_gradient
from .training import BACKWARD, changes, last_pass, leaves_of, zeroes

UNEVEN = 2
"""Changes by which parameters differ of which some are trained and others are not; to find optimizers takes time."""


def forgotten(case: Case) -> Iterator[Finding]:
    """A step of an optimizer behind a forward pass that nothing has gone back through."""
    steps, step = case.longest, case.last_step
    if step is None or step.reads or any(one.function in {*PASSES, "grad="} for one in steps):
        return
    ids = {id(one) for one in case.leaves if one.grad is None}
    if any(id(seen.ref()) in ids for one in steps if one.number < step.number for seen in one.reads):
        line = case.line(step)
        sentence = f"The optimizer's step{in_line(line)} has no gradient to use: backward() was not called before it."
        ways_out = ("Call loss.backward() between the forward pass and step().",)
        yield Finding("forgotten", sentence, (), line, ways_out=ways_out)


def still(case: Case) -> Iterator[Finding]:
    """Parameters that get a gradient and whose optimizer was made with the learning rate 0, and has it still."""
    unset = [one for one in _of_variables(case) if float(one.defaults.get("lr", 1)) == 0]
    groups = [group for one in unset for group in one.param_groups if float(group["lr"]) == 0]
    fixed = {id(one) for group in groups for one in group["params"]}
    if names := [name for name, one in case.trained.items() if id(one) in fixed]:
        step, line = case.last_step, case.line(case.last_step)
        sentence = f"{subject(names, case.parameters, 'get')} a gradient, and the learning rate of the optimizer is 0"
        sentence += f": its step{in_line(line)} changes nothing." if step else "."
        ways_out = ("Give the optimizer a learning rate: torch.optim.SGD(model.parameters(), lr=0.1).",)
        yield Finding("still", sentence, tuple(names), line, bool(step), each_of(names), ways_out)


def emptied(case: Case) -> Iterator[Finding]:
    """Gradients that are put to zero between a pass and the step that was to use them, the last one of a capture."""
    last = case.last_step
    if last is None or last.reads:
        return
    steps = [step for step in case.longest if step.number <= last.number]
    passes = [number for number, step in enumerate(steps) if step.function in BACKWARD]
    since = steps[passes[-1] :] if passes else []
    zeroed: dict[str, Step] = {}
    for name, leaf in leaves_of(case).items():
        first = next((step for step in since if zeroes(step, leaf) or changes(step, leaf)), None)
        if first is not None and zeroes(first, leaf):
            zeroed[name] = first
    if zeroed:
        line = case.line(next(iter(zeroed.values())))
        sentence = (
            f"The optimizer's step{in_line(case.line(last))} has no gradient to use: they were put to zero"
            f"{in_line(line)}, after backward() and before it."
        )
        ways_out = ("Call zero_grad() before backward(), or after step().",)
        yield Finding("emptied", sentence, tuple(zeroed), line, ways_out=ways_out)


def late(case: Case) -> Iterator[Finding]:
    """Gradients that are changed, as by clipping, after the step that uses them, and then put to zero."""
    last = case.last_step
    # What is done to one of them is done to all.
    leaf = next((one for one in case.leaves if last is not None and changes(last, one)), None)
    if leaf is None:
        return
    stepped = changed = None
    storages: set[int] = set()
    for step in case.longest:
        if step.function in BACKWARD:
            stepped, changed, storages = None, None, set()
        elif zeroes(step, leaf):
            if stepped is not None and changed is not None:
                line = case.line(changed)
                sentence = (
                    f"Gradients are changed{in_line(line)} after the optimizer's step{in_line(case.line(stepped))} has "
                    "used them, and put to zero before any other step: the change has no effect."
                )
                ways_out = ("Change gradients, as by clip_grad_norm_(), between backward() and step().",)
                yield Finding("late", sentence, (), line, ways_out=ways_out)
                return
            stepped = None
        elif step.function == "step" and changes(step, leaf):
            stepped, changed = step, None
        elif step.function == "grad" and step.reads[0].ref() is leaf:
            storages.update(one.storage for one in step.makes)
        elif stepped is not None and any(one.storage in storages for one in step.writes):
            changed = step


def missed(case: Case) -> Iterator[Finding]:
    """A step of an optimizer, or a change by hand, that leaves the parameters of the pass before it as they were."""
    after, leaves = _after(case), leaves_of(case)
    if any(changes(step, one) for step in after for one in leaves.values()):
        return
    step = next((step for step in after if step.function == "step"), None)
    if step is not None and (names := _left(case, after)):
        line = case.line(step)
        sentence = (
            f"{subject(names, case.parameters, 'get')} a gradient, but no optimizer holds {them(names)}: the one that "
            f"makes a step{in_line(line)} was given others."
        )
        ways_out = ("Give the optimizer the parameters of this model: torch.optim.SGD(model.parameters(), lr).",)
        yield Finding("replaced", sentence, tuple(names), line, ways_out=ways_out)
    elif lost := _lost(after, leaves):
        line = case.line(lost[0][1])
        names = [name for name, _ in lost]
        are = "it is" if len(names) == 1 else "they are"
        sentence = (
            f"{subject(names, case.parameters, 'stay')} as {are}{in_line(line)}: what is computed there from "
            f"{them(names)} and the gradient is a new tensor, and giving it the name of the old one writes nothing."
        )
        ways = ("Write in place: with torch.no_grad(): p -= lr * p.grad.", "Or let an optimizer make the step.")
        yield Finding("rebuilt", sentence, tuple(names), line, True, each_of(names), ways)


def _after(case: Case) -> Sequence[Step]:
    """What was called after the last pass that freed the graph, in one capture."""
    for one in case.captures:
        if (last := last_pass(case, one.flow.steps)) is not None:
            return [step for step in one.flow.steps if step.number > last.number]
    return []


def _left(case: Case, after: Sequence[Step]) -> list[str]:
    """The parameters of the pass, if no optimizer holds one, nor seems to have put its gradient to zero."""
    trained = case.trained
    are_held = any(zeroes(step, one) for step in after for one in trained.values())
    return [] if are_held or any(id(one) in case.optimized for one in trained.values()) else [*trained]


DIFFERENCES = {"sub", "__sub__", "__isub__", "add", "__add__", "addcmul", "addcdiv", "lerp"}
"""Calls that somebody moves a parameter with."""


def _lost(after: Sequence[Step], leaves: dict[str, Tensor]) -> list[tuple[str, Step]]:
    """The parameters from which, and from whose gradient, something is computed that nobody reads; and where."""
    read = {one for step in after for one in step.reads}
    moves = [one for one in after if one.function in DIFFERENCES and not one.writes and read.isdisjoint(one.makes)]
    ends = {id(seen.ref()): step for step in moves if reads_gradient(after, step) for seen in step.reads}
    return [(name, ends[id(leaf)]) for name, leaf in leaves.items() if id(leaf) in ends]


def replaced(case: Case) -> Iterator[Finding]:
    """Parameters that get a gradient and that no optimizer holds, if one holds what was in their place."""
    trained = case.trained
    versions = [one._version for one in trained.values()]
    if not versions:
        return
    is_uneven = max(versions) - min(versions) >= UNEVEN
    held = [parameters_of(one) for one in (case.optimizers if is_uneven else _of_variables(case))]
    if {id(one) for one in trained.values()}.issubset(id(one) for own in held for one in own):
        return
    for own in held:
        if not (gone := _gone(case, trained, own)):
            continue
        if left := [name for name, one in trained.items() if id(one) not in case.optimized]:
            sentence = (
                f"{subject(left, case.parameters, 'get')} a gradient, but no optimizer holds {them(left)}: one still "
                f"holds {count_of(gone, 'parameter')} that no module has any more."
            )
            ways_out = ("Make the optimizer after the last change of the model's parts.",)
            yield Finding("replaced", sentence, tuple(left), evidence=each_of(left), ways_out=ways_out)
            return


def _of_variables(case: Case) -> list[torch.optim.Optimizer]:
    return [value for _, value in case.variables if isinstance(value, torch.optim.Optimizer)]


def _gone(case: Case, trained: Mapping[str, Tensor], optimized: Sequence[Tensor]) -> int:
    """How many parameters nobody but their optimizer has any more, if others of the model are among them, or they are
    those of a model like it."""
    ids = {id(one) for one in optimized}
    are_alike = Counter(one.shape for one in optimized) == Counter(one.shape for one in trained.values())
    if ids.isdisjoint(map(id, case.parameters.values())) and not are_alike:
        return 0
    there = {id(one) for module in instances(Module) for one in module._parameters.values()}
    return len(ids - there - {id(one) for one in (*case.leaves, *(value for _, value in case.tensors_of_variables()))})
