"""What a condition gives in every row of a recording at once: a walk over its nodes, with a column for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ....program.operator import bare
from .language import Constant, Field, Node, Operation

MOST_COUNTED = 1 << 20
"""Numbers that are counted and not sorted."""

Mask = NDArray[np.bool_]
Result = float | str | bool | list[float] | list[str] | None
"""What a condition gives in one row. None: not computed, of a truth: unknown."""

NOT_COMPUTED = "not computed"
DIGITS = 4
"""Significant digits of a number that is not whole."""


class Column(NamedTuple):
    """A value for each row; one of length 1 is the same in all.

    Attributes:
        values: numbers, truths, or where there are `words` an index into these.
        has_value: whether the value was computed; others mean nothing.
        words: the texts or lists that occur.
    """

    values: NDArray[Any]
    has_value: Mask
    words: Sequence[Any] | None = None

    def at(self, row: int) -> Result:
        """The value in a row."""
        row = row if len(self.has_value) > 1 else 0
        if not self.has_value[row]:
            return None
        value = self.values[row].item()
        return value if self.words is None else self.words[value]  # type: ignore[no-any-return]

    def take(self, rows: NDArray[np.integer[Any]]) -> Column:
        """The values of these rows; that of a negative number is not computed."""
        if not self.has_value.any():
            return NOTHING
        return Column(self.values[rows], self.has_value[rows] & (rows >= 0), self.words)


NOTHING = Column(np.zeros(1), np.zeros(1, bool))


Lookup = Callable[[str, str], Column]
"""Gives a field of a thing in each row, or where the field is empty the thing's name."""


def column_of(results: Iterable[Result]) -> Column:
    """Results of one type as a column."""
    every = list(results)
    has_value = np.array([result is not None for result in every], bool)
    if not any(isinstance(result, str | list) for result in every):
        return Column(np.array([math.nan if result is None else result for result in every], np.float64), has_value)
    # A list has no hash, its text has.
    codes: dict[Any, int] = {}
    keys = [tuple(result) if isinstance(result, list) else result for result in every]
    values = np.array([codes.setdefault(key, len(codes)) for key in keys], np.int64)
    return Column(values, has_value, [list(key) if isinstance(key, tuple) else key for key in codes])


def evaluate(node: Node, lookup: Lookup) -> Column:
    """What a condition gives; it never raises."""
    if isinstance(node, Constant):
        return column_of([node.value])
    if isinstance(node, Field):
        return lookup(node.thing, node.attribute)
    assert isinstance(node, Operation)
    first = node.parts[0] if node.parts else None
    if isinstance(first, Field) and first.type == "blob" and node.sign in ("isnan", "isinf"):
        # These ask for the elements of a blob.
        count = lookup(first.thing, node.sign.removeprefix("is"))
        return Column(count.values > 0, count.has_value)
    return OPERATIONS[node.sign](*(evaluate(part, lookup) for part in node.parts))


Function = Callable[..., Column]


def _have_values(columns: Iterable[Column]) -> Mask:
    return reduce(np.logical_and, (column.has_value for column in columns))


def _joined(decides: bool) -> Function:
    """Kleene's logic: `decides` where one column gives that; else unknown where one is; else the opposite."""

    def join(*columns: Column) -> Column:
        decided = reduce(np.logical_or, (column.has_value & (column.values == decides) for column in columns))
        return Column(decided if decides else ~decided, decided | _have_values(columns))

    return join


def _numeric(function: Callable[..., NDArray[Any]]) -> Function:
    """A function of arrays of numbers, or of truths."""

    def apply(*columns: Column) -> Column:
        with np.errstate(all="ignore"):
            return Column(function(*(column.values for column in columns)), _have_values(columns))

    return apply


def _remainder(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    quotient = a / b
    return np.where(np.isfinite(quotient), a - b * np.floor(quotient), np.nan)


def _combinations(columns: Sequence[Column]) -> tuple[Mask, NDArray[np.int64], list[tuple[Any, ...]]]:
    """The rows in which all have values, of each of these which combination of results it has, and all combinations."""
    has_value = np.atleast_1d(_have_values(columns))
    codes = np.zeros(int(has_value.sum()), np.int64)
    results: list[tuple[Any, ...]] = [()]
    for column in columns:
        values, words = np.broadcast_to(column.values, has_value.shape)[has_value], column.words
        if words is None:
            numbers, values = np.unique(values, return_inverse=True)
            words = numbers.tolist()
        count = max(1, len(words))
        distinct, codes = _distinct(codes * count + values, len(results) * count)
        results = [(*results[pair // count], words[pair % count]) for pair in distinct.tolist()]
    return has_value, codes, results


def _distinct(codes: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Those of `count` numbers that occur, in their order, and of each its place among them."""
    if count > MOST_COUNTED:
        return np.unique(codes, return_inverse=True)
    distinct = np.flatnonzero(np.bincount(codes, minlength=count))
    places = np.zeros(count, np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[codes]


def _each(function: Callable[..., Any], dtype: DTypeLike) -> Function:
    """A function of results, called once for those that are the same."""

    def apply(*columns: Column) -> Column:
        has_value, codes, results = _combinations(columns)
        values = np.zeros(has_value.shape, dtype)
        values[has_value] = np.array([function(*one) for one in results], dtype)[codes]
        return Column(values, has_value)

    return apply


def _list(*columns: Column) -> Column:
    if not columns:
        return column_of([[]])
    has_value, codes, results = _combinations(columns)
    values = np.zeros(has_value.shape, np.int64)
    values[has_value] = codes
    return Column(values, has_value, [list(one) for one in results])


def _log10(a: float) -> float:
    if a > 0:
        return math.log10(a)
    return -math.inf if a == 0 else math.nan


def _equal(a: Result, b: Result) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return a == b or bare(a) == b or a == bare(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return type(a) is type(b) and a == b


def _within(a: Result, b: Result) -> bool:
    if isinstance(b, list):
        return any(_equal(a, item) for item in b)
    return isinstance(a, str) and isinstance(b, str) and a in b


def _alike(first: Column, second: Column) -> Column:
    """Whether two columns have the same; numbers are compared all at once."""
    if first.words is None and second.words is None:
        return _numeric(np.equal)(first, second)
    return _each(_equal, bool)(first, second)


def _opposite(of: Function) -> Function:
    def apply(*columns: Column) -> Column:
        column = of(*columns)
        return Column(~column.values, column.has_value)

    return apply


_contained = _each(_within, bool)
OPERATIONS: Mapping[str, Function] = {
    "or": _joined(True),
    "and": _joined(False),
    "not": _numeric(np.logical_not),
    "negative": _numeric(np.negative),
    "+": _numeric(np.add),
    "-": _numeric(np.subtract),
    "*": _numeric(np.multiply),
    "/": _numeric(np.divide),
    "%": _numeric(_remainder),
    "<": _numeric(np.less),
    "<=": _numeric(np.less_equal),
    ">": _numeric(np.greater),
    ">=": _numeric(np.greater_equal),
    "==": _alike,
    "!=": _opposite(_alike),
    "in": _contained,
    "not in": _opposite(_contained),
    "abs": _numeric(np.abs),
    # As the C library rounds it; numpy's own differs in the last digit on some machines.
    "log10": _each(_log10, float),
    "len": _each(len, float),
    "isnan": _numeric(np.isnan),
    "isinf": _numeric(np.isinf),
    "[": _list,
}


def shown(value: Result) -> str:
    """A result as a person reads it, the same in every language; None is ``not computed``, never 0."""
    match value:
        case None:
            return NOT_COMPUTED
        case bool():
            return "true" if value else "false"
        case list():
            return f"[{', '.join(map(shown, value))}]"
        case str():
            return value
    return _number(float(value))


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    if value == int(value) and abs(value) < 1e9:
        return str(int(value))
    exact = Decimal(value)
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - DIGITS + 1), ROUND_HALF_UP)
    exponent = rounded.adjusted()
    if -5 <= exponent < 6:
        text = f"{rounded:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    sign, digits, _ = rounded.as_tuple()
    mantissa = f"{digits[0]}.{''.join(map(str, digits[1:DIGITS]))}".rstrip("0").rstrip(".")
    return f"{'-' if sign else ''}{mantissa}e{exponent}"
