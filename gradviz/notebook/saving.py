"""What a view saves of its session: a recording, a page or a notebook, called as the reader asks."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from ..debugger.document import ENDING
from ..program.files import FileError
from .session_protocol import Shown

GENERATOR = '<meta name="generator" content="gradviz'
"""Marks a page of gradviz."""

ENDINGS = {"recording": ENDING, "page": ".html", "notebook": ".ipynb"}


class Saved(NamedTuple):
    """The whole path of a file, and what there is to say of what is in it."""

    path: Path
    summary: str


def save(session: Shown, form: str, name: str, replace: int) -> Saved:
    """Write `session`, which a view shows, as one of `ENDINGS`, which the name gets where it has not.

    Args:
        name: a path, from the folder of the kernel, which is that of its notebook; empty, for a page: one like that of
            the session, which replaces nothing but an older page.
        replace: whether a file that is there may be replaced, also the one for the arrays beside a notebook.

    Raises:
        FileError: a file of this name is there, or it cannot be written.
        NotebookError: the recording cannot be a notebook.
    """
    ending = ENDINGS[form]
    path = Path(name.removesuffix(ending) + ending).expanduser().absolute() if name else _page_path(session.name)
    files = [path]
    if form == "notebook":
        from .cells import arrays_beside  # takes its time to import

        files.append(arrays_beside(path))
    there = list(filter(os.path.exists, files))
    if there and not replace:
        raise FileError(
            f"{there[0]} is there already; it is left as it is.",
            kind="exists",
            ways_out=["Choose another name, or allow replacing the file."],
        )
    write: dict[str, Callable[[Path], object]] = {"recording": session.save, "page": session.to_html}
    write["notebook"] = session.to_notebook
    return Saved(path, str(write[form](path) or ""))


def _page_path(name: str) -> Path:
    """Where a page called `name` goes: beside the notebook of this kernel; it replaces nothing but an older page."""
    notebook = Path(os.environ.get("JPY_SESSION_NAME", ""))
    folder = notebook.parent if notebook.is_file() else Path.cwd()
    stem = "".join(letter if letter.isalnum() or letter in "-_ " else "-" for letter in name).strip("- ") or "gradients"
    paths = (folder / f"{stem}{number}.html" for number in chain([""], (f"-{one}" for one in count(2))))
    return next(path for path in paths if not path.exists() or _is_page(path))


def _is_page(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return GENERATOR.encode() in file.read(4096)
    return False
