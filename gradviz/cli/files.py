"""The files that a command reads: looked at before they are read, and named where something is wrong in them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from .. import Net, Session, load
from ..debugger.document import ENDING, FORMAT
from ..program.files import FileError, read_whole

MOST_BYTES = 256_000_000
"""Of a file that is read as a whole."""


class _Head(msgspec.Struct):
    """What tells a recording from other JSON."""

    format: str = ""


def check(path: Path) -> None:
    """Look at a file before it is read; raises FileError ``too_large``."""
    if path.is_file() and (size := path.stat().st_size) > MOST_BYTES:
        raise FileError(
            f"{path} has {size / 1e6:,.0f} MB; a command reads at most {MOST_BYTES / 1e6:,.0f} MB at once.",
            kind="too_large",
            ways_out=["Record a smaller net, or fewer iterations.", "Open it in Python: gradviz.load(path)."],
        )


def read(path: Path) -> bytes:
    """What is in a file; raises FileError as `check` and `read_whole` do."""
    check(path)
    return read_whole(path)


def is_recording(path: Path) -> bool:
    """Whether a file is a recording, or meant to be one, by its name or what it says of itself; raises FileError."""
    if path.name.endswith(ENDING):
        check(path)
        return True
    data = read(path)
    try:
        head = msgspec.json.decode(data, type=_Head)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return False
    return head.format == FORMAT


def read_net(path: Path) -> Net:
    """The net in a file, called after that where it has no name; raises FileError, NetError."""
    if is_recording(path):
        raise FileError(
            f"{path} is a recording, and a net is asked for.",
            kind="not_a_net",
            ways_out=["gradviz ask, graph and html read recordings.", "session.net.save(path) writes its net."],
        )
    net = Net.load(path)
    net.name = net.name or path.stem
    return net


def read_recording(path: Path) -> Session:
    """The session in a file; raises FileError, TraceError."""
    check(path)
    return load(path)
