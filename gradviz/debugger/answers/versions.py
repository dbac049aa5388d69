"""The versions of a blob: who wrote and who reads each, who still needs it, and which one is there now."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

import msgspec

from ...program.control_flow import saved_name
from ...program.errors import count_of, joined
from ...program.operator import BlobVersion
from ..journal import Statement, Writing
from .flow import sent
from .forms import Answer, Block, Bullets, Grid, Paragraph
from .net_view import NetView, name_of


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
        needed_by: those of all gradient operators, made or to be made, that read it and have not run; of a lost version
            also the gradient that could not be made.
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
        is_over: whether nothing more comes of the pass.
    """

    answer = "versions"
    name: str
    position: int
    versions: list[Version]
    is_over: bool

    def blocks(self) -> Iterator[Block]:
        nobody = "nobody" if self.is_over else "nobody yet"
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
                joined(one.readers) or nobody,
                joined(dict.fromkeys(one.gradient_readers)) or nobody,
                joined(dict.fromkeys(one.needed_by)) or nobody,
                joined(one.gradients) or "none yet",
            )
            for one in self.versions
        ]
        yield Grid(f"{self.name} has {count_of(len(self.versions), 'version')}", head, rows)
        lost = [
            f"{one.blob} is needed by {one.needed_by[-1]}, and {one.overwritten_by} overwrites it."
            for one in self.versions
            if one.is_lost
        ]
        if lost:
            yield Bullets(lost)
        blobs = [one.blob for one in self.versions if one.is_kept]
        if blobs:
            yield Bullets([f"{one} is overwritten, and the workspace keeps it for the backward pass." for one in blobs])
        if not any(one.is_current for one in self.versions):
            yield Paragraph("None of them is there yet.")


def answer(here: NetView, word: str) -> VersionsView:
    """The versions of the blob that `word` means; raises CursorError ``not_found``."""
    view, writings = here.find(word)
    name = writings[0].name
    blobs, (lost, wanting) = view.writings(name), _lost(view)
    has_stopped = view.position == len(view.recorded.events)
    first_run = view.recorded.text.first_run
    is_running = first_run is not None and first_run <= view.position
    there = [blob for blob in blobs if _is_there(view, blob, is_running)]
    versions = []
    for blob, after in zip_longest(blobs, blobs[1:]):
        keeping = view.readers(view.net.version(saved_name(BlobVersion(name, blob.version)), 0))
        reading = [one for one in (*view.readers(blob), *keeping) if one.role != "forward"]
        needed_by = [name_of(one) for one in reading if not _has_run(view, one)]
        if str(blob) == lost:
            needed_by.append(f"the gradient of {wanting}")
        came = [one for one in sent(*view.differentiated(blob)) if one.at <= view.position]
        versions.append(
            Version(
                blob=str(blob),
                writer=_named(blob.statement),
                is_there=blob in there,
                is_current=blob in there[-1:],
                overwritten_by=_named(after.statement if after else None),
                readers=[name_of(one) for one in view.readers(blob) if one.role == "forward"],
                gradient_readers=[name_of(one) for one in reading if one.made <= view.position],
                needed_by=needed_by,
                is_kept=bool(keeping),
                is_lost=has_stopped and str(blob) == lost,
                gradients=[_then(view, part) for one in came for part in one.parts],
            )
        )
    return VersionsView(view.named(name), view.position, versions, is_over=not view.is_halted)


def _is_there(view: NetView, blob: Writing, is_running: bool) -> bool:
    """Whether a version is there: once the program runs, if its operator has run, before that if it was played."""
    writer = blob.statement
    return writer is None or (_has_run(view, writer) if is_running else writer.made <= view.position)


def _has_run(view: NetView, statement: Statement) -> bool:
    ran = view.ran_at(statement)
    return ran is not None and ran <= view.position


def _lost(view: NetView) -> tuple[str, str]:
    """The version for want of which the pass stops, and the operator whose gradient wants it; empty: there is none."""
    event = view.failure
    if event is None or not event.versions or event.index is None:
        return "", ""
    return event.versions[0], view.net.forward[event.index].name


def _named(statement: Statement | None) -> str:
    return "" if statement is None else name_of(statement)


def _then(view: NetView, gradient: Writing) -> str:
    """What a version of a gradient is called at this position."""
    writer = gradient.statement
    return str(gradient if writer is None else gradient.at(max(view.position, writer.made)))


def _now(version: Version) -> str:
    if version.is_current:
        return "current"
    return "overwritten" if version.is_there else "not written yet"
