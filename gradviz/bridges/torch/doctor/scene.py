"""Where an error was raised: the user's frames, and what the backward pass that was called there started from."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any, NamedTuple

from ....program.code_line import CodeLine, line_at
from ....program.errors import message_of
from ..capture import Module
from ..frames import is_inside
from ..graph import Tensor


class Scene(NamedTuple):
    """Where an error was raised.

    Attributes:
        message: of the error.
        frames: of the user's code, the innermost first, each with the line that it is on.
        roots: what a backward pass started from.
        inputs: what it was asked for gradients of.
        is_called: whether the innermost code of the user's was called by that pass: a Function's backward, or a hook.
    """

    message: str
    frames: Sequence[tuple[FrameType, CodeLine]]
    roots: Sequence[Tensor]
    inputs: Sequence[Tensor]
    is_called: bool = False

    @property
    def line(self) -> CodeLine | None:
        """The innermost line of the user's code."""
        return self.frames[0][1] if self.frames else None

    def tensors(self, fits: Callable[[Tensor], bool]) -> list[str]:
        """The names on that line of tensors that fit."""
        if not self.frames:
            return []
        frame, line = self.frames[0]
        names = []
        for match in re.finditer(r"[A-Za-z_]\w*(?:\.\w+|\[\w+\])*", line.text):
            words = re.split(r"[.\[]", match[0].replace("]", ""))
            for end in range(len(words), 0, -1):
                value = value_in(frame, words[:end])
                if isinstance(value, Tensor) and fits(value):
                    names.append(".".join(words[:end]))
                    break
        return list(dict.fromkeys(names))


def value_in(frame: FrameType, words: Sequence[str]) -> Any:
    """What a path of names means in a frame, without running code of the user's; None: nothing."""
    value = frame.f_locals.get(words[0], frame.f_globals.get(words[0]))
    for word in words[1:]:
        if isinstance(value, list | tuple) and word.isdigit() and int(word) < len(value):
            value = value[int(word)]
        elif isinstance(value, dict):
            value = value.get(word)
        elif isinstance(value, Module):
            value = {**value.__dict__, **value._modules, **value._parameters, **value._buffers}.get(word)
        elif isinstance(value, Tensor) or value is None:
            return None
        else:
            value = getattr(value, "__dict__", {}).get(word)
    return value


def scene_of(error: BaseException) -> Scene:
    """Where an error was raised, by its traceback."""
    frames: list[tuple[FrameType, CodeLine]] = []
    roots: Sequence[Tensor] = ()
    inputs: Sequence[Tensor] = ()
    outside = 0
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        where_it_is = frame.f_code.co_filename
        if not is_inside(where_it_is):
            frames.append((frame, line_at(frame.f_code, traceback.tb_lasti)))
        elif where_it_is.endswith(("_tensor.py", "autograd/__init__.py", "autograd\\__init__.py")):
            names = frame.f_locals
            if frame.f_code.co_name in ("backward", "grad"):
                roots = _tensors(names.get("outputs", names.get("tensors", names.get("self")))) or roots
                inputs = _tensors(names.get("inputs")) or inputs
                outside = len(frames)
        traceback = traceback.tb_next
    return Scene(message_of(error), frames[::-1], roots, inputs, 0 < outside < len(frames))


def _tensors(value: Any) -> list[Tensor]:
    return [one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, Tensor)]
