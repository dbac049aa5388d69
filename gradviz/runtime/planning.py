"""Planning: everything that can be checked is checked before the first kernel runs.

A plan is made once for a list of operators and the shapes, dtypes and devices of what they read from outside; running
it again costs the kernels and little else. Nested nets are planned with the operators that run them: in a branch or a
loop, the shape and dtype of a blob are those that it has whichever way the program takes.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..operators import ArraySpec, OperatorType, lookup
from ..operators.arguments import check_names
from ..operators.control_flow import MAX_ITERATIONS
from ..operators.registry import Array
from ..operators.scopes import SCOPE
from ..program import Device, NetDef, Operator, RunError
from ..program.control_flow import (
    NETS,
    Do,
    check_branches,
    nested_nets,
    reads_from_outside,
    saved_name,
    scopes_in,
    scopes_of,
    take_apart,
    takes_workspaces,
    within,
)
from ..program.net import check_depth
from ..program.net_halves import number
from ..program.operator import BlobVersion, Ssa
from .devices import CPU, device_of, placed, running_on, running_where_inputs_lie
from .executor import UNKNOWN, check_arity, infer, located, no_kernel, spec_of, undefined
from .nested import Branch, Loop, Nested, Scoped, Step, Values, no_stack

Blob = tuple[ArraySpec | None, Device]
"""The shape and dtype of a blob, and its device. Where only running tells, None and some device."""


class Plan(NamedTuple):
    """Operators that fit together, and what they read from outside as it was when they were checked.

    `nested`: the nets in the operators, with what each consisted of.
    """

    operators: list[Operator]
    steps: list[Step]
    external: dict[str, tuple[ArraySpec, Device]]
    nested: list[tuple[NetDef, list[Operator]]]

    def fits(self, operators: Sequence[Operator], values: Mapping[str, Array]) -> bool:
        """Whether the plan still holds for these operators and values."""
        if self.operators != operators or any(net.ops != ops for net, ops in self.nested):
            return False
        return self.fits_values(values)

    def fits_values(self, values: Mapping[str, Array]) -> bool:
        """Whether it still holds for these values."""
        for name, ((shape, dtype), device) in self.external.items():
            value = values.get(name)
            if value is None or value.shape != shape or value.dtype != dtype or device_of(value) != device:
                return False
        return True


def plan(operators: Sequence[Operator], values: Mapping[str, Array], device: Device = CPU, *, first: int = 0) -> Plan:
    """Check that `operators` can run one after the other on `values`, and make them ready.

    Args:
        device: where operators run for which nothing else says it, see `devices`.
        first: the first that is to run; those before it have.

    Raises:
        RunError: ``unknown_operator``, ``bad_arity``, ``undefined_blob``, ``shape_mismatch``, ``bad_argument``,
            ``bad_device`` or ``control_flow_structure``, with the operator's index and blobs.
    """
    following = list(operators[first:])
    for index, op in enumerate(following, first):
        if op.type in NETS:
            check_depth(op, index, RunError)
    planner = Planner(operators, values, device)
    steps = planner.plan(following, first)
    return Plan(following, steps, planner.external, list(_nets_in(following)))


def _nets_in(operators: Iterable[Operator]) -> Iterator[tuple[NetDef, list[Operator]]]:
    for op in operators:
        for net in nested_nets(op).values():
            yield net, net.ops.copy()
            yield from _nets_in(net.ops)


class Planner:
    """Plans the operators of a program one after the other, by the blobs that are there when each runs.

    Attributes:
        blobs: those before the next operator, by name.
        external: as in `Plan`.

    Args:
        program: the operators of its net.
        values: what can be read from outside.
        device: where operators run for which nothing else says it.
        is_open: whether blobs that are not there yet may be when the operators run.
        may_not_run: whether the operators may never run: then shapes that do not fit are for the run to tell.
    """

    def __init__(
        self,
        program: Sequence[Operator],
        values: Mapping[str, Array],
        device: Device,
        *,
        is_open: bool = False,
        may_not_run: bool = False,
    ) -> None:
        self.blobs: dict[str, Blob] = {}
        self.external: dict[str, tuple[ArraySpec, Device]] = {}
        self._program = program
        self._values = values
        self._device = device
        self._is_open = is_open
        self._may_not_run = may_not_run

    def plan(self, operators: Iterable[Operator], first: int = 0) -> list[Step]:
        """The steps of `operators`, numbered from `first` on; what they write joins the blobs."""
        return [self._step(op, index) for index, op in enumerate(operators, first)]

    def __contains__(self, name: str) -> bool:
        return name in self.blobs or name in self._values

    def _look(self, op: Operator, index: int, name: str) -> None:
        if name in self.blobs:
            return
        value = self._values.get(name)
        if value is None:
            if not self._is_open:
                raise undefined(op, index, name, [*self._values, *self.blobs], self._program)
            self._doubt(name)
            return
        self.blobs[name] = self.external[name] = spec_of(value), device_of(value)

    def _doubt(self, name: str) -> None:
        """Take a blob for one that only running tells of: what a branch computes is there if it was taken."""
        self.blobs[name] = UNKNOWN, self._device

    def _doubt_branches(self, op: Operator) -> None:
        """Doubt what the nets of an If of a backward pass read: it is there if the same branch was taken before."""
        reads = {name for net in nested_nets(op).values() for name in reads_from_outside(net.ops)}
        for name in (reads | {*op.inputs[1:]}) - {*op.inputs[:1]}:
            if name not in self:
                self._doubt(name)

    def _step(self, op: Operator, index: int, keeps: tuple[tuple[str, str], ...] = ()) -> Step:
        operator_type = lookup(op.type)
        if operator_type is None or (operator_type.kernel is None and not operator_type.runs_nets):
            raise no_kernel(op, index)
        check_arity(op, index, operator_type)
        if op.args:
            check_names(op, index, operator_type.args, RunError)
        if op.is_gradient and op.type == "If":
            self._doubt_branches(op)
        for name in op.inputs:
            self._look(op, index, name)
        if operator_type.runs_nets:
            return Step(None, op, index, (), "", False, self._device, self._nested(op, index), keeps)
        return self._kernel_step(op, index, operator_type, keeps)

    def _kernel_step(
        self, op: Operator, index: int, operator_type: OperatorType, keeps: tuple[tuple[str, str], ...]
    ) -> Step:
        reads = [self.blobs[name][0] for name in op.inputs]
        outputs, late = self._outputs(op, index, operator_type, reads)
        lying = [self.blobs[name][1] for name in op.inputs]
        kernel = operator_type.kernel
        assert kernel is not None
        try:
            device = placed(op, lying, self._device)
        except RunError as error:
            raise located(error, op, index, reads) from None
        is_open = UNKNOWN in reads and "cupy" in sys.modules
        if is_open:
            kernel = running_where_inputs_lie(kernel, self._device)
        elif device != CPU or lying.count(CPU) < len(lying):
            kernel = running_on(kernel, device)
        for name, output in zip(op.outputs, outputs, strict=True):
            self.blobs[name] = output, CPU if output == SCOPE else device
        roams = is_open and (op.device is None or op.type == "CopyOnDeviceLike")
        direct = not (late or keeps) and len(op.inputs) in (1, 2) and len(op.outputs) == 1
        inputs = tuple(op.inputs) if direct else ()
        return Step(kernel, op, index, inputs, op.outputs[0] if direct else "", late, device, None, keeps, roams)

    def _outputs(
        self, op: Operator, index: int, operator_type: OperatorType, reads: Sequence[ArraySpec | None]
    ) -> tuple[Sequence[ArraySpec | None], bool]:
        """The specs of the outputs of `op`, and whether its shapes are checked when it runs."""
        try:
            return infer(op, index, operator_type, reads), operator_type.infer is not None and None in reads
        except RunError:
            if not self._may_not_run:
                raise
            return [UNKNOWN] * len(op.outputs), True

    def _nested(self, op: Operator, index: int) -> Nested:
        if op.type == "Do":
            return self._scoped(op, index)
        check_branches(op, index, RunError)
        for name in op.outputs:
            if name in self:
                self._look(op, index, name)
        return self._branch(op, index) if op.type == "If" else self._loop(op, index)

    def _scoped(self, op: Operator, index: int) -> Scoped:
        do = take_apart(op, index, RunError)
        scope, _ = self.blobs[do.scope]
        if scope is not None and scope != SCOPE:
            raise no_stack(op, index, do.scope)
        is_open = do.pops or do.reuses
        inside = Planner(do.net.ops, {}, self._device, is_open=is_open, may_not_run=self._may_not_run)
        for name, blob in do.outer.items():
            if blob in self:
                self._look(op, index, blob)
                inside.blobs[name] = self.blobs[blob]
            elif self._is_open:
                inside._doubt(name)
        steps = inside.plan_scoped(op, index, do)
        for blob in do.outputs:
            self.blobs[blob] = inside.blobs.get(do.inner[blob], (UNKNOWN, self._device))
        self.blobs[do.scope] = SCOPE, CPU
        make = _steps_in_workspace(op, index, do, self._device) if is_open else lambda workspace: steps
        return Scoped(op, index, make, do)

    def plan_scoped(self, op: Operator, index: int, do: Do) -> list[Step]:
        """The steps of the net of `do`, which keep what they overwrite if there can be a backward pass.

        This is the planner of its workspace.
        """
        try:
            return [
                self._step(ssa.op, position, () if do.pops else self._overwritten(ssa))
                for position, ssa in enumerate(number(do.net.ops, do.initial))
            ]
        except RunError as error:
            raise within(error, op, index, "net") from error

    def _overwritten(self, ssa: Ssa[BlobVersion]) -> tuple[tuple[str, str], ...]:
        """What an operator overwrites, each with the name under which it is kept."""
        return tuple(
            (blob.name, saved_name(BlobVersion(blob.name, blob.version - 1)))
            for blob in ssa.writes
            if blob.version and blob.name in self and blob.name not in scopes_of(ssa.op)
        )

    def _branch(self, op: Operator, index: int) -> Branch:
        nets = nested_nets(op)
        before = self.blobs
        steps, ends = [], []
        for argument in ("then_net", "else_net"):
            self.blobs = before.copy()
            steps.append(self._plan_net(op, index, argument, nets.get(argument), may_not_run=True))
            ends.append(self.blobs)
        self.blobs = before
        self._meet(op.outputs, ends)
        return Branch(op, index, steps[0], steps[1])

    def _meet(self, names: Iterable[str], ways: Sequence[Mapping[str, Blob]]) -> None:
        """Come to know of blobs what holds in each of the two ways that the program may have taken."""
        for name in names:
            ends = [blobs[name] for blobs in ways if name in blobs]
            if ends:
                spec, device = ends[0]
                self.blobs[name] = spec if len(ends) > 1 and ends[0] == ends[1] else UNKNOWN, device

    def _loop(self, op: Operator, index: int) -> Loop:
        limit = op.args.get("max_iterations", MAX_ITERATIONS)
        if type(limit) is not int or limit < 1:
            raise RunError(
                f"Operator #{index} {op} has max_iterations={limit!r}.",
                kind="bad_argument",
                operator_index=index,
                blobs=op.outputs,
                ways_out=["Give a number of iterations, 1 at least."],
            )
        nets = nested_nets(op)
        head = self.blobs
        while True:
            self.blobs = head.copy()
            condition_steps = self._plan_net(op, index, "cond_net", nets.get("cond_net"))
            end = self.blobs.copy()
            steps = self._plan_net(op, index, "loop_net", nets["loop_net"], may_not_run=True)
            entering = {name: head[name] for name in op.outputs if name in head}
            changing = [name for name, one in entering.items() if self.blobs[name] != one and one[0] is not UNKNOWN]
            if not changing:
                break
            head.update((name, (UNKNOWN, entering[name][1])) for name in changing)
        ways, self.blobs = [end, self.blobs], head
        self._meet(op.outputs, ways)
        return Loop(
            op,
            index,
            condition_steps,
            steps,
            scopes_in(nets["cond_net"].ops) if "cond_net" in nets else [],
            scopes_in(nets["loop_net"].ops),
            takes_workspaces(op),
            limit,
        )

    def _plan_net(
        self, op: Operator, index: int, argument: str, net: NetDef | None, *, may_not_run: bool = False
    ) -> list[Step]:
        if net is None:
            return []
        around = self._may_not_run
        self._may_not_run = around or may_not_run
        try:
            return self.plan(net.ops)
        except RunError as error:
            raise within(error, op, index, argument) from error
        finally:
            self._may_not_run = around


def _steps_in_workspace(op: Operator, index: int, do: Do, device: Device) -> Callable[[Values], Sequence[Step]]:
    """The steps of a Do that continues in a workspace: planned when that is there, and anew when it has changed."""
    current: Plan | None = None

    def steps(workspace: Values) -> Sequence[Step]:
        nonlocal current
        if current is None or not current.fits_values(workspace):
            planner = Planner(do.net.ops, workspace, device, is_open=True)
            current = Plan(do.net.ops, planner.plan_scoped(op, index, do), planner.external, [])
        return current.steps

    return steps
