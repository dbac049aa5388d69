"""How a trace document is written as JSON and read from it; nothing in it is executed."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Literal
from zlib import compress, decompressobj
from zlib import error as ZlibError

import msgspec

from ...program import GradvizError
from ...program.events import AnyEvent, Event, completed
from ...program.net import nested_to_dict
from ...runtime.watched import uncollected
from .bounds import TraceError, too_deep
from .check import check
from .event_details import told
from .rows import as_rows, as_values, lengthened, shortened
from .schema import FORMAT, VERSION, Trace, WrittenTrace


def encode(trace: Trace) -> bytes:
    """The document as JSON, UTF-8.

    Raises TraceError where a reference leads nowhere or a number is not JSON (`number` makes it so): a document
    that is written can be read.
    """
    with uncollected():
        check(trace)
        fields = msgspec.structs.asdict(trace)
        fields |= {"events": shortened(trace.events), "arrays": as_rows(trace.arrays)}
        return msgspec.json.encode(WrittenTrace(**fields))


MOST_EVENTS = 100_000
"""A recording of more is written packed."""

MOST_UNPACKED = 4 << 30
"""Bytes that a file may unpack to."""


class PackedTrace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A large recording as JSON: what it is about, and all else packed."""

    format: Literal["gradviz-trace"] = FORMAT
    version: Literal[2] = VERSION
    producer: str
    name: str
    summary: str
    packed: str
    """Base64 of what zlib has compressed: the document without lines and events, then the events, in MessagePack."""


def encode_packed(outline: Trace, events: Sequence[Event]) -> bytes:
    """A large recording as JSON, UTF-8; `outline` is its document without lines and events.

    Where no operator runs nested nets, the operators of the net are those of the events.
    """
    with uncollected():
        if not outline.subnets:
            outline = msgspec.structs.replace(outline, net={**outline.net, "ops": []})
        data = msgspec.msgpack.Encoder(enc_hook=nested_to_dict).encode((outline, events))
        packed = b64encode(compress(data, 1)).decode()
        header = PackedTrace(producer=outline.producer, name=outline.name, summary=outline.summary, packed=packed)
        return msgspec.json.encode(header)


def _packed(data: bytes | str) -> PackedTrace | None:
    try:
        return msgspec.json.decode(data, type=PackedTrace)
    except (RecursionError, msgspec.DecodeError, UnicodeError):
        return None


def _unpacked(written: PackedTrace) -> tuple[Trace, list[Event]]:
    try:
        unpacker = decompressobj()
        data = unpacker.decompress(b64decode(written.packed, validate=True), MOST_UNPACKED)
        if unpacker.unconsumed_tail or not unpacker.eof:
            raise ValueError("it is cut off, or unpacks to more than a recording has")
        trace, events = msgspec.msgpack.decode(data, type=tuple[Trace, list[AnyEvent]])
        return trace, list(map(completed, events))
    except (ValueError, ZlibError, msgspec.DecodeError, GradvizError) as error:
        raise TraceError(
            f"The packed part of the trace cannot be read: {error}.",
            kind="bad_structure",
            ways_out=["The file may be cut off or damaged: save the session again."],
        ) from None


def decode(data: bytes | str) -> Trace:
    """Read a document and check that it holds together; nothing in it is executed.

    Raises TraceError: kinds "not_json", "too_deep", "not_a_trace", "newer_version", "bad_structure", "bad_reference".
    """
    return decode_with_events(data)[0]


def decode_with_events(data: bytes | str) -> tuple[Trace, list[Event]]:
    """The same, with the events that the details of its events describe, as `told` gives them.

    The document of a large recording has no lines and no events of its own.
    """
    with uncollected():
        try:
            written = msgspec.json.decode(data, type=WrittenTrace)
        except (RecursionError, msgspec.DecodeError, UnicodeError) as error:
            if (packed := _packed(data)) is not None:
                return _unpacked(packed)
            raise _refusal(data, error) from None
        fields = msgspec.structs.asdict(written)
        fields |= {"events": lengthened(written.events), "arrays": as_values(written.arrays)}
        trace = Trace(**fields)
        check(trace)
        return trace, told(trace)


def _refusal(data: bytes | str, error: Exception) -> TraceError:
    """Why `data` cannot be read as a trace, which `error` says; that it is none, or a newer one, comes first."""
    try:
        document = msgspec.json.decode(data)
    except RecursionError:
        return too_deep("The trace")
    except (msgspec.DecodeError, UnicodeError) as fault:
        return TraceError(
            f"This is not JSON: {fault}.",
            kind="not_json",
            ways_out=["The file may be cut off or damaged: save the session again."],
        )
    if isinstance(error, RecursionError):
        return too_deep("The trace")
    return _header_fault(document) or TraceError(
        f"The trace is not built as version {VERSION} says: {error}.", kind="bad_structure"
    )


def _header_fault(document: object) -> TraceError | None:
    """What is wrong with what is no trace, or one of a version that is not known."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return TraceError(
            f'This is JSON, but not a gradviz trace: it has no "format": "{FORMAT}".',
            kind="not_a_trace",
            ways_out=["session.save(path) writes a trace.", "gradviz.Net.from_dict reads a net."],
        )
    version = document.get("version")
    if type(version) is not int or version < 1:
        return TraceError(f"There is no version {version!r:.40} of a gradviz trace.", kind="not_a_trace")
    if version < VERSION:
        return TraceError(
            f"The trace has version {version}; this gradviz reads version {VERSION}.",
            kind="older_version",
            ways_out=["Record it again with this gradviz, or open it with the gradviz that wrote it."],
        )
    if version > VERSION:
        return TraceError(
            f"The trace has version {version}; this gradviz reads up to version {VERSION}.",
            kind="newer_version",
            ways_out=["Upgrade gradviz: pip install --upgrade gradviz."],
        )
    return None
