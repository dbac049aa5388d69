"""Which net, which run of it and which blob a question means."""

from __future__ import annotations

from collections.abc import Iterator

from ...steering import unknown
from .net_view import Scene, around_of, scene_of
from .recorded import Recorded
from .wording import split

FORMS = "A blob is asked for by its name (x), a version (x@1), or one of them in a run (2.loop_net[3]/0.net:x)."


def scenes(recorded: Recorded, subnet: str | None, frame: int | None) -> Iterator[Scene]:
    """The scene of a net and, where it ran, a run of it, then those around it."""
    if subnet is None:
        yield scene_of(recorded, None, None)
        return
    net = next(net for net in recorded.trace.subnets if net.id == subnet)
    yield scene_of(recorded, net, frame)
    yield from around_of(recorded, net, frame)


def scene_at(recorded: Recorded, path: str) -> Scene | None:
    """The scene at ``"2.loop_net[3]/0.net"``; without saying in which run, at ``"2.loop_net/0.net"``; at ``""``."""
    trace = recorded.trace
    if not path:
        return scene_of(recorded, None, None)
    run = recorded.by_path.get(path)
    if run is not None:
        net = next(net for net in trace.subnets if net.id == trace.frames[run].subnet)
        return scene_of(recorded, net, run)
    return next((scene_of(recorded, net, None) for net in trace.subnets if "/".join(net.path) == path), None)


def find(recorded: Recorded, subnet: str | None, frame: int | None, word: str) -> tuple[Scene, str]:
    """The scene that a question means, and the name or version that is left of it, under its final name.

    Args:
        subnet, frame: the net and the run that we are in: what is asked for is looked for there first, then around.
        word: a name or a version, perhaps behind the path of a net or a run and a colon; a colon alone says the
            outermost net.

    Raises:
        CursorError: ``not_found``.
    """
    if not isinstance(word, str):
        raise unknown("blob", repr(word), (), [FORMS])
    around = list(scenes(recorded, subnet, frame))
    path, colon, blob = word.rpartition(":")
    inside = scene_at(recorded, path) if colon else None
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
