"""Lines of the user's code: which instruction called is kept, where it stands is looked up when somebody asks."""

from __future__ import annotations

import contextlib
import dis
import linecache
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Annotated

import msgspec


class CodeLine(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A line of code.

    Attributes:
        file: its name without folders, or the cell of a notebook.
        number: from 1.
        text: without the space around it; empty where the source is not there.
    """

    file: str
    number: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
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
    path, numbers = code.co_filename, _numbers(code)
    number = numbers[instruction // 2] if 0 <= instruction // 2 < len(numbers) else None
    return _line(path, named(path), number or code.co_firstlineno)


@lru_cache(1000)
def _numbers(code: CodeType) -> Sequence[int | None]:
    return [position[0] for position in code.co_positions()]


@lru_cache(10_000)
def _line(path: str, name: str, number: int) -> CodeLine:
    return CodeLine(name, number, linecache.getline(path, number).strip())


_LOADS = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF"})
_STORES = frozenset({"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"})


def stored(code: CodeType, instruction: int) -> str:
    """The variable, or attribute of one, that the result of the call at an instruction goes to; empty: to none."""
    return _stores(code).get(instruction, "")


@lru_cache(1000)
def _stores(code: CodeType) -> Mapping[int, str]:
    names: dict[int, str] = {}
    every = [one for one in dis.get_instructions(code) if one.opname != "EXTENDED_ARG"]
    for at, (one, after) in enumerate(pairwise(every)):
        name = ""
        if after.opname in _STORES:
            name = after.argval
        elif after.opname.startswith("STORE_FAST_"):  # two instructions in one
            name = after.argval[0]
        elif after.opname in _LOADS and every[at + 2].opname == "STORE_ATTR":
            name = every[at + 2].argval
        if name:
            # Of a call of a Python function the offset may be that of its last cache entry.
            names.update(dict.fromkeys(range(one.offset, after.offset, 2), name))
    return names


Instruction = tuple[CodeType | None, int]
"""An instruction of a code object, by its offset in bytes; None and 0: it is not known."""

UNKNOWN: Instruction = (None, 0)


def line_of(instruction: Instruction) -> CodeLine | None:
    """The line on which an instruction stands: of a call over several lines that on which it begins."""
    code, at = instruction
    return None if code is None else line_at(code, at)


class _Inside(dict[str, bool]):
    """Whether a file is one of gradviz, or what enters its ``with`` blocks."""

    def __missing__(self, path: str) -> bool:
        is_internal = self[path] = path.startswith(_GRADVIZ) or path == contextlib.__file__
        return is_internal


_GRADVIZ = str(Path(__file__).parents[1]) + os.sep
_is_inside = _Inside()
_frame_at = sys._getframe


def caller(depth: int) -> Instruction:
    """The call that stands in the user's code: in the frame `depth` outwards from here, or the next that is the user's.

    Python makes an object of each frame that is looked at, so a depth that meets the user's frame takes half the time.
    """
    try:
        frame: FrameType | None = _frame_at(depth)
    except ValueError:  # a thread runs nothing but a function of gradviz
        return UNKNOWN
    while frame is not None:
        code = frame.f_code
        if not _is_inside[code.co_filename]:
            return code, frame.f_lasti
        frame = frame.f_back
    return UNKNOWN


class Calls(dict[int, tuple[object, Instruction]]):
    """Of operators, by their identity, what they were made by: equal ones may come from different lines.

    An operator that is noted is kept, so that no other one can take its identity.
    """

    def of(self, op: object) -> Instruction | None:
        """What made `op`; None: it was not noted."""
        noted, call = self.get(id(op), (None, None))
        return call if noted is op else None

    def line_of(self, op: object) -> CodeLine | None:
        """The line that made `op`; None: it is not known."""
        call = self.of(op)
        return None if call is None else line_of(call)

    def __reduce__(self) -> tuple[type[Calls], tuple[()]]:
        return Calls, ()  # neither code nor identities are the same elsewhere
