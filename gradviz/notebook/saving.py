"""Saves what a view shows, as a recording, a page or a notebook: for views that have no Python to say it in."""

from __future__ import annotations

from pathlib import Path

from .files import FileError
from .session_protocol import Shown

ENDINGS = {"recording": ".gradviz.json", "page": ".html", "notebook": ".ipynb"}


def save(session: Shown, form: str, name: str, replace: int) -> Path:
    """Write `session` as one of `ENDINGS`, which the name gets where it has not; returns the whole path.

    Args:
        name: a path, from the folder of the kernel, which is that of its notebook.
        replace: whether a file that is there may be replaced.

    Raises:
        FileError: a file of this name is there, or it cannot be written.
        NotebookError: the recording cannot be a notebook.
    """
    ending = ENDINGS[form]
    path = Path(name if name.endswith(ending) else name + ending).expanduser().absolute()
    if path.exists() and not replace:
        raise FileError(
            f"{path} is there already; it is left as it is.",
            kind="exists",
            ways_out=["Choose another name, or allow replacing the file."],
        )
    write = {"recording": session.save, "page": session.to_html, "notebook": session.to_notebook}[form]
    write(path)
    return path
