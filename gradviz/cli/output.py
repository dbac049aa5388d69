"""What a command prints, and the files that it writes."""

from __future__ import annotations

import io
import os
import re
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO
from zipfile import ZipFile

import msgspec
import numpy as np

from ..debugger.answers import Answer
from ..program.files import FileError, write_whole

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that a terminal obeys; in the names of a file from somebody else they are shown."""


def say(text: str, stream: TextIO | None = None) -> None:
    """Print `text`, None: to stdout."""
    print(CONTROLS.sub(lambda match: repr(match[0])[1:-1], text), file=stream)


def give(answer: Answer, args: Namespace) -> None:
    """Print an answer, as text or as one line of JSON."""
    say(msgspec.json.encode(answer.to_dict()).decode() if args.json else str(answer))


def target(args: Namespace) -> Path | None:
    """The file that the command writes, None: it writes none; nothing that it reads is written over.

    Raises:
        FileError: ``not_a_file``.
    """
    path: Path | None = args.output
    fed = [Path(part) for text in vars(args).get("feed", ()) for part in (text, text.partition("=")[2]) if part]
    for one in (args.file, *fed):
        if path is not None and os.path.exists(path) and os.path.exists(one) and path.samefile(one):
            raise FileError(f"{path} is {one} itself.", kind="not_a_file", ways_out=["Name another file: -o."])
    return path


def written(path: Path) -> str:
    """``first.html: 12 KB``."""
    return f"{path}: {path.stat().st_size / 1000:,.0f} KB"


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write arrays to `path` as `numpy.load` reads them, whatever their names; raises FileError."""
    packed = io.BytesIO()
    with ZipFile(packed, "w") as file:
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    write_whole(path, packed.getvalue())
