"""GetItem: parts of an array by the index notation of numpy, written as text, and what puts them back."""

import re
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..program import Operator, RunError
from .arguments import bad_argument
from .gradients import by, gradient_of
from .inference import like_forward, misfit, need_integers
from .registry import Array, Arrays, ArraySpec, in_single, operator

_INTEGER = re.compile(r"-?\d+")
_SLICE = re.compile(r"(-?\d+)?:(-?\d+)?(?::(-?\d+)?)?")


class Places(NamedTuple):
    """Where an index holds the array of places that is input `number`."""

    number: int


@lru_cache(1024)
def parsed(text: str) -> tuple[Any, ...]:
    """An index from its text: ``2``, ``1:3``, ``::-1``, ``...``, ``newaxis``, ``@0``, separated by commas.

    Raises:
        ValueError: a part is none of these.
    """
    return tuple([_part(word.strip()) for word in text.split(",")])


def _part(word: str) -> Any:
    if word in ("...", "newaxis"):
        return Ellipsis if word == "..." else None
    if word.startswith("@"):
        return Places(int(word[1:]))
    if _INTEGER.fullmatch(word):
        return int(word)
    if match := _SLICE.fullmatch(word):
        return slice(*[None if end is None else int(end) for end in match.groups()])
    raise ValueError(f"{word!r} is no part of an index")


def index_of(op: Operator, arrays: Arrays) -> tuple[Any, ...]:
    """The index of `op`, with the arrays of places in it.

    Raises:
        RunError: ``bad_argument``.
    """
    try:
        parts = parsed(op.args.get("index", "..."))
    except ValueError as error:
        raise bad_argument(op, "index", f"is no index: {error}", 'Write it like "1:3, ..., 0, newaxis, @0".') from None
    numbers = [part.number for part in parts if isinstance(part, Places)]
    if sorted(numbers) != list(range(len(arrays))):
        raise bad_argument(op, "index", f"does not name each of {len(arrays)} arrays of places once, from @0 on")
    return tuple([arrays[part.number] if isinstance(part, Places) else part for part in parts])


def chosen_spec(op: Operator, x: ArraySpec, *indices: ArraySpec) -> ArraySpec:
    """Inference of GetItem: the index is tried on an array of one number, stretched to the shape of x."""
    for spec in indices:
        need_integers(spec, "places must be integers")
    anywhere = tuple([np.zeros(spec.shape, np.int64) for spec in indices])
    index = index_of(op, anywhere)
    try:
        return ArraySpec(np.broadcast_to(np.zeros(()), x.shape)[index].shape, x.dtype)
    except (IndexError, ValueError) as error:
        raise misfit(f"x of shape {x.shape} has nothing at [{op.args.get('index', '...')}]: {error}.") from None


@operator(
    "GetItem",
    "x, indices... -> y",
    "y = x[index]",
    "dx[index] = dy, summed where index names an element twice; 0 elsewhere",
    infer=chosen_spec,
    args={"index": "..."},
)
def get_item(op: Operator, x: Array, *indices: Array) -> Array:
    """Part of x. `index` is numpy's: ``"1:3, ..., 0, newaxis, @0"``; ``@0`` is the first array of places, integers."""
    try:
        return x[index_of(op, indices)]
    except IndexError as error:
        message = f"x of shape {x.shape}: {error}."
        raise RunError(message, kind="bad_value", ways_out=["Name places that x has."]) from None


@gradient_of(
    "GetItem",
    "x, dy, indices... -> dx",
    "∂dy = ∂dx[index]",
    infer=like_forward("dy", integers="x indices"),
    second=by("", "∂dx, indices -> ∂dy"),
)
@in_single
def get_item_gradient(op: Operator, x: Array, dy: Array, *indices: Array) -> Array:
    """Gradient of GetItem. Of x the shape alone is read."""
    dx = np.zeros_like(x, dtype=dy.dtype)
    if indices:
        np.add.at(dx, index_of(op, indices), dy)
    else:
        dx[index_of(op, indices)] = dy
    return dx
