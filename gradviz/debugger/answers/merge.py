"""Which merge of rows is meant, and what it looks like."""

from __future__ import annotations

from collections.abc import Iterator

from ...program.errors import shorten
from ..document import Merge, Trace
from ..steering import CursorError
from .forms import Answer, Block, Grid, digits


class MergeView(Answer, frozen=True):
    """How the rows of equal index in a sparse gradient were merged.

    Attributes:
        merge: the numbers, as in the trace document.
    """

    answer = "rows"
    merge: Merge

    def blocks(self) -> Iterator[Block]:
        merge = self.merge
        said = f"Rows of the gradient of {merge.blob}, equal indices merged by {merge.aggregator}"
        left = 0 if merge.rows_after is None else merge.rows_after - len(merge.most_repeated)
        more = f"{left} more indices, none more often. " if left > 0 else ""
        yield Grid(
            f"{said}: {digits(merge.rows_before)} before, {digits(merge.rows_after)} after",
            ("index", "times"),
            [(str(row.index), str(row.times)) for row in merge.most_repeated],
            f"{more}{merge.before.values} → {merge.after.values}: {_difference(merge)}",
        )


def answer(trace: Trace, blob: str) -> MergeView:
    """The merge of the rows of `blob`; raises CursorError ``not_found``."""
    for merge in trace.merges:
        if blob in (merge.blob, merge.blob.rpartition("@")[0]):
            return MergeView(merge)
    known = ", ".join(merge.blob for merge in trace.merges[:8])
    raise CursorError(
        f"No rows in a gradient of {shorten(str(blob))} were merged.",
        kind="not_found",
        blobs=[str(blob)],
        ways_out=[f"Blobs whose rows were: {known}."]
        if known
        else ['Record it so: gradviz.debug(net, ys, deduplicate="sum"); it merges sparse gradients of inputs.'],
    )


def _difference(merge: Merge) -> str:
    """What the merge did to the gradient as a dense array."""
    if merge.difference is None:
        return "difference not computed"
    if merge.difference == 0:
        return "the same gradient as a dense array"
    return f"as dense arrays they differ by at most {digits(merge.difference)}"
