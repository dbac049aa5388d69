"""What a backward pass starts from: the blobs to differentiate and their gradients."""

import warnings
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from ..program import Gradient, GradientError, GradientSlice, NetError
from ..program.errors import shorten
from ..program.operator import check_name, parts_of
from ..program.spelling import get_close_matches

Ys = list[str] | Mapping[str, Gradient | None]
"""Blobs to differentiate: a list (all seeded with ones), or a mapping to a gradient's name, a slice, or None (ones)."""


def parse_ys(
    ys: Any, known: Set[str], local_to: Callable[[str], str | None] = lambda blob: None
) -> dict[str, Gradient | None]:
    """`ys` as a mapping, in the order given.

    A y that the net does not have is an error, unless its gradient is given and another y is in the net: then the
    gradient goes straight to the result, with a warning.

    Args:
        known: the blobs of the net.
        local_to: the way to the nested net that a blob is local to, if there is one.

    Raises:
        GradientError: ``bad_ys`` when it is no list or dict, a y is not among the `known` blobs, or a gradient is
            neither a name, a GradientSlice (or its JSON form) nor None.
    """
    if isinstance(ys, Mapping):
        items = dict(ys)
    elif isinstance(ys, list):
        items = dict.fromkeys(map(_only_names, ys))
    else:
        raise _bad(f"ys must be a list of blob names or a dict, not {type(ys).__name__} {ys!r}.")
    parsed: dict[str, Gradient | None] = {}
    for y, gradient in items.items():
        _only_names(y)
        parsed[y] = _gradient(y, gradient)
    for y, given in parsed.items():
        if y not in known:
            if given is None or known.isdisjoint(parsed):
                raise _unknown(y, known, local_to(y))
            warnings.warn(f"The net has no blob {shorten(y)}: nothing is differentiated from it.", stacklevel=2)
    return parsed


def _unknown(y: str, known: Set[str], local_to: str | None) -> GradientError:
    near = get_close_matches(y, known, n=3)
    if local_to is not None:
        more = (
            f"{shorten(y)} is local to the net {local_to}, whose Do keeps it to itself: make it an output of that Do."
        )
    else:
        more = f"Did you mean {' or '.join(near)}?" if near else "str(net) lists every blob."
    return _bad(f"The net has no blob {shorten(y)} to differentiate.", blobs=[y], more=[more])


def _only_names(y: Any) -> str:
    if isinstance(y, str):
        return y
    raise _bad(f"{y!r} among the ys is not a blob name.")


def _gradient(y: str, gradient: Any) -> Gradient | None:
    if isinstance(gradient, Mapping) and gradient.keys() == {"indices", "values"}:
        gradient = GradientSlice(gradient["indices"], gradient["values"])
    if gradient is None or isinstance(gradient, str | GradientSlice):
        try:
            for name in parts_of(gradient):
                check_name(name, f"gradient of {shorten(y)}")
        except NetError as error:
            raise _bad(error.message, blobs=[y], more=error.ways_out) from error
        return gradient
    raise _bad(
        f"The gradient of {y} must be the name of a blob, a GradientSlice or None (ones), not {gradient!r}.",
        blobs=[y],
        more=["To start from an array, feed it under a name and give that name."],
    )


def _bad(message: str, *, blobs: Sequence[str] = (), more: Sequence[str] = ()) -> GradientError:
    ways_out = [*more, 'Write ys as ["loss"] or {"loss": "loss_grad"}; None stands for a gradient of ones.']
    return GradientError(message, kind="bad_ys", blobs=blobs, ways_out=ways_out)
