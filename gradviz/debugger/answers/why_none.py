"""Why a blob has no gradient, at a position: it will never get one, the pass has not come to it, or it has one.

That it never gets one is proven: every way from it towards a y is followed to what cuts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from ...gradient.ir import NO_OUTPUT_GRADIENT
from ...operators import is_constant
from ...program.control_flow import DUPLICATE, NETS
from ...program.events import Deduplicated, HookRan, Ran, Skipped
from ..journal import Statement, Writing
from ..steering import CursorError
from .flow import Parts, Sent, applied, gives, gradient_of, meant, sent
from .forms import SHOWN, Answer, Block, Bullets, Grid, Paragraph, first_of, first_texts
from .net_view import NetView, name_of

Status = Literal["none", "not yet", "stopped", "has one"]

Reason = Literal[
    "stop", "no_gradient_operator", "no_gradient_for_input", "not_on_a_path", "unused_output", "skipped", "passed_by"
]
"""What cuts a way: StopGradient; an operator that is constant for gradients; a rule that gives this input none; a blob
that leads to no y; an output that nobody reads before it is gone; a leading operator that was skipped; an operator
that the pass went by for another reason."""

OF_THE_PASS = "it belongs to the backward pass, which is not differentiated itself."


class Cut(msgspec.Struct, frozen=True):
    """The end of one way.

    Attributes:
        reason: see `Reason`.
        way: the blob versions passed on the way, from the blob asked about.
        index: the operator that cuts; None where no operator reads the last blob.
        text: it all in a sentence.
    """

    reason: Reason
    way: list[str]
    index: int | None
    text: str


class Arrived(msgspec.Struct, frozen=True):
    """A gradient that a blob has, or gets.

    Attributes:
        gradient: its blob version, of a sparse one "indices, values".
        at: the position after the event that brings it.
        origin: what brings it.
    """

    gradient: str
    at: int
    origin: str


class WhyNoneView(Answer, frozen=True):
    """Why a blob version has no gradient, or that it has one.

    Attributes:
        blob: the version, in a nested net behind the path to it; where a gradient was asked about, the version whose
            gradient it is.
        status: "none": it never gets one; "not yet": it gets one after this position, or may get one in what is to
            come of a pass that stands still; "stopped": the pass stopped before; "has one".
        position: where this was asked.
        gradients: those that it has or gets, in the order of their coming.
        cuts: of "none", what cuts each way from it to a y.
        reason, ways_out: of "stopped", what the pass said; else what more there is to say, and to do.
        asked: where a gradient was asked about, what it is, who writes it and when; else empty.
    """

    answer = "why_none"
    blob: str
    status: Status
    position: int
    gradients: list[Arrived]
    cuts: list[Cut]
    reason: str = ""
    ways_out: tuple[str, ...] = ()
    asked: str = ""

    def blocks(self) -> Iterator[Block]:
        if self.asked:
            yield Paragraph(self.asked)
        if self.status == "none":
            proven = f"{self.blob} has no gradient; not computed, which is not zero. Every way from it to a y is cut:"
            yield Paragraph(proven, is_title=True)
            cut = first_texts([one.text for one in self.cuts], SHOWN)
            yield Bullets([*cut, *(f"Way out: {way}" for way in self.ways_out)])
            return
        if self.status == "stopped":
            yield Paragraph(f"{self.blob} has no gradient, because the pass stopped before it came there.", True)
            yield Paragraph(self.reason)
            yield Bullets(self.ways_out)
            return
        last = self.gradients[-1] if self.gradients else None
        if self.status == "not yet":
            when = f"{last.gradient} comes with event {last.at}" if last else "the pass has not come there"
            yield Paragraph(f"{self.blob} has no gradient yet: {when}.", is_title=True)
            yield Paragraph("Not computed yet is not zero.")
        elif last is not None:
            yield Paragraph(f"{self.blob} has a gradient: {last.gradient}.", is_title=True)
        if last is None:
            return
        rows = first_of(self.gradients, SHOWN, lambda one: (one.gradient, one.origin, str(one.at)))
        yield Grid("Where it comes from", ("gradient", "from", "event"), rows)
        if self.reason:
            yield Paragraph(self.reason)


def answer(here: NetView, word: str) -> WhyNoneView:
    """Why the blob that `word` means, or whose gradient it means, has none; raises CursorError ``not_found``."""
    try:
        view, blob, asked = _asked(here, word)
    except CursorError:
        if (beside := _beside(here, word)) is not None:
            return beside
        raise
    return msgspec.structs.replace(_proof(*view.differentiated(blob)), asked=asked)


def _beside(here: NetView, word: str) -> WhyNoneView | None:
    """What the engine knows of something that takes no part in the pass; None: nothing."""
    tell = here.recorded.recording.beside
    if tell is None or not isinstance(word, str):
        return None
    match = _OF_GRADIENT.fullmatch(word)
    name = word if match is None else match["blob"]
    if (explanation := tell(name)) is None:
        return None
    why, ways_out = explanation
    asked = "" if match is None else f"There is no {word}: it would be the gradient of {name}."
    cut = Cut("not_on_a_path", [name], None, why)
    return WhyNoneView(name, "none", here.position, [], [cut], ways_out=tuple(ways_out), asked=asked)


def _proof(view: NetView, blob: Writing) -> WhyNoneView:
    named, position = view.named(blob), view.position
    if blob.statement is not None and blob.statement.role != "forward":
        return WhyNoneView(named, "none", position, [], [Cut("not_on_a_path", [str(blob)], None, OF_THE_PASS)])
    coming = list(sent(view, blob))
    if coming:
        now = [one for one in coming if one.at <= position]
        status: Status = "has one" if now else "not yet"
        arrived = [_arrived(view, one) for one in now or coming]
        return WhyNoneView(named, status, position, arrived, [], _without_value(view, (now or coming)[-1]))
    failure = view.failure
    if (failure is not None or view.is_halted) and _could_arrive(view, blob):
        if failure is None:
            return WhyNoneView(named, "not yet", position, [], [])
        return WhyNoneView(named, "stopped", position, [], [], failure.message, tuple(failure.ways_out))
    return WhyNoneView(named, "none", position, [], list(cuts(view, blob)))


def _without_value(view: NetView, one: Sent) -> str:
    """That a gradient was made and not computed, though others were, or since the run stopped or never began."""
    recording = view.recorded.recording
    failure = recording.failure
    if view.value(one.parts[-1]) is not None or (failure is not None and failure.path != view.net.path):
        return ""
    if failure is None:
        writer = one.parts[-1].statement
        if writer is not None and view.is_to_run(writer):
            return "Its value is not computed yet."
        if view.net.path or view.is_halted or not len(recording.timeline.of(Ran)):
            return ""
        why = recording.absent and f": {recording.absent(str(one.parts[-1]))[0]}"
        return f"Its value was not computed{why or ''}."
    if view.recorded.text.whole is None:
        return "Its value was not computed: nothing is run where a pass is refused."
    why = "the run stopped" if recording.obstacle is None else "nothing was run"
    return f"Its value was not computed, because {why}: {failure.message}"


def _arrived(view: NetView, one: Sent) -> Arrived:
    """A gradient under its final name, and what brings it."""
    writer = one.parts[-1].statement
    if one.how in ("seed", "given"):
        origin = "a y: a seed of ones" if one.how == "seed" else "a y: it was given"
    elif one.how == "sum":
        origin = f"{writer.op.type if writer else 'the sum'}, when all had come"
    else:
        through = view.net.forward[one.through].name if one.through is not None else ""
        origin = (
            f"passed through {through}" if one.how == "passed" or writer is None else f"{writer.op.type} of {through}"
        )
    return Arrived(", ".join(map(str, one.parts)), one.at, origin)


def _could_arrive(view: NetView, start: Writing) -> bool:
    """Whether a way from `start`, with nothing on it that stops gradients, leads to a gradient that was there.

    Where a pass ends before it has begun nobody knows yet what reads a blob, and from where gradients come.
    """
    if not view.net.ys or (view.is_halted and view.net.path):
        return True
    queue, seen = [start], {start}
    for blob in queue:
        if blob.arrivals:
            return True
        for statement in view.readers(blob):
            is_open = statement.role == "forward" and statement.number >= view.skip
            if is_open and statement.op.type == "ZeroGradient" and not statement.visits:
                return True  # it needs no gradient to give one
            if is_open and not is_constant(statement.op) and not _is_left_out(view, statement, blob):
                queue += [output for output in statement.outputs if output not in seen]
                seen.update(statement.outputs)
    return False


def _is_left_out(view: NetView, reader: Statement, blob: Writing) -> bool:
    """Whether the rule of a reader has been asked, and has given a blob no gradient."""
    given = gives(view, reader.number)
    return given is not None and not any(has for has, read in zip(given, reader.inputs, strict=False) if read is blob)


def cuts(view: NetView, start: Writing) -> Iterator[Cut]:
    """The cut of each way from version `start`, nearest first; a blob that several ways pass is followed once."""
    queue = [(start, [str(start)])]
    seen = {start}
    for blob, way in queue:
        readers = [one for one in view.readers(blob) if one.role == "forward"]
        if not readers:
            yield _unread(view, blob, way)
        for reader in readers:
            if reader.op.type in NETS and any(output.arrivals for output in reader.outputs):
                yield from _cuts_inside(view, reader, blob, way)
                continue
            cut = _cut_at(view, reader, blob, way)
            if cut is not None:
                yield cut
                continue
            for output in reader.outputs:
                if output not in seen:
                    seen.add(output)
                    queue.append((output, [*way, str(output)]))


def _cuts_inside(view: NetView, reader: Statement, blob: Writing, way: list[str]) -> Iterator[Cut]:
    """The cuts in the nets of an operator through which the way from `blob` goes on."""
    type, index = reader.op.type, reader.number
    is_read = False
    for argument, inside in view.inside(reader):
        inner = inside.from_outside(inside.bound(blob.name) or "")
        if inner is None:
            continue
        is_read = True
        for cut in cuts(inside, inner):
            text = f"{_shown(way)}: in {index}.{argument} of {type}, {cut.text}"
            yield Cut(cut.reason, [*way, *(f"{index}.{argument}/{step}" for step in cut.way)], index, text)
    if not is_read:
        text = f"{_shown(way)}: {type} #{index} only decides by it, and a condition is constant for gradients."
        yield Cut("no_gradient_for_input", way, index, text)


def _unread(view: NetView, blob: Writing, way: list[str]) -> Cut:
    after = view.net.version(blob.name, blob.version + 1).statement
    if after is not None and after.role == "forward":
        why = f"nobody reads {blob} before it is overwritten."
    elif view.leaves(blob.name):
        why = f"no gradient arrives at {blob} from around this net."
    else:
        why = f"nobody reads {blob}, and it is no y."
    if len(way) == 1:
        return Cut("not_on_a_path", way, None, why)
    return Cut("unused_output", way, None, f"{_shown(way)}: {why}")


def _cut_at(view: NetView, reader: Statement, blob: Writing, way: list[str]) -> Cut | None:
    """The cut that an operator makes, None where the way goes on through its outputs."""
    index = reader.number
    where = f"{_shown(way)}: {reader.name}"
    if index < view.skip:
        first = "the first operator" if view.skip == 1 else f"the first {view.skip} operators"
        return Cut("skipped", way, index, f"{where} was skipped: the pass leaves {first} out.")
    if not reader.outputs:
        return Cut("unused_output", way, index, f"{where} has no output that could lead to a y.")
    if reader.op.type == "StopGradient":
        return Cut("stop", way, index, f"{where} stops gradients.")
    if is_constant(reader.op):
        return Cut("no_gradient_operator", way, index, f"{where} is constant as far as gradients go.")
    if any(output.arrivals for output in reader.outputs):
        rule = applied(view, index)
        slots = {slot for slot, read in enumerate(reader.inputs) if read is blob}
        if rule is not None and slots and slots.issubset(rule.unwanted):
            text = f"{where} was not asked for its gradient: requires_grad is False, or inputs= leaves it out."
            return Cut("no_gradient_for_input", way, index, text)
        return Cut("no_gradient_for_input", way, index, f"{where} has a rule that gives this input no gradient.")
    for at in reader.visits:
        event = view.recorded.events[at - 1]
        if isinstance(event, Skipped) and event.reason != NO_OUTPUT_GRADIENT:
            return Cut("passed_by", way, index, f"{where} was passed by: {event.reason}.")
    return None


def _shown(way: list[str]) -> str:
    return " → ".join(way if len(way) <= 8 else [*way[:4], "…", *way[-3:]])


_OF_GRADIENT = re.compile(r"(?P<blob>.+?)(_grad|\.grad)(@\d+)?")

_IN_GRAD = {
    "held": "is what {} held in grad before the pass",
    "dropped": "is what {} held in grad before the pass",
    "new": "is what {} holds in grad after the pass",
    "added": "is what {} holds in grad after the pass: what was there before, and the gradient of this pass",
    "replaced": "is what {} holds in grad after the pass, in place of what was there before",
}


Asked = tuple[Writing, str]
"""The blob that a word in the question is about, of a gradient that whose gradient it is; and what the word itself
stands for, if it is the name of a gradient or could be one, else empty."""


def _asked(here: NetView, word: str) -> tuple[NetView, Writing, str]:
    """What `word` means, as in `NetView.find`; raises CursorError ``not_found``."""
    try:
        view, writings = here.find(word)
    except CursorError:
        match = _OF_GRADIENT.fullmatch(word) if isinstance(word, str) else None
        if match is not None:
            with suppress(CursorError):
                view, writings = here.find(match["blob"])
                return view, meant(writings), _of_none(view, meant(writings), word)
        raise
    if any(map(view.is_forward, writings)):
        return view, meant(writings), ""
    blob, meaning = _of_gradient(view, writings) or _of_grad(view, writings[-1]) or _on_the_way(view, writings[-1])
    return view, blob, meaning


def _of_none(view: NetView, blob: Writing, word: str) -> str:
    """That nobody writes a blob of this name, which would be the gradient of `blob`."""
    gradient = gradient_of(view, blob)
    if gradient is None:
        return f"There is no {word}: it would be the gradient of {view.named(blob)}."
    *indices, values = gradient.parts
    rows = f" in the rows {indices[0]}" if indices else ""
    return f"There is no {word}: the gradient of {view.named(blob)} is {values}{rows}."


def _of_gradient(view: NetView, writings: Sequence[Writing]) -> Asked | None:
    """A gradient that the pass has brought: the last of several, of the blob that it was made for."""
    ys = [view.net.version(*key) for key in view.net.ys]
    keys = [one.key for one in writings]
    of = [one.statement.of for one in writings if one.statement is not None and one.statement.of is not None]
    through = [view.net.forward[index] for index in of]
    blobs = dict.fromkeys([*ys, *(blob for one in through for blob in (*one.inputs, *one.outputs))])
    brought = [
        (keys.index(part.key), one.how != "passed", _is_whole(view, part, blob), one.at, part, blob, one)
        for blob in blobs
        for one in sent(view, blob)
        for part in one.parts
        if part.key in keys
    ]
    if not brought:
        return None
    *_, part, blob, one = max(brought, key=lambda row: row[:4])
    meaning = f"{view.named(part)} {_place(view, part, blob, one)} {view.named(blob)}"
    return blob, f"{meaning}{_written(view, part.statement, one.how)}"


def _is_whole(view: NetView, part: Writing, blob: Writing) -> bool:
    """Whether it belongs to what the gradient of a blob is in the end."""
    last = gradient_of(view, blob)
    return last is not None and part.key in [one.key for one in last.parts]


def _place(view: NetView, part: Writing, blob: Writing, one: Sent) -> str:
    whole = "the gradient of" if _is_whole(view, part, blob) else "one of the terms in the gradient of"
    return f"{_is(part, one.parts)} {whole}"


def _is(part: Writing, parts: Parts) -> str:
    """What it is to a gradient of these parts."""
    if len(parts) == 1:
        return "is"
    return f"holds the {'indices' if part is parts[0] else 'values'} of the rows in"


def _written(view: NetView, writer: Statement | None, how: str) -> str:
    """Who writes a gradient, and when."""
    if writer is None:
        return ", and was given." if how == "given" else "; no operator writes it."
    subject = f"{name_of(writer)}, made with event {writer.made}"
    if view.net.path:
        return f". {subject}, writes it."
    return f". {subject} and {'not run' if writer.ran is None else f'run with event {writer.ran}'}, writes it."


def _of_grad(view: NetView, blob: Writing) -> Asked | None:
    """What a Variable holds in ``grad``."""
    schedule = view.recorded.schedule
    grads = [] if schedule is None else [one for one in schedule.grads if one.value == str(blob)]
    if not grads:
        return None
    x = grads[-1].variable
    return meant(view.find(x)[1]), f"{blob} {_IN_GRAD[grads[-1].how].format(x)}."


def _on_the_way(view: NetView, blob: Writing) -> Asked:
    """What the backward pass makes of gradients, or for its own use."""
    if blob.statement is None:
        return blob, ""
    if blob.statement.role == "duplicate":
        return _duplicate(view, blob, blob.statement)
    made = blob.statement.made
    event = view.recorded.events[made - 1]
    if isinstance(event, HookRan | Deduplicated) and blob in (parts := tuple(view.net.parts(event.after, made))):
        how = "as a hook has changed it" if isinstance(event, HookRan) else "rows of equal index merged"
        meaning = f"{blob} {_is(blob, parts)} the gradient of {event.blob}@{event.version}, {how}"
        return view.net.version(event.blob, event.version), f"{meaning}{_written(view, blob.statement, 'generated')}"
    maker = name_of(blob.statement)
    return blob, f"{view.named(blob)} is the gradient of no blob: {maker} makes it for the backward pass."


def _duplicate(view: NetView, copy: Writing, copying: Statement) -> Asked:
    """The copy of a gradient for one of several outputs that it arrives at."""
    [gradient] = copying.inputs
    owner = view.net.forward[copying.of or 0]
    output = next(one for one in owner.outputs if copy.name.startswith(f"{one.name}_{gradient.name}{DUPLICATE}"))
    arrives = "is a blob of" if gradient in {*owner.inputs, *owner.outputs} else "arrives at several blobs of"
    meaning = (
        f"{view.named(copy)} is the gradient of {view.named(output)}, a copy of {view.named(gradient)}: that {arrives} "
        f"{name_of(owner)}, and in its backward net each output needs a gradient of its own."
    )
    return output, meaning
