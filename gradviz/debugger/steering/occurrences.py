"""What a text names, and where in a recording it happens: what `run_to` and breakpoints look for.

A text is a target of `run_to` (an operator or its type, a blob, a version, an event's name, a nested net, ...), one of
the phrases below, a condition, or a target or phrase with a condition behind ``if``: ``FC if norm > 10``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import get_args

import numpy as np

from ...program.spelling import get_close_matches
from ..document import Kind
from .columns import Columns
from .conditions import ConditionError, Field, Node, evaluate, is_blob, mentioned, parse, shown, truth
from .places import Places, after, before
from .writings import Row, RowContext, Writings

PHRASES = {
    "accumulation": "n > 1",
    "sparse meets dense": "sparse > 0 and dense > 0",
    "device change": "devices > 1",
    "NaN": "nan > 0",
    "NaN appears": "nan > 0 and inputs.nan == 0",
    "Inf": "inf > 0",
    "Inf appears": "inf > 0 and inputs.inf == 0",
    "subnormal": "subnormal > 0",
    "subnormal appears": "subnormal > 0 and inputs.subnormal == 0",
}
"""What stands for a condition. What an operator writes "appears" where nothing of the kind is in what it reads."""

KINDS: tuple[str, ...] = get_args(Kind)
_IF = re.compile(r"(.*?)\s+if\s", re.DOTALL)
_NEXT = re.compile(r"^next\s+")
TARGETS = (
    "Write an operator (#3) or type (FC), a blob (x) or version (x@1), an event (Accumulated), "
    "or a condition (norm > 10)."
)
_VERSION = re.compile(r"[^:]+@[0-9]+")


class Occurrences:
    """Where something happens, found when it is asked for.

    Attributes:
        condition: None where a target alone is meant.
    """

    def __init__(self, columns: Columns, writings: Writings, targets: Sequence[int] | None, condition: Node | None):
        self.condition = condition
        self._columns = columns
        self._writings = writings
        self._targets = targets

    @cached_property
    def _rows(self) -> Mapping[int, Row]:
        """Of each position at which it happens the first row for which it does."""
        condition, writings = self.condition, self._writings
        if condition is None:
            return {}
        found: dict[int, Row] = {}
        targets = None if self._targets is None else set(self._targets)
        for number in np.flatnonzero(self._columns.candidates(condition)).tolist():
            row = writings.rows[number]
            if row.position in found or (targets is not None and row.position not in targets):
                continue
            if evaluate(condition, RowContext(writings, row)) is True:
                found[row.position] = row
        return found

    @cached_property
    def positions(self) -> Sequence[int]:
        """All of them, in their order."""
        return tuple(self._rows) if self.condition is not None else tuple(self._targets or ())

    def row_at(self, position: int) -> Row:
        """The row of an event that an occurrence is about, else its first one."""
        if position in self._rows:
            return self._rows[position]
        return self._writings.rows[int(np.searchsorted(self._writings.positions, position))]

    def after(self, position: int) -> int | None:
        """The first position behind `position`; None: there is none."""
        return after(self.positions, position)

    def before(self, position: int) -> int | None:
        """The last position before `position`; None: there is none."""
        return before(self.positions, position)

    @cached_property
    def never_computed(self) -> tuple[str, ...]:
        """What the condition asks about and nothing in the recording has."""
        if self.condition is None:
            return ()
        computed = any(row.value is not None for row in self._writings.rows)
        return tuple(dict.fromkeys(name_of(one) for one in self._statistics() if not self._is_there(one, computed)))

    def _statistics(self) -> Iterator[Field]:
        for field in mentioned(self.condition) if self.condition is not None else ():
            is_own = field.attribute in ("", "name", "version") and not is_blob(field.thing)
            if field.thing not in ("event", "op") and not is_own:
                yield field

    def _is_there(self, field: Field, computed: bool) -> bool:
        if is_blob(field.thing):
            return bool(self._writings.computed.get(field.thing[1:]))
        if field.thing == "x":
            has_it = (row.value for row in self._writings.rows if row.value is not None)
            return computed and any(getattr(value, field.attribute) is not None for value in has_it)
        return computed

    def told(self, position: int) -> str:
        """What the condition asks about is there, as text: ``norm of h_grad@0 = 12.5``."""
        if self.condition is None:
            return ""
        context = RowContext(self._writings, self.row_at(position))
        told = []
        for field in dict.fromkeys((one.thing, one.attribute) for one in mentioned(self.condition)):
            thing, attribute = field
            name = shown(context.field(thing, "")) if thing != "inputs" else "inputs"
            told.append(f"{attribute} of {name} = {shown(context.field(thing, attribute))}" if attribute else name)
        return ", ".join(told)


class Finder:
    """Reads texts and finds their occurrences; what was found is kept.

    Attributes:
        writings: what each event writes.
    """

    def __init__(self, writings: Writings, places: Places) -> None:
        self.writings = writings
        self._places = places
        self._columns = Columns(writings)
        self._known: dict[str, Occurrences] = {}

    def find(self, text: str) -> Occurrences:
        """Where what `text` names happens.

        Raises:
            ConditionError: it names nothing that the recording could have; ``not_found`` where it is well formed.
        """
        if text not in self._known:
            self._known[text] = self._read(text)
        return self._known[text]

    def _read(self, text: str) -> Occurrences:
        named = self._named(_NEXT.sub("", text.strip()))
        if named is not None:
            return named
        behind = _IF.match(text)
        if behind is None or (target := self._named(behind.group(1).strip())) is None:
            return Occurrences(self._columns, self.writings, None, self.condition(text))
        condition = self.condition(text, behind.end())
        return Occurrences(self._columns, self.writings, target.positions, condition)

    def _named(self, word: str) -> Occurrences | None:
        """The occurrences of a target or a phrase; None: it is neither."""
        if _VERSION.fullmatch(word) and (written := self._written(word)):
            return Occurrences(self._columns, self.writings, written, None)
        if word in self._places.words or word in KINDS:
            return Occurrences(self._columns, self.writings, self._places.words.get(word, []), None)
        return Occurrences(self._columns, self.writings, None, parse(PHRASES[word])) if word in PHRASES else None

    def _written(self, version: str) -> list[int]:
        rows = self.writings.rows
        return sorted({row.position for row in rows if row.is_written and row.blob == version})

    def condition(self, text: str, start: int = 0) -> Node:
        """The condition in `text` from a character on, about blobs that the recording has."""
        return truth(text, self._checked(text, parse(text, start)))

    def inside(self, text: str, start: int, end: int) -> Node:
        """The expression, of any type, between two characters of a text."""
        return self._checked(text, parse(text[:end], start))

    def watched(self, text: str) -> Node:
        """What a watch shows: about blobs alone, so every word that names a blob of the recording is that blob."""
        node = self._checked(text, parse(text, is_blob=self.writings.blobs.__contains__))
        for field in mentioned(node):
            if not is_blob(field.thing):
                problem = f"a watch is about blobs, and {name_of(field)} is about an event"
                raise ConditionError(text, field.at, problem, ways_out=["Name a blob: norm(h), x@1."])
        return node

    def _checked(self, text: str, node: Node) -> Node:
        for field in mentioned(node):
            if is_blob(field.thing) and field.thing[1:] not in self.writings.blobs:
                raise self._unknown(text, field.at, field.thing[1:])
        return node

    def _unknown(self, text: str, at: int, name: str) -> ConditionError:
        known = [*self._places.words, *PHRASES, *KINDS]
        near = get_close_matches(name, known, n=3)
        ways_out = [*([f"Did you mean {' or '.join(near)}?"] if near else []), TARGETS]
        return ConditionError(
            text, at, f"the recording has nothing that is called {name!r}", kind="not_found", ways_out=ways_out
        )


def name_of(field: Field) -> str:
    """A field as one writes it."""
    thing = field.thing.removeprefix(":")
    return f"{thing}.{field.attribute}" if field.attribute else thing
