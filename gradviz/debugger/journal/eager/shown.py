"""How operators of define-by-run code are shown: those that stand for a function in Python, as that function."""

import msgspec

from ....operators import lookup
from ....program import NetError, Operator
from ....program.operator import check_name

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
