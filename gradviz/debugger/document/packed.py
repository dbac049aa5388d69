"""How a large recording is written and read: packed, with its events in columns.

The iterations of a loop repeat each other: an operator that runs, and a nested net that is entered or left, stands
there once, and columns say of each time what differs. So what is damaged is found by the column.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple
from zlib import compress, decompressobj
from zlib import error as ZlibError

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...program import GradvizError
from ...program.events import AnyEvent, EnteredSubnet, Event, LeftSubnet, Ran, completed
from ...program.net import shown_argument
from .bounds import LARGEST, TraceError
from .check import check_outline
from .schema import FORMAT, VERSION, Trace

MOST_EVENTS = 100_000
"""A recording of more is written packed."""

MOST_UNPACKED = 4 << 30
"""Bytes that a file may unpack to."""

MOST_PACKED = 100_000_000
"""Events that a file may have: a few bytes each in columns, and more in memory."""


class PackedTrace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A large recording as JSON: what it is about, and all else packed."""

    format: Literal["gradviz-trace"] = FORMAT
    version: Literal[5] = VERSION
    producer: str
    name: str
    summary: str
    packed: str
    """Base64 of what zlib has compressed: the document without lines and events, then `Columns`, in MessagePack."""


class Columns(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Events: each is one of `whole`, but that those of the kinds `REPEATED` have a path and a number of their own."""

    whole: list[AnyEvent]
    paths: list[tuple[str, ...]]
    like: bytes
    """int32, little-endian: of each event the number of the one among `whole`."""
    path: bytes
    """int32, little-endian: of each event the number of its path among `paths`."""
    number: bytes
    """float64, little-endian: of each event the seconds or the iteration; NaN: None."""


DTYPES = ("<i4", "<i4", "<f8")

REPEATED: dict[type, str] = {Ran: "seconds", EnteredSubnet: "iteration", LeftSubnet: "iteration"}
"""Kinds of events that happen in each iteration, and the field that a column has the number of."""

STEPS = {EnteredSubnet: 1, LeftSubnet: -1}


class Repeated(NamedTuple):
    """The last events of a recording, those that iterations repeat, in columns of their own.

    Attributes:
        whole: one of each that differ in more than path and number, in the order in which they come first.
        like: of each event which of these it is like.
        paths: in the order in which events come to them.
        path: of each event which path it has.
        number: of each event the seconds or the iteration; NaN: None.
    """

    whole: Sequence[Event]
    like: NDArray[np.integer[Any]]
    paths: Sequence[tuple[str, ...]]
    path: NDArray[np.integer[Any]]
    number: NDArray[np.float64]


def encode_packed(outline: Trace, events: Sequence[Event], repeated: Repeated | None = None) -> bytes:
    """A large recording as JSON, UTF-8; `outline` is its document without lines and events, `repeated` go on behind
    `events`."""
    encoder = msgspec.msgpack.Encoder(enc_hook=shown_argument)
    packed = b64encode(compress(encoder.encode((outline, _in_columns(events, repeated))), 1)).decode()
    header = PackedTrace(producer=outline.producer, name=outline.name, summary=outline.summary, packed=packed)
    return msgspec.json.encode(header)


def _in_columns(events: Sequence[Event], repeated: Repeated | None) -> Columns:
    whole: list[Event] = []
    first: dict[object, int] = {}
    paths: dict[tuple[str, ...], int] = {}
    like: list[int] = []
    path: list[int] = []
    number: list[float | None] = []

    def place_of(event: Event) -> int:
        key: object = None
        if type(event) is Ran:
            # Iterations have the operator itself in common.
            key = id(event.op), event.position, event.in_versions, event.out_versions, event.device
        elif type(event) is EnteredSubnet or type(event) is LeftSubnet:
            key = type(event), event.index, event.argument, event.name
        place = len(whole) if key is None else first.setdefault(key, len(whole))
        if place == len(whole):
            whole.append(event if key is None else replace(event, path=(), **{REPEATED[type(event)]: None}))
        return place

    for event in events:
        like.append(place_of(event))
        path.append(paths.setdefault(event.path, len(paths)))
        field = REPEATED.get(type(event))
        number.append(None if field is None else getattr(event, field))
    columns = [np.array(column, dtype) for column, dtype in zip((like, path, number), DTYPES, strict=True)]
    if repeated is not None:
        places = np.array([place_of(event) for event in repeated.whole], np.int64)
        numbers = np.array([paths.setdefault(one, len(paths)) for one in repeated.paths], np.int64)
        behind = places[repeated.like], numbers[repeated.path], repeated.number
        columns = [np.append(*both).astype(both[0].dtype) for both in zip(columns, behind, strict=True)]
    return Columns(whole, list(paths), *(column.tobytes() for column in columns))


def unpacked(written: PackedTrace) -> tuple[Trace, list[Event]]:
    """The document without lines and events, and the events.

    Raises:
        TraceError: ``bad_structure``, ``bad_reference``: the file is damaged.
    """
    try:
        outline, columns = msgspec.msgpack.decode(_decompressed(written.packed), type=tuple[Trace, Columns])
        check_outline(outline)
        return outline, _events(columns)
    except TraceError:
        raise
    except (ValueError, ZlibError, msgspec.DecodeError, GradvizError) as error:
        raise TraceError(
            f"The packed part of the trace cannot be read: {error}.",
            kind="bad_structure",
            ways_out=["The file may be cut off or damaged: save the session again."],
        ) from None


def _decompressed(packed: str) -> bytes:
    unpacker = decompressobj()
    data = unpacker.decompress(b64decode(packed, validate=True), MOST_UNPACKED)
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise ValueError("it is cut off, or unpacks to more than a recording has")
    return data


def _events(columns: Columns) -> list[Event]:
    whole, paths = list(map(completed, columns.whole)), columns.paths
    like, path, number = map(np.frombuffer, (columns.like, columns.path, columns.number), DTYPES)
    if not len(like) == len(path) == len(number) <= MOST_PACKED:
        raise ValueError("its columns are not of one length, or longer than a recording")
    for column, count in ((like, len(whole)), (path, len(paths))):
        if len(column) and not 0 <= column.min() <= column.max() < count:
            raise ValueError(f"a column of its events has a number that is none of {count}")
    steps = np.array([STEPS.get(type(event), 0) for event in whole], np.int8)[like]
    if steps.cumsum(dtype=np.int32).min(initial=0) < 0:
        raise ValueError("it leaves a nested net that was not entered")
    numbers = _numbers(number, is_round=steps != 0)
    return [
        event if (field := REPEATED.get(type(event))) is None else replace(event, path=paths[place], **{field: one})
        for event, place, one in zip(map(whole.__getitem__, like.tolist()), path.tolist(), numbers, strict=True)
    ]


def _numbers(number: NDArray[np.float64], is_round: NDArray[np.bool_]) -> list[float | None]:
    """The seconds, and the numbers of iterations, which are whole."""
    is_none = np.isnan(number)
    rounds = number[is_round & ~is_none]
    if np.isinf(number).any() or not ((rounds >= 0) & (rounds <= LARGEST) & (rounds == np.rint(rounds))).all():
        raise ValueError("a time is infinite, or the number of an iteration is none")
    numbers = number.astype(object)
    numbers[is_round & ~is_none] = rounds.astype(np.int64)
    numbers[is_none] = None
    found: list[float | None] = numbers.tolist()
    return found
