"""Running nested nets: Do in workspaces of its own, If and While on the blobs around them."""

from collections.abc import MutableMapping, Sequence
from itertools import count
from typing import NamedTuple, Protocol

from ..operators.registry import Array
from ..operators.scopes import ScopeStack
from ..program import Operator, RunError
from .step import Step

Values = MutableMapping[str, Array]
"""Blobs by name; scopes among them are `ScopeStack`."""


class Runner(Protocol):
    """Runs the steps of a nested net."""

    def __call__(
        self, parent: "Nested", argument: str, steps: Sequence[Step], values: Values, iteration: int | None
    ) -> None:
        """Run `steps`, the net in `argument` of `parent`, on `values`; `iteration` counts rounds of a loop from 0."""


class Scoped(NamedTuple):
    """A Do ready to run.

    Attributes:
        steps: those of its net.
        bound: (inner name, outer blob) of what it may read.
        written: the same of what it writes.
        scope: the blob that holds its stack of workspaces.
        pops, reuses: see `gradviz.program.control_flow.Do`.
    """

    op: Operator
    position: int
    steps: list[Step]
    bound: list[tuple[str, str]]
    written: list[tuple[str, str]]
    scope: str
    pops: bool
    reuses: bool

    def run(self, values: Values, runner: Runner) -> None:
        """Run the net in its workspace, and the outer blobs it writes into `values`."""
        stack = values[self.scope]
        if not isinstance(stack, ScopeStack):
            raise self._fault(f"finds no stack of workspaces in {self.scope}", "Make it with CreateScope.")
        top = stack.top
        if top is None and (self.pops or self.reuses):
            raise self._fault(
                f"finds no workspace left in {self.scope}", "Each workspace is taken once: run the forward net before."
            )
        workspace = dict(top) if top is not None and (self.pops or self.reuses) else {}
        for name, blob in self.bound:
            if blob in values:
                workspace[name] = values[blob]
        runner(self, "net", self.steps, workspace, None)
        for name, blob in self.written:
            if name in workspace:
                values[blob] = workspace[name]
        if self.pops:
            assert stack.below is not None
            values[self.scope] = stack.below
        else:
            values[self.scope] = stack.push(workspace)

    def _fault(self, what: str, way_out: str) -> RunError:
        return RunError(
            f"Operator #{self.position} {self.op} {what}.",
            kind="control_flow_structure",
            operator_index=self.position,
            blobs=[self.scope],
            ways_out=[way_out],
        )


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
        scopes: the stacks that hold a workspace of each iteration.
        limit: how often `steps` may run.
    """

    op: Operator
    position: int
    condition_steps: list[Step]
    steps: list[Step]
    scopes: list[str]
    limit: int

    def run(self, values: Values, runner: Runner) -> None:
        """Run the nets on `values` until the condition does not hold any more."""
        backward = self.op.is_gradient
        if not backward:
            for scope in self.scopes:
                values[scope] = values[scope].drawn()
        for iteration in count():
            if self.condition_steps:
                runner(self, "cond_net", self.condition_steps, values, iteration)
            if not condition(self.op, self.position, values):
                break
            if iteration == self.limit:
                raise self._endless()
            runner(self, "loop_net", self.steps, values, iteration)
        if backward:
            for scope in self.scopes:
                values[scope] = values[scope].below

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
    found = "nothing" if array is None else f"{array.dtype} {array.shape}"
    raise RunError(
        f"The condition {op.inputs[0]} of operator #{position} {op} must be one boolean; it is {found}.",
        kind="bad_value",
        operator_index=position,
        blobs=op.inputs[:1],
        ways_out=["Compare numbers: LT, LE, GT, GE, EQ or NE of blobs with one element each."],
    )
