"""Arguments of operators: which ones a type takes, and of what type each must be: that of its default."""

from collections.abc import Mapping
from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..program import GradvizError, Operator, RunError
from ..program.errors import meant, repr_of

HINTS = frozenset(
    (
        "cudnn_exhaustive_search",
        "deterministic",
        "enable_tensor_core",
        "exhaustive_search",
        "order",
        "shared_buffer",
        "ws_nbytes_limit",
    )
)
"""What Caffe2's model helpers put on operators of any type: how cuDNN shall compute, and how images lie in memory.

No result depends on them, but for the images of the types that list ``order`` among their own arguments.
"""


def check_names(op: Operator, index: int, takes: Mapping[str, Any] | None, error: type[GradvizError]) -> None:
    """Raise `error` (``bad_argument``) where `op` carries an argument that its type does not take.

    An operator that a gradient rule marked may carry any: those of its forward operator travel along.

    Args:
        index: its place in its net.
        takes: the arguments of its type with their defaults; None: any.
    """
    if takes is None or op.is_gradient or takes.keys() >= op.args.keys():
        return
    for name in op.args:
        if name not in takes and name not in HINTS:
            raise error(
                f"{op.type} takes no argument {name!r} (operator #{index} {op}).",
                kind="bad_argument",
                operator_index=index,
                blobs=op.outputs,
                ways_out=[*meant(name, takes), f"It takes {', '.join(takes) or 'none'}."],
            )


def own_arguments(op: Operator, takes: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments of `op` that its type takes, without what a gradient operator carries along; see `check_names`."""
    return {name: value for name, value in op.args.items() if takes is None or name in takes}


def check_arguments(op: Operator, defaults: Mapping[str, Any]) -> None:
    """Raise RunError (``bad_argument``) where an argument of `op` is not of its default's type.

    A default of None takes anything, a tuple a list of integers, and a float any real number. Arguments without a
    default are not read by the operator and pass.
    """
    for name, value in op.args.items():
        default = defaults.get(name)
        if default is not None and (wanted := _wanted(value, default)):
            raise bad_argument(op, name, f"must be {wanted}", f"Leave it out for its default, {default!r}.")


def bad_argument(op: Operator, name: str, why: str, *ways_out: str) -> RunError:
    """The error for argument `name` of `op`, which `why` tells the fault of ("must be an integer")."""
    return RunError(f"{name}={repr_of(op.args.get(name))} {why}.", kind="bad_argument", ways_out=ways_out)


def number_of(op: Operator, name: str, dtype: "np.dtype[Any]", default: float = 0.0) -> Any:
    """The number in argument `name`, for an array of a dtype; raises RunError where that has no such number."""
    number = op.args.get(name, default)
    if dtype.kind in "fc":
        kind, least, most = "number", float(np.finfo(dtype).min), float(np.finfo(dtype).max)
        is_there = least <= number <= most or not abs(number) < inf  # NaN and the infinities are there, too
    else:
        kind = "whole number"
        least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        is_there = least <= number <= most and number == int(number)
    if not is_there:
        raise bad_argument(op, name, f"is no {dtype}", f"Give a {kind} from {least} to {most}.")
    return number


def _wanted(value: object, default: object) -> str:
    """What an argument with such a default must be; empty where it is that."""
    if isinstance(default, tuple):
        is_list = isinstance(value, list | tuple) and all(
            isinstance(item, Integral) and not isinstance(item, bool) for item in value
        )
        return "" if is_list else "a list of integers"
    for kind, taken, wanted in ((str, str, "text"), (int, Integral, "an integer")):
        if isinstance(default, kind):
            return "" if isinstance(value, taken) else wanted
    return "" if isinstance(value, Real) else "a number"
