"""What a text names, and where in a recording it happens: what `run_to` and breakpoints look for.

A text is a target of `run_to` (an operator or its type, a blob, a version, an event's name, a nested net, ...), a
phrase, a condition, or a target or phrase with a condition behind ``if``: ``FC if norm > 10``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, get_args

import numpy as np

from ...program.errors import meant
from ..document import Kind
from .conditions import (
    NAMES,
    PHRASES,
    WORDS,
    ConditionError,
    Field,
    Node,
    Result,
    evaluate,
    mentioned,
    parse,
    shown,
    truth,
)
from .rows import Rows
from .targets import Targets

KINDS: tuple[str, ...] = get_args(Kind)
_IF = re.compile(r"(.*?)\s+if\s", re.DOTALL)
_NEXT = re.compile(r"^next\s+")
TARGETS = (
    "Write an operator (#3) or type (FC), a blob (x) or version (x@1), an event (Accumulated), "
    "or a condition (norm > 10)."
)
_OPERATOR = re.compile(r"#[0-9]+")
_VERSION = re.compile(r"[^:]+@[0-9]+")
WORD = re.compile(r"[^\s<>=!()]+")


class Occurrences:
    """Where something happens, found when it is asked for.

    Args:
        rows: all, or those that came since its condition was evaluated.
        targets: the positions among which it is; None: it is anywhere.
        condition: None where a target alone is meant.
        earlier_matches: the positions before these rows at which the condition holds; of them there are no rows.
    """

    def __init__(
        self, rows: Rows, targets: Sequence[int] | None, condition: Node | None, earlier_matches: Iterable[int] = ()
    ) -> None:
        self._rows = rows
        self._targets = targets
        self._asked = [] if condition is None else list(mentioned(condition))
        self._condition = condition
        self._earlier_matches = earlier_matches

    @cached_property
    def matches(self) -> Sequence[int]:
        """The positions at which its condition holds, wherever that is."""
        return [*self._earlier_matches, *self._row_at]

    @cached_property
    def _row_at(self) -> Mapping[int, int]:
        """Of each position of its rows at which its condition holds the first row for which it does."""
        rows = self._rows
        if self._condition is None:
            return {}
        column = evaluate(self._condition, rows.column)
        numbers = np.flatnonzero(np.broadcast_to(column.values & column.has_value, rows.positions.shape))
        positions, first = np.unique(rows.positions[numbers], return_index=True)
        return dict(zip(positions.tolist(), numbers[first].tolist(), strict=True))

    @property
    def _among(self) -> Sequence[int] | None:
        """The positions that are looked at: those of a target. A condition alone that names blobs, and not x, is about
        those at which they are computed. None: all."""
        if self._targets is not None:
            return self._targets
        names = [field.blob for field in self._asked if field.blob is not None]
        is_about_rows = not names or any(field.thing in ("x", "g", "inputs") for field in self._asked)
        return None if is_about_rows else self._rows.computed_at(names)

    @cached_property
    def positions(self) -> Sequence[int]:
        """All of them, in their order."""
        if self._condition is None:
            return tuple(self._targets or ())
        among = self._among
        return tuple(self.matches) if among is None else tuple(sorted({*among} & {*self.matches}))

    def row_at(self, position: int) -> int:
        """The row of an event that an occurrence is about, else its first one."""
        return self._row_at.get(position, int(np.searchsorted(self._rows.positions, position)))

    @cached_property
    def never_computed(self) -> tuple[str, ...]:
        """What the condition asks about and nothing in the recording has."""
        return tuple(dict.fromkeys(str(field) for field in self._asked if self._is_computed(field) is False))

    def _is_computed(self, field: Field) -> bool | None:
        """Whether anything in the recording has a field; None: it is nothing that is computed."""
        if field.blob is not None:
            return bool(self._rows.computed(field.blob).positions)
        if field.thing in ("event", "op") or field.attribute in ("", "name", "version"):
            return None
        if field.thing == "x":
            return bool(self._rows.column("x", field.attribute).has_value.any())
        return self._rows.has_values

    def text_at(self, position: int) -> str:
        """What the condition asks about, as it is at a position: ``norm of h_grad@0 = 12.5``."""
        rows = np.array([self.row_at(position)])

        def field(thing: str, attribute: str) -> Result:
            return self._rows.column(thing, attribute, rows).at(0)

        texts = []
        for thing, attribute in dict.fromkeys((one.thing, one.attribute) for one in self._asked):
            named = None if thing == "inputs" else field(thing, "")
            name = thing.removeprefix(":") if named is None else shown(named)
            texts.append(f"{attribute} of {name} = {shown(field(thing, attribute))}" if attribute else name)
        return ", ".join(texts)


class Finder:
    """Reads texts and finds their occurrences, those of each text once.

    Attributes:
        rows: what each event writes.
        targets: the words that name events.

    Args:
        recent: the rows of events that came since; None: all are new.
        earlier_matches: where the conditions of texts hold before these.
    """

    def __init__(
        self,
        rows: Rows,
        targets: Targets,
        recent: Rows | None,
        earlier_matches: Mapping[str, Iterable[int]],
    ) -> None:
        self.rows = rows
        self.targets = targets
        self._recent = recent
        self._earlier_matches = earlier_matches
        self._occurrences: dict[str, Occurrences] = {}

    @property
    def matches(self) -> Mapping[str, Iterable[int]]:
        """Of each text whose condition was evaluated the positions at which it holds."""
        return {text: one.matches for text, one in self._occurrences.items() if "matches" in one.__dict__}

    def find(self, text: str) -> Occurrences:
        """Where what `text` names happens.

        Raises:
            ConditionError: it names nothing that the recording could have; ``not_found`` where it is well formed.
        """
        if text not in self._occurrences:
            self._occurrences[text] = self._read(text)
        return self._occurrences[text]

    def _read(self, text: str) -> Occurrences:
        named = self._named(_NEXT.sub("", text.strip()))
        if named is not None:
            return named
        head = _IF.match(text)
        before = (text if head is None else head.group(1)).strip()
        target = None if head is None else self._named(before)
        word = _NEXT.sub("", before)
        if target is None and (_OPERATOR if head is None else WORD).fullmatch(word):
            if head is not None:  # a fault of what has to hold is there whatever comes
                self._condition(text, head.end())
            raise self._unknown(text, text.index(word), word)
        condition = self._condition(text, 0 if head is None or target is None else head.end())
        return self._where(text, condition, None if target is None else target.positions)

    def _condition(self, text: str, start: int) -> Node:
        return truth(text, self._checked(text, self._parsed(text, start)))

    def _where(self, text: str, condition: Node, targets: Sequence[int] | None = None) -> Occurrences:
        """Where the condition of a text holds; what it says of blobs by name is about all rows."""
        is_recent = text in self._earlier_matches and all(field.blob is None for field in mentioned(condition))
        if self._recent is None or not is_recent:
            return Occurrences(self.rows, targets, condition)
        return Occurrences(self._recent, targets, condition, self._earlier_matches[text])

    def _named(self, word: str) -> Occurrences | None:
        """The occurrences of a target or a phrase; None: it is neither."""
        if _VERSION.fullmatch(word) and (written := self.targets.written(word)):
            return Occurrences(self.rows, written, None)
        if (positions := self.targets.find(word)) or word in KINDS:
            return Occurrences(self.rows, positions, None)
        return self._where(word, parse(PHRASES[word])) if word in PHRASES else None

    def inside(self, text: str, start: int, end: int) -> Node:
        """The expression, of any type, between two characters of a text."""
        return self._checked(text, self._parsed(text[:end], start))

    def watched(self, text: str) -> Node:
        """What a watch shows: about blobs alone, so what names a blob of the recording is that blob, word or text."""
        blob = text.strip()
        if "`" not in blob and self.rows.has_blob(blob):
            return parse(f"`{blob}`")
        node = self._checked(text, self._parsed(text, is_blob=self.rows.has_blob))
        for field in mentioned(node):
            if field.blob is None:
                problem = f"a watch is about blobs, and {field} is about an event"
                raise ConditionError(text, field.at, problem, ways_out=["Name a blob: norm(h), x@1."])
        return node

    def _parsed(self, text: str, start: int = 0, **options: Any) -> Node:
        try:
            return parse(text, start, **options)
        except ConditionError as error:
            if name := self._misread(text, error.position):
                error.ways_out = (f"Write the name {name} between backticks: norm(`{name}`).", *error.ways_out)
            if WORD.fullmatch(text):  # perhaps a name such as 0.weight
                error.unknown = text
            raise

    def _misread(self, text: str, at: int) -> str:
        """The longest name around a fault that the language takes for words and signs of its own; empty: none is."""
        # Who looks again and again for what is to come does so in vain most times.
        words = [word for word in self.targets.words if word in text] if self._recent is None else []
        return max((word for word in words if self._is_misread(word, text, at)), key=len, default="")

    def _is_misread(self, word: str, text: str, at: int) -> bool:
        is_plain = word.isascii() and word.isidentifier() and word not in (*WORDS, *NAMES)
        places = re.finditer(rf"(?<![\w`.]){re.escape(word)}(?![\w`(])", text)
        # A function or a field is no name; the fault may be the field behind one: 1.norm.
        is_there = any(place.start() <= at <= place.end() + 1 for place in places)
        return is_there and not is_plain and self.rows.has_blob(word)

    def _checked(self, text: str, node: Node) -> Node:
        for field in mentioned(node):
            if field.blob is not None and not self.rows.has_blob(field.blob):
                raise self._unknown(text, field.at, field.blob)
        return node

    def _unknown(self, text: str, at: int, name: str) -> ConditionError:
        # Who looks again and again for what is to come does so in vain most times: nothing is suggested then.
        words = self.targets.words if self._recent is None else ()
        ways_out = [*meant(name, [*words, *PHRASES, *KINDS, *NAMES]), TARGETS]
        problem = f"the recording has nothing that is called {name!r}"
        return ConditionError(text, at, problem, kind="not_found", ways_out=ways_out, unknown=name)
