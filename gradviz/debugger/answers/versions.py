"""The versions of a blob: who wrote and who reads each, who still needs it, and which one is there now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ...program.control_flow import kept_name
from ...program.events import Ran
from ...program.ssa import BlobVersion
from ..document import Line
from .forms import Answer, Block, Bullets, Grid, Paragraph
from .net_view.finding import find
from .net_view.flow import Flow, flow_of
from .net_view.net_view import NetView
from .net_view.recorded import Recorded
from .net_view.wording import name_of, revision, split


class Version(msgspec.Struct, frozen=True):
    """One version of a blob.

    Attributes:
        blob: the version.
        writer: who writes it; empty: it is there from the start.
        is_there: whether it has been written by this position.
        is_current: whether the name stands for it at this position.
        overwritten_by: who writes the next one; empty: nobody.
        readers: the forward operators that read it.
        gradient_readers: the gradient operators that read it, as far as they are made.
        needed_by: those of all gradient operators, made or to be made, that read it and have not run.
        is_kept: whether a workspace keeps it for them under another name.
        is_lost: whether the pass stopped because a gradient operator would read it, and it is overwritten.
        gradients: the versions of its gradient that are there by now, the one that counts last.
    """

    blob: str
    writer: str
    is_there: bool
    is_current: bool
    overwritten_by: str
    readers: list[str]
    gradient_readers: list[str]
    needed_by: list[str]
    is_kept: bool
    is_lost: bool
    gradients: list[str]


class VersionsView(Answer, frozen=True):
    """The versions of a blob at a position.

    Attributes:
        name: the blob, in a nested net behind the path to it.
        position: where this was asked.
        versions: oldest first.
    """

    answer = "versions"
    name: str
    position: int
    versions: list[Version]

    def blocks(self) -> Iterator[Block]:
        count = "1 version" if len(self.versions) == 1 else f"{len(self.versions)} versions"
        head = (
            "version",
            "written by",
            "now",
            "read by",
            "read in the backward pass by",
            "still needed by",
            "gradient",
        )
        rows = [
            (
                one.blob,
                one.writer or "outside",
                _now(one),
                ", ".join(one.readers) or "nobody",
                ", ".join(dict.fromkeys(one.gradient_readers)) or "nobody",
                ", ".join(dict.fromkeys(one.needed_by)) or "nobody",
                ", ".join(one.gradients) or "none yet",
            )
            for one in self.versions
        ]
        yield Grid(f"{self.name} has {count}", head, rows)
        lost = [one for one in self.versions if one.is_lost]
        if lost:
            yield Bullets(
                [f"{one.blob} is needed in the backward pass, and {one.overwritten_by} overwrites it." for one in lost]
            )
        kept = [one for one in self.versions if one.is_kept]
        if kept:
            yield Bullets(
                [f"{one.blob} is overwritten, and the workspace keeps it for the backward pass." for one in kept]
            )
        if not any(one.is_current for one in self.versions):
            yield Paragraph("None of them is there yet.")


def answer(recorded: Recorded, subnet: str | None, frame: int | None, word: str) -> VersionsView:
    """The versions of the blob that `word` means; raises CursorError ``not_found``."""
    view, blob = find(recorded, subnet, frame, word)
    name = blob if blob in view.versions else split(blob)[0]
    flow, lost = flow_of(view), _lost(view, name)
    blobs = [f"{name}@{version}" for version in view.versions[name]]
    is_running = view.recorded.first_run <= view.position
    there = {blob for blob in blobs if _is_there(view, blob, is_running)}
    current = [one for one in blobs if one in there][-1:]
    versions = [_version(view, flow, one, there, current, one == lost) for one in blobs]
    return VersionsView(view.named(name), view.position, versions)


def _version(view: NetView, flow: Flow, blob: str, there: set[str], current: Sequence[str], is_lost: bool) -> Version:
    name, version = split(blob)
    kept = f"{kept_name(BlobVersion(name, version))}@0"
    readers = view.readers.get(blob, [])
    keeping = view.readers.get(kept, [])
    gradient_readers = [line for line in (*readers, *keeping) if line.role != "forward"]
    after = view.writers.get(f"{name}@{version + 1}")
    gradients = [*flow.sent.get(blob, ()), *flow.sums.get(blob, ())]
    return Version(
        blob=blob,
        writer=_told(view.writers.get(blob)),
        is_there=blob in there,
        is_current=blob in current,
        overwritten_by=_told(after),
        readers=[name_of(line) for line in readers if line.role == "forward"],
        gradient_readers=[name_of(line) for line in gradient_readers if line.made <= view.position],
        needed_by=[name_of(line) for line in gradient_readers if not _has_run(view, line)],
        is_kept=bool(keeping),
        is_lost=is_lost,
        gradients=[_then(view, part) for sent in sorted(gradients) if sent.at <= view.position for part in sent.parts],
    )


def _is_there(view: NetView, blob: str, is_running: bool) -> bool:
    """Whether a version is there: once the program runs, if its operator has run, before that if it was played."""
    line = view.writers.get(blob)
    return line is None or (_has_run(view, line) if is_running else line.made <= view.position)


def _has_run(view: NetView, line: Line) -> bool:
    run = view.runs[line.role != "forward"]
    if run is None:
        return line.ran is not None and line.ran <= view.position
    events = view.recorded.trace.events[: view.position]
    return any(event.frame == run and event.kind == Ran.__name__ and line.id in event.lines for event in events)


def _lost(view: NetView, name: str) -> str:
    """The version for want of which the pass has stopped by this position; empty: there is none."""
    for at, event in view.failures:
        is_it = event.error == "version_overwritten" and name in event.blobs
        if is_it and at <= view.position and event.index is not None:
            line = view.forward[event.index]
            touched = [blob for blob in (*line.outputs, *line.inputs) if split(blob)[0] == name]
            said = [blob for blob in touched if f"needs {blob}," in event.message]
            return (said or touched or [""])[0]
    return ""


def _told(line: Line | None) -> str:
    return "" if line is None else name_of(line)


def _then(view: NetView, blob: str) -> str:
    """What a version of a gradient is called at this position."""
    line = view.writers.get(blob)
    if line is None or line.role == "forward":
        return blob
    return revision(line, view.position).outputs[line.outputs.index(blob)]


def _now(version: Version) -> str:
    if version.is_current:
        return "current"
    return "overwritten" if version.is_there else "not written yet"
