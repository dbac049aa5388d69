"""Files: written whole or not at all, and what a view saves of its session."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from ..debugger.document import ENDING
from ..program import GradvizError
from .session_protocol import Shown

GENERATOR = '<meta name="generator" content="gradviz'
"""Marks a page of gradviz."""

ENDINGS = {"recording": ENDING, "page": ".html", "notebook": ".ipynb"}


class FileError(GradvizError):
    """A file that cannot be written or read.

    ``kind`` is one of ``no_folder``, ``no_file``, ``not_a_file``, ``exists``, ``read_only``, ``cannot_write``,
    ``cannot_read``, ``too_large``, ``no_arrays``, ``not_a_net``, ``bad_budget``.
    """


def write_whole(path: str | Path, content: bytes) -> None:
    """Write `content` to `path`; an older file there is replaced once everything is written, never before.

    Where `path` is a link, the file that it leads to is replaced.

    Raises:
        FileError: there is no such folder, something that is no file has the name, or the system refuses.
    """
    target = Path(os.path.realpath(path))
    try:
        _check(target)
        _replace(target, content)
    except OSError as error:
        raise FileError(
            f"{path} cannot be written: {error.strerror or error}.",
            kind="cannot_write",
            ways_out=["Name a file in a folder that you may write to."],
        ) from error


def _replace(target: Path, content: bytes) -> None:
    unfinished = target.with_name(f".gradviz-{os.urandom(6).hex()}.part")
    try:
        unfinished.write_bytes(content)
        if target.exists():
            unfinished.chmod(target.stat().st_mode & 0o7777)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def _check(target: Path) -> None:
    if not target.parent.is_dir():
        raise FileError(
            f"There is no folder {target.parent} to write {target.name} into.",
            kind="no_folder",
            ways_out=["Make the folder first, or name a file in another one."],
        )
    if target.exists() and not target.is_file():
        what = "a folder" if target.is_dir() else "no regular file"
        raise FileError(
            f"{target} is {what}; it is left as it is.", kind="not_a_file", ways_out=["Name a file to write."]
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise FileError(
            f"{target} is write-protected; it is left as it is.",
            kind="read_only",
            ways_out=["Name another file, or allow writing to this one."],
        )


class Saved(NamedTuple):
    """The whole path of a file, and what there is to say of what is in it."""

    path: Path
    summary: str


def save(session: Shown, form: str, name: str, replace: int) -> Saved:
    """Write `session`, which a view shows, as one of `ENDINGS`, which the name gets where it has not.

    Args:
        name: a path, from the folder of the kernel, which is that of its notebook; empty, for a page: one like that of
            the session, which replaces nothing but an older page.
        replace: whether a file that is there may be replaced.

    Raises:
        FileError: a file of this name is there, or it cannot be written.
        NotebookError: the recording cannot be a notebook.
    """
    ending = ENDINGS[form]
    path = (
        Path(name if name.endswith(ending) else name + ending).expanduser().absolute()
        if name
        else _page_path(session.name)
    )
    if path.exists() and not replace:
        raise FileError(
            f"{path} is there already; it is left as it is.",
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
