"""What a cursor refuses: a place, a blob or a value that the recording does not have."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from ...program import GradvizError
from ...program.errors import get_close_matches, shorten
from ...runtime.watched import uncollected
from ..document import Obstacle, TraceError

Method = TypeVar("Method", bound=Callable[..., Any])

MOST_KNOWN = 8
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
            if self._live is not None:
                raise
            raise TraceError(
                f"The trace contradicts itself: {method.__name__} cannot be answered ({error!r}).",
                kind="bad_reference",
                ways_out=["The file may be damaged: save the session again."],
            ) from error

    return cast(Method, call)


def unknown(what: str, word: object, known: Iterable[str], ways_out: Sequence[str] = ()) -> CursorError:
    """The recording has no `what` that is called `word`; the `known` ones that are called alike are offered."""
    text, names = str(word), list(dict.fromkeys(known))
    near = get_close_matches(text, names, n=3)
    offered = [f"Did you mean {' or '.join(near)}?"] if near else []
    if not near and names:
        more = f" and {len(names) - MOST_KNOWN} more" if len(names) > MOST_KNOWN else ""
        offered = [f"There are {', '.join(names[:MOST_KNOWN])}{more}."]
    return CursorError(
        f"The recording has no {what} {shorten(text)}.",
        kind="not_found",
        blobs=[text],
        ways_out=[*offered, *ways_out],
    )


def no_value(
    blob: str,
    *,
    is_read: bool,
    has_stopped: bool = False,
    obstacle: Obstacle | GradvizError | None = None,
    absent: tuple[str, str] | None = None,
) -> CursorError:
    """There is no array of `blob`.

    Args:
        is_read: whether the recording was read from a file.
        has_stopped: whether the last thing that happened is that something failed.
        obstacle: why nothing was run at all.
        absent: what its engine says of it: why, and a way out.
    """
    if obstacle is not None:
        return CursorError(
            f"There is no value of {shorten(blob)}: nothing was run. {obstacle.message}",
            kind="not_computed",
            blobs=[blob],
            ways_out=obstacle.ways_out,
        )
    if is_read:
        reason, way_out = "a saved trace keeps statistics, no arrays", "Record it again with gradviz.debug."
    elif absent is not None:
        reason, way_out = absent
    elif has_stopped:
        reason, way_out = "it stopped before that was computed", "finish() moves to what stopped it and says why."
    else:
        reason, way_out = "it was not computed", "Feed the net's inputs and give the workspace: "
        way_out += "gradviz.debug(net, ys, workspace=ws)."
    return CursorError(
        f"There is no value of {shorten(blob)}: {reason}.", kind="not_computed", blobs=[blob], ways_out=[way_out]
    )


def bad_argument(name: str, value: object, wanted: str) -> CursorError:
    """An argument of a question is not what it must be."""
    return CursorError(
        f"{name}={shorten(repr(value))} is no answerable question.",
        kind="bad_argument",
        ways_out=[f"Give {wanted}."],
    )
