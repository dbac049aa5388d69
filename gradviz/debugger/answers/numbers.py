"""The numbers of a blob version, a page at a time, where the preview that the document has is not enough."""

from __future__ import annotations

from collections.abc import Iterator

from ...operators.scopes import ScopeStack
from ...program.errors import count_of
from ...runtime.devices import CPU, current, device_of, moved
from ..document import Number, rows_and_columns
from ..statistics import previews
from ..steering import whole_number
from .forms import Answer, Block, Grid, digits
from .net_view import NetView
from .provenance import no_numbers

ROWS, COLUMNS = 24, 16
"""A page."""


class NumbersView(Answer, frozen=True):
    """A page of the numbers of a blob version, which is seen as a table: the last axis lies along the rows.

    Attributes:
        blob: the version, in a nested net behind the path to it.
        rows, columns: of the whole table.
        row, column: where the page begins, from 0.
        numbers: the page, to 6 digits; complex numbers by their absolute value.
    """

    answer = "numbers"
    blob: str
    rows: int
    columns: int
    row: int
    column: int
    numbers: list[list[Number]]

    def blocks(self) -> Iterator[Block]:
        width = len(self.numbers[0]) if self.numbers else 0
        head = ("", *(str(self.column + place) for place in range(width)))
        rows = [(str(self.row + place), *map(digits, row)) for place, row in enumerate(self.numbers)]
        yield Grid(f"{self.blob}, {count_of(self.rows, 'row')} of {self.columns}", head, rows)


def answer(here: NetView, word: str, row: int, column: int) -> NumbersView:
    """The page that begins at an element; raises CursorError ``not_found``, ``not_computed``, ``bad_argument``."""
    view, writings = here.find(word)
    blob = view.computed(writings)
    array = view.needed(blob)
    if isinstance(array, ScopeStack):
        raise no_numbers(blob)
    rows, columns = rows_and_columns(array.shape)
    lasts = max(rows, 1) - 1, max(columns, 1) - 1
    row, column = (
        whole_number(name, value, f"a number from 0 to {last}", 0, last)
        for name, value, last in zip(("row", "column"), (row, column), lasts, strict=True)
    )
    with current(device_of(array)):
        corner = array.reshape(rows, columns)[row : row + ROWS, column : column + COLUMNS]
    return NumbersView(view.named(blob), rows, columns, row, column, previews(moved(corner, CPU)[None])[0])
