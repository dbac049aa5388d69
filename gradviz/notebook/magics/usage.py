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
            shown = magic(_fitting(line.strip(), usage(magic)), *cell)
        except GradvizError as error:
            is_misuse = isinstance(error, ConditionError | CursorError) or error.kind == "usage"
            raise UsageError("\n".join([str(error), *([usage(magic)] * is_misuse)])) from None
        if shown is not None:
            show(shown)

    return call


def show(what: Any) -> None:
    """Leave something in the output of the cell."""
    display(what)  # type: ignore[no-untyped-call]


def usage(magic: Magic) -> str:
    """The line of its help that says how a magic is written."""
    return next(line.strip() for line in (magic.__doc__ or "").splitlines() if line.strip().startswith("Usage:"))


def _fitting(line: str, usage: str) -> str:
    """What stands behind a magic, where it takes that; what stands in brackets in its usage may be left out."""
    name, _, wanted = usage.removeprefix("Usage: ").partition(" ")
    if line and not wanted:
        raise misused(f"{name} takes nothing, and there is {shorten(line)}.")
    if not line and wanted and wanted[0] != "[":
        raise misused(f"{name} takes something behind it.")
    return line


def misused(message: str, *ways_out: str) -> GradvizError:
    """A magic was written in a way that means nothing."""
    return GradvizError(message, kind="usage", ways_out=ways_out)


def count(name: str, line: str) -> int:
    """The number of events behind a magic: 1 where there is none."""
    if line and (not line.isdecimal() or int(line) < 1):
        raise misused(f"%{name} takes a number of events, 1 or more, and not {shorten(line)}.")
    return int(line or 1)
