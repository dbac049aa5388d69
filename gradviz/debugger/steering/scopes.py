"""Which value and which ledger a name means at a place: that of the run that we are in, then those around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...operators.registry import Array
from ...operators.scopes import ScopeStack
from ..document import Ledger, Trace
from ..journal import Key, Recording
from .places import path_of


def find_value(recording: Recording, blob: str, frame: int | None) -> Array | ScopeStack | None:
    """The value that `blob` means in a run of a nested net, a number among all; None: it was not computed.

    Args:
        blob: a name or a version, perhaps behind the path of a run and a colon.
    """
    path, colon, name = blob.rpartition(":")
    if colon and (run := recording.run_at(path)) is not None:
        return _value(run.values, name)
    for values in _around(recording, frame):
        found = _value(values, blob)
        if found is not None:
            return found
    return None


def _around(recording: Recording, frame: int | None) -> Iterator[Mapping[Key, Array]]:
    while frame is not None:
        yield recording.runs[frame].values
        frame = recording.runs[frame].around
    yield recording.values


def _value(values: Mapping[Key, Array], blob: str) -> Array | ScopeStack | None:
    name, _, version = blob.rpartition("@")
    if not name:
        name, version = blob, str(max((number for known, number in values if known == blob), default=0))
    return values.get((name, int(version))) if version.isdigit() else None


def find_ledger(trace: Trace, blob: str, subnet: str | None, frame: int | None, position: int) -> Ledger | None:
    """The ledger that `blob` means in a run of a nested net, as of `position`; None: its gradients were not added."""
    path, colon, name = blob.rpartition(":")
    if colon:
        frames = [number for number in range(len(trace.frames)) if "/".join(path_of(trace, number)) == path]
        if frames:
            return _latest([ledger for ledger in trace.ledgers if ledger.frame in frames], name, position)
    nearest = [
        [ledger for ledger in trace.ledgers if ledger.frame == frame and ledger.subnet == subnet],
        [ledger for ledger in trace.ledgers if ledger.subnet == subnet],
        [ledger for ledger in trace.ledgers if ledger.subnet is None],
        trace.ledgers,
    ]
    for ledgers in nearest:
        found = _latest(ledgers, blob, position)
        if found is not None:
            return found
    return None


def _latest(ledgers: list[Ledger], blob: str, position: int) -> Ledger | None:
    """Of the ledgers of `blob` the last one made by `position`; before any the first."""
    found = [one for one in ledgers if blob in (one.blob, one.blob.rpartition("@")[0], one.total)]
    made = [one for one in found if one.at <= position]
    return made[-1] if made else found[0] if found else None
