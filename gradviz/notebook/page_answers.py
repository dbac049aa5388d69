"""The answers that a page holds, so that its reader can ask without a kernel.

What is asked of a blob changes only with the events that touch it: it is asked there, and the answer holds up to the
next of them. Equal answers, and equal parts of them, are there once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from time import process_time
from typing import Any, NamedTuple

import msgspec

from ..debugger.answers import Questions, by_name
from ..debugger.document import Line, Revision, Trace, TraceEvent, Value
from ..debugger.steering import path_of
from ..program.control_flow import kept_name
from ..program.operator import BlobVersion
from . import ANSWERS
from .asking import Name, Question, answered

SECONDS = 2.0
"""How long a page may take to ask."""

BRINGING = ("Seeded", "GeneratorAdded", "Accumulated", "Deduplicated", "GradWritten")
"""Events that bring a gradient to a blob."""

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


class _Wanted(NamedTuple):
    """A question that a reader may ask.

    Attributes:
        positions: where it is asked; an answer holds up to the next of them.
        others: where an answer may cease to hold: from there on, up to the next position, there is none.
        seconds: how long an answer may take.
        share: it is asked within this share of all the time.
    """

    question: Name
    arguments: list[str | int]
    positions: list[int]
    others: Sequence[int] = ()
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
        entries: list[tuple[int, int | None]] = []
        for at, following in pairwise([*wanted.positions, len(trace.events) + 1]):
            if pool.is_full or process_time() > end:
                entries.append((at, None))
                break
            number = pool.reply(answered(questions, Question("", wanted.question, wanted.arguments, at)))
            if not entries or entries[-1][1] != number:
                entries.append((at, number))
            entries += _ceased(wanted.others, at, following)
        pool.asked[key] = entries
    return pool.answers()


def _wanted(trace: Trace) -> Iterator[_Wanted]:
    """What a reader can ask, the most telling first; what comes twice gets a second chance in the time that is left."""
    count = len(trace.events)
    outermost = ":" if trace.subnets else ""
    touched = _touched(trace)
    for word, (positions, others) in touched.items():
        yield _Wanted("why_none", [word], positions, others)
        yield _Wanted("versions", [word], positions, others)
    faulty = [blob for blob, value in trace.values.items() if _is_faulty(value)]
    added = [one.blob for one in trace.ledgers if one.subnet is None]
    yield from (_provenance(f"{outermost}{blob}", touched) for blob in faulty)
    yield from (_Wanted("paths", [f"{outermost}{blob}"], [0], share=0.6) for blob in dict.fromkeys(added))
    checks = list(_checks(trace, outermost))
    yield from (check._replace(share=0.6) for check in checks)
    single = {f"{outermost}{name}@0" for name in trace.gradients}.difference(f"{outermost}{blob}" for blob in added)
    yield from (_Wanted("ledger", [word], at) for word, (at, _) in touched.items() if word in single)
    yield _Wanted("state", [], list(range(count + 1)))
    yield from (_Wanted("diff", [at - 1], [at], [at + 1]) for at in range(1, count + 1))
    yield from checks
    yield from (_provenance(f"{outermost}{blob}", touched) for blob in trace.values)
    yield from (_Wanted("paths", [f"{outermost}{blob}@0"], [0]) for blob in trace.gradients)


def _ceased(others: Sequence[int], since: int, before: int) -> list[tuple[int, int | None]]:
    """Where an answer ceases to hold that was given at one position, if it does before another."""
    end = bisect_right(others, since)
    return [(others[end], None)] if end < len(others) and others[end] < before else []


def _provenance(word: str, touched: Mapping[str, tuple[list[int], list[int]]]) -> _Wanted:
    """Where a value was born: the same at every position, but that a name may be that of another value before."""
    return _Wanted("provenance", [word], sorted({0, *touched.get(word, ((), ()))[0]}))


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
    yield _Wanted("check", [word], [0], seconds=seconds)
    yield _Wanted("checkable", [word], [0])


def _seconds(trace: Trace, lines: list[Line]) -> Iterator[tuple[str, float]]:
    """How long each operator takes; where a larger one of its type was quicker, something else has delayed it."""
    values = {line.id: [value for blob in line.outputs if (value := trace.values.get(blob))] for line in lines}
    quickest: dict[str, float] = {}
    for line in sorted(lines, key=lambda line: sum(value.size for value in values[line.id]), reverse=True):
        seconds = max((value.seconds or 0.0 for value in values[line.id]), default=0.0)
        quickest[line.type] = seconds = min(seconds, quickest.get(line.type, seconds))
        yield line.id, seconds


def _touched(trace: Trace) -> dict[str, tuple[list[int], list[int]]]:
    """Each blob as it is asked for, and where answers about it change, of a gradient also about what it belongs to.

    Of a blob of a nested net also where something happens in runs of that net that may belong to the same round.
    """
    first_run = next((at for at, event in enumerate(trace.events, 1) if event.kind == "Ran"), None)
    nets: dict[str | None, list[Line]] = {None: [*trace.forward, *trace.backward]}
    nets |= {net.id: [*net.forward, *net.backward] for net in trace.subnets}
    lines = {line.id: line for own in nets.values() for line in own}
    versions = {id: by_name(_read_or_written(*own)) for id, own in nets.items()}
    positions: dict[tuple[str | None, int | None], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    positions[None, None].update({name: [0] for name in versions[None]})
    owners, inside = _owners(trace, nets), defaultdict[tuple[str | None, bool], list[int]](list)
    for at, event in enumerate(trace.events, 1):
        place = positions[event.subnet, event.frame]
        for name in _names(event, lines):
            place[name].append(at)
        if event.frame is not None:
            inside[event.subnet, _is_back(trace, event.frame)].append(at)
    lined: dict[str | None, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for id, own in nets.items():
        for line in own:  # in a nested net some come with events around it
            for name in by_name(_read_or_written(line, *line.history)):
                lined[id][name].update([line.made, *(then.at for then in line.history)])
    # A net and its one run, or runs of both passes, may have one path.
    touched: dict[str, tuple[set[int], set[tuple[str | None, bool]]]] = defaultdict(lambda: (set(), set()))
    for (net, frame), names in [*positions.items()]:
        path, generated = _path(trace, net, frame), positions[net, None]
        others = [(net, back) for back in (False, True) if frame is None or back != _is_back(trace, frame)]
        for name, found in names.items():
            numbers = versions[net].get(name, ())
            kept = [kept_name(BlobVersion(name, number)) for number in numbers]  # what reads these reads it
            also = {name, *owners[net].get(name, ()), *kept}
            changes = {
                *found,
                *(at for one in also for place in (names, generated, lined[net]) for at in place.get(one, ())),
            }
            for number in numbers:
                asked, unknown = touched[f"{path}{name}@{number}"]
                asked.update(changes, [] if first_run is None else [first_run])
                unknown.update(others)
    ends = {
        halves: sorted(at for half in halves for at in inside[half]) for halves in set(map(_halves, touched.values()))
    }
    return {word: (sorted(both[0]), ends[_halves(both)]) for word, both in touched.items()}


def _halves(touched: tuple[set[int], set[tuple[str | None, bool]]]) -> frozenset[tuple[str | None, bool]]:
    return frozenset(touched[1])


def _is_back(trace: Trace, frame: int) -> bool:
    return trace.frames[frame].is_backward


def _owners(trace: Trace, nets: Mapping[str | None, list[Line]]) -> Mapping[str | None, Mapping[str, set[str]]]:
    """In each net, by the name of a gradient, the blobs of the forward half that it comes to or belongs to."""
    forward = {
        id: by_name(_read_or_written(*(line for line in own if line.role == "forward"))) for id, own in nets.items()
    }
    found: dict[str | None, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for event in trace.events:
        if event.kind in BRINGING:
            gradient = event.detail.get("gradient")
            names = {*by_name(event.blobs), *(gradient.values() if isinstance(gradient, dict) else ())}
            for name in names - forward[event.subnet].keys():
                found[event.subnet][name] |= names & forward[event.subnet].keys()
    for id, own in nets.items():
        outputs = {line.number: by_name(line.outputs).keys() for line in own if line.role == "forward"}
        for line in own:
            if line.role == "duplicate" and line.of is not None:  # a copy is of one of the outputs
                for name in by_name(line.outputs):
                    found[id][name] |= outputs[line.of]
    return found


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
