"""Own folders: folders for files of this process alone, which do not outlive it for long.

As long as a process has such a folder it holds a lock on a file in there, which the system takes from it when it ends,
however it ends. Where a folder is made, those beside it whose lock nobody holds are removed: the process that had them
was killed. Of a folder only what was put there is removed: numbered files of arrays, the lock, and the empty folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import IO
from weakref import finalize

try:
    import fcntl
except ImportError:  # Windows keeps others from removing an open file instead
    fcntl = None  # type: ignore[assignment]

PREFIX = "gradviz-"
LOCK = "in-use.lock"
SUFFIX = ".npy"

_OWN_FILE = re.compile(rf"\d+{re.escape(SUFFIX)}")


class OwnFolder:
    """A folder that goes when this goes, or when Python ends; in a process that was forked off, nothing goes.

    Attributes:
        path: where it is.
        remove: removes it now.

    Args:
        parent: the folder to make it in, None for that of the system for temporary files.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, parent: Path | None) -> None:
        place = Path(gettempdir()) if parent is None else parent
        place.mkdir(parents=True, exist_ok=True)
        for left in _unused(place):
            _remove(*left)
        self.path, lock = _locked(place)
        self.remove: Callable[[], object] = finalize(self, _remove_if_ours, os.getpid(), self.path, lock)

    def files(self) -> Iterator[Path]:
        """Names for files, each another one."""
        number = 0
        while True:
            yield self.path / f"{number}{SUFFIX}"
            number += 1


def _locked(parent: Path) -> tuple[Path, IO[bytes]]:
    """A new folder, and its lock, which is held."""
    while True:
        folder = Path(mkdtemp(prefix=PREFIX, dir=parent))
        lock = (folder / LOCK).open("xb")
        try:
            if _is_held(lock, folder):
                return folder, lock
        except OSError:  # where nothing can be locked, nothing is taken for left over either
            return folder, lock
        lock.close()  # somebody who removes what is left over was faster


def _unused(parent: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """The folders whose lock nobody held, and their locks, which are held now."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or (folder / LOCK).is_symlink() or not _is_of_this_user(folder):
                continue
            lock = (folder / LOCK).open("r+b")
            if fcntl is None:
                lock.close()
                (folder / LOCK).unlink()  # which fails where somebody has it open
                yield folder, lock
                continue
            with suppress(OSError):
                if _is_held(lock, folder):
                    yield folder, lock
            lock.close()


def _is_of_this_user(folder: Path) -> bool:
    return not hasattr(os, "getuid") or folder.lstat().st_uid == os.getuid()


def _is_held(lock: IO[bytes], folder: Path) -> bool:
    """Whether we hold a lock now, and it is that of the folder still; raises OSError where nothing can be locked."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(lock.fileno()), (folder / LOCK).lstat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _remove_if_ours(pid: int, folder: Path, lock: IO[bytes]) -> None:
    if pid == os.getpid():
        _remove(folder, lock)


def _remove(folder: Path, lock: IO[bytes]) -> None:
    """Remove what we have put into a folder, and the folder unless there is more in it."""
    with suppress(OSError):
        for path in folder.iterdir():
            if _OWN_FILE.fullmatch(path.name) and not path.is_dir():
                path.unlink(missing_ok=True)
        if fcntl is None:
            lock.close()
        (folder / LOCK).unlink(missing_ok=True)
        folder.rmdir()
    lock.close()
