"""Whether the numbers and texts of a trace document keep the rules that stand in their types.

A type says its rule as `Annotated[..., msgspec.Meta(extra={"rule": ...})]`, which is that of everything inside: a whole
number is a count, or an index of what the rule names; a text is the id of one, or a blob version. {"most": n} is the
greatest length of a list or a text. Who changes a struct changes nothing here, and writes TypeScript's types and its
table of rules again: `python -m tests.debugger.document.typescript`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from functools import cache, partial
from itertools import chain, islice
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec import inspect

from ...program.errors import shorten
from .bounds import BLOB_VERSION, MAX_DEPTH, MOST, WHOLE, TraceError, contradiction, too_deep
from .schema import Trace


class Parts(NamedTuple):
    """What a document has, by the names of the rules."""

    counts: dict[str, int]
    names: dict[str, Collection[str]]


class _Fault(Exception):
    """The number of the item that is wrong, what makes the error for its place, and the way to that inside of it."""

    def __init__(self, number: int, error: Callable[[str], TraceError], way: str = "") -> None:
        self.number, self.error, self.way = number, error, way


Check = Callable[[Collection[Any], Parts], None]
"""Takes all that stands in one field anywhere in a document, so what is right costs little. Raises _Fault."""


def check_rules(trace: Trace, parts: Parts) -> None:
    """Raise TraceError at the first field that breaks its rule, is no JSON, or is nested too deep."""
    try:
        for check in _checks_of_trace():
            check([trace], parts)
    except _Fault as fault:
        raise fault.error(fault.way.removeprefix(".")) from None


@cache
def _checks_of_trace() -> list[Check]:
    return _checks(inspect.type_info(Trace), None)


def _checks(type: inspect.Type, rule: str | None) -> list[Check]:
    """What checks items of a type; a rule around them is theirs."""
    match type:
        case inspect.Metadata(type=inner, extra=extra):
            extra = extra or {}
            length: list[Check] = [partial(_check_length, extra["most"])] if "most" in extra else []
            return length + _checks(inner, extra.get("rule", rule))
        case inspect.StructType(fields=fields):
            return [check for one in fields for check in _of_field(one.name, _checks(one.type, rule))]
        case inspect.DictType(value_type=inspect.AnyType()) | inspect.AnyType():
            return _of_each_once([_check_json])
        case inspect.ListType(item_type=item):
            return _of_each_once(_of_entries(list, enumerate, _checks(item, rule)))
        case inspect.DictType(key_type=key, value_type=item):
            keys = _of_entries(list, lambda entries: zip(entries, entries, strict=True), _checks(key, rule))
            return keys + _of_entries(dict.values, dict.items, _checks(item, rule))
        case inspect.UnionType(types=types) if not any(isinstance(one, inspect.FloatType) for one in types):
            return [check for one in types for check in _of_members(_class(one), _checks(one, rule))]
        case inspect.UnionType() | inspect.FloatType():
            return [_check_json]
        case inspect.IntType() if rule:
            return [partial(_check_whole, rule)]
        case inspect.StrType() if rule:
            return [partial(_check_text, rule)]
    return []


def _class(type: inspect.Type) -> Any:
    match type:
        case inspect.Metadata(type=inner):
            return _class(inner)
        case inspect.StructType(cls=found):
            return found
    classes = {inspect.StrType: str, inspect.IntType: int, inspect.ListType: list, inspect.DictType: dict}
    return classes.get(type.__class__)


Place = tuple[int, str]
"""The number of an item, and the way to something inside of it."""


def _through(
    column: Callable[[Any], Collection[Any]], places: Callable[[Any], Iterable[Place]], checks: list[Check]
) -> list[Check]:
    """Checks what `column` finds in the items; where that is, `places` says, asked only where something is wrong."""

    def through(items: Collection[Any], parts: Parts) -> None:
        found = column(items)
        try:
            for check in checks:
                check(found, parts)
        except _Fault as fault:
            number, way = next(islice(iter(places(items)), fault.number, None))
            raise _Fault(number, fault.error, way + fault.way) from None

    return [through] if checks else []


def _of_field(name: str, checks: list[Check]) -> list[Check]:
    field = attrgetter(name)
    return _through(
        lambda items: list(map(field, items)),
        lambda items: ((number, f".{name}") for number in range(len(items))),
        checks,
    )


def _of_entries(
    values: Callable[[Any], Iterable[Any]], entries: Callable[[Any], Iterable[tuple[Any, Any]]], checks: list[Check]
) -> list[Check]:
    """Of lists or dictionaries; the `entries` of one are indices or keys with what stands there."""
    return _through(
        lambda items: list(chain.from_iterable(map(values, items))),
        lambda items: (
            (number, f"[{shorten(str(key))}]") for number, item in enumerate(items) for key, _ in entries(item)
        ),
        checks,
    )


def _of_members(kind: Any, checks: list[Check]) -> list[Check]:
    return _through(
        lambda items: [item for item in items if isinstance(item, kind)],
        lambda items: ((number, "") for number, item in enumerate(items) if isinstance(item, kind)),
        checks,
    )


def _of_each_once(checks: list[Check]) -> list[Check]:
    """Iterations share what they say in the same words."""

    def firsts(items: Collection[Any]) -> Iterable[Place]:
        numbers = {id(item): number for number, item in reversed(list(enumerate(items)))}
        return ((number, "") for number in sorted(numbers.values()))

    return _through(lambda items: {id(item): item for item in items}.values(), firsts, checks)


def _check_whole(rule: str, items: Collection[int], parts: Parts) -> None:
    end = parts.counts[rule]
    if items and (min(items) < 0 or max(items) >= end):
        number, item = next((number, item) for number, item in enumerate(items) if not 0 <= item < end)
        why = "it is negative" if item < 0 else f"there is no number {item} among {end} {rule}"
        raise _Fault(number, partial(contradiction, why=why))


ABSENT = {
    "lines": "there is no line {}",
    "subnets": "there is no nested net {}",
    "versions": "{} is no blob version as x@0 is",
}


def _check_text(rule: str, items: Collection[str], parts: Parts) -> None:
    for item in dict.fromkeys(items):
        if item not in parts.names[rule] if rule != "versions" else not BLOB_VERSION.fullmatch(item):
            error = partial(contradiction, why=ABSENT[rule].format(shorten(item)))
            raise _Fault(list(items).index(item), error)


def _check_length(most: int, items: Collection[Any], parts: Parts) -> None:
    for number, item in enumerate(items):
        if len(item) > most:
            raise _Fault(number, partial(contradiction, why=f"its length is {len(item)}, more than {most}"))


def _check_json(items: Collection[Any], parts: Parts) -> None:
    """Bounded depth and finite numbers, in parts whose form is open."""
    if _json_fault(items) is None:
        return
    for number, item in enumerate(items):
        if error := _json_fault([item]):
            raise _Fault(number, error)


def _json_fault(level: Iterable[Any]) -> Callable[[str], TraceError] | None:
    """What is wrong in any of these; level by level, for the stack is not theirs to fill."""
    for _ in range(MAX_DEPTH + 1):
        inside: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is int and not -MOST <= item <= MOST:
                return partial(_no_number, item)
            if kind in WHOLE:
                continue
            if isinstance(item, float):
                if not math.isfinite(item):
                    return partial(_no_number, item)
            elif kind is dict:
                inside += item.values()
            elif isinstance(item, list | tuple):
                inside += item
        if not inside:
            return None
        level = inside
    return too_deep


def _no_number(item: float, where: str) -> TraceError:
    return TraceError(
        f"{where}: {str(item)[:40]} is no number that every reader of JSON takes.",
        kind="bad_number",
        ways_out=["Write numbers with gradviz.debugger.document.number."],
    )
