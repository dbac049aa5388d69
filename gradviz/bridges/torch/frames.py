"""Frames: which code is the user's, which calls stand in it, and what its variables hold."""

from __future__ import annotations

import copy
import inspect
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import torch

from .graph import Tensor

MOST_ITEMS = 1_000
"""Of a list or dict that is looked into."""


class Call(NamedTuple):
    """A call in the user's code: the instruction at `at` of a code object."""

    code: CodeType
    at: int


def variable_of(tensor: Tensor, frame: FrameType | None) -> str:
    """The variable of a frame that holds a tensor, itself or in a list or dict."""
    if frame is None:
        return ""
    for name, value in variables_of(frame).items():
        if value is tensor:
            return name
        elements = getattr(value, "__dict__", None) if name == "self" else value
        for key, one in items_of(elements):
            if one is tensor:
                return f"self.{key}" if name == "self" else name + place_of(key)
    return ""


def items_of(value: Any) -> Iterable[tuple[Any, Any]]:
    """The places and elements of a list or dict; of one that is too long to be looked into, and of all else, none."""
    if not isinstance(value, list | tuple | dict) or len(value) > MOST_ITEMS:
        return ()
    return value.items() if isinstance(value, dict) else enumerate(value)


def named_tensors(variables: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Tensor]]:
    """The tensors that variables hold, in lists and dicts too."""
    for name, value in variables:
        if isinstance(value, Tensor):
            yield name, value
        yield from ((name + place_of(key), one) for key, one in items_of(value) if isinstance(one, Tensor))


def place_of(key: Any) -> str:
    """How names write the place of an element of a list or dict: ``[0]``, ``[0.weight]``."""
    return f"[{key if isinstance(key, str | int) else type(key).__name__}]"


def variables_of(frame: FrameType) -> dict[str, Any]:
    """The local variables of a frame."""
    own = frame.f_locals
    variables = dict(own)
    # Before Python 3.13 a function's frame keeps these values alive, unless somebody else has called locals().
    if type(own) is dict and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(own) <= _HOLDERS:
        own.clear()
    return variables


_HOLDERS = 3
"""Of the variables of a frame: it, a variable, and who counts them."""


INSIDE = (str(Path(torch.__file__).parent) + os.sep, str(Path(__file__).parents[2]) + os.sep)
"""Folders whose code is not the user's: that of PyTorch, and of gradviz."""

STDLIB = sysconfig.get_path("stdlib") + os.sep


def call_in(frame: FrameType | None) -> Call | None:
    """The innermost call that stands in the user's code."""
    frame = users(frame)
    return None if frame is None else Call(frame.f_code, frame.f_lasti)


def users(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user's code, from one outwards."""
    while frame is not None and is_inside(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def is_own(frame: FrameType | None) -> bool:
    """Whether gradviz itself is what calls, from a frame on, to look at values, or `copy.deepcopy`, which copies leaves
    alone: that is no part of a program."""
    while frame is not None and is_inside(file := frame.f_code.co_filename):
        if file == copy.__file__ or (file.startswith(INSIDE[1]) and frame.f_code.co_name != "__torch_function__"):
            return True
        frame = frame.f_back
    return False


@cache
def is_inside(file: str) -> bool:
    """Whether code is not the user's, by its file."""
    is_of_python = file.startswith((STDLIB, "<frozen")) and "-packages" not in file
    return is_of_python or file.startswith(INSIDE)


def inner(hook: Any) -> Any:
    """The function that a hook is made of."""
    return inspect.unwrap(hook.func if isinstance(hook, partial) else hook)
