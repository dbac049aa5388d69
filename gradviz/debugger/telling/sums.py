"""The ledgers of a recording's accumulations: who made each term, the way from there to a y, and the numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import msgspec

from ...operators.registry import Array
from ...program.events import Accumulated
from ...runtime.devices import CPU, current, device_of, moved
from ..document import Ledger
from ..journal import Key, NetText, ProgramText, Recording, Statement, Writing, dense
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
    runs: dict[tuple[str, ...], list[int]] = {}
    for number, run in enumerate(recording.runs):
        if run.is_backward:
            runs.setdefault(run.net.path, []).append(number)
    ways: dict[tuple[str, ...], Hops] = {}
    first, more = [], []
    for one in sums:
        path = one.event.path
        frames = runs.get(path, [])
        if path not in ways:
            ways[path] = _hops(one.net)
        hops = ways[path]
        if not path:
            first.append(_ledger(one, hops, recording.values, None))
        elif len(frames) == 1:
            first.append(_ledger(one, hops, recording.runs[frames[0]].values, frames[0]))
        else:
            first.append(_ledger(one, hops, {}, None))
            more += [_ledger(one, hops, recording.runs[frame].values, frame) for frame in frames]
    return first + more


def sums_of(recording: Recording, text: ProgramText, telling: story.Story) -> list[Sum]:
    """The accumulations of a recording that have ledgers, in their order; the last one of a blob has all its terms."""
    found = [(at, event) for at, event in enumerate(recording.events, 1) if isinstance(event, Accumulated)]
    found = [(at, event) for at, event in found if telling.is_sum(event)]
    last = {(event.path, event.blob, event.version): at for at, event in found}
    return [
        Sum(
            event,
            at,
            telling.total(event, at),
            telling.terms(event, at, is_whole=last[event.path, event.blob, event.version] == at),
            text.of(event),
        )
        for at, event in found
    ]


Hops = dict[int, tuple[str, int | None]]
"""Forward operator -> the blob and the operator that it reaches a y through, None when the blob is the y."""


def _ledger(one: Sum, hops: Hops, values: Values, frame: int | None) -> Ledger:
    event = one.event
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


def _hops(net: NetText) -> Hops:
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
