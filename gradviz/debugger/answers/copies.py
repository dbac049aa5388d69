"""What was copied between devices: by operators that do nothing else, or by those that read on another device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ...operators.registry import Array
from ...operators.scopes import ScopeStack
from ...program.control_flow import NETS
from ...program.crossing import COPIES
from ...program.events import Ran
from ...runtime.devices import device_of
from ...runtime.store import written
from ..journal import Key, Pace
from ..statistics import WORKSPACES
from ..telling import duration
from .forms import SHOWN, Answer, Block, Grid, Paragraph, first_of
from .net_view import name_of
from .recorded import Recorded


class DeviceCopy(msgspec.Struct, frozen=True):
    """One copy.

    Attributes:
        blob: the version that was copied, in a nested net behind the path to it.
        source, target: devices, as ``cpu`` and ``cuda:0``.
        bytes: how many.
        seconds: how long it took; None: it is in the time of the operator that read it.
        position: of the event of the operator that copied, or read what its kernel had copied.
        operator: that one.
    """

    blob: str
    source: str
    target: str
    bytes: int
    seconds: float | None
    position: int
    operator: str


class CopiesView(Answer, frozen=True):
    """Everything that a recorded program copied between devices, in order.

    Attributes:
        copies: one by one.
        bytes: of all of them.
    """

    answer = "copies"
    copies: list[DeviceCopy]
    bytes: int

    def blocks(self) -> Iterator[Block]:
        if not self.copies:
            yield Paragraph("Nothing was copied between devices.", is_title=True)
            return
        ways = Counter((one.source, one.target) for one in self.copies)
        counts = ", ".join(f"{count} from {source} to {target}" for (source, target), count in ways.items())
        yield Paragraph(f"Copied between devices: {counts}; {written(self.bytes)}.", is_title=True)
        head = ("event", "blob", "from", "to", "size", "took", "by")
        yield Grid("In order", head, first_of(self.copies, SHOWN, _row))


def _row(one: DeviceCopy) -> Sequence[str]:
    took = "" if one.seconds is None else duration(one.seconds)
    return str(one.position), one.blob, one.source, one.target, written(one.bytes), took, one.operator


def answer(recorded: Recorded, pace: Pace) -> CopiesView:
    """The copies of a whole recording."""
    copies = list(_copies(recorded, pace))
    return CopiesView(copies, sum(one.bytes for one in copies))


def _copies(recorded: Recorded, pace: Pace) -> Iterator[DeviceCopy]:
    recording, count = recorded.recording, len(recorded.events)
    for position, event in enumerate(recorded.events, 1):
        pace.reached(None, position, count)
        if type(event) is not Ran or event.op.type in NETS:
            continue
        run = recording.run_after(position)
        for blob in dict.fromkeys(zip(event.op.inputs, event.in_versions, strict=False)):
            lying = _lying(recorded, run, blob)
            if lying is None or lying[0] == event.device:
                continue
            named = "/".join(event.path)
            yield DeviceCopy(
                blob=f"{named}:{blob[0]}@{blob[1]}" if named else f"{blob[0]}@{blob[1]}",
                source=lying[0],
                target=event.device,
                bytes=lying[1],
                seconds=event.seconds if event.op.type in COPIES else None,
                position=position,
                operator=name_of(recording.operator(run, event.position)),
            )
    pace.end(None, count, count)


def _lying(recorded: Recorded, run: int | None, blob: Key) -> tuple[str, int] | None:
    """Where a version lies, and how many bytes it has; None: it is no array, or was not computed."""
    if recorded.trace is not None:
        value = recorded.values.of(run, blob)
        if value is None or value.dtype == WORKSPACES:
            return None
        return value.device, value.size * np.dtype(value.dtype).itemsize
    array: Array | ScopeStack | None = recorded.recording.values_of(run).get(blob)
    if array is None or isinstance(array, ScopeStack):
        return None
    return str(device_of(array)), int(array.size) * array.dtype.itemsize
