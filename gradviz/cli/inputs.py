"""What a command reads, and what a net is fed; a file is looked at before it is read, and named where it is wrong."""

from __future__ import annotations

import io
import json
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from .. import Net, Session, Workspace, load
from ..debugger.document import ENDING, FORMAT
from ..program import RunError
from ..program.control_flow import operators_in, reads_from_outside
from ..program.errors import a_few, meant, shorten
from ..program.files import FileError, about, read_whole

MOST_BYTES = 256_000_000
"""Of a file that is read as a whole."""

FORMS = (
    'A file of blobs: --feed FILE.npz, as numpy.savez writes it, or --feed FILE.json: {"x": [[1.0, 2.0]]}.',
    "One blob: --feed x=FILE.npy, as numpy.save writes it, --feed x=1.5 or --feed 'x=[1.0, 2.0]'.",
)

WORDS = ("nan", "inf", "-inf")
"""Numbers that JSON has no digits for, as answers write them."""


class _Head(msgspec.Struct):
    """What tells a recording from other JSON."""

    format: str = ""


def check(path: Path) -> None:
    """Look at a file before it is read; raises FileError ``too_large``."""
    if os.path.isfile(path) and (size := path.stat().st_size) > MOST_BYTES:
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
    net.name = net.name or path.stem.encode(errors="replace").decode()  # no file holds a byte that is no character
    return net


def read_recording(path: Path) -> Session:
    """The session in a file; raises FileError, TraceError."""
    check(path)
    return load(path)


def fed(args: Namespace, net: Net) -> Workspace:
    """The workspace with all that is fed, on the device that was asked for.

    Raises:
        FileError: a file cannot be read, or holds no arrays.
        RunError: ``bad_device``; ``bad_value``, what is no array of numbers; ``undefined_blob``, a name that no
            operator reads.
    """
    ws = Workspace(args.device or "cpu")
    inputs = {name for op in net.ops for one in (op, *operators_in(op)) for name in one.inputs}
    for text in args.feed:
        name, is_one, value = text.partition("=")
        if not is_one or os.path.isfile(text):
            path, data = Path(text), read(Path(text))
            with about(path):
                for blob, array in _blobs(data, is_json=path.suffix == ".json").items():
                    ws.feed(blob, array)
        elif not name:
            raise _no_arrays(f"--feed {text}: no name stands before the =.")
        elif name in inputs:
            ws.feed(name, _one(text, value))
        else:
            raise RunError(
                f"--feed {text}: no operator of {net.name} reads {shorten(name)}.",
                kind="undefined_blob",
                blobs=[name],
                ways_out=meant(name, inputs, 3) or [f"It reads {a_few(reads_from_outside(net.ops)) or 'nothing'}."],
            )
    return ws


def _one(text: str, value: str) -> Any:
    """What stands behind the name in ``x=1.5``, or in the file that it names."""
    try:
        return _numbers(value if value in WORDS else json.loads(value))
    except (ValueError, RecursionError):
        path = Path(value)
    if not os.path.isfile(path):
        raise _no_arrays(f"--feed {text}: behind the name stands no number, no list of numbers and no file.")
    data = read(path)
    with about(path):
        array = _loaded(data)
        if isinstance(array, np.ndarray):
            return array
        raise _no_arrays(f"These are arrays with names of their own: --feed {path}.")


def _blobs(data: bytes, *, is_json: bool) -> dict[str, Any]:
    """The blobs in a file."""
    if is_json:
        try:
            blobs = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise _no_arrays(f"This is not JSON: {error}.") from error
        if not isinstance(blobs, dict):
            raise _no_arrays("This JSON has no names of blobs.")
        return {name: _numbers(value) for name, value in blobs.items()}
    blobs = _loaded(data)
    if isinstance(blobs, dict):
        return blobs
    raise _no_arrays("This is one array, without a name.")


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(one) for one in value]
    return float(value) if value in WORDS else value


def _loaded(data: bytes) -> Any:
    """An array, or arrays by their names. Nothing in a file is executed, and of what is damaged anything is raised."""
    if not data.startswith((np.lib.format.MAGIC_PREFIX, b"PK\3\4", b"PK\5\6")):
        raise _no_arrays("This is no file of numpy.save or numpy.savez.")
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        # By the names of its entries: those of the arrays "x.npy" and "x" can be mistaken for each other.
        return {entry.removesuffix(".npy"): loaded[entry] for entry in loaded.zip.namelist()}
    except Exception as error:
        raise _no_arrays(f"numpy cannot read its arrays: {type(error).__name__}: {error}.") from error


def _no_arrays(why: str) -> FileError:
    return FileError(why, kind="no_arrays", ways_out=FORMS)
