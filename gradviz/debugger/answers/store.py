"""What a recording keeps of its values, and what became of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...operators.registry import Array
from ...operators.scopes import ScopeStack
from ...runtime.byte_counts import written
from ...runtime.held import bytes_in, owner_of
from ...runtime.store_contents import Contents, Count
from ..journal import Key, Recording
from ..steering import CursorError
from .forms import Answer, Block, Bullets, Grid, Paragraph


class StoreView(Answer, frozen=True):
    """Where the values of a recording are.

    Attributes:
        budget: the most bytes that what operators made may take in memory; None: as many as there are.
        fed: from outside; they are kept there anyway and do not count. None: counted among those kept.
        kept: made by operators, in memory. Views of one piece of memory count once.
        dropped: made by operators, and made again when they are asked for.
        spilled: made by operators, in files.
        peak: the most bytes that `kept` has been; None: not counted.
        made_again, read_again: how often one came back by running its operator, or from its file.
        seconds: how long that took.
        cannot_go: bytes of `kept` that can neither be dropped nor spilled.
        refused: what could not be done as asked.
    """

    answer = "store"
    budget: int | None
    fed: Count | None
    kept: Count
    dropped: Count
    spilled: Count
    peak: int | None
    made_again: int
    read_again: int
    seconds: float
    cannot_go: int | None
    refused: list[str]

    def blocks(self) -> Iterator[Block]:
        yield Paragraph(self._title(), is_title=True)
        rows = [
            ("fed, kept outside anyway", self.fed),
            ("kept in memory", self.kept),
            ("dropped, made again when asked for", self.dropped),
            ("written to files", self.spilled),
        ]
        known = [(what, f"{count.arrays:,}", written(count.bytes)) for what, count in rows if count is not None]
        yield Grid("Values", ("", "arrays", "size"), known)
        if self.made_again or self.read_again:
            yield Paragraph(
                f"So far {self.made_again:,} were made again and {self.read_again:,} read from files, in "
                f"{self.seconds:.3g} s."
            )
        if self.refused:
            yield Bullets(self.refused)

    def _title(self) -> str:
        if self.budget is None:
            return "Every value is kept in memory: no budget was given."
        said = f"The budget is {written(self.budget)}, of which {written(self.kept.bytes)} are in use"
        over = self.kept.bytes > self.budget
        return f"{said}. That is more than it: the rest can neither be dropped nor written." if over else f"{said}."


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
        return _of(recording.store.contents)
    return _of_references([recording.values, *[run.values for run in recording.runs]])


def _of(contents: Contents) -> StoreView:
    return StoreView(**{**contents._asdict(), "refused": list(contents.refused)})


def _of_references(several: Sequence[Mapping[Key, Array]]) -> StoreView:
    arrays = {id(array): array for values in several for array in values.values() if not isinstance(array, ScopeStack)}
    owners = {id(owner): owner for owner in map(owner_of, arrays.values())}
    kept = Count(len(arrays), sum(map(bytes_in, owners.values())))
    return StoreView(None, None, kept, Count(0, 0), Count(0, 0), None, 0, 0, 0.0, None, [])
