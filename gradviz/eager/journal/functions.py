"""What the events of every schedule say of functions and of the operators that stand for them."""

from collections.abc import Sequence

import msgspec

from ...operators import lookup
from ...program import GradientError, GradvizError, NetError, Operator
from ...program.events import Failed, Ran
from ...program.operator import check_name
from ...runtime.devices import device_of
from ...runtime.watched import Lending
from ..expression import Expression
from ..function import Function
from ..tape import OperatorPool, TensorPool

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
        known = lookup(op.type)
        usual = {} if known is None or known.args is None else known.args
        args = {name: value for name, value in op.args.items() if name not in usual or usual[name] != value}
        return op if len(args) == len(op.args) else msgspec.structs.replace(op, args=args)
    return msgspec.structs.replace(op, type=f"{_label(str(op.arg('function')))}{op.type.removeprefix(PYTHON)}", args={})


def _label(name: str) -> str:
    """The name of a class, as no other operator type is called."""
    try:
        check_name(name, "function")
    except NetError:
        return PYTHON
    return name if lookup(name) is None else f"Python.{name}"


def known_before(expression: Expression, index: int, op: Operator, ins: tuple[int, ...], outs: tuple[int, ...]) -> Ran:
    """That function `index`, shown as `op`, has run when it was called."""
    outputs = expression.operators[index].outputs
    device = str(device_of(expression.values[outputs[0]])) if outputs else "cpu"
    return Ran(index, op, ins, outs, device, None)


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
        error = GradientError(f"{who} raised {type(error).__name__}: {error}.", kind="rule_failed")
    return Failed.of(error, running)


def lendings(expression: Expression) -> Sequence[Lending]:
    """What a tape takes from the pools of names while it is run backward: a recording takes none itself.

    A name for each output and each operator; those given back first are taken first.
    """
    functions = [function for function in expression.functions if function is not None]
    joined = TensorPool.current().occupancy().get("join", (0, 0))
    types = {function.label for function in functions}
    known = [found for type, found in OperatorPool.current().occupancy().items() if type in types]
    in_use, free = (sum(found[at] for found in known) for at in (0, 1))
    return [
        Lending("tensors: join", *joined, sum(function.count for function in functions)),
        Lending("operators", in_use, free, len(functions)),
    ]
