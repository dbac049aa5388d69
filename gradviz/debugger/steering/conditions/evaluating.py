"""What a condition gives in a context: a walk over its nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Protocol

from .nodes import And, Arithmetic, Call, Comparison, Field, ListOf, Negative, Node, Not, Number, Or, Text

Result = float | str | bool | list[float] | list[str] | None
"""None: not computed, of a truth: unknown."""


class Context(Protocol):
    """Where a condition is evaluated."""

    def field(self, thing: str, attribute: str) -> Result:
        """A field of a thing, or where `attribute` is empty its name; numbers are floats, None: not computed."""
        ...


def evaluate(node: Node, context: Context) -> Result:
    """What a condition gives; it never raises."""
    match node:
        case Number() | Text():
            return node.value
        case Field():
            return context.field(node.thing, node.attribute)
        case ListOf():
            return _items(node, context)
        case Negative():
            value = evaluate(node.of, context)
            return None if value is None else -_number(value)
        case Arithmetic():
            left, right = evaluate(node.left, context), evaluate(node.right, context)
            return None if left is None or right is None else ARITHMETIC[node.sign](_number(left), _number(right))
        case Comparison():
            return _chain(node, context)
        case Not():
            value = evaluate(node.of, context)
            return None if value is None else not value
        case And():
            return _joined(node.parts, context, False)
        case Or():
            return _joined(node.parts, context, True)
        case Call():
            return _call(node, context)
    raise TypeError(f"{type(node).__name__} is no node of a condition")


def _joined(parts: tuple[Node, ...], context: Context, decides: bool) -> bool | None:
    """`decides` where one part gives that; else unknown where one is; else the opposite."""
    result: bool | None = not decides
    for part in parts:
        value = evaluate(part, context)
        if value is None:
            result = None
        elif value is decides:
            return decides
    return result


def _chain(node: Comparison, context: Context) -> bool | None:
    left = evaluate(node.first, context)
    result: bool | None = True
    for sign, right_node in node.rest:
        right = evaluate(right_node, context)
        if left is None or right is None:
            result = None
        elif not COMPARE[sign](left, right):
            return False
        left = right
    return result


def _items(node: ListOf, context: Context) -> Result:
    values = [evaluate(item, context) for item in node.items]
    return None if any(value is None for value in values) else values  # type: ignore[return-value]


def _call(node: Call, context: Context) -> Result:
    argument = node.argument
    if argument.type == "blob" and isinstance(argument, Field):
        # isnan and isinf of a blob ask for its elements.
        count = context.field(argument.thing, node.function.removeprefix("is"))
        return None if count is None else _number(count) > 0
    value = evaluate(argument, context)
    if value is None:
        return None
    if node.function == "len":
        return float(len(value)) if isinstance(value, str | list) else None
    return FUNCTION[node.function](_number(value))


def _number(value: Result) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _divided(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or math.isnan(a) or math.isnan(b) else math.copysign(math.inf, a) * math.copysign(1, b)


def _remainder(a: float, b: float) -> float:
    quotient = _divided(a, b)
    return a - b * math.floor(quotient) if math.isfinite(quotient) else math.nan


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


def bare(text: str) -> str:
    """A blob without its version."""
    name, at, version = text.rpartition("@")
    return name if at and version.isdigit() else text


def _within(a: Result, b: Result) -> bool:
    if isinstance(b, list):
        return any(_equal(a, item) for item in b)
    return isinstance(a, str) and isinstance(b, str) and a in b


ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "%": _remainder,
}
COMPARE: Mapping[str, Callable[[Result, Result], bool]] = {
    "<": lambda a, b: _number(a) < _number(b),
    "<=": lambda a, b: _number(a) <= _number(b),
    ">": lambda a, b: _number(a) > _number(b),
    ">=": lambda a, b: _number(a) >= _number(b),
    "==": _equal,
    "!=": lambda a, b: not _equal(a, b),
    "in": _within,
    "not in": lambda a, b: not _within(a, b),
}
FUNCTION: Mapping[str, Callable[[float], float | bool]] = {
    "abs": abs,
    "log10": _log10,
    "isnan": math.isnan,
    "isinf": math.isinf,
}
