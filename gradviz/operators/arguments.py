"""Arguments of operators: what type each must have, told by its default."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from ..program import Operator, RunError


def check_arguments(op: Operator, defaults: Mapping[str, Any]) -> None:
    """Raise RunError (``bad_argument``) where an argument of `op` is not of its default's type.

    A default of None takes anything, a tuple a list of integers, and a float any real number. Arguments without a
    default are not read by the operator and pass.
    """
    for name, value in op.args.items():
        default = defaults.get(name)
        if default is not None and not _fits(value, default):
            raise bad_argument(op, name, f"must be {_wanted(default)}", f"Leave it out for its default, {default!r}.")


def bad_argument(op: Operator, name: str, why: str, *ways_out: str) -> RunError:
    """The error for argument `name` of `op`, which `why` tells the fault of ("must be an integer")."""
    return RunError(f"{name}={op.args.get(name)!r} {why}.", kind="bad_argument", ways_out=ways_out)


def _fits(value: object, default: object) -> bool:
    if isinstance(default, tuple):
        return isinstance(value, list | tuple) and all(isinstance(item, Integral) for item in value)
    if isinstance(default, str):
        return isinstance(value, str)
    return isinstance(value, Integral if isinstance(default, int) else Real)


def _wanted(default: object) -> str:
    if isinstance(default, tuple):
        return "a list of integers"
    if isinstance(default, str):
        return "text"
    return "an integer" if isinstance(default, int) else "a number"
