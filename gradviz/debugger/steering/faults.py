"""What a cursor refuses: a place, a blob or a value that the recording does not have."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import signature
from math import inf
from operator import index
from typing import Any, TypeVar, cast

from ...program import GradvizError
from ...program.errors import meant, repr_of, shorten
from ...runtime.watched import uncollected
from ..document import Marked, TraceError, fault_of_marks

Method = TypeVar("Method", bound=Callable[..., Any])

FEED = "Feed the net's inputs and give the workspace: gradviz.debug(net, ys, workspace=ws)."
"""The way out where a program was never run."""

MOST_NAMES = 8
"""Names that an error lists."""


class CursorError(GradvizError):
    """A place, a blob or a value that the recording does not have.

    ``kind`` is ``not_found``, ``not_computed`` or ``bad_argument``.
    """


def consistent(method: Method) -> Method:
    """A method of what looks into a recording: `_live`, or None where that was read from a file.

    What is in a file may contradict itself in ways that are only met there. What it finds of a large recording is many
    objects that are all needed.
    """

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            with uncollected(is_asked=True):
                return method(self, *args, **kwargs)
        except (AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            if self._live is not None or not _takes(method, self, *args, **kwargs):
                raise
            raise TraceError(
                f"The trace contradicts itself: {method.__name__} cannot be answered ({error!r}).",
                kind="bad_reference",
                ways_out=["The file may be damaged: save the session again."],
            ) from error

    return cast(Method, call)


def _takes(method: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Whether these are arguments for a method, in number and by name."""
    try:
        signature(method).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def unknown(what: str, word: object, candidates: Iterable[str], ways_out: Sequence[str] = ()) -> CursorError:
    """The recording has no `what` that is called `word`; the `candidates` that are called alike are offered."""
    text, names = str(word), list(dict.fromkeys(candidates))
    offered = meant(text, names, 3)
    if not offered and names:
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        offered = [f"There are {', '.join(names[:MOST_NAMES])}{more}."]
    return CursorError(
        f"The recording has no {what} {shorten(text)}.",
        kind="not_found",
        blobs=[text],
        ways_out=[*offered, *ways_out],
    )


def position_of(name: str, value: Any, wanted: str = "a position, as an integer") -> int:
    """A position that an argument is, of numpy's integers too; raises CursorError ``bad_argument``."""
    try:
        return int(index(value))
    except TypeError:
        raise bad_argument(name, value, wanted) from None


def whole_number(name: str, value: Any, wanted: str, least: int = 0, most: float = inf) -> int:
    """A number that an argument is, of numpy's integers too; raises CursorError ``bad_argument``."""
    number = position_of(name, value, wanted)
    if isinstance(value, bool) or not least <= number <= most:
        raise bad_argument(name, value, wanted)
    return number


def check_marks(marks: Marked) -> None:
    """Raise CursorError ``bad_argument`` where no document can have these breakpoints and watches."""
    if (fault := fault_of_marks(marks)) is not None:
        raise CursorError(
            f"This cannot be marked: {': '.join(fault)}.",
            kind="bad_argument",
            ways_out=["Take some away first: session.breakpoints.clear(), session.watches.clear(); or write less."],
        )


def bad_argument(name: str, value: object, wanted: str) -> CursorError:
    """An argument of a question is not what it must be."""
    return CursorError(
        f"{name}={shorten(repr_of(value))} is no answerable question.",
        kind="bad_argument",
        ways_out=[f"Give {wanted}."],
    )
