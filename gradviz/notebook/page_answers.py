"""The answers that a page holds, so that its reader can ask without a kernel.

What is asked of a blob is asked where events touch it, and right before the next of them: where answers differ, in the
middle, until it is found since when. Equal answers, and equal parts of them, are there once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from time import process_time
from typing import Any, NamedTuple

import msgspec

from ..debugger.answers import Questions, by_name
from ..debugger.document import Line, Revision, Trace, TraceEvent, Value
from ..debugger.steering import path_of
from . import ANSWERS
from .asking import Name, Question, answered

SECONDS = 2.0
"""How long a page may take to ask."""

RUNS = 400
"""How often a check runs an operator, or more seldom."""


class Answers(msgspec.Struct, frozen=True):
    """The answers in a page; all numbers are places in its lists."""

    rows: list[list[str]]
    blocks: list[list[Any]]
    """As a view hears them, but that a grid has the numbers of its rows."""
    replies: list[dict[str, Any]]
    """As a view hears them, but that they have the numbers of their blocks."""
    asked: dict[str, list[tuple[int, int | None]]]
    """Question and arguments as JSON -> from which position on which reply holds; None: the page has none."""


Ask = Callable[[int], int | None]
"""The number of the reply at a position; None: there is no time or room for it."""


class _Wanted(NamedTuple):
    """A question that a reader may ask.

    Attributes:
        positions: where it is asked; between them it is only where answers differ.
        end: where the last answer ceases to hold; None: nowhere.
        is_constant: whether all positions have one answer.
        seconds: how long an answer may take.
        share: it is asked within this share of all the time.
    """

    question: Name
    arguments: list[str | int]
    positions: list[int]
    end: int | None = None
    is_constant: bool = False
    seconds: float = 0.0
    share: float = 1.0


def answers(questions: Questions, trace: Trace, *, budget: int = ANSWERS, seconds: float = SECONDS) -> Answers:
    """Ask what a reader can ask, as far as bytes and time suffice; the most telling first.

    Args:
        trace: the recording of `questions`.
        budget: the most bytes of JSON; 0: nothing is asked.
        seconds: of computing, after which nothing more is asked; what else runs on the machine does not count.
    """
    pool, start = _Pool(budget), process_time()
    for wanted in _wanted(trace):
        if pool.is_full or process_time() > start + seconds:
            break
        key = msgspec.json.encode([wanted.question, *wanted.arguments]).decode()
        end = start + wanted.share * seconds
        if process_time() + wanted.seconds > end or key in pool.asked:
            continue
        # Where the page has no check, it does not say that there can be one.
        if wanted.question == "checkable" and key.replace("checkable", "check", 1) not in pool.asked:
            continue

        @cache
        def ask(at: int, wanted: _Wanted = wanted, end: float = end) -> int | None:
            if pool.is_full or process_time() > end:
                return None
            return pool.reply(answered(questions, Question("", wanted.question, wanted.arguments, at)))

        pool.asked[key] = entries = list(_entries(ask, wanted, len(trace.events) + 1))
        if wanted.end is not None:
            entries.append((wanted.end, None))
    return pool.answers()


def _entries(ask: Ask, wanted: _Wanted, end: int) -> Iterator[tuple[int, int | None]]:
    """From which positions on which replies hold, up to an end."""
    before = None
    for since, following in pairwise([*wanted.positions, wanted.end or end]):
        changes = [] if wanted.is_constant else _changes(ask, since, following - 1)
        for at in (since, *changes):
            if at == wanted.positions[0] or ask(at) != before:
                yield at, ask(at)
            before = ask(at)


def _changes(ask: Ask, since: int, last: int) -> Iterator[int]:
    """Where the reply is another than the one before; between positions with equal replies it nowhere is."""
    if ask(since) == ask(last):
        return
    if last == since + 1:
        yield last
    else:
        middle = (since + last) // 2
        yield from _changes(ask, since, middle)
        yield from _changes(ask, middle, last)


def _wanted(trace: Trace) -> Iterator[_Wanted]:
    """What a reader can ask, the most telling first; what comes twice gets a second chance in the time that is left."""
    count = len(trace.events)
    outermost = ":" if trace.subnets else ""
    touched = dict(_touched(trace))
    for word, (positions, end) in touched.items():
        yield _Wanted("why_none", [word], positions, end)
        yield _Wanted("versions", [word], positions, end)
    values = {f"{outermost}{blob}": value for blob, value in trace.values.items()}
    added = dict.fromkeys(f"{outermost}{one.blob}" for one in trace.ledgers if one.subnet is None)
    gradients = [f"{outermost}{blob}@0" for blob in trace.gradients]
    # A value was born where it was, but that a name may be that of another value before.
    born = {word: sorted({0, *touched.get(word, ([], 0))[0]}) for word in values}
    yield from (_Wanted("provenance", [word], born[word]) for word, value in values.items() if _is_faulty(value))
    yield from (_Wanted("paths", [word], [0], is_constant=True, share=0.6) for word in added)
    checks = list(_checks(trace, outermost))
    yield from (check._replace(share=0.6) for check in checks)
    single = set(gradients).difference(added)
    yield from (_Wanted("ledger", [word], at) for word, (at, _) in touched.items() if word in single)
    yield _Wanted("state", [], list(range(count + 1)))
    yield from (_Wanted("diff", [at - 1], [at], at + 1) for at in range(1, count + 1))
    yield from checks
    yield from (_Wanted("provenance", [word], positions) for word, positions in born.items())
    yield from (_Wanted("paths", [word], [0], is_constant=True) for word in gradients)


def _is_faulty(value: Value) -> bool:
    """Whether a person would ask where it comes from."""
    return value.nan > 0 or value.inf > 0 or value.zero == value.size > 0


def _checks(trace: Trace, outermost: str) -> Iterator[_Wanted]:
    """The operators around all nested nets, the quickest first, then the whole gradients of blobs."""
    took = dict(_seconds(trace, [line for line in trace.forward if line.ran is not None]))
    for id, seconds in sorted(took.items(), key=lambda item: item[1]):
        yield from _check(f"{outermost}#{id[1:]}", RUNS * seconds)
    for blob in trace.gradients if took else ():
        yield from _check(f"{outermost}{blob}@0", RUNS * sum(took.values()))


def _check(word: str, seconds: float) -> Iterator[_Wanted]:
    yield _Wanted("check", [word], [0], is_constant=True, seconds=seconds)
    yield _Wanted("checkable", [word], [0], is_constant=True)


def _seconds(trace: Trace, lines: list[Line]) -> Iterator[tuple[str, float]]:
    """How long each operator takes; where a larger one of its type was quicker, something else has delayed it."""
    values = {line.id: [value for blob in line.outputs if (value := trace.values.get(blob))] for line in lines}
    quickest: dict[str, float] = {}
    for line in sorted(lines, key=lambda line: sum(value.size for value in values[line.id]), reverse=True):
        seconds = max((value.seconds or 0.0 for value in values[line.id]), default=0.0)
        quickest[line.type] = seconds = min(seconds, quickest.get(line.type, seconds))
        yield line.id, seconds


def _touched(trace: Trace) -> Iterator[tuple[str, tuple[list[int], int | None]]]:
    """Each blob as it is asked for, where events touch it, and from where on it means another: in a run of its net."""
    runs = [at for at, event in enumerate(trace.events, 1) if event.phase == "run"]
    nets: dict[str | None, list[Line]] = {None: [*trace.forward, *trace.backward]}
    nets |= {net.id: [*net.forward, *net.backward] for net in trace.subnets}
    lines = {line.id: line for own in nets.values() for line in own}
    versions = {id: by_name(_read_or_written(*own)) for id, own in nets.items()}
    positions: dict[tuple[str | None, int | None], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    positions[None, None].update({name: [0] for name in versions[None]})
    for at, event in enumerate(trace.events, 1):
        place = positions[event.subnet, event.frame]
        for name in _names(event, lines):
            place[name].append(at)
    for (net, frame), names in positions.items():
        path = _path(trace, net, frame)
        for name, found in names.items():
            more = runs[:1] if net is None else []
            is_generated = net is not None and frame is None
            end = next((at for at in runs if at > found[-1]), None) if is_generated else None
            for version in versions[net].get(name, ()):
                yield f"{path}{name}@{version}", (sorted({*found, *more}), end)


def _names(event: TraceEvent, lines: dict[str, Line]) -> Iterable[str]:
    """The names of the blobs that an event touches in its net."""
    inside = [lines[id] for id in event.lines if id.rpartition(".")[0] == (event.subnet or "")]
    return by_name([*event.blobs, *_read_or_written(*(then for line in inside for then in line.history))]).keys()


def _read_or_written(*lines: Line | Revision) -> Iterator[str]:
    """The versions in the lines, or in forms that lines had."""
    return (blob for line in lines for blob in (*line.inputs, *line.outputs))


def _path(trace: Trace, net: str | None, frame: int | None) -> str:
    if net is None:
        return ":" if trace.subnets else ""
    if frame is not None:
        return f"{'/'.join(path_of(trace, frame))}:"
    return f"{'/'.join(next(one for one in trace.subnets if one.id == net).path)}:"


class _Pool:
    """Keeps equal parts once, and knows how many bytes they take."""

    def __init__(self, budget: int) -> None:
        self.asked: dict[str, list[tuple[int, int | None]]] = {}
        self._room = budget
        self._numbers: tuple[dict[bytes, int], dict[bytes, int], dict[bytes, int]] = ({}, {}, {})

    @property
    def is_full(self) -> bool:
        return self._room <= 0

    def reply(self, reply: dict[str, Any]) -> int:
        """The number of a reply."""
        if "blocks" not in reply:
            return self._number(2, reply)
        return self._number(2, {**reply, "blocks": [self._block(block) for block in reply["blocks"]]})

    def answers(self) -> Answers:
        rows, blocks, replies = ([msgspec.json.decode(part) for part in numbers] for numbers in self._numbers)
        return Answers(rows, blocks, replies, self.asked)

    def _block(self, block: list[Any]) -> int:
        if block[0] != "grid":
            return self._number(1, block)
        kind, title, head, rows, foot = block
        return self._number(1, [kind, title, head, [self._number(0, row) for row in rows], foot])

    def _number(self, which: int, part: object) -> int:
        numbers, written = self._numbers[which], msgspec.json.encode(part)
        if written not in numbers:
            numbers[written] = len(numbers)
            self._room -= len(written)
        return numbers[written]
