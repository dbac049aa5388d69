"""The statistics of recorded values, measured when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...operators.scopes import ScopeStack
from ..document import Value
from ..statistics import FULL_PREVIEW, of_stack, short_statistics, statistics

if TYPE_CHECKING:
    from ...operators.registry import Array
    from ...program.net_halves import Key


class MeasuredValues(Mapping["Key", Value]):
    """By blob version; what is not there was not computed.

    Args:
        values: the arrays.
        is_short: whether numbers have 6 digits, as those of nested nets have, where loops leave many.
    """

    def __init__(self, values: Mapping[Key, Array], *, is_short: bool) -> None:
        self._values = values
        self._is_short = is_short
        self._measured: dict[Key, Value] = {}

    def __getitem__(self, key: Key) -> Value:
        if key not in self._measured:
            self._measured[key] = self._measure(self._values[key])
        return self._measured[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def _measure(self, array: Array | ScopeStack) -> Value:
        if isinstance(array, ScopeStack):
            return replace(of_stack(0, len(array)), stack=None)
        return short_statistics([array], FULL_PREVIEW)[0] if self._is_short else statistics(array)
