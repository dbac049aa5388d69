"""Steps: operators ready to run. Of those with nested nets, Do runs in workspaces of its own, If and While outside."""

from collections.abc import Callable, MutableMapping, Sequence
from itertools import count
from typing import Any, NamedTuple, Protocol

from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from ..program import Device, Operator, RunError
from ..program.control_flow import Do
from .store import beside, share


class Step(NamedTuple):
    """One operator ready to run: a kernel, or nested nets (then `kernel` is None).

    `inputs` holds the names of one or two inputs when it takes so many, writes one output, and needs nothing else:
    then `execute` calls its kernel without a detour. `late`: its shapes are checked when its inputs exist. `kernel`
    brings its inputs to `device` where that is needed. `roams`: only its inputs will tell where it runs, `device` is
    a guess. `keeps`: names that it overwrites, each with the name under which the old value is kept.
    """

    kernel: Any
    op: Operator
    position: int
    inputs: tuple[str, ...]
    output: str
    late: bool
    device: Device
    nested: "Nested | None"
    keeps: tuple[tuple[str, str], ...]
    roams: bool = False


Values = MutableMapping[str, Array]
"""Blobs by name; scopes among them are `ScopeStack`."""


class Runner(Protocol):
    """Runs the steps of a nested net."""

    def __call__(
        self, parent: "Nested", argument: str, steps: Sequence[Step], values: Values, iteration: int | None
    ) -> None:
        """Run `steps`, the net in `argument` of `parent`, on `values`; `iteration` counts rounds of a loop from 0."""


class Scoped(NamedTuple):
    """A Do ready to run; `steps` gives those of its net in a workspace as it is before the first of them."""

    op: Operator
    position: int
    steps: Callable[[Values], Sequence[Step]]
    do: Do

    def run(self, values: Values, runner: Runner) -> None:
        """Run the net in its workspace, and put the outer blobs it writes into `values`."""
        do = self.do
        stack = _stack(self.op, self.position, values, do.scope)
        if do.pops and stack.top is None:
            raise _no_workspace(self.op, self.position, do.scope)
        left = stack.top if do.pops or do.reuses else None
        workspace = beside(values, {} if left is None else left)
        for name, blob in do.outer.items():
            if blob in values:
                share(name, workspace, values, blob)
        runner(self, "net", self.steps(workspace), workspace, None)
        for blob in do.outputs:
            if do.inner[blob] in workspace:
                share(blob, values, workspace, do.inner[blob])
        values[do.scope] = stack.below if do.pops else stack.push(workspace)


class Branch(NamedTuple):
    """An If ready to run: the steps of its nets, none where it has no such net."""

    op: Operator
    position: int
    then_steps: list[Step]
    else_steps: list[Step]

    def run(self, values: Values, runner: Runner) -> None:
        """Run one of the nets on `values`."""
        holds = condition(self.op, self.position, values)
        argument, steps = ("then_net", self.then_steps) if holds else ("else_net", self.else_steps)
        if argument in self.op.args:
            runner(self, argument, steps, values, None)


class Loop(NamedTuple):
    """A While ready to run.

    Attributes:
        condition_steps, steps: those of its nets.
        condition_scopes, scopes: the stacks on which each run of them leaves workspaces, or takes them off.
        pops: whether it takes them off, being part of a backward pass.
        limit: how often `steps` may run.
    """

    op: Operator
    position: int
    condition_steps: list[Step]
    steps: list[Step]
    condition_scopes: list[str]
    scopes: list[str]
    pops: bool
    limit: int

    def run(self, values: Values, runner: Runner) -> None:
        """Run the nets on `values` until the condition does not hold any more."""
        if not self.pops:
            for scope in self.scopes:
                if scope in values:
                    values[scope] = _stack(self.op, self.position, values, scope).drawn()
        for iteration in count():
            if self.condition_steps:
                self._compute_condition(values, runner, iteration)
            if not condition(self.op, self.position, values):
                break
            if iteration == self.limit:
                raise self._endless()
            runner(self, "loop_net", self.steps, values, iteration)
        if self.pops:
            for scope in self.scopes:
                self._take_line(values, scope)

    def _compute_condition(self, values: Values, runner: Runner, iteration: int) -> None:
        """Run the net of the condition; the workspaces that it leaves are of no use to a backward pass."""
        stacks = {scope: values[scope] for scope in self.condition_scopes if scope in values}
        runner(self, "cond_net", self.condition_steps, values, iteration)
        values.update(stacks)

    def _take_line(self, values: Values, scope: str) -> None:
        stack = _stack(self.op, self.position, values, scope)
        if stack.top is not None or stack.below is None:
            raise _no_workspace(self.op, self.position, scope)
        values[scope] = stack.below

    def _endless(self) -> RunError:
        return RunError(
            f"Operator #{self.position} {self.op} still runs after {self.limit} iterations: {self.op.inputs[0]} holds.",
            kind="too_many_iterations",
            operator_index=self.position,
            blobs=self.op.inputs[:1],
            ways_out=[
                "Let its nets change what the condition is computed from.",
                f"Allow it more: max_iterations={10 * self.limit}.",
            ],
        )


Nested = Scoped | Branch | Loop
"""What runs the nested nets of an operator."""


def condition(op: Operator, position: int, values: Values) -> bool:
    """Whether the condition of an If or While holds.

    Raises:
        RunError: ``bad_value`` unless it is one boolean.
    """
    array = values.get(op.inputs[0])
    if array is not None and array.dtype.kind == "b" and array.size == 1:
        return bool(array)
    description = "nothing" if array is None else f"{array.dtype} {array.shape}"
    raise RunError(
        f"The condition {op.inputs[0]} of operator #{position} {op} must be one boolean; it is {description}.",
        kind="bad_value",
        operator_index=position,
        blobs=op.inputs[:1],
        ways_out=["Compare numbers: LT, LE, GT, GE, EQ or NE of blobs with one element each."],
    )


def no_stack(op: Operator, position: int, scope: str) -> RunError:
    """A scope blob holds something else."""
    return RunError(
        f"Operator #{position} {op} finds no stack of workspaces in {scope}.",
        kind="control_flow_structure",
        operator_index=position,
        blobs=[scope],
        ways_out=[f'Make it with CreateScope: net.CreateScope([], "{scope}").'],
    )


def _stack(op: Operator, position: int, values: Values, scope: str) -> ScopeStack:
    stack = values.get(scope)
    if not isinstance(stack, ScopeStack):
        raise no_stack(op, position, scope)
    return stack


def _no_workspace(op: Operator, position: int, scope: str) -> RunError:
    return RunError(
        f"Operator #{position} {op} finds no workspace left in {scope}.",
        kind="control_flow_structure",
        operator_index=position,
        blobs=[scope],
        ways_out=["Each workspace is taken once: run the forward net before each run of its backward pass."],
    )
