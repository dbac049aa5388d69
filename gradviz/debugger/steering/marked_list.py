"""A list of what a person marked in a recording: made when it is looked at, and observed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from html import escape
from typing import ClassVar, Generic, Protocol, TypeVar, overload


class Mark(Protocol):
    """What is marked."""

    @property
    def entry(self) -> object:
        """The mark as a document has it."""
        ...


E = TypeVar("E")
M = TypeVar("M", bound=Mark)

Observer = Callable[[], None]


class MarkedList(Sequence[M], Generic[M, E]):
    """Marks in the order in which they were set, each made of an entry as a document has it."""

    CAPTION: ClassVar[str]
    COLUMNS: ClassVar[tuple[str, ...]]
    EMPTY: ClassVar[str]
    """What is said where there are none."""

    def __init__(self, entries: Iterable[E]) -> None:
        self._entries = list(entries)
        self._observers: list[Observer] = []

    @abstractmethod
    def made(self, entry: E) -> M:
        """The mark that an entry describes."""

    @abstractmethod
    def cells(self, mark: M) -> tuple[str, ...]:
        """What a table says of a mark."""

    def kept(self, entry: E) -> M | None:
        """The mark of the list that goes on under `entry`; None: there is none."""
        return next((one for one in self if one.entry == entry), None)

    @cached_property
    def _list(self) -> list[M]:
        return [self.made(entry) for entry in self._entries]

    @property
    def entries(self) -> list[E]:
        """All as a document has them; set, they are those that are there, and marks that go on stay the same."""
        # To look at a recording takes a while: marks that nobody asked for are not made.
        return [one.entry for one in self._list] if "_list" in self.__dict__ else list(self._entries)  # type: ignore[misc]

    @entries.setter
    def entries(self, entries: Sequence[E]) -> None:
        if list(entries) == self.entries:
            return
        self._list[:] = [self.kept(entry) or self.made(entry) for entry in entries]
        self.changed()

    def append(self, mark: M) -> M:
        """Add a mark, which is given back."""
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

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer()` after each change; the function returned ends that."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def changed(self) -> None:
        """Tell the observers."""
        for observer in tuple(self._observers):
            observer()

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


def table(caption: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of texts as HTML; without `columns` it has no head."""
    head = "".join(f'<th scope="col">{word}</th>' for word in columns)
    body = "".join(f"<tr>{''.join(_cells(row))}</tr>" for row in rows)
    first = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table><caption>{caption}</caption>{first}<tbody>{body}</tbody></table>"


def _cells(row: Iterable[str]) -> Iterator[str]:
    return (f"<td>{escape(cell)}</td>" for cell in row)
