"""What changed between two positions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

from ...program.events import Failed, GeneratorAdded, Ran
from ..document import Number
from ..journal import Pace
from ..steering import whole_number
from ..telling import shape
from .forms import SHOWN, Answer, Block, Bullets, Grid, Paragraph, digits, first_of, first_texts
from .ledger import entries, merges
from .net_view import NetView, placed, text_of
from .state import changes, shown, state_at


class Rewritten(msgspec.Struct, frozen=True):
    """A line that reads otherwise than before."""

    before: str
    after: str


class Entry(msgspec.Struct, frozen=True):
    """An entry of the map of gradients; None: there was, or is, none."""

    blob: str
    before: str | None
    after: str | None


class Computed(msgspec.Struct, frozen=True):
    """A value that an operator computed."""

    blob: str
    shape: str
    norm: Number | None


class DiffView(Answer, frozen=True):
    """What happened from one position to a later one. Blobs of nested nets stand behind the path to them.

    Attributes:
        first, last: the positions.
        played: forward operators that joined.
        made: gradient operators that were made, as they read at `last`.
        rewritten: earlier lines that were renamed.
        gradients: blob version and gradient, for each gradient that arrived.
        map: what changed in the map of gradients of the outermost net.
        state: the same and all else that changed in the engine's state of the outermost net, in words.
        ledgers: blobs whose gradients were added up, each with the sum.
        merged: blobs of whose sparse gradients rows were merged.
        computed: values that operators computed.
        stopped: what the pass or the run stopped with; empty where it did not.
    """

    answer = "diff"
    first: int
    last: int
    played: list[str]
    made: list[str]
    rewritten: list[Rewritten]
    gradients: list[tuple[str, str]]
    map: list[Entry]
    state: list[str]
    ledgers: list[tuple[str, str]]
    merged: list[str]
    computed: list[Computed]
    stopped: str

    def blocks(self) -> Iterator[Block]:
        yield Paragraph(f"From event {self.first} to event {self.last}", is_title=True)
        changed = list(self._changes())
        if not changed:
            yield Paragraph("Nothing changed." if self.first == self.last else "Nothing was made, changed or computed.")
        yield from changed

    def _changes(self) -> Iterator[Block]:
        for title, items in (
            ("Operators that joined the program:", self.played),
            ("Gradient operators made:", self.made),
            ("Renamed:", [f"{one.before} became {one.after}" for one in self.rewritten]),
            ("Gradients that arrived:", [f"{gradient} for {blob}" for blob, gradient in self.gradients]),
            ("Map of gradients:", [_entry(one) for one in self.map]),
            ("Added up:", [f"{total}, the gradient of {blob}" for blob, total in self.ledgers]),
            ("Rows merged:", self.merged),
        ):
            if items:
                yield Paragraph(title)
                yield Bullets(first_texts(items, SHOWN))
        if self.computed:
            rows = first_of(self.computed, SHOWN, lambda one: (one.blob, one.shape, digits(one.norm, "none")))
            yield Grid("Computed", ("blob", "shape", "norm"), rows)
        if self.stopped:
            yield Paragraph(f"It stopped: {self.stopped}")


def answer(here: NetView, a: int, b: int | None, pace: Pace) -> DiffView:
    """What changed between positions `a` and `b`, in whichever order; raises CursorError ``bad_argument``."""
    recorded = here.recorded
    count = len(recorded.events)
    ends = {"a": a, "b": here.position if b is None else b}
    first, last = sorted(whole_number(*end, f"a position from 0 to {count}", 0, count) for end in ends.items())
    views = {net.path: NetView(recorded, last, net) for net in recorded.text.nets}
    before, after = (state_at(views[()], position, pace) for position in (first, last))
    events = recorded.events[first:last]
    arrived = [event for event in events if isinstance(event, GeneratorAdded)]
    names = dict.fromkeys([*before.gradients, *after.gradients])
    gradients = {name: (before.gradients.get(name), after.gradients.get(name)) for name in names}
    statements = [(view, one) for view in views.values() for one in (*view.net.forward, *view.net.backward)]
    new_statements = [(view, one) for view, one in statements if first < one.made <= last]
    old_statements = [(view, one) for view, one in statements if one.made <= first]
    texts = [(view.named(text_of(one, first)), view.named(text_of(one, last))) for view, one in old_statements]
    return DiffView(
        first=first,
        last=last,
        played=[view.named(placed(one)) for view, one in new_statements if one.role == "forward"],
        made=[view.named(text_of(one, last)) for view, one in new_statements if one.role not in ("forward", "passed")],
        rewritten=[Rewritten(was, now) for was, now in texts if was != now],
        gradients=[
            (view.named(f"{event.blob}@{event.version}"), shown(event.gradient))
            for path, view in views.items()
            for event in arrived
            if event.path == path
        ],
        map=[
            Entry(name, *(None if one is None else shown(one) for one in pair))
            for name, pair in gradients.items()
            if pair[0] != pair[1]
        ],
        state=list(changes(before, after)),
        ledgers=[(one.blob, one.total) for one in entries(recorded) if first < one.at <= last],
        merged=[one.blob for one in merges(recorded) if first < one.at <= last],
        computed=list(_computed(here, first, last, pace)),
        stopped=next((event.message for event in events if isinstance(event, Failed)), ""),
    )


def _computed(here: NetView, first: int, last: int, pace: Pace) -> Iterator[Computed]:
    """What operators that ran in between wrote, in the order of their running."""
    recorded = here.recorded
    by_path, outermost = recorded.recording.by_path, NetView(recorded, last, recorded.text.outermost)
    view_of = cache(lambda path: here.of(by_path[path]) if path else outermost)
    for event in pace.over(recorded.events[first:last]):
        if isinstance(event, Ran):
            view = view_of("/".join(event.path))
            for blob in recorded.recording.operator(view.run, event.position).outputs:
                if (value := view.value(blob)) is not None:
                    yield Computed(view.named(blob), shape(value), value.norm)


def _entry(entry: Entry) -> str:
    if entry.before is None:
        return f"{entry.blob} = {entry.after}, new"
    if entry.after is None:
        return f"{entry.blob} has none any more, before {entry.before}"
    return f"{entry.blob} = {entry.after}, before {entry.before}"
