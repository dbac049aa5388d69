"""Files: read as a whole, and written whole or not at all."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path

from .errors import GradvizError, repr_of, shorten


class FileError(GradvizError):
    """A file that cannot be written or read.

    ``kind`` is one of ``no_folder``, ``no_file``, ``not_a_file``, ``exists``, ``read_only``, ``cannot_write``,
    ``cannot_read``, ``bad_path``, ``too_large``, ``no_arrays``, ``not_a_net``.
    """


def path_of(path: str | PathLike[str]) -> Path:
    """The path that an argument is; raises FileError ``bad_path``."""
    try:
        return Path(path)
    except TypeError:
        raise FileError(
            f"{shorten(repr_of(path))} is no path of a file.", kind="bad_path", ways_out=['Write it as text: "lesson".']
        ) from None


def read_whole(path: str | PathLike[str]) -> bytes:
    """What is in a file.

    Raises:
        FileError: ``no_file``: there is none of this name. ``cannot_read``: the system refuses. ``bad_path``.
    """
    source = path_of(path)
    if not os.path.isfile(source):  # of a path that no system takes a method of Path raises
        problem = "is no file" if os.path.exists(source) else "does not exist"
        raise FileError(f"{source} {problem}.", kind="no_file", ways_out=["Name a file that is there."])
    try:
        return source.read_bytes()
    except OSError as error:
        raise FileError(
            f"{source} cannot be read: {error.strerror or error}.",
            kind="cannot_read",
            ways_out=["Name a file that you may read."],
        ) from error


@contextmanager
def about(path: str | PathLike[str]) -> Iterator[None]:
    """What is wrong in the ``with`` block is wrong with what is in a file, which the error names."""
    try:
        yield
    except GradvizError as error:
        error.message = f"{path}: {error.message}"
        raise


def write_whole(path: str | PathLike[str], content: bytes) -> None:
    """Write `content` to `path`; an older file there is replaced once everything is written, never before.

    Where `path` is a link, the file that it leads to is replaced.

    Raises:
        FileError: there is no such folder, something that is no file has the name, or the system refuses; ``bad_path``.
    """
    write_together({path: content})


def write_together(contents: Mapping[str | PathLike[str], bytes]) -> None:
    """Write files that belong together, each as `write_whole` does: all of them, or where one is refused none.

    Raises:
        FileError: as `write_whole`.
    """
    with ExitStack() as stack:
        ready = []
        for path, content in contents.items():
            with _refusing(path):
                target = Path(os.path.realpath(path_of(path)))
                _check(target)
                ready.append((path, stack.enter_context(_unfinished(target, content)), target))
        for path, unfinished, target in ready:
            with _refusing(path):
                os.replace(unfinished, target)


@contextmanager
def _refusing(path: str | PathLike[str]) -> Iterator[None]:
    """What the system refuses in the ``with`` block it refuses to write to `path`."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise FileError(
            f"{path} cannot be written: {getattr(error, 'strerror', None) or error}.",
            kind="cannot_write",
            ways_out=["Name a file in a folder that you may write to."],
        ) from error


@contextmanager
def _unfinished(target: Path, content: bytes) -> Iterator[Path]:
    """A file beside `target` with `content`, which is gone behind the ``with`` block."""
    unfinished = target.with_name(f".gradviz-{os.urandom(6).hex()}.part")
    try:
        unfinished.write_bytes(content)
        if target.exists():
            unfinished.chmod(target.stat().st_mode & 0o7777)
        yield unfinished
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
