"""Running operators once more on the recorded values, some of them replaced: forward ones, or those of their rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ...gradient.rules import ask_rule
from ...operators import lookup
from ...operators.passing import cast_dtype
from ...operators.registry import Array, Kernel, with_own_results
from ...operators.scopes import ScopeStack
from ...program import GradvizError, NetDef, Operator
from ...program.control_flow import NETS, nested_nets
from ...program.errors import count_of, listed, message_of
from ...program.operator import free_name, parts_of
from ...runtime.devices import CPU, current, device_of, moved
from ...runtime.executor import check_arity, execute
from ...runtime.nested import Step
from ...runtime.planning import plan
from ...runtime.watched import Again, Rest
from ..journal import Key, Statement, Writing, dense
from .flow import array_of, arriving, arriving_after, computed_from, gives, gradient_operators_of, seeds, sent
from .net_view import NetView

ON_PURPOSE = ("NegateGradient", "ZeroGradient")
"""Operators that are there to send back another gradient than that of their function."""


CONSTANT_COPIES = ("StopGradient", "Conditional")
"""Operators that hand on numbers that they are constant for."""


COINS = 0
"""The seed of what is drawn."""


class NotCheckable(Exception):
    """Why something cannot be checked by running it again."""


def as_double(array: Array) -> Array:
    """On the CPU, floating-point numbers in double precision, whose elements lie as they would in another process."""
    if isinstance(array, ScopeStack):
        return array
    here = moved(array, CPU)
    return here.astype(np.float64, order="C") if here.dtype.kind == "f" else here


@dataclass(frozen=True, eq=False)
class OperatorRun:
    """Runs an operator once more, here or in a process that it is sent to: from its inputs to its outputs.

    Attributes:
        name: what errors call it.
        reads, writes: the names of its inputs and outputs, those of its nested nets included.
        own: its kernel where the user has written it; None: it is that of the table.
    """

    op: Operator
    name: str
    reads: Sequence[str]
    writes: Sequence[str]
    own: Kernel | None

    @cached_property
    def _kernel(self) -> Kernel | None:
        operator_type = lookup(self.op.type)
        table = None if operator_type is None else operator_type.kernel
        return table if self.own is None else with_own_results(self.own)

    def __reduce__(self) -> tuple[Any, ...]:
        return OperatorRun, (self.op, self.name, self.reads, self.writes, self.own)

    def __call__(self, inputs: Sequence[Array]) -> list[Array]:
        if self._kernel is not None:
            try:
                result = self._kernel(self.op, *inputs)
            except Exception as error:
                raise NotCheckable(f"{self.name} cannot be run again: {message_of(error)}") from error
            return list(result) if isinstance(result, tuple) else [result]
        values = dict(zip(self.reads, inputs, strict=True))
        execute(plan([self.op], values).steps, values)
        return [moved(values[blob], CPU) for blob in self.writes]

    def in_double(self) -> OperatorRun:
        """The same where no cast leaves less than double precision: differences need all of it."""
        return replace(self, op=_widened(self.op))


def _widened(op: Operator) -> Operator:
    """An operator that casts to single or half precision, or in whose nested nets one does, so that it keeps double."""
    if op.type == "Cast" and cast_dtype(op).kind == "f":
        return msgspec.structs.replace(op, args={**op.args, "to": "float64"})
    if op.type not in NETS:
        return op
    nets = {name: NetDef(net.name, list(map(_widened, net.ops))) for name, net in nested_nets(op).items()}
    return msgspec.structs.replace(op, args={**op.args, **nets})


def operator_run(view: NetView, statement: Statement, changed: Iterable[str]) -> OperatorRun:
    """What runs the operator of a forward line when these of its inputs change; raises NotCheckable where it cannot."""
    op, operator_type, name = view.operator(statement), lookup(statement.op.type), statement.name
    if operator_type is None or (operator_type.kernel is None and not operator_type.runs_nets):
        raise NotCheckable(f"{op.type} has no kernel here, so it cannot be run again{_other_way(view)}.")
    try:
        check_arity(op, statement.number, operator_type)
    except GradvizError as error:
        raise NotCheckable(f"{op.type} here is another function than {name} was: {error.message}") from error
    if op.type in ON_PURPOSE:
        raise NotCheckable(f"{name} sends back another gradient than its function's, on purpose.")
    may_deviate = op.type in NETS and _may_deviate(view, statement)
    if may_deviate and (deviation := next(_deviations(view, statement, set(changed)), "")):
        raise NotCheckable(f"In {deviation}, which differences cannot know: ask in that net.")
    is_own = operator_type.kernel is not None and operator_type.inputs is None
    own = operator_type.kernel.__wrapped__ if is_own else None  # type: ignore[union-attr]
    reads, writes = ([blob.name for blob in blobs] for blobs in (statement.inputs, statement.outputs))
    return OperatorRun(op, name, reads, writes, own)


def _other_way(view: NetView) -> str:
    return "" if _again(view) is None else ": ask for a blob that it reads, whose gradient the whole program can check"


def _again(view: NetView) -> Again | None:
    """What the engine has brought to run parts of the outermost net again."""
    return None if view.net.path else view.recorded.recording.again


def _deviations(view: NetView, statement: Statement, changed: set[str]) -> Iterator[str]:
    """What sends back another gradient than its function's, in the runs of nested nets that changed blobs reach.

    Args:
        changed: the names of these blobs around the operator; afterwards those that changed by it.
    """
    for run in view.runs_of(statement):
        inside = view.of(run)
        is_do = statement.op.type == "Do"
        names = {inner for one in changed if (inner := inside.bound(one))} if is_do else changed
        for nested in inside.net.forward:
            if nested.nets:
                yield from _deviations(inside, nested, names)
                continue
            reached = [blob for blob in nested.inputs if blob.name in names]
            if deviation := _deviation(inside, nested, reached):
                yield f"{'/'.join(inside.net.path)} {nested.name} {deviation}"
            written = {blob.name for blob in nested.outputs}
            names.difference_update(written)
            names.update(written if reached else ())
        if is_do:
            changed.update(one for one in statement.op.outputs if inside.bound(one) in names)


def _deviation(view: NetView, statement: Statement, reached: Sequence[Writing]) -> str:
    """What an operator of a nested net does with the gradient of what changed; empty: it sends that of its function."""
    type, given = statement.op.type, gives(view, statement.number)
    if type in ON_PURPOSE and reached:
        return "sends back another gradient than its function's, on purpose"
    for blob, gets in zip(statement.inputs, given or [False] * len(statement.inputs), strict=True):
        is_cut_off = blob in reached and not gets and (given is not None or type in CONSTANT_COPIES)
        if is_cut_off and (value := view.value(blob)) is not None and value.dtype.startswith("float"):
            return f"sends no gradient to {blob}"
    return ""


def _may_deviate(view: NetView, statement: Statement) -> bool:
    """Whether something in the nested nets of an operator keeps a gradient back, whatever they read and run."""
    for net in statement.nets.values():
        inside = NetView(view.recorded, view.position, net)
        for nested in net.forward:
            is_one = nested.op.type in (*ON_PURPOSE, *CONSTANT_COPIES)
            if is_one or _may_deviate(inside, nested) or not all(gives(inside, nested.number) or [True]):
                return True
    return False


Doubles = Callable[[Writing], Array]
"""Gives the value of a version in double precision; raises CursorError ``not_computed``."""


def doubles_of(view: NetView) -> Doubles:
    """The values of a net, each converted once, however many gradients are checked with it."""
    return cache(lambda blob: as_double(view.needed(blob)))


def check_repeats(view: NetView, statement: Statement, run: OperatorRun) -> None:
    """Raise NotCheckable unless an operator run on what it read gives what it gave."""
    inputs = [moved(view.needed(blob), CPU) for blob in statement.inputs]
    outputs, other = run(inputs), f"{statement.op.type} here is another function than {statement.name} was"
    if len(outputs) != len(statement.outputs):
        raise NotCheckable(f"{other}: it gives {count_of(len(outputs), 'output')}.")
    for slot, (blob, again) in enumerate(zip(statement.outputs, outputs, strict=True)):
        was = view.needed(blob)
        if isinstance(was, ScopeStack) or _is_same(moved(was, CPU), again):
            continue
        if _is_same(run(inputs)[slot], again):
            raise NotCheckable(f"{other}: on the same inputs it gives another {blob}.")
        raise NotCheckable(f"{statement.name} is random: run again on the same inputs it gives another {blob}.")


def _is_same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-5, atol=1e-8, equal_nan=True)


def _leading(view: NetView) -> set[Writing]:
    """The blob versions from which some way leads to a y, whether gradients come back on it or not."""
    leading = set(seeds(view))
    for statement in reversed(view.net.forward):
        if not leading.isdisjoint(statement.outputs):
            leading.update(statement.inputs)
    return leading


class _Rerun(NamedTuple):
    """An operator of a program that is run again.

    Attributes:
        inputs: what it read, in double precision; None: what `takes` says.
        takes: for each input the version that takes its place; None: it stays.
        writes: the versions that it writes.
    """

    run: OperatorRun
    inputs: list[Array | None]
    takes: list[Key | None]
    writes: list[Key]


def _program(blob: Key, operators: Sequence[_Rerun], ys: Sequence[Key], array: Array) -> list[Array]:
    """The values of `ys` that a program gives for an array in place of the blob.

    What gets no gradient on the way, such as labels or what a StopGradient lets through, stays as it was recorded.
    """
    values = {blob: array}
    for run, inputs, takes, writes in operators:
        read = [was if key is None else values[key] for was, key in zip(inputs, takes, strict=True)]
        values.update(zip(writes, run(read), strict=True))
    return [values[y] for y in ys]


def rest_of(view: NetView, blob: Writing, doubles: Doubles) -> Callable[[], Rest]:
    """What gives the rest of a net's program, from a blob version on, and runs it once; both raise what follows.

    Raises:
        NotCheckable, GradvizError: it cannot be run again, or gives something else.
    """
    again = _again(view)
    return _program_from(view, blob, doubles) if again is None else again.rest(blob.key)


def _program_from(view: NetView, blob: Writing, doubles: Doubles) -> Callable[[], Rest]:
    """The part of the forward program that carries gradients from a blob to the ys."""
    changed, notes = {blob}, list[str]()
    statements: list[Statement] = []
    operators: list[_Rerun] = []
    leading = _leading(view)
    for statement in view.net.forward:
        if changed.isdisjoint(statement.inputs):
            continue
        given = gives(view, statement.number) or [False] * len(statement.inputs)
        pairs = list(zip(statement.inputs, given, strict=True))
        takes = [one.key if gets and one in changed else None for one, gets in pairs]
        if not leading.isdisjoint(statement.outputs):
            stays = [one for one, took in zip(statement.inputs, takes, strict=True) if one in changed and took is None]
            notes += [
                f"{statement.name} sends no gradient to {one}, so what it makes of it was kept constant."
                for one in dict.fromkeys(stays)
            ]
        if any(takes):
            inputs = [doubles(one) if key is None else None for one, key in zip(statement.inputs, takes, strict=True)]
            writes = [one.key for one in statement.outputs]
            through = [one.name for one, took in zip(statement.inputs, takes, strict=True) if took is not None]
            operators.append(_Rerun(operator_run(view, statement, through), inputs, takes, writes))
            statements.append(statement)
            changed.update(statement.outputs)
    ys = [y.key for y in seeds(view) if y in changed]
    if not ys:
        raise NotCheckable(f"Its gradient came from elsewhere: no y was computed from {blob}.")
    own = {one.run.op.type: one.run.own for one in operators if one.run.own is not None}

    def checked() -> Rest:
        for statement, one in zip(statements, operators, strict=True):
            check_repeats(view, statement, one.run)
        in_double = [one._replace(run=one.run.in_double()) for one in operators]
        run = partial(_program, blob.key, in_double, ys)
        values = [view.value(output) for statement in statements for output in statement.outputs]
        return Rest(run, notes, {value.dtype for value in values if value is not None}, ys, own)

    return checked


def backward_run(view: NetView) -> Callable[[int, Mapping[int, Array]], list[Array | None]]:
    """What runs the backward operators of a net on the recorded values of a run, one forward operator at a time.

    It takes the number of the forward operator and the gradient of each output slot, and gives what reaches each input.
    An output that is not among them has zeros for its gradient, or none where it had none.

    Raises, when it runs:
        CursorError: ``not_computed``. GradvizError: a rule or an operator that fails.
    """
    again = _again(view)
    if again is not None:
        return again.backward
    ready = cache(partial(_ready, view))
    return lambda index, arriving: ready(index).run(arriving)


def _ready(view: NetView, index: int) -> _Ready:
    return _recorded(view, index) if view.net.forward[index].op.type in NETS else _asked(view, index)


def _asked(view: NetView, index: int) -> _Ready:
    """The operators that the rule makes for an operator whose inputs and outputs all have names of their own."""
    statement = view.net.forward[index]
    operator_type = lookup(statement.op.type)
    if operator_type is None:
        raise GradvizError(f"The backward of {statement.name} cannot be run again here", kind="not_again")
    check_arity(statement.op, index, operator_type)
    values: dict[str, Array] = {}
    slots = []
    for blob in (*statement.inputs, *statement.outputs):
        name = free_name(blob.name, values.__contains__)
        values[name] = view.needed(blob)
        slots.append(name)
    inputs, outputs = slots[: len(statement.inputs)], slots[len(statement.inputs) :]
    op = msgspec.structs.replace(statement.op, inputs=inputs, outputs=outputs)
    names: list[str | None] = []
    for slot, parts in enumerate(arriving(view, index)):
        names.append(None if parts is None else free_name(f"{outputs[slot]}_grad", values.__contains__))
        if (gradient := names[-1]) is not None:
            values[gradient] = _zeros_like(values[outputs[slot]])
    answer = ask_rule(op, index, names)
    results = [tuple(map(str, parts_of(gradient))) for gradient in answer.g_input]
    return _Ready(plan(answer.operators, values).steps, values, names, results, inputs)


def _recorded(view: NetView, index: int) -> _Ready:
    """The recorded operators of a control operator, which run nested nets."""
    statement = view.net.forward[index]
    names: list[str | None] = [None] * len(statement.outputs)
    is_gradient: dict[Writing, int] = {}
    values = {blob.name: view.needed(blob) for blob in statement.inputs}
    for slot, parts in enumerate(arriving(view, index)):
        if parts is not None:
            if shared := [str(part) for part in parts if part in (*statement.inputs, *statement.outputs)]:
                raise GradvizError(
                    f"{statement.name} reads or writes {listed(shared)}, which is its gradient as well: what comes "
                    "of a part of that cannot be told apart",
                    kind="not_again",
                    ways_out=["Give a gradient of its own, such as a Copy."],
                )
            sums = [one.parts[-1] for one in sent(view, statement.outputs[slot]) if one.how == "sum"]
            is_gradient |= dict.fromkeys([parts[-1], *sums], slot)
            names[slot] = parts[-1].name
            values[parts[-1].name] = _zeros_like(view.needed(parts[-1]))
    operators: list[Operator] = []
    reads: list[Writing] = []
    written: set[str] = set()
    for gradient_operator in gradient_operators_of(view, index):
        operators.append(view.operator(gradient_operator))
        reads += [blob for blob in gradient_operator.inputs if blob.name not in written]
        written.update(blob.name for blob in gradient_operator.outputs)
    results = []
    for blob in statement.inputs:
        through = [one for one in sent(view, blob) if one.through == index and one.how != "sum"]
        parts = through[-1].parts if through else ()
        reads += [part for part in parts if part.name not in written]  # it passes through unchanged
        results.append(tuple(part.name for part in parts))
    for blob in reads:
        if blob in is_gradient:
            names[is_gradient[blob]] = blob.name
            values[blob.name] = _zeros_like(view.needed(blob))
        elif (array := view.array(blob)) is not None:
            values[blob.name] = array
    return _Ready(plan(operators, values).steps, values, names, results, [blob.name for blob in statement.inputs])


class _Ready(NamedTuple):
    """Backward operators ready to run.

    Attributes:
        values: what they read, zeros for the gradients of outputs.
        gradients: the name of each output's gradient.
        results: for each input the blobs that its gradient consists of; none where it has none.
        inputs: the names of the inputs.
    """

    steps: Sequence[Step]
    values: dict[str, Array]
    gradients: list[str | None]
    results: list[tuple[str, ...]]
    inputs: list[str]

    def run(self, arriving: Mapping[int, Array]) -> list[Array | None]:
        """What reaches each input; raises GradvizError where that does not fit it."""
        values = self.values.copy()
        for slot, array in arriving.items():
            name = self.gradients[slot]
            assert name is not None
            values[name] = array
        execute(self.steps, values)
        return [self._result(values, slot) for slot in range(len(self.results))]

    def _result(self, values: Mapping[str, Array], slot: int) -> Array | None:
        parts = self.results[slot]
        if not parts:
            return None
        name = self.inputs[slot]
        gradient, like = values[parts[0]], self.values[name]
        if len(parts) == 2:
            return dense(gradient, values[parts[1]], like)
        if gradient.shape != like.shape:
            why = f"{gradient.shape} does not fit {like.shape}"
            raise GradvizError(f"The gradient of {name} cannot be computed again here: {why}", kind="not_again")
        return gradient


def _zeros_like(array: Array) -> Array:
    with current(device_of(array)):
        return np.zeros_like(array)


def cancelling(view: NetView, blob: Writing) -> float:
    """The largest number that cancels in the gradient of a version.

    Each gradient g on the way back from the ys is moved by all of itself, up or down as a coin says, and what that does
    to the gradients behind it is computed by the backward operators, which are linear in it. One rounding each, and so
    ε moved(x), is what a gradient may be off:

        moved(x) = Σ over the operators that read x of Jᵀ (moved(y) ± g(y))

    Where backward operators cannot be run again: the largest of the gradients that it is computed from.
    """
    try:
        return _largest(_moved_by_coins(view, blob))
    except GradvizError:
        return max(map(_largest, arriving_after(view, blob)), default=0.0)


def _moved_by_coins(view: NetView, blob: Writing) -> Array:
    """What becomes of the gradient of a version where all on the way to it are moved."""
    run, coins = backward_run(view), np.random.default_rng(COINS)
    moves: dict[Writing, Array] = {blob: np.zeros(())}
    behind = computed_from(view, blob)
    for statement in reversed(view.net.forward):
        if behind.isdisjoint(statement.inputs):
            continue
        given = {}
        for slot, parts in enumerate(arriving(view, statement.number)):
            if parts is not None:
                output = statement.outputs[slot]
                gradient = array_of(view, output, parts)
                change = moves.get(output, 0.0) + coins.choice((-1.0, 1.0), gradient.shape) * as_double(gradient)
                given[slot] = moved(change.astype(gradient.dtype), device_of(gradient))
        for read, reached in zip(statement.inputs, run(statement.number, given) if given else (), strict=False):
            if reached is not None and read in behind:
                moves[read] = moves.get(read, 0.0) + as_double(reached)
    return moves[blob]


def _largest(array: Array) -> float:
    return float(np.abs(as_double(array)).max(initial=0.0))
