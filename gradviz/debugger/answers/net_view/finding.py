"""Which net, which run of it and which blob a question means."""

from __future__ import annotations

from collections.abc import Iterator

from ...steering import unknown
from .net_view import NetView, around_of, view_of
from .recorded import Recorded
from .wording import split

FORMS = "A blob is asked for by its name (x), a version (x@1), or one of them in a run (2.loop_net[3]/0.net:x)."


def views(recorded: Recorded, subnet: str | None, frame: int | None) -> Iterator[NetView]:
    """The view of a net and, where it ran, a run of it, then those around it."""
    if subnet is None:
        yield view_of(recorded, None, None)
        return
    net = next(net for net in recorded.trace.subnets if net.id == subnet)
    yield view_of(recorded, net, frame)
    yield from around_of(recorded, net, frame)


def view_at(recorded: Recorded, path: str) -> NetView | None:
    """The view at ``"2.loop_net[3]/0.net"``; without saying in which run, at ``"2.loop_net/0.net"``; at ``""``."""
    trace = recorded.trace
    if not path:
        return view_of(recorded, None, None)
    run = recorded.by_path.get(path)
    if run is not None:
        net = next(net for net in trace.subnets if net.id == trace.frames[run].subnet)
        return view_of(recorded, net, run)
    return next((view_of(recorded, net, None) for net in trace.subnets if "/".join(net.path) == path), None)


def find(recorded: Recorded, subnet: str | None, frame: int | None, word: str) -> tuple[NetView, str]:
    """The view that a question means, and the name or version that is left of it, under its final name.

    Args:
        subnet, frame: the net and the run that we are in: what is asked for is looked for there first, then around.
        word: a name or a version, perhaps behind the path of a net or a run and a colon; a colon alone says the
            outermost net.

    Raises:
        CursorError: ``not_found``.
    """
    if not isinstance(word, str):
        raise unknown("blob", repr(word), (), [FORMS])
    around = list(views(recorded, subnet, frame))
    path, colon, blob = word.rpartition(":")
    inside = view_at(recorded, path) if colon else None
    if inside is not None:
        around, word = [inside], blob
    for view in around:
        if word in view.versions:
            return view, word
        name, _, version = word.rpartition("@")
        if name and version.isdigit():
            final = view.final(word)
            if split(final)[1] in view.versions.get(split(final)[0], ()):
                return view, final
            if int(version) in view.versions.get(name, ()):
                return view, word
    known = [name for view in around for name in view.versions]
    raise unknown("blob", word, known, [FORMS])
