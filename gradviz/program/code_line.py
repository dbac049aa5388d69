"""Lines of the user's code: where an instruction stands, looked up when somebody asks."""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
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
    number: Annotated[int, msgspec.Meta(ge=0)]
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


Namer = Callable[[str], str | None]
_namers: list[Namer] = []


def name_files(namer: Namer) -> None:
    """Let a notebook say what a path stands for that a cell was compiled as: ``cell 4``; None: for nothing of its."""
    _namers.append(namer)


@lru_cache(10_000)
def line_at(code: CodeType, instruction: int) -> CodeLine:
    """The line on which an instruction of a code object stands, by its offset in bytes."""
    positions = list(code.co_positions())
    number = positions[instruction // 2][0] if 0 <= instruction // 2 < len(positions) else None
    number = number or code.co_firstlineno
    path = code.co_filename
    name = next(filter(None, (namer(path) for namer in _namers)), os.path.basename(path))
    return CodeLine(name, number, linecache.getline(path, number).strip())
