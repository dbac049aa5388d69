"""How a trace document is written as JSON and read from it; nothing in it is executed."""

from __future__ import annotations

import msgspec

from ...program.events import Event
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


def decode(data: bytes | str) -> Trace:
    """Read a document and check that it holds together; nothing in it is executed.

    Raises TraceError: kinds "not_json", "too_deep", "not_a_trace", "newer_version", "bad_structure", "bad_reference".
    """
    return decode_with_events(data)[0]


def decode_with_events(data: bytes | str) -> tuple[Trace, list[Event]]:
    """The same, with the events that the details of its events describe, as `told` gives them."""
    with uncollected():
        try:
            written = msgspec.json.decode(data, type=WrittenTrace)
        except (RecursionError, msgspec.DecodeError, UnicodeError) as error:
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
    if version > VERSION:
        return TraceError(
            f"The trace has version {version}; this gradviz reads up to version {VERSION}.",
            kind="newer_version",
            ways_out=["Upgrade gradviz: pip install --upgrade gradviz."],
        )
    return None
