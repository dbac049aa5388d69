"""How a large recording is written and read: packed, its events in blocks, what ran behind the pass in columns.

Operators and nested nets say what ran: of each event the columns have only what those leave open.
"""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple
from zlib import compress, decompressobj
from zlib import error as ZlibError

import msgspec
import numpy as np

from ...program import GradvizError
from ...program.events import AnyEvent, Event, Failed, completed
from ...program.net import shown_argument
from ...runtime.notes import ENTERED, LEFT, RAN, Notes, Planned, device_name
from .bounds import TraceError
from .check import check_outline
from .schema import FORMAT, VERSION, Trace

MOST_EVENTS = 100_000
"""A recording of more is written packed."""

MOST_UNPACKED = 4 << 30
"""Bytes that a file may unpack to."""

MOST_PACKED = 100_000_000
"""Events that may run: a byte each in the file, and more in memory."""

BLOCK = 4096
"""Events that are packed together."""


class PackedTrace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A large recording as JSON: what it is about, and all else packed."""

    format: Literal["gradviz-trace"] = FORMAT
    version: Literal[6] = VERSION
    producer: str
    name: str
    summary: str
    packed: list[str]
    """Base64 of what zlib has compressed, in MessagePack: the document without lines and events, with the columns of
    what ran; then the other events, block by block."""


class PlannedStep(NamedTuple):
    """An operator of a net that ran: all that a file has of its `Step`."""

    device: str


class RanColumns(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What ran behind the pass."""

    happened: bytes
    """A character for each event: ``(`` and ``)``, a nested net was entered and left; ``.``, an operator ran."""
    seconds: bytes
    """float64, little-endian: of each operator that ran."""
    devices: list[str]
    plans: list[bytes]
    """int32, little-endian: of each operator of a net the number of its device."""
    plan: bytes
    """int32, little-endian: the number of the plan by which the program ran, then of each nested net that did."""
    failed: Failed | None
    """The last event of all, where something ended it."""

    @property
    def codes(self) -> bytes:
        """Of each event the number of its kind among `KINDS`."""
        return self.happened.translate(_CODES)

    def times(self) -> array[float]:
        """Of each operator the seconds that it took."""
        return array("d", np.frombuffer(self.seconds, "<f8").astype(np.float64).tobytes())

    def steps(self) -> list[list[Planned]]:
        """Those of the program, then of each nested net that ran."""
        devices: list[Planned] = list(map(PlannedStep, self.devices))
        plans = [[devices[number] for number in np.frombuffer(plan, "<i4").tolist()] for plan in self.plans]
        return [plans[number] for number in np.frombuffer(self.plan, "<i4").tolist()]


_CODES = bytes.maketrans(b"().", bytes([ENTERED, LEFT, RAN]))
_CHARACTERS = bytes.maketrans(bytes([ENTERED, LEFT, RAN]), b"().")


def encode_packed(outline: Trace, events: Sequence[Event], notes: Notes | None = None) -> bytes:
    """A large recording as JSON, UTF-8; `outline` is its document without lines and events, `notes` say what happened
    behind `events`."""
    encoder = msgspec.msgpack.Encoder(enc_hook=shown_argument)
    blocks: list[object] = [(outline, None if notes is None else _in_columns(notes))]
    blocks += [events[begin : begin + BLOCK] for begin in range(0, len(events), BLOCK)]
    packed = [b64encode(compress(encoder.encode(block), 1)).decode() for block in blocks]
    header = PackedTrace(producer=outline.producer, name=outline.name, summary=outline.summary, packed=packed)
    return msgspec.json.encode(header)


def _in_columns(notes: Notes) -> RanColumns:
    devices: dict[str, int] = {}
    plans: dict[bytes, int] = {}
    plan_of: dict[int, int] = {}
    plan: list[int] = []
    for steps in notes.planned:
        if id(steps) not in plan_of:
            numbers = [devices.setdefault(device_name(step), len(devices)) for step in steps]
            plan_of[id(steps)] = plans.setdefault(np.array(numbers, "<i4").tobytes(), len(plans))
        plan.append(plan_of[id(steps)])
    return RanColumns(
        happened=bytes(notes.codes).translate(_CHARACTERS),
        seconds=notes.seconds_of(slice(None)).astype("<f8").tobytes(),
        devices=list(devices),
        plans=list(plans),
        plan=np.array(plan, "<i4").tobytes(),
        failed=notes.failed,
    )


def unpacked(written: PackedTrace) -> tuple[Trace, list[Event], RanColumns | None]:
    """The document without lines and events, the events, and what ran behind them.

    Raises:
        TraceError: ``bad_structure``, ``bad_reference``: the file is damaged.
    """
    try:
        blocks = _decompressed(written.packed)
        outline, ran = msgspec.msgpack.decode(next(blocks, b""), type=tuple[Trace, RanColumns | None])
        check_outline(outline)
        if ran is not None:
            _check(ran, len(outline.frames))
        decoder = msgspec.msgpack.Decoder(list[AnyEvent])
        return outline, [completed(event) for block in blocks for event in decoder.decode(block)], ran
    except TraceError:
        raise
    except (ValueError, ZlibError, msgspec.DecodeError, GradvizError) as error:
        raise TraceError(
            f"The packed part of the trace cannot be read: {error}.",
            kind="bad_structure",
            ways_out=["The file may be cut off or damaged: save the session again."],
        ) from None


def _decompressed(packed: Iterable[str]) -> Iterator[bytes]:
    left = MOST_UNPACKED
    for block in packed:
        unpacker = decompressobj()
        data = unpacker.decompress(b64decode(block, validate=True), max(1, left))
        if unpacker.unconsumed_tail or not unpacker.eof:
            raise ValueError("it is cut off, or unpacks to more than a recording has")
        left -= len(data)
        yield data


def _check(ran: RanColumns, frames: int) -> None:
    """Raise ValueError where the columns contradict each other, or the runs of nested nets that a document has."""
    happened = np.frombuffer(ran.happened, np.uint8)
    entered, left, done = (happened == code for code in b"().")
    depth = np.cumsum(entered.astype(np.int32) - left, dtype=np.int32)
    seconds, plan = np.frombuffer(ran.seconds, "<f8"), np.frombuffer(ran.plan, "<i4")
    plans = [np.frombuffer(one, "<i4") for one in ran.plans]
    if max(len(happened), sum(map(len, plans))) > MOST_PACKED or not (entered | left | done).all():
        raise ValueError("it has events of no kind, or more than a recording has")
    if depth.min(initial=0) < 0:
        raise ValueError("it leaves a nested net that was not entered")
    if entered.sum() != frames or len(plan) != frames + 1 or done.sum() != len(seconds):
        raise ValueError("its columns are not as long as what they are about")
    if not np.isfinite(seconds).all():
        raise ValueError("a time is no number")
    for numbers, count in [(plan, len(plans)), *((one, len(ran.devices)) for one in plans)]:
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < count:
            raise ValueError(f"a column has a number that is none of {count}")
