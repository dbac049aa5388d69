"""A list of what a person marked in a recording, which says when it changes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, ClassVar, Generic, TypeVar, overload

from ..telling import table
from .occurrences import Finder

E = TypeVar("E")
M = TypeVar("M", bound=Any)
"""What is marked; its `entry` is the mark as a document has it."""


class MarkedList(Sequence[M], Generic[M, E]):
    """Marks in the order in which they were set, each with an entry as a document has it.

    Args:
        finder: gives what reads the texts of marks; it takes a while to build, which a list without marks saves.
        changed: is called after each change.
        check: raises where these entries cannot be all that the list has.
    """

    CAPTION: ClassVar[str]
    COLUMNS: ClassVar[tuple[str, ...]]
    EMPTY: ClassVar[str]
    """What is said where there are none."""

    def __init__(
        self,
        finder: Callable[[], Finder],
        changed: Callable[[], None],
        check: Callable[[list[E]], None],
        entries: Iterable[E],
    ) -> None:
        self._finder = finder
        self.changed = changed
        self._check = check
        self._list = [self.new_mark(entry) for entry in entries]

    @abstractmethod
    def new_mark(self, entry: E) -> M:
        """The mark that an entry describes."""

    @abstractmethod
    def cells(self, mark: M) -> tuple[str, ...]:
        """What a table says of a mark."""

    def existing_mark(self, entry: E) -> M | None:
        """The mark of the list that goes on under `entry`; None: there is none."""
        return next((one for one in self if one.entry == entry), None)

    @property
    def entries(self) -> list[E]:
        """All as a document has them; set, they are those that are there, and marks that go on stay the same."""
        return [one.entry for one in self._list]

    @entries.setter
    def entries(self, entries: Sequence[E]) -> None:
        if list(entries) == self.entries:
            return
        self._list[:] = [self.existing_mark(entry) or self.new_mark(entry) for entry in entries]
        self.changed()

    def append(self, mark: M) -> M:
        """Add a mark, which is given back."""
        self._check([*self.entries, mark.entry])
        self._list.append(mark)
        self.changed()
        return mark

    def remove(self, mark: M) -> None:
        """Take one out; nothing happens where it is not there."""
        if mark in self._list:
            self._list.remove(mark)
            self.changed()

    def clear(self) -> None:
        """Take all out."""
        self.entries = []

    @overload
    def __getitem__(self, index: int) -> M: ...
    @overload
    def __getitem__(self, index: slice) -> list[M]: ...
    def __getitem__(self, index: int | slice) -> M | list[M]:
        return self._list[index]

    def __len__(self) -> int:
        return len(self._list)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or self.EMPTY

    def _repr_html_(self) -> str:
        return table(self.CAPTION, self.COLUMNS, map(self.cells, self)) if len(self) else f"<p>{escape(repr(self))}</p>"
