"""Where a recording has its values: in memory or in a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ...operators.scopes import ScopeStack
from ...runtime.store import Count, Store, written
from ..journal import Recording
from ..steering import CursorError
from .forms import Answer, Block, Grid, Paragraph


class StoreView(Answer, frozen=True):
    """Where the values of a recording are.

    Attributes:
        budget: the most bytes that what operators computed may take in memory; None: as many as there are.
        fed: from outside; they are kept there anyway and do not count. None: counted among those kept.
        kept: computed by operators, in memory. Views of one piece of memory count once.
        spilled: computed by operators, in a file.
        read_again: how often one was read back.
        seconds: how long writing and reading took.
        refused: why no more can be written; empty: all can be.
    """

    answer = "store"
    budget: int | None
    fed: Count | None
    kept: Count
    spilled: Count
    read_again: int
    seconds: float
    refused: str

    def blocks(self) -> Iterator[Block]:
        yield Paragraph(self._title(), is_title=True)
        counts = [
            ("fed, kept outside anyway", self.fed),
            ("kept in memory", self.kept),
            ("written to a file", self.spilled),
        ]
        rows = [(what, f"{count.arrays:,}", written(count.bytes)) for what, count in counts if count is not None]
        yield Grid("Values", ("", "arrays", "size"), rows)
        if self.read_again:
            yield Paragraph(
                f"So far {self.read_again:,} were read back; writing and reading took {self.seconds:.3g} s."
            )
        if self.refused:
            yield Paragraph(self.refused)

    def _title(self) -> str:
        if self.budget is None:
            return "Every value is kept in memory: no budget was given."
        sentence = f"The budget is {written(self.budget)}, of which {written(self.kept.bytes)} are in use"
        over = self.kept.bytes > self.budget
        return f"{sentence}. That is more than it: the rest cannot be written." if over else f"{sentence}."


def answer(recording: Recording | None) -> StoreView:
    """What `recording` keeps.

    Raises:
        CursorError: ``not_computed`` for a recording that was read from a file.
    """
    if recording is None:
        raise CursorError(
            "This session was read from a file, which keeps statistics and no arrays.",
            kind="not_computed",
            ways_out=["Record it again with gradviz.debug."],
        )
    if recording.store is not None:
        return StoreView(**recording.store.contents._asdict())
    everything = Store(sys.maxsize, None)
    for values in (recording.values, *(run.values for run in recording.runs)):
        for array in values.values():
            if not isinstance(array, ScopeStack):
                everything.keep(array)
    return StoreView(**{**everything.contents._asdict(), "budget": None, "fed": None})
