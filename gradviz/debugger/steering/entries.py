"""Values of a recording in columns: arrays that are measured together, or what a document says of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...operators.scopes import ScopeStack
from ..document import Value
from ..journal import NOWHERE, Indices
from ..statistics import Columns, columns, of_stack
from ..telling import RecordedValue, measure
from .conditions import FIELDS, Column, Result, column_of


class Entries:
    """Values in an order of their own, with a column for each field that is asked for.

    Args:
        values: in that order; None: not computed.
        runs: of each the run of a nested net that it is in, whose numbers are short; else `NOWHERE`.
    """

    def __init__(self, values: Sequence[RecordedValue | None], runs: Indices) -> None:
        self._values = values
        self._runs = runs
        self.has_value = np.array([one is not None for one in values], bool)
        self._columns: dict[str, Column] = {}

    def value(self, place: int) -> Value:
        """The statistics of one that was computed."""
        entry = self._values[place]
        assert entry is not None
        return entry if isinstance(entry, Value) else measure(entry, is_short=bool(self._runs[place] != NOWHERE))

    def column(self, attribute: str) -> Column:
        """A field of each."""
        if attribute not in self._columns:
            self._columns[attribute] = self._column(attribute)
        return self._columns[attribute]

    def _column(self, attribute: str) -> Column:
        if isinstance(next((one for one in self._values if one is not None), None), Value):
            return column_of(field(one, attribute) if isinstance(one, Value) else None for one in self._values)
        if attribute in ("shape", "dtype", "device", "size"):
            kinds, kind = self._kinds
            return column_of([field(one, attribute) for one in kinds]).take(kind)
        column = Column(np.full(len(self._values), np.nan), np.zeros(len(self._values), bool))
        for places, which, measured in self._measured:
            column.values[places] = measured.of(attribute)[which]
            column.has_value[places] = measured.has(attribute)[which]
        if attribute in ("nan", "inf", "zero"):
            column.values[self._stacks], column.has_value[self._stacks] = 0, True
        return column

    @cached_property
    def _stacks(self) -> list[int]:
        return [place for place, one in enumerate(self._values) if type(one) is ScopeStack]

    @cached_property
    def _measured(self) -> list[tuple[Indices, Indices, Columns]]:
        """The places of arrays around all nested nets, and of those in runs; and what is measured of them: of each
        place which of the arrays there, since loops hand the same one on and it is measured once."""
        is_array = self.has_value.copy()
        is_array[self._stacks] = False
        parts: list[tuple[Indices, Indices, Columns]] = []
        for are_short in (False, True):
            places = np.flatnonzero(is_array & ((self._runs != NOWHERE) == are_short))
            if len(places):
                every: list[Any] = [self._values[place] for place in places.tolist()]
                _, first, which = np.unique([id(one) for one in every], return_index=True, return_inverse=True)
                arrays = [every[place] for place in first.tolist()]
                parts.append((places, which, columns(arrays, are_short=are_short)))
        return parts

    @cached_property
    def _kinds(self) -> tuple[list[Value], Indices]:
        """What has one shape, dtype and device each, and of each value which; -1: not computed."""
        kinds: list[Value] = []
        kind = np.full(len(self._values), -1)
        for places, which, measured in self._measured:
            kind[places] = measured.kind[which] + len(kinds)
            kinds += measured.kinds
        for place in self._stacks:
            stack = self._values[place]
            assert isinstance(stack, ScopeStack)
            kind[place] = len(kinds)
            kinds.append(of_stack(0, len(stack)))
        return kinds, kind


def field(value: Value, attribute: str) -> Result:
    """A field of a value as conditions have it; None: there is none."""
    result = getattr(value, attribute)
    if attribute == "shape":
        return [float(extent) for extent in result]
    # NaN and the infinities are words in a document.
    return float(result) if result is not None and FIELDS["blob"][attribute] == "number" else result
