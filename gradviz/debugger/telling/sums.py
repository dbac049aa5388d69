"""The ledgers of a recording's accumulations: who made each term, the way from there to a y, and the numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from ...operators.registry import Array
from ...program.events import Accumulated
from ...runtime.devices import CPU, current, device_of, moved
from ..document import Ledger
from ..journal import Key, NetText, Recording, Statement, Writing, dense
from . import story
from .ledger import Term, ledger

PATH_LENGTH = 12
"""Words of a path that are shown before it is cut."""

Values = Mapping[Key, Array]


class Sum(msgspec.Struct, frozen=True):
    """An accumulation before position `at`: the writings that the sum consists of, and its terms."""

    event: Accumulated
    at: int
    total: list[Writing]
    terms: list[story.Term]
    net: NetText


def ledgers(sums: Sequence[Sum], recording: Recording) -> list[Ledger]:
    """One ledger for each of `sums`, then those of the runs of nested nets where there are several.

    A sum in a nested net is formed in each run of its backward pass: where there is one run, the ledger has its
    numbers, where there are more, a ledger without numbers is followed, at the end, by one for each run.
    """
    frames = frames_of(recording)
    ways = {one.event.path: hops_of(one.net) for one in {one.event.path: one for one in sums}.values()}
    places = placed([(one, one.event.path) for one in sums], frames)
    return [ledger_of(one, ways[one.event.path], recording, frame) for one, frame in places]


T = TypeVar("T")
Path = tuple[str, ...]


def frames_of(recording: Recording) -> dict[Path, list[int]]:
    """The runs of the backward pass of each nested net, as numbers among all runs."""
    found: dict[Path, list[int]] = {}
    for number, run in enumerate(recording.runs):
        if run.is_backward:
            found.setdefault(run.net.path, []).append(number)
    return found


def placed(sums: Sequence[tuple[T, Path]], frames: Mapping[Path, Sequence[int]]) -> list[tuple[T, int | None]]:
    """Of sums in nets the ledgers that there are: each with the run that its numbers are of, None: there is no one."""
    first: list[tuple[T, int | None]] = []
    more: list[tuple[T, int | None]] = []
    for one, path in sums:
        runs = frames.get(path, ())
        first.append((one, runs[0] if len(runs) == 1 else None))
        more += [(one, run) for run in runs if len(runs) > 1]
    return first + more


def sum_of(telling: story.Story, event: Accumulated, at: int) -> Sum:
    """An accumulation with its terms; the last one of a blob has all of them."""
    return Sum(
        event,
        at,
        telling.total(event, at),
        telling.terms(event, at, is_whole=telling.is_last(event, at)),
        telling.net(event),
    )


def sums_of(recording: Recording, telling: story.Story) -> list[Sum]:
    """The accumulations of a recording that have ledgers, in their order."""
    found = [(at, recording.events[at - 1]) for at in recording.text.sums]
    sums = [(at, event) for at, event in found if isinstance(event, Accumulated) and telling.is_sum(event)]
    return [sum_of(telling, event, at) for at, event in sums]


Hops = dict[int, tuple[str, int | None]]
"""Forward operator -> the blob and the operator that it reaches a y through, None when the blob is the y."""


def ledger_of(one: Sum, hops: Hops, recording: Recording, frame: int | None) -> Ledger:
    """The ledger of a sum, in a nested net with the numbers of a run, or without any."""
    event = one.event
    values: Values = {}
    if not event.path:
        values = recording.values
    elif frame is not None:
        values = recording.runs[frame].values
    total = _dense(one.total, event, values)
    device = CPU if total is None else device_of(total)
    terms = []
    for parts, producer, contribution in one.terms:
        array = _dense(parts, event, values)
        path = _path(contribution.index, event.blob, hops)
        array = None if array is None else moved(array, device)
        terms.append(Term(str(parts[-1]), producer, contribution.index, contribution.how, path, array))
    with current(device):
        said = ledger(f"{event.blob}@{event.version}", one.at, str(one.total[-1]), terms, total)
    return msgspec.structs.replace(said, subnet=one.net.id or None, frame=frame)


def _dense(parts: Sequence[Writing], event: Accumulated, computed: Values) -> Array | None:
    """The value of a gradient as one array, None where it was not computed."""
    values = computed.get(parts[-1].key)
    if len(parts) == 1 or values is None:
        return values
    table, indices = computed.get((event.blob, event.version)), computed.get(parts[0].key)
    return None if table is None or indices is None else dense(indices, values, table)


def _path(index: int | None, blob: str, hops: Hops) -> list[str]:
    """One shortest way from forward operator `index` to a y, as words; for a seed, the `blob` it belongs to."""
    path = [blob] if index is None else [f"#{index}"]
    while index is not None and index in hops:
        if len(path) == PATH_LENGTH:
            return [*path, "…"]
        name, index = hops[index]
        path.append(name)
    return path


def hops_of(net: NetText) -> Hops:
    """The way from each forward operator towards a y."""
    hops: Hops = {}
    queue: deque[Statement] = deque()
    for y, _ in net.ys:
        statement = net.latest(y).statement
        if statement is not None and statement.role == "forward" and statement.number not in hops:
            hops[statement.number] = (y, None)
            queue.append(statement)
    while queue:
        statement = queue.popleft()
        for writing in statement.inputs:
            before = writing.statement
            if before is not None and before.number not in hops:
                hops[before.number] = (writing.name, statement.number)
                queue.append(before)
    return hops
