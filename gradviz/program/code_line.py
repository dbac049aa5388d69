"""Lines of the user's code: which instruction called is kept, where it stands is looked up when somebody asks."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Annotated, NamedTuple

import msgspec


class CodeLine(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A line of code.

    Attributes:
        file: its name without folders, or the cell of a notebook.
        number: from 1.
        text: without the space around it; empty where the source is not there.
    """

    file: str
    number: Annotated[int, msgspec.Meta(ge=0)]
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


Namer = Callable[[str], str | None]
_namers: list[Namer] = []
_paths: dict[str, str] = {}
"""By what files are called."""


def name_files(namer: Namer) -> None:
    """Let a notebook say what a path stands for that a cell was compiled as: ``cell 4``; None: for nothing of its."""
    _namers.append(namer)


def named(path: str, name: str = "") -> str:
    """What a file is called, so that `lines_of` finds it: its name without folders, or the cell of a notebook."""
    name = name or next(filter(None, (namer(path) for namer in _namers)), os.path.basename(path))
    _paths[name] = path
    return name


def lines_of(file: str) -> list[str]:
    """The text of a file that `named` has named, as it is now; of several of one name the last. Empty: it is gone."""
    return [line.rstrip("\r\n") for line in linecache.getlines(_paths[file])] if file in _paths else []


def line_at(code: CodeType, instruction: int) -> CodeLine:
    """The line on which an instruction of a code object stands, by its offset in bytes."""
    # Equal code may stand in several files, at the same lines, and a cell may run again.
    path = code.co_filename
    return _line(path, named(path), _number(code, instruction))


@lru_cache(10_000)
def _number(code: CodeType, instruction: int) -> int:
    positions = list(code.co_positions())
    number = positions[instruction // 2][0] if 0 <= instruction // 2 < len(positions) else None
    return number or code.co_firstlineno


@lru_cache(10_000)
def _line(path: str, name: str, number: int) -> CodeLine:
    return CodeLine(name, number, linecache.getline(path, number).strip())


class Call(NamedTuple):
    """A call in the user's code: the instruction at `at`, in bytes, of a code object."""

    code: CodeType
    at: int

    @property
    def line(self) -> CodeLine:
        """The line on which it begins."""
        return line_at(self.code, self.at)


class _Inside(dict[str, bool]):
    """Whether a file is one of gradviz, or what enters ``with`` blocks for it."""

    def __missing__(self, path: str) -> bool:
        found = self[path] = path.startswith(_GRADVIZ) or path == contextlib.__file__
        return found


_GRADVIZ = str(Path(__file__).parents[1]) + os.sep
_is_inside = _Inside()
_frame_at = sys._getframe
_new = tuple.__new__


def caller(depth: int) -> Call | None:
    """The innermost call that stands in the user's code, from the frame `depth` outwards; 1 is that of who asks."""
    frame: FrameType | None = _frame_at(depth)
    while frame is not None and _is_inside[frame.f_code.co_filename]:
        frame = frame.f_back
    return None if frame is None else _new(Call, (frame.f_code, frame.f_lasti))


class Calls(dict[int, tuple[object, Call]]):
    """The calls that made operators, by their identity: equal operators may come from different lines.

    An operator that is noted is kept, so that no other one can take its identity.
    """

    def note(self, op: object, call: Call | None) -> None:
        """`op` was made by `call`, if that is known."""
        if call is not None:
            self[id(op)] = op, call

    def line_of(self, op: object) -> CodeLine | None:
        """The line that made `op`; None: it is not known."""
        call = self.of(op)
        return None if call is None else call.line

    def of(self, op: object) -> Call | None:
        """What made `op`; None: it is not known."""
        noted, call = self.get(id(op), (None, None))
        return call if noted is op else None

    def __reduce__(self) -> tuple[type[Calls], tuple[()]]:
        return Calls, ()  # neither code nor identities are the same elsewhere
