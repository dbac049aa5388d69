"""The ledgers of a recording's accumulations: who made each term, the way from there to a y, and the numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import msgspec

from ...operators.registry import Array
from ...program.events import Accumulated
from ...runtime.devices import CPU, current, device_of, moved
from ..document import Ledger
from ..journal import Key, Recording, dense
from .ledger import Term, ledger
from .lines import GrowingLine, Lines, Written

PATH_LENGTH = 12
"""Words of a path that are shown before it is cut."""

Known = Mapping[Key, Array]


class Sum(msgspec.Struct, frozen=True):
    """An accumulation at position `at`: the writings that the sum and each term consist of, and who made the terms.

    `lines` are those of its net, `ys` the blobs that the pass of the net started from.
    """

    event: Accumulated
    at: int
    total: list[Written]
    terms: list[list[Written]]
    producers: list[str]
    lines: Lines
    ys: list[str]


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
            ways[path] = _hops(one.lines, one.ys)
        hops = ways[path]
        if not path:
            first.append(_ledger(one, hops, recording.values, None))
        elif len(frames) == 1:
            first.append(_ledger(one, hops, recording.runs[frames[0]].values, frames[0]))
        else:
            first.append(_ledger(one, hops, {}, None))
            more += [_ledger(one, hops, recording.runs[frame].values, frame) for frame in frames]
    return first + more


Hops = dict[int, tuple[str, int | None]]
"""Forward operator -> the blob and the operator that it reaches a y through, None when the blob is the y."""


def _ledger(one: Sum, hops: Hops, values: Known, frame: int | None) -> Ledger:
    event = one.event
    total = _dense(one.total, event, values)
    device = CPU if total is None else device_of(total)
    terms = []
    for parts, producer, contribution in zip(one.terms, one.producers, event.contributions, strict=True):
        array = _dense(parts, event, values)
        path = _path(contribution.index, event.blob, hops)
        array = None if array is None else moved(array, device)
        terms.append(Term(str(parts[-1]), producer, contribution.index, contribution.how, path, array))
    with current(device):
        made = ledger(f"{event.blob}@{event.version}", one.at, str(one.total[-1]), terms, total)
    return msgspec.structs.replace(made, subnet=one.lines.id or None, frame=frame)


def _dense(parts: Sequence[Written], event: Accumulated, known: Known) -> Array | None:
    """The value of a gradient as one array, None where it was not computed."""
    values = known.get((parts[-1].name, parts[-1].version))
    if len(parts) == 1 or values is None:
        return values
    table, indices = known.get((event.blob, event.version)), known.get((parts[0].name, parts[0].version))
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


def _hops(lines: Lines, ys: Sequence[str]) -> Hops:
    numbers: dict[GrowingLine | None, int] = {line: number for number, line in enumerate(lines.forward)}
    hops: Hops = {}
    queue: deque[GrowingLine] = deque()
    for y in ys:
        line = lines.latest(y).line
        if line is not None and line in numbers and numbers[line] not in hops:
            hops[numbers[line]] = (y, None)
            queue.append(line)
    while queue:
        line = queue.popleft()
        for written in line.inputs:
            before = written.line
            if before is not None and numbers[before] not in hops:
                hops[numbers[before]] = (written.name, numbers[line])
                queue.append(before)
    return hops
