"""Which net, which run of it and which blob a question means."""

from __future__ import annotations

from collections.abc import Iterator

from ..faults import unknown
from ..places import path_of
from .recorded import Recorded
from .scene import Scene, around_of
from .wording import split

FORMS = "A blob is asked for by its name (x), a version (x@1), or one of them in a run (2.loop_net[3]/0.net:x)."


def scenes(recorded: Recorded, subnet: str | None, frame: int | None) -> Iterator[Scene]:
    """The scene of a net and, where it ran, a run of it, then those around it."""
    if subnet is None:
        yield Scene(recorded, None, None)
        return
    net = next(net for net in recorded.trace.subnets if net.id == subnet)
    yield Scene(recorded, net, frame)
    yield from around_of(recorded, net, frame)


def scene_at(recorded: Recorded, path: str) -> Scene | None:
    """The scene at ``"2.loop_net[3]/0.net"``, or at a net without saying in which run, ``"2.loop_net/0.net"``."""
    trace = recorded.trace
    for number, run in enumerate(trace.frames):
        if "/".join(path_of(trace, number)) == path:
            net = next(net for net in trace.subnets if net.id == run.subnet)
            return Scene(recorded, net, number)
    return next((Scene(recorded, net, None) for net in trace.subnets if "/".join(net.path) == path), None)


def find(recorded: Recorded, subnet: str | None, frame: int | None, word: str) -> tuple[Scene, str]:
    """The scene that a question means, and the name or version that is left of it, under its final name.

    Args:
        subnet, frame: the net and the run that we are in: what is asked for is looked for there first, then around.
        word: a name or a version, perhaps behind the path of a net or a run and a colon.

    Raises:
        CursorError: ``not_found``.
    """
    if not isinstance(word, str):
        raise unknown("blob", repr(word), (), [FORMS])
    around = list(scenes(recorded, subnet, frame))
    path, _, blob = word.rpartition(":")
    inside = scene_at(recorded, path) if path else None
    if inside is not None:
        around, word = [inside], blob
    for scene in around:
        if word in scene.versions:
            return scene, word
        name, _, version = word.rpartition("@")
        if name and version.isdigit():
            final = scene.final(word)
            if split(final)[1] in scene.versions.get(split(final)[0], ()):
                return scene, final
            if int(version) in scene.versions.get(name, ()):
                return scene, word
    known = [name for scene in around for name in scene.versions]
    raise unknown("blob", word, known, [FORMS])
