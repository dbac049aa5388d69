"""Breakpoints: where a recording is to stop, or to leave a message, in both directions of time.

A recording does not change, so a breakpoint's hits are a list of positions, the same on the way forward and back. The
first `ignore` occurrences do not count; of the others each `every`-th is a hit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from msgspec.structs import replace

from ..document import BreakpointEntry
from .conditions import ConditionError, Node, evaluate, shown
from .faults import bad_argument, whole_number
from .marked_list import MarkedList
from .occurrences import Finder, Occurrences

_PART = re.compile(r"\{\{|\}\}|\{[^}]*\}|[{}]|[^{}]+")


def entry_of(
    on: str, *, when: str | None = None, log: str | None = None, ignore: int = 0, every: int = 1
) -> BreakpointEntry:
    """What describes a breakpoint, as of `Placed.break_on`.

    Raises:
        CursorError: ``bad_argument``.
    """
    if not isinstance(on, str):
        raise bad_argument("on", on, "a target or a condition, as text")
    if not isinstance(log, str | None):
        raise bad_argument("log", log, 'a message, as text: "norm {norm}"')
    ignore = whole_number("ignore", ignore, "how many of the first occurrences do not count, 0 or more")
    every = whole_number("every", every, "a number from 1 on: every so many-th occurrence counts", 1)
    return BreakpointEntry(id=1, on=on if when is None else f"{on} if {when}", log=log, ignore=ignore, every=every)


def message_parts(text: str, finder: Finder) -> list[str | Node]:
    """Of a message, "norm of {x} is {norm}", the text between the expressions, and these; a brace itself is written
    twice.

    Raises:
        ConditionError: a brace without its other, or what stands between braces says nothing.
    """
    parts: list[str | Node] = []
    for match in _PART.finditer(text):
        at, part = match.start(), match.group()
        if part in ("{{", "}}"):
            parts.append(part[0])
        elif part == "{":
            raise ConditionError(text, at, "this brace is never closed")
        elif part == "}":
            raise ConditionError(text, at, "this brace closes nothing", ways_out=["Write a brace twice to show one."])
        else:
            parts.append(finder.inside(text, at + 1, match.end() - 1) if part[0] == "{" else part)
    return parts


class Breakpoint:
    """One breakpoint of a session.

    Attributes:
        problem: why it never stops: the fault of its text; empty where there is none.
    """

    def __init__(self, entry: BreakpointEntry, finder: Finder, owner: Breakpoints) -> None:
        self.entry = entry
        self.problem = ""
        self._is_unknown = False
        self._owner = owner
        self._rows = finder.rows
        self._occurrences = Occurrences(finder.rows, (), None)
        self._message: list[str | Node] | None = None
        try:
            self._occurrences = finder.find(entry.on)
            self._message = None if entry.log is None else message_parts(entry.log, finder)
        except ConditionError as error:
            self.problem = str(error)
            self._is_unknown = bool(error.unknown)

    @property
    def id(self) -> int:
        """A number that no other breakpoint of the session has."""
        return self.entry.id

    @property
    def on(self) -> str:
        """What it stops at, as it was written: a target, a condition, or ``target if condition``."""
        return self.entry.on

    @property
    def log(self) -> str | None:
        """The message of a log point, which does not stop; None: it stops."""
        return self.entry.log

    @property
    def enabled(self) -> bool:
        """Whether it stops, or logs; may be set."""
        return self.entry.enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        if value != self.enabled:
            self.entry = replace(self.entry, enabled=bool(value))
            self._owner.changed()

    @property
    def stops(self) -> bool:
        """Whether a run ends at its hits."""
        return self.enabled and self.log is None and not self.problem

    @cached_property
    def hits(self) -> tuple[int, ...]:
        """Every position of the recording at which it stops, or logs, while it is enabled."""
        return tuple(self._occurrences.positions)[self.entry.ignore :][self.entry.every - 1 :: self.entry.every]

    def text_at(self, position: int) -> str:
        """What its condition asks about, as it is at a hit; empty where it has none."""
        return self._occurrences.text_at(position)

    @cached_property
    def messages(self) -> list[tuple[int, str]]:
        """What a log point says: the position of each hit and the message there."""
        if self._message is None:
            return []
        rows = np.array(list(map(self._occurrences.row_at, self.hits)), np.int64)
        parts = [
            part if isinstance(part, str) else evaluate(part, partial(self._rows.column, rows=rows))
            for part in self._message
        ]
        return [
            (hit, "".join(part if isinstance(part, str) else shown(part.at(place)) for part in parts))
            for place, hit in enumerate(self.hits)
        ]

    @property
    def description(self) -> str:
        """What it does, in words."""
        entry = self.entry
        parts = [f"{'stops at' if entry.log is None else 'logs at'} {entry.on}"]
        if entry.ignore:
            parts.append(f"ignores the first {entry.ignore}")
        if entry.every > 1:
            parts.append(f"one in {entry.every}")
        if missing := self._occurrences.never_computed:
            parts.append(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} never computed")
        if self.problem:
            parts.append("nothing is called so by now" if self._is_unknown else "it says nothing, so it never stops")
        return ", ".join(parts)

    def remove(self) -> None:
        """Take it out of its session."""
        self._owner.remove(self)

    def __repr__(self) -> str:
        state = "" if self.enabled else ", disabled"
        count = len(self.hits)
        hits = "no hit" if count == 0 else f"{count} hit{'s' if count > 1 else ''}"
        return f"<Breakpoint {self.id}: {self.description}; {hits}{state}>"


class Breakpoints(MarkedList[Breakpoint, BreakpointEntry]):
    """The breakpoints of a session, in the order in which they were set."""

    CAPTION = "Breakpoints"
    COLUMNS = ("", "breakpoint", "hits", "first", "state")
    EMPTY = "No breakpoints. session.break_on(...) sets one."

    def add(self, entry: BreakpointEntry, is_to_come: Callable[[str], bool] = lambda _: False) -> Breakpoint:
        """Set a breakpoint; its id is given here.

        Args:
            is_to_come: whether something may yet be called so that the recording does not have.

        Raises:
            ConditionError: a text of it is malformed. It is not set.
        """
        finder = self._finder()
        try:
            finder.find(entry.on)
        except ConditionError as error:
            if not is_to_come(error.unknown):
                raise
        if entry.log is not None:
            message_parts(entry.log, finder)
        return self.append(self.new_mark(replace(entry, id=1 + max((one.id for one in self), default=0))))

    def new_mark(self, entry: BreakpointEntry) -> Breakpoint:
        """The breakpoint that an entry describes."""
        return Breakpoint(entry, self._finder(), self)

    def cells(self, mark: Breakpoint) -> tuple[str, ...]:
        """Its number, what it does, how many hits, the first of them, and whether it is enabled."""
        state = mark.problem or ("enabled" if mark.enabled else "disabled")
        return str(mark.id), mark.description, str(len(mark.hits)), str(next(iter(mark.hits), "none")), state

    def existing_mark(self, entry: BreakpointEntry) -> Breakpoint | None:
        """The breakpoint of the same id and texts; it is enabled where the entry is."""
        mark = next((one for one in self if one.id == entry.id), None)
        if mark is None or replace(mark.entry, enabled=entry.enabled) != entry:
            return None
        mark.entry = entry
        return mark
