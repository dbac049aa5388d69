"""How magics are used, and the answer to wrong use: a sentence and the right use, without a traceback."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from IPython.core.error import UsageError
from IPython.display import display

from ...debugger import ConditionError, CursorError
from ...program import GradvizError
from ...program.errors import shorten

Magic = Callable[..., Any]


def answered(magic: Magic) -> Magic:
    """A magic that shows what it gives, and refuses as IPython's own magics do."""

    @wraps(magic)
    def call(line: str, *cell: str) -> None:
        try:
            shown = magic(line.strip(), *cell)
        except GradvizError as error:
            is_misuse = isinstance(error, ConditionError | CursorError) or error.kind == "usage"
            raise UsageError("\n".join([str(error), *([usage(magic)] * is_misuse)])) from None
        display(shown)  # type: ignore[no-untyped-call]

    return call


def usage(magic: Magic) -> str:
    """The line of its help that says how a magic is written."""
    return next(line.strip() for line in (magic.__doc__ or "").splitlines() if line.strip().startswith("Usage:"))


def misused(message: str, *ways_out: str) -> GradvizError:
    """A magic was written in a way that means nothing."""
    return GradvizError(message, kind="usage", ways_out=ways_out)


def nothing(name: str, line: str) -> None:
    """Raise unless nothing stands behind a magic that takes nothing."""
    if line:
        raise misused(f"%{name} takes nothing, and there is {shorten(line)}.")


def something(name: str, what: str, line: str) -> str:
    """What stands behind a magic that takes something."""
    if not line:
        raise misused(f"%{name} takes {what}.")
    return line


def count(name: str, line: str) -> int:
    """The number of events behind a magic: 1 where there is none."""
    if line and (not line.isdecimal() or int(line) < 1):
        raise misused(f"%{name} takes a number of events, 1 or more, and not {shorten(line)}.")
    return int(line or 1)
