"""Lines of the user's code: where an instruction stands, looked up when somebody asks."""

from __future__ import annotations

import linecache
import os
from functools import lru_cache
from types import CodeType
from typing import Annotated

import msgspec


class CodeLine(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A line of code.

    Attributes:
        file: its name without folders.
        number: from 1.
        text: without the space around it; empty where the source is not there.
    """

    file: str
    number: Annotated[int, msgspec.Meta(ge=0)]
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


@lru_cache(10_000)
def line_at(code: CodeType, instruction: int) -> CodeLine:
    """The line on which an instruction of a code object stands, by its offset in bytes."""
    positions = list(code.co_positions())
    number = positions[instruction // 2][0] if 0 <= instruction // 2 < len(positions) else None
    number = number or code.co_firstlineno
    text = linecache.getline(code.co_filename, number).strip()
    return CodeLine(os.path.basename(code.co_filename), number, text)
