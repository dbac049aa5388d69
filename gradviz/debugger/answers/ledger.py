"""Which ledger is meant, and what it looks like."""

from __future__ import annotations

from collections.abc import Iterator

from ...program.errors import shorten
from ..document import Contribution, Ledger, Number
from ..steering import CursorError, find_ledger
from .forms import Answer, Block, Grid, digits, first_of, percent, way
from .net_view.recorded import Recorded

SHOWN = 30
"""Contributions that a text or a table shows; a loop can have thousands."""

HEAD = ("gradient", "from", "norm", "share", "cosine", "path")


class LedgerView(Answer, frozen=True):
    """How much of a blob's gradient came from where.

    Attributes:
        ledger: the numbers, as in the trace document.
    """

    answer = "ledger"
    ledger: Ledger

    def blocks(self) -> Iterator[Block]:
        ledger = self.ledger
        rows = first_of([_row(one) for one in ledger.contributions], SHOWN)
        cancellation = percent(ledger.cancellation, _absent(ledger.norm))
        yield Grid(
            f"Gradient of {ledger.blob} = sum of {len(ledger.contributions)} contributions",
            HEAD,
            rows,
            f"{ledger.total}: norm {digits(ledger.norm)}, cancellation {cancellation}",
        )


def answer(recorded: Recorded, subnet: str | None, frame: int | None, blob: str) -> LedgerView:
    """The ledger that `blob` means in a run of a nested net; raises CursorError ``not_found``."""
    trace = recorded.trace
    found = find_ledger(trace, str(blob), subnet, frame, recorded.position)
    if found is None:
        known = ", ".join(dict.fromkeys(ledger.blob for ledger in trace.ledgers[:8]))
        raise CursorError(
            f"No gradients of {shorten(str(blob))} were added up.",
            kind="not_found",
            blobs=[str(blob)],
            ways_out=[f"Blobs with a ledger: {known}."] if known else ["In this net no blob has several readers."],
        )
    return LedgerView(found)


def _row(contribution: Contribution) -> tuple[str, ...]:
    norm = contribution.norm
    passed = ", passed through" if contribution.how == "passed" else ""
    return (
        contribution.gradient,
        f"{contribution.producer}{passed}",
        digits(norm),
        percent(contribution.share, _absent(norm)),
        digits(contribution.cosine, _absent(norm)),
        way(contribution.path),
    )


def _absent(norm: Number | None) -> str:
    """What stands for a number that is not there: where the norm is known it does not exist, as the cosine of zeros."""
    return "not computed" if norm is None else "none"
