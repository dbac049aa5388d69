"""What the logs of every schedule have in common: names, what events say of functions, and every ``grad``.

A ``grad`` is a blob x.grad: version 0 is its value before the pass, the next one what the pass has written.
"""

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import ClassVar, NamedTuple

import msgspec

from ...gradient.accumulation import GradientNames
from ...operators import lookup
from ...operators.registry import Array
from ...program import Gradient, GradientError, GradvizError, Operator
from ...program.code_line import line_of
from ...program.errors import raised
from ...program.events import Event, Failed, GradWritten, Played, Ran, Writing
from ...program.net_halves import Key
from ...runtime.devices import copied, device_of
from ...runtime.store import Store, feed, new_values
from ...runtime.watched import Lending
from ..expression import Expression, is_legal
from ..function import Function
from ..passes import Change
from ..tape import OperatorPool, TensorPool
from ..variable import Variable, plain

PYTHON = "PythonFunction"


def is_python(op: Operator) -> bool:
    """Whether `op` stands for a function with methods in Python, or for its gradient."""
    return op.type.startswith(PYTHON)


def shown(op: Operator) -> Operator:
    """`op` as a person reads it: ``CubeGradient(x, y_grad)`` for the backward method of a class Cube.

    Arguments that are what they would be anyway are left out: functions give them all.
    """
    if not op.args:
        return op
    if not is_python(op):
        operator_type = lookup(op.type)
        usual = {} if operator_type is None or operator_type.args is None else operator_type.args
        args = {name: value for name, value in op.args.items() if name not in usual or usual[name] != value}
        return op if len(args) == len(op.args) else msgspec.structs.replace(op, args=args)
    return msgspec.structs.replace(op, type=f"{_label(str(op.arg('function')))}{op.type.removeprefix(PYTHON)}", args={})


def _label(name: str) -> str:
    """The name of a class, as no other operator type is called."""
    if not is_legal(name):
        return PYTHON
    return name if lookup(name) is None else f"Python.{name}"


def called(index: int, op: Operator, function: Function | None) -> Played:
    """Function `index` of an expression, shown as `op`, was called: which rank it has, and on which line."""
    ins, outs = (0,) * len(op.inputs), (0,) * len(op.outputs)
    if function is None:
        return Played(index, op, ins, outs)
    return Played(index, op, ins, outs, function.rank, line_of(function.called_at), numbered=True)


def unwanted(function: Function | None, count: int) -> tuple[int, ...]:
    """Which of its `count` inputs require no gradient."""
    if function is None or function.wanted + 1 == 1 << count:
        return ()
    return tuple([slot for slot in range(count) if not function.wanted >> slot & 1])


def failed(error: Exception, expression: Expression, running: int | None) -> Failed:
    """The end of a pass with an error, while function `running` went backward; None: while none did."""
    if not isinstance(error, GradvizError):
        op = None if running is None else shown(expression.operators[running])
        who = "The pass" if op is None else f"The backward method of {op.type} #{running}"
        error = GradientError(f"{who} raised {raised(error)}.", kind="rule_failed")
    return Failed.of(error, running)


def lendings(expression: Expression) -> Sequence[Lending]:
    """What a tape takes from the pools of names while it is run backward: a recording takes none itself.

    A name for each output and each operator; those given back first are taken first.
    """
    functions = [function for function in expression.functions if function is not None]
    joined = TensorPool.current().occupancy().get("join", (0, 0))
    types = {function.label for function in functions}
    occupancies = [each for type, each in OperatorPool.current().occupancy().items() if type in types]
    in_use, free = (sum(each[at] for each in occupancies) for at in (0, 1))
    return [
        Lending("tensors: join", *joined, sum(function.count for function in functions)),
        Lending("operators", in_use, free, len(functions)),
    ]


class NotedChange(NamedTuple):
    """What a pass makes of ``grad`` of x, kept as it was; `after`: the gradient, None for none."""

    x: Variable
    how: Writing
    after: Array | None


def copies(holding: Iterable[Variable]) -> dict[Variable, Array]:
    """What Variables hold for a gradient, as it is now."""
    return {x: copied(plain(x.grad)) for x in dict.fromkeys(holding)}


def noted(changes: Iterable[Change]) -> list[NotedChange]:
    """What becomes of every ``grad`` that is something before or after."""
    return [
        NotedChange(change.x, _writing(change), None if change.gradient is None else copied(plain(change.gradient)))
        for change in changes
        if change.x.grad is not None or change.gradient is not None
    ]


class Log:
    """What happens in a pass, growing with it.

    Attributes:
        engine: its schedule.
        last: what happens last in a pass that comes to its end.
        ys: what it starts from: the roots by name -> the name of the gradient that is given, None for ones.
        expression: the program that goes backward.
        events: what has happened.
        operators: the gradient operators, each executable on blobs of these names.
        values: blob version -> array.
        grads_before: the Variables that held a gradient before the pass, by name -> its version.

    Args:
        grads_before: what Variables hold before it.
        store: keeps the values; None: they are kept by references.
    """

    engine: ClassVar[str]
    last: ClassVar[type[Event]]

    def __init__(self, expression: Expression, grads_before: Mapping[Variable, Array], store: Store | None) -> None:
        self.ys: dict[str, str | None] = {}
        self.events: list[Event] = []
        self.operators: list[Operator] = []
        self.values: MutableMapping[Key, Array] = new_values(store)
        self.expression = expression
        self._names = GradientNames(expression.values)
        self.grads_before = {
            name: self._grad(name, 0, grads_before[x])
            for name, x in expression.variables.items()
            if x in grads_before and expression.name_of(x) == name
        }
        feed(self.values, {(name, 0): array for name, array in expression.values.items()})

    def _ran_forward(self, index: int, op: Operator, ins: tuple[int, ...], outs: tuple[int, ...]) -> None:
        """Function `index`, shown as `op`, ran when it was called."""
        outputs = self.expression.operators[index].outputs
        device = str(device_of(self.expression.values[outputs[0]])) if outputs else "cpu"
        self.events.append(Ran(index, op, ins, outs, device, None))

    def _write_grads(self, changes: Sequence[NotedChange], gradient_of: Callable[[str], Gradient | None]) -> None:
        """What becomes of every ``grad``, by the gradient that the pass has brought."""
        for x, how, after in changes:
            name = self.expression.name_of(x)
            if name is not None:
                before = self.grads_before.get(name)
                version = None if after is None else self._grad(name, int(before is not None), after)
                gradient = None if after is None else gradient_of(name)
                self.events.append(GradWritten(name, how, gradient, before, version))

    def _grad(self, name: str, version: int, array: Array) -> str:
        grad = self._names.always(f"{name}.grad")
        self.values[grad, version] = array
        return f"{grad}@{version}"


def _writing(change: Change) -> Writing:
    if change.gradient is None:
        return "dropped"
    if change.x.grad is None:
        return "new"
    return "added" if change.x.creator is None else "replaced"
