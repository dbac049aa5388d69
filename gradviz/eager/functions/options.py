"""How functions read what is no array: integers, numbers, flags, sizes; what is none of these is refused by name."""

from collections.abc import Iterable
from operator import index
from typing import Any

import numpy as np

from ...program import RunError
from ...program.errors import repr_of, shorten

MOST = 2**63 - 1
"""The greatest integer that an array holds."""


def whole(function: str, option: str, value: Any) -> int:
    """An integer; raises RunError ``bad_argument``, as all of these do."""
    return _integers(function, option, [value], value, "an integer")[0]


def number(function: str, option: str, value: Any) -> float:
    """A real number, also one in an array or a Variable of one element."""
    try:
        return float("no" if isinstance(value, str | bytes) else value)
    except (TypeError, ValueError, OverflowError):
        raise no_option(function, option, value, "a number") from None


def flag(function: str, option: str, value: Any) -> int:
    """1 for yes, 0 for no."""
    if isinstance(value, bool | int | np.bool_ | np.integer) and value in (0, 1):
        return int(value)
    raise no_option(function, option, value, "True or False")


def text(function: str, option: str, value: Any) -> str:
    """A word or an equation."""
    if isinstance(value, str):
        return value
    raise no_option(function, option, value, "text")


def sizes(function: str, option: str, value: Any) -> tuple[int, ...]:
    """A shape or axes, given as one integer or several."""
    elements = list(value) if isinstance(value, Iterable) and getattr(value, "shape", True) else [value]
    return tuple(_integers(function, option, elements, value, "an integer, or several"))


def _integers(function: str, option: str, elements: list[Any], value: Any, wanted: str) -> list[int]:
    try:
        integers = [index(each) for each in elements]
    except TypeError:
        raise no_option(function, option, value, wanted) from None
    if any(abs(each) > MOST for each in integers):
        raise no_option(function, option, value, f"{wanted} of at most 64 bits")
    return integers


def no_option(function: str, option: str, value: Any, wanted: str) -> RunError:
    """The error for an option that is not what it must be."""
    return RunError(
        f"{function}: {option}={shorten(repr_of(value))} must be {wanted}.",
        kind="bad_argument",
        ways_out=[f"help(gradviz.functions.{function}) tells what it takes."],
    )
