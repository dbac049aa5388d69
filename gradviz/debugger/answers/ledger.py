"""Which sum, or which merge of rows, is meant, and what it looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import inf
from typing import NamedTuple

from ...program.errors import count_of, shorten
from ...program.events import Accumulated
from ...program.operator import bare, key_of, version_in
from ..document import Contribution, Ledger, Merge, number
from ..journal import NetText, Writing
from ..statistics import norm_of
from ..steering import CursorError
from ..telling import arrival, ledger_of, loop_ledger, path_to_y, placed, producer, sums_of_loops
from .flow import Parts, after_hooks, array_of, gradient_of, meant
from .forms import Answer, Block, Grid, Paragraph, absent, digits, first_of, percent, way
from .net_view import NetView
from .recorded import Recorded

SHOWN = 30
"""Contributions that a text or a table shows; a loop can have thousands."""


class LedgerView(Answer, frozen=True):
    """How much of a blob's gradient came from where.

    Attributes:
        ledger: the numbers, as in the trace document.
        is_left_out: whether numbers that are not there were computed, and left out of the file that was read.
        is_whole: whether no more contributions come.
        reason: why nothing was run, which would have computed them; else empty.
        after_hooks: the blob version that hooks have made of the gradient; empty: they have left it as it was.
    """

    answer = "ledger"
    ledger: Ledger
    is_left_out: bool = False
    is_whole: bool = True
    reason: str = ""
    after_hooks: str = ""

    def blocks(self) -> Iterator[Block]:
        ledger, unknown = self.ledger, "not in the file" if self.is_left_out else absent(None)
        rows = first_of(ledger.contributions, SHOWN, partial(_row, unknown=unknown))
        cancellation = percent(ledger.cancellation, absent(ledger.norm, unknown))
        of, count = ledger.blob + ("" if self.is_whole else " so far"), len(ledger.contributions)
        yield Grid(
            f"Gradient of {of} = sum of {count_of(count, 'contribution')}",
            ("gradient", "from", "norm", "share", "cosine", "path"),
            rows,
            f"{ledger.total}: norm {digits(ledger.norm, unknown)}, cancellation {cancellation}",
        )
        if self.after_hooks:
            yield Paragraph(
                f"A hook has made {self.after_hooks} of {ledger.total}: that is the gradient of {ledger.blob}."
            )
        if self.reason:
            yield Paragraph(f"Nothing was run: {self.reason}")


class MergeView(Answer, frozen=True):
    """How the rows of equal index in a sparse gradient were merged.

    Attributes:
        merge: the numbers, as in the trace document.
    """

    answer = "rows"
    merge: Merge

    def blocks(self) -> Iterator[Block]:
        merge = self.merge
        title = f"Rows of the gradient of {merge.blob}, equal indices merged by {merge.aggregator}"
        left = 0 if merge.rows_after is None else merge.rows_after - len(merge.most_repeated)
        more = f"{left} more indices, none more often. " if left > 0 else ""
        yield Grid(
            f"{title}: {digits(merge.rows_before)} before, {digits(merge.rows_after)} after",
            ("index", "times"),
            [(str(row.index), str(row.times)) for row in merge.most_repeated],
            f"{more}{merge.before.values} → {merge.after.values}: {_difference(merge)}",
        )


class Entry(NamedTuple):
    """A ledger that can be made.

    Attributes:
        blob, total, at, subnet, frame: those of the ledger.
        ledger: makes it.
    """

    blob: str
    total: str
    at: int
    subnet: str | None
    frame: int | None
    ledger: Callable[[], Ledger]

    def is_about(self, word: str) -> bool:
        """Whether a word names the blob, a version of it, or the sum."""
        return word in (self.blob, bare(self.blob), self.total)


def entries(recorded: Recorded, word: str | None = None) -> list[Entry]:
    """The ledgers that `word` is about, None: all; sums in their order, then those of runs, then those of loops."""
    if recorded.trace is not None:
        ledgers = list(map(_written, recorded.trace.ledgers))
    else:
        ledgers = _of_sums(recorded, _sums(recorded, word))
        recording = recorded.recording
        for one in sums_of_loops(recording):
            make = partial(loop_ledger, recording, one)
            ledgers.append(Entry(str(one.blob), str(one.total), one.at, one.subnet, one.frame, make))
    return [one for one in ledgers if word is None or one.is_about(word)]


def _written(one: Ledger) -> Entry:
    return Entry(one.blob, one.total, one.at, one.subnet, one.frame, lambda: one)


def _sums(recorded: Recorded, word: str | None) -> list[tuple[int, Accumulated]]:
    """The accumulations in every net that concern a blob, a version of it, or that form it; None: all."""
    if word is None:
        return list(recorded.story.sums())
    positions = sorted({at for net in recorded.text.nets for at in _positions(net, word)})
    numbered = ((at, recorded.events[at - 1]) for at in positions)
    return [(at, event) for at, event in numbered if isinstance(event, Accumulated) and recorded.story.is_sum(event)]


def _positions(net: NetText, word: str) -> Iterator[int]:
    for writing in net.writings.get(word, ()):
        yield from writing.arrivals
    if (key := version_in(word)) is not None:
        writing = net.version(*key)
        yield from writing.arrivals
        if writing.statement is not None:
            yield writing.statement.made


def _of_sums(recorded: Recorded, sums: Iterable[tuple[int, Accumulated]]) -> list[Entry]:
    return [
        Entry(
            f"{event.blob}@{event.version}",
            str(recorded.story.brought(event, at)[-1]),
            at,
            recorded.text.of(event).id or None,
            frame,
            partial(ledger_of, recorded.story, at, event, frame),
        )
        for at, event, frame in placed(sums, recorded.recording)
    ]


def answer(here: NetView, blob: str) -> LedgerView:
    """The ledger that `blob` means in a run of a nested net; raises CursorError ``not_found``."""
    word = str(blob)
    views, about = here.meant_in(word)
    entry = _nearest(views, entries(here.recorded, about), about)
    if entry is None:
        return _of_one(here, word)
    text = here.recorded.text
    is_whole, changed = text.whole is not None, ""
    if entry.subnet is None:
        outermost = NetView(here.recorded, here.position, text.outermost)
        version = outermost.net.version(*key_of(entry.blob))
        is_whole, changed = outermost.is_final(version), _after_hooks(outermost, version)
    return LedgerView(entry.ledger(), is_whole=is_whole, reason=_reason(here), after_hooks=changed)


def _after_hooks(view: NetView, blob: Writing) -> str:
    """The blob version that hooks have made of a gradient, of a sparse one its values; empty: none."""
    return next((str(one) for one in reversed(after_hooks(view, blob))), "")


def _nearest(views: Sequence[NetView], about: list[Entry], word: str) -> Entry | None:
    """Of the ledgers about a word the one that is meant, from the first of some nets outwards; None: a lone gradient.

    Where none of these nets has the word, one that they enclose may have it.
    """
    is_there = False
    for view in views:
        of_net = [one for one in about if one.subnet == (view.net.id or None)]
        if view.run is not None:  # its sums are formed in the run backward that belongs to it, if there is one
            of_run = [one for one in of_net if one.frame in {view.run, view.run_of(is_backward=True)} - {None}]
            of_net = of_run or [one for one in of_net if one.frame is None]
        if (latest := _latest(_whole(view, of_net), view.position)) is not None:
            return latest
        versions = view.meant(word)
        if versions and gradient_of(view, meant(versions)) is not None:
            return None
        is_there = is_there or bool(versions)
    return None if is_there else _latest(about, views[0].position)


def _whole(view: NetView, of_net: list[Entry]) -> list[Entry]:
    """Without those of loops that only formed a part of what was added up to the gradient of the same blob."""
    is_sum = [isinstance(view.recorded.events[one.at - 1], Accumulated) for one in of_net]
    summed = {one.blob for one, added in zip(of_net, is_sum, strict=True) if added}
    return [one for one, added in zip(of_net, is_sum, strict=True) if added or one.blob not in summed]


def _of_one(here: NetView, word: str) -> LedgerView:
    """The ledger of a gradient that came alone."""
    view, versions = here.find(word)
    view, blob = view.differentiated(meant(versions))
    one = gradient_of(view, blob)
    if one is None:
        way_out = f'session.why_none("{view.named(blob)}") says why.'
        for version in versions:  # of a sum the last one
            if (of := _is_of(view, version)) is not None:
                way_out = f'{view.named(version)} is the gradient of {of}: session.ledger("{view.named(of)}").'
        raise CursorError(
            f"No gradient of {view.named(blob)} arrived, so there is nothing to share out.",
            kind="not_found",
            blobs=[word],
            ways_out=[way_out],
        )
    arrived = map(view.recorded.story.arrived_at, reversed(blob.arrivals))
    # What came last may have made it dense.
    term, parts = next((arrival(event), parts) for event, parts in arrived if not isinstance(event, Accumulated))
    length = _norm(view, blob, one.parts)
    share = None if length is None or not 0 < length < inf else 1.0
    contribution = Contribution(
        gradient=str(parts[-1]),
        producer=producer(view.net, term),
        of=term.index,
        how=term.how,
        path=path_to_y(term.index, blob.name, view.net),
        norm=None if length is None else number(length),
        share=share,
        cosine=share,
    )
    lone = Ledger(
        blob=str(blob),
        at=one.at,
        total=str(one.parts[-1]),
        contributions=[contribution],
        norm=contribution.norm,
        cancellation=None if share is None else 0.0,
        subnet=view.net.id or None,
        frame=view.run_with(one.parts[-1]) if view.net.path else None,
    )
    # A file has the statistics of the rows of a sparse gradient, and not that of the whole.
    is_left_out = view.recorded.is_saved and length is None and view.value(one.parts[-1]) is not None
    return LedgerView(lone, is_left_out, view.is_final(blob), _reason(view), _after_hooks(view, blob))


def _reason(view: NetView) -> str:
    """Why nothing was run; empty: something was."""
    obstacle = view.recorded.recording.obstacle
    return "" if obstacle is None else obstacle.message


def _is_of(view: NetView, gradient: Writing) -> Writing | None:
    """The blob version whose gradient another one is in the end."""
    blobs = (blob for writings in view.net.writings.values() for blob in writings if blob.arrivals)
    return next((one for one in blobs if view.recorded.story.gradient(one) is gradient), None)


def _norm(view: NetView, blob: Writing, parts: Parts) -> float | None:
    """The norm of a gradient, of a sparse one as a dense array; None: not computed, or in a file."""
    if len(parts) == 1:
        return view.norm(parts[0])
    try:
        return norm_of(array_of(view, blob, parts))
    except CursorError:
        return None


def _latest(ledgers: list[Entry], position: int) -> Entry | None:
    """The last ledger that is there at a position; before any the first."""
    until_then = [one for one in ledgers if one.at <= position]
    return until_then[-1] if until_then else ledgers[0] if ledgers else None


def merges(recorded: Recorded) -> list[Merge]:
    """What merging the rows of sparse gradients did, in their order."""
    if recorded.trace is not None:
        return recorded.trace.merges
    return recorded.story.merges()


def rows(recorded: Recorded, blob: str) -> MergeView:
    """The merge of the rows of `blob`; raises CursorError ``not_found``."""
    recorded_merges = merges(recorded)
    for merge in recorded_merges:
        if blob in (merge.blob, bare(merge.blob)):
            return MergeView(merge)
    way_out = 'Record it so: gradviz.debug(net, ys, deduplicate="sum"); it merges sparse gradients of inputs.'
    if recorded_merges:
        way_out = f"Blobs whose rows were: {', '.join(dict.fromkeys(merge.blob for merge in recorded_merges[:8]))}."
    message = f"No rows in a gradient of {shorten(str(blob))} were merged."
    raise CursorError(message, kind="not_found", blobs=[str(blob)], ways_out=[way_out])


def _row(contribution: Contribution, unknown: str) -> tuple[str, ...]:
    norm = contribution.norm
    passed = ", passed through" if contribution.how == "passed" else ""
    return (
        contribution.gradient,
        f"{contribution.producer}{passed}",
        digits(norm, unknown),
        percent(contribution.share, absent(norm, unknown)),
        digits(contribution.cosine, absent(norm, unknown)),
        way(contribution.path),
    )


def _difference(merge: Merge) -> str:
    """What the merge did to the gradient as a dense array."""
    if merge.difference is None:
        return "difference not computed"
    if merge.difference == 0:
        return "the same gradient as a dense array"
    return f"as dense arrays they differ by at most {digits(merge.difference)}"
