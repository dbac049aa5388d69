"""What kernels of users return, made safe to keep: numbers, in memory that the kernel does not write into again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..program import RunError

NUMERIC = "biufc"
"""numpy's kinds of dtype that a blob may have: bool, integers, floats, complex."""


def with_own_results(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel`, of whose results those are copied that lie in memory that others can write into.

    The result itself becomes read-only, but a kernel that returns a view of an array that it fills at every call would
    change what it returned before.

    Raises:
        RunError: ``kernel_failed``, the kernel returned an array of something else than numbers and truth values.
    """

    @wraps(kernel)
    def run(*given: Any) -> Any:
        made = kernel(*given)
        return tuple(map(_own, made)) if type(made) is tuple else _own(made)

    return run


def _own(value: Any) -> Any:
    if not isinstance(value, np.ndarray | np.generic):
        return value
    if value.dtype.kind not in NUMERIC:
        raise RunError(
            f"its kernel returned an array of dtype {value.dtype}.",
            kind="kernel_failed",
            ways_out=["Return numbers or truth values: booleans, integers, floats or complex numbers."],
        )
    owner = value
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    is_view = owner is not value or owner.base is not None
    return np.array(value, order="K") if is_view and owner.flags.writeable else value
