"""What a trace document may hold at most, what its numbers and texts refer to, and the error for anything else."""

from __future__ import annotations

import re
from typing import Annotated, NoReturn

import msgspec

from ...program.errors import GradvizError

MAX_DEPTH = 200
"""Nesting of nets, arguments and details. Deeper ones could exhaust the stack of whoever walks them."""

PREVIEW_ROWS, PREVIEW_COLUMNS = 6, 16

MOST_BINS = 64
"""Of a histogram."""

MOST_MARKS = 1000
"""Breakpoints and watches together."""

LONGEST_MARK = 1000
"""Characters of a text of theirs."""

MOST_SOURCES = 1000
"""Stretches of code, and rules, of which a document has the text."""

LONGEST_SOURCE = 200_000
"""Characters of one of them."""

MERGED_ROWS = 8
"""Indices of a merge that a document lists."""

BLOB_VERSION = re.compile(r".+@[0-9]{1,9}", re.DOTALL)
"""How a blob version is written."""

LARGEST = 2**53
"""Whole numbers up to this are exact in every reader of JSON; nothing that a document counts is more."""

Whole = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
"""A whole number in a document; but for the indices of rows it follows one of these rules, which `rules` reads here:"""

Count = Annotated[Whole, msgspec.Meta(extra={"rule": "count"})]
"""At least 0."""
Position = Annotated[Whole, msgspec.Meta(extra={"rule": "positions"})]
"""So many events have happened."""
ForwardIndex = Annotated[Whole, msgspec.Meta(extra={"rule": "operators"})]
"""Of an operator around all nested nets."""
FrameIndex = Annotated[Whole, msgspec.Meta(extra={"rule": "frames"})]
LedgerIndex = Annotated[Whole, msgspec.Meta(extra={"rule": "ledgers"})]
ArrayIndex = Annotated[Whole, msgspec.Meta(extra={"rule": "arrays"})]
StackIndex = Annotated[Whole, msgspec.Meta(extra={"rule": "stacks"})]
TemplateIndex = Annotated[Whole, msgspec.Meta(extra={"rule": "templates"})]
ShapeIndex = Annotated[Whole, msgspec.Meta(extra={"rule": "shapes"})]
"""Of what the graph's groups show."""
LineId = Annotated[str, msgspec.Meta(extra={"rule": "lines"})]
SubnetId = Annotated[str, msgspec.Meta(extra={"rule": "subnets"})]
BlobVersion = Annotated[str, msgspec.Meta(extra={"rule": "versions"})]
"""As "x@0"."""

SourceText = Annotated[str, msgspec.Meta(extra={"most": LONGEST_SOURCE})]
"""Lines of code."""

MOST = 2**64
"""Whole numbers of arrays and arguments are smaller."""

WHOLE = frozenset({str, int, bool, type(None)})
"""What JSON carries as it is."""


class TraceError(GradvizError):
    """A trace document that cannot be read, or one that must not be written.

    ``kind`` is one of ``not_json``, ``too_deep``, ``not_a_trace``, ``newer_version``, ``older_version``,
    ``bad_structure``, ``bad_reference``, ``bad_number``.
    """


def too_deep(where: str) -> TraceError:
    """The error for nesting beyond MAX_DEPTH."""
    return TraceError(f"{where}: nested deeper than {MAX_DEPTH} levels.", kind="too_deep")


def contradiction(where: str, why: str) -> TraceError:
    """The error for a place at which a trace contradicts itself."""
    return TraceError(f"The trace contradicts itself at {where}: {why}.", kind="bad_reference")


def wrong(where: str, why: str) -> NoReturn:
    """Raise that error."""
    raise contradiction(where, why)
