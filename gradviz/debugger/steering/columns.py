"""Where a condition can hold at all: comparisons of whole columns, so that few rows are left to evaluate it in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .conditions import (
    And,
    Arithmetic,
    Comparison,
    Field,
    Negative,
    Node,
    Number,
    Or,
    Result,
    Text,
    bare,
    is_blob,
    mentioned,
)
from .writings import Row, RowContext, Writings

if TYPE_CHECKING:  # numpy.typing takes its time to import
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Numbers = tuple[NDArray[np.float64], Mask]
    """A number for each row, and whether it was computed."""

ORDER: Mapping[str, Callable[[Any, Any], Mask]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal
}  # fmt: skip
ARITHMETIC: Mapping[str, Callable[[Any, Any], NDArray[np.float64]]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide
}  # fmt: skip


class Columns:
    """The rows of a recording by what conditions ask about; each column is made once."""

    def __init__(self, writings: Writings) -> None:
        self._writings = writings
        self._rows = writings.rows
        self._numbers: dict[tuple[str, str], Numbers] = {}
        self._texts: dict[tuple[str, str], tuple[NDArray[np.int64], dict[Result, int]]] = {}

    def candidates(self, condition: Node) -> Mask:
        """The rows in which a condition can hold."""
        return self._asked(condition) & self._mask(condition)

    @property
    def _all(self) -> Mask:
        return np.ones(len(self._rows), bool)

    def _asked(self, condition: Node) -> Mask:
        """Rows that a condition is about: where it names blobs, and not x, those at which they are computed."""
        fields = mentioned(condition)
        names = {field.thing[1:] for field in fields if is_blob(field.thing)}
        if not names or any(field.thing in ("x", "g", "inputs") for field in fields):
            return self._all
        computed = self._writings.computed
        positions = {position for name in names for position in computed.get(name, ((), ()))[0]}
        return np.isin(self._writings.positions, list(positions))

    def _mask(self, node: Node) -> Mask:
        mask = self._all
        if isinstance(node, And):
            np.logical_and.reduce([self._mask(part) for part in node.parts], out=mask)
        if isinstance(node, Or):
            np.logical_or.reduce([self._mask(part) for part in node.parts], out=mask)
        if isinstance(node, Comparison):
            left = node.first
            for sign, right in node.rest:
                mask &= self._pair(sign, left, right)
                left = right
        return mask

    def _pair(self, sign: str, left: Node, right: Node) -> Mask:
        if sign == "==" and isinstance(left, Field) and isinstance(right, Text) and left.thing in ("event", "op", "x"):
            return self._equal(left, right.value)
        first, second = self._column(left), self._column(right)
        if sign not in ORDER or first is None or second is None:
            return self._all
        return ORDER[sign](first[0], second[0]) & first[1] & second[1]

    def _column(self, node: Node) -> Numbers | None:
        """The numbers that a node gives in each row; None: only evaluating it can tell."""
        if isinstance(node, Number):
            return np.full(len(self._rows), node.value), self._all
        if isinstance(node, Field) and node.type == "number":
            return self._field(node)
        if isinstance(node, Negative) and (of := self._column(node.of)) is not None:
            return -of[0], of[1]
        if isinstance(node, Arithmetic) and node.sign in ARITHMETIC:
            left, right = self._column(node.left), self._column(node.right)
            if left is not None and right is not None:
                with np.errstate(all="ignore"):
                    return ARITHMETIC[node.sign](left[0], right[0]), left[1] & right[1]
        return None

    def _field(self, field: Field) -> Numbers | None:
        if (field.thing, field.attribute) == ("inputs", "devices") and len(self._writings.devices) < 2:
            return np.ones(len(self._rows)), self._all
        if field.thing == "inputs" or is_blob(field.thing):
            return None
        # A gradient is a blob that is one: what its field says of others does no harm here.
        key = ("x" if field.thing == "g" else field.thing, field.attribute)
        if key not in self._numbers:
            found = list(self._found(*key))
            values = np.array([np.nan if value is None else float(value) for value in found])
            self._numbers[key] = values, np.array([value is not None for value in found], bool)
        return self._numbers[key]

    def _found(self, thing: str, attribute: str) -> Iterable[Any]:
        """What a field is in each row."""
        writings = self._writings
        if thing == "x" and attribute not in ("", "name", "version"):
            return (None if row.value is None else getattr(row.value, attribute) for row in self._rows)
        events = writings.trace.events
        if (thing, attribute) == ("event", "iteration"):
            return (writings.iteration(events[row.position - 1].frame) for row in self._rows)
        if thing == "event" and attribute in ("n", "sparse", "dense"):
            return (self._of_sum(row, attribute) for row in self._rows)
        if thing == "x" and not attribute:
            return (row.blob for row in self._rows)
        if thing == "event" and attribute in ("", "kind"):
            return (events[row.position - 1].kind for row in self._rows)
        return (RowContext(writings, row).field(thing, attribute) for row in self._rows)

    def _of_sum(self, row: Row, attribute: str) -> Result:
        if self._writings.trace.events[row.position - 1].kind != "Accumulated":
            return None
        return RowContext(self._writings, row).field("event", attribute)

    def _equal(self, field: Field, text: str) -> Mask:
        """Where a text is `text`, or a version of it."""
        key = (field.thing, field.attribute)
        if key not in self._texts:
            numbers: dict[Result, int] = {}
            codes = [numbers.setdefault(found, len(numbers)) for found in self._found(*key)]
            self._texts[key] = np.array(codes, np.int64), numbers
        codes_of_rows, numbers = self._texts[key]
        same = [code for found, code in numbers.items() if isinstance(found, str) and text in (found, bare(found))]
        same += [code for found, code in numbers.items() if found == bare(text)]
        return np.isin(codes_of_rows, same)
