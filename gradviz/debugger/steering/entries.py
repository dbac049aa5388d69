"""Values of a recording in columns: arrays that are measured together, or what a document says of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..document import Value
from ..journal import NOWHERE, Indices
from ..statistics import WORKSPACES, Columns, columns, of_stack
from ..telling import RecordedValue, measure
from .conditions import FIELDS, Column, Result, column_of

AT_ONCE = 1 << 14
"""Values that are measured at once, so that the small ones stay in the cache of a processor."""


class Entries:
    """Values in an order of their own, with a column for each field that is asked for.

    Args:
        values: in that order; None: not computed.
        runs: of each the run of a nested net that it is in, whose numbers are short; else `NOWHERE`.
    """

    def __init__(self, values: Sequence[RecordedValue | None], runs: Indices) -> None:
        self._values = values
        self._runs = runs
        self._identities = np.fromiter(map(id, values), np.int64)
        self.has_value = self._identities != id(None)
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
        return column

    @cached_property
    def _measured(self) -> list[tuple[Indices, Indices, Columns]]:
        """The places of values around all nested nets, and of those in runs; and what is measured of them: of each
        place which of the values there, since loops hand the same one on and it is measured once."""
        parts: list[tuple[Indices, Indices, Columns]] = []
        for are_short in (False, True):
            places = np.flatnonzero(self.has_value & ((self._runs != NOWHERE) == are_short))
            for some in np.array_split(places, len(places) // AT_ONCE + 1):
                _, first, which = np.unique(self._identities[some], return_index=True, return_inverse=True)
                distinct: list[Any] = [self._values[place] for place in some[first].tolist()]
                parts.append((some, which, columns(distinct, are_short=are_short)))
        return parts

    @cached_property
    def _kinds(self) -> tuple[list[Value], Indices]:
        """What has one shape, dtype and device each, and of each value which; `NOWHERE`: not computed."""
        kinds: list[Value] = []
        kind = np.full(len(self._values), NOWHERE)
        for places, which, measured in self._measured:
            kind[places] = measured.kind[which] + len(kinds)
            kinds += measured.kinds
        for place, one in enumerate(kind.tolist()):
            if one != NOWHERE and kinds[one].dtype == WORKSPACES:  # of a height of its own
                stack: Any = self._values[place]
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
