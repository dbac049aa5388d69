"""Why a blob has no gradient, at a position: it will never get one, the pass has not come to it, or it has one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from ...gradient.ir import NO_OUTPUT_GRADIENT
from ...gradient.why_none import Cut, Passed, cuts, headline
from ...operators import lookup
from ...program.events import Failed
from .forms import Answer, Block, Bullets, Grid, Paragraph
from .net_view.flow import Flow, Sent, flow_of
from .net_view.gradient_names import meant
from .net_view.net_view import NetView
from .net_view.recorded import Recorded
from .net_view.wording import name_of, number, split

Status = Literal["none", "not yet", "stopped", "has one"]


OF_THE_PASS = "it belongs to the backward pass, which is not differentiated itself."
UNWANTED = "A Variable with requires_grad=False gets none either, whatever the rule has to give."


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
        status: "none": it never gets one; "not yet": it gets one after this position; "stopped": the pass stopped
            before; "has one".
        position: where this was asked.
        gradients: those that it has or gets, in the order of their coming.
        cuts: of "none", what cuts each way from it to a y.
        reason, ways_out: of "stopped", what the pass said; else what more there is to say.
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
            yield Paragraph(headline(self.blob), is_title=True)
            yield Bullets([cut.text for cut in self.cuts])
            if self.reason:
                yield Paragraph(self.reason)
            return
        if self.status == "stopped":
            yield Paragraph(f"{self.blob} has no gradient, because the pass stopped before it came there.", True)
            yield Paragraph(self.reason)
            yield Bullets(self.ways_out)
            return
        last = self.gradients[-1]
        if self.status == "not yet":
            yield Paragraph(f"{self.blob} has no gradient yet: {last.gradient} comes with event {last.at}.", True)
            yield Paragraph("Not computed yet is not zero.")
        else:
            yield Paragraph(f"{self.blob} has a gradient: {last.gradient}.", is_title=True)
        rows = [(one.gradient, one.origin, str(one.at)) for one in self.gradients]
        yield Grid("Where it comes from", ("gradient", "from", "event"), rows)
        if self.reason:
            yield Paragraph(self.reason)


def answer(recorded: Recorded, subnet: str | None, frame: int | None, word: str) -> WhyNoneView:
    """Why the blob that `word` means, or whose gradient it means, has none; raises CursorError ``not_found``."""
    view, blob, asked = meant(recorded, subnet, frame, word)
    return msgspec.structs.replace(_proof(recorded, view, blob), asked=asked)


def _proof(recorded: Recorded, view: NetView, blob: str) -> WhyNoneView:
    flow = flow_of(view)
    blob = flow.meant(blob)
    named, position = view.named(blob), view.position
    writer = view.writers.get(blob)
    if writer is not None and writer.role != "forward":
        return WhyNoneView(named, "none", position, [], [Cut("not_on_a_path", [blob], None, OF_THE_PASS)])
    coming = flow.gradient(blob)
    if coming is not None:
        now = flow.gradient(blob, position)
        known = [sent for sent in _gradients(flow, blob) if now is None or sent.at <= position]
        status: Status = "not yet" if now is None else "has one"
        arrived = [_arrived(view, sent) for sent in known]
        return WhyNoneView(named, status, position, arrived, [], _without_value(view, known[-1]))
    failed = next((event for _, event in view.failures), None)
    if failed is not None and _could_arrive(view, flow, blob):
        ways_out = tuple(line[4:] for line in failed.explanation.splitlines() if line.startswith("  - "))
        return WhyNoneView(named, "stopped", position, [], [], failed.message, ways_out)
    found = list(cuts(_PassedScene(view, flow), blob))
    is_unwanted = recorded.trace.engine != "symbolic" and any(cut.reason == "no_gradient_for_input" for cut in found)
    return WhyNoneView(named, "none", position, [], found, UNWANTED if is_unwanted else "")


def _gradients(flow: Flow, blob: str) -> list[Sent]:
    return sorted([*flow.sent.get(blob, ()), *flow.sums.get(blob, ())], key=lambda sent: sent.at)


def _without_value(view: NetView, sent: Sent) -> str:
    """That a gradient was made and not computed, because the run stopped or never began; else empty."""
    last = view.recorded.events[-1]
    if not isinstance(last, Failed) or last.path != view.path or view.value(sent.parts[-1]) is not None:
        return ""
    why = "the run stopped" if view.recorded.trace.obstacle is None else "nothing was run"
    return f"Its value was not computed, because {why}: {last.message}"


def _arrived(view: NetView, sent: Sent) -> Arrived:
    """A gradient under its final name, and what brings it."""
    line = view.writers.get(sent.parts[-1])
    if sent.how in ("seed", "given"):
        origin = "a y: a seed of ones" if sent.how == "seed" else "a y: it was given"
    elif sent.how == "sum":
        origin = f"{line.type if line else 'the sum'}, when all had come"
    else:
        through = name_of(view.forward[sent.through]) if sent.through is not None else ""
        origin = f"passed through {through}" if sent.how == "passed" or line is None else f"{line.type} of {through}"
    return Arrived(", ".join(sent.parts), sent.at, origin)


def _could_arrive(view: NetView, flow: Flow, start: str) -> bool:
    """Whether a way from `start`, with nothing on it that stops gradients, leads to a gradient that was there."""
    queue, seen = [start], {start}
    for blob in queue:
        if blob in flow.sent:
            return True
        for line in view.readers.get(blob, ()):
            known = lookup(line.type)
            is_open = line.role == "forward" and number(line) >= view.recorded.trace.skip * (not view.path)
            if is_open and not (known is not None and known.constant):
                queue += [output for output in line.outputs if output not in seen]
                seen.update(line.outputs)
    return False


class _PassedScene:
    """The net of a view, for the proof."""

    def __init__(self, view: NetView, flow: Flow) -> None:
        self._view = view
        self._flow = flow
        self.skip = 0 if view.path else view.recorded.trace.skip

    def readers(self, blob: str) -> Sequence[int]:
        return [number(line) for line in self._view.readers.get(blob, ()) if line.role == "forward"]

    def operator(self, index: int) -> tuple[str, Sequence[str]]:
        line = self._view.forward[index]
        return line.type, line.outputs

    def has_gradient(self, blob: str) -> bool:
        return blob in self._flow.sent

    def is_last(self, blob: str) -> bool:
        name, version = split(blob)
        return not any(f"{name}@{version + 1}" in line.outputs for line in self._view.forward)

    def leaves(self, blob: str) -> bool:
        return split(blob)[0] in self._view.leaving

    def inside(self, index: int, blob: str) -> Iterator[tuple[str, Passed, str]]:
        line = self._view.forward[index]
        for way, inside in self._view.inside(line):
            inner = inside.bound.get(split(blob)[0], "")
            if f"{inner}@0" in inside.from_outside:
                yield way, _PassedScene(inside, flow_of(inside)), f"{inner}@0"

    def reason(self, index: int) -> str:
        reason = self._flow.passed_by.get(index, "")
        return "" if reason == NO_OUTPUT_GRADIENT else reason
