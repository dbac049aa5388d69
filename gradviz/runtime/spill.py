"""Spill: a file for the bytes that memory has no room for.

Each recording has a file of its own, locked as long as its process lives, however that ends. Who makes the next one in
the same folder removes those that nobody has locked: their processes were killed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from io import FileIO
from pathlib import Path
from weakref import finalize

import numpy as np

from ..operators.registry import Array
from ..program import GradvizError
from ..program.errors import repr_of

try:
    import fcntl
except ImportError:  # Windows removes no file that is open
    fcntl = None  # type: ignore[assignment]

PREFIX, SUFFIX = "gradviz-", ".values"


class StoreError(GradvizError):
    """A budget or a folder that cannot be used, or an array that is gone.

    ``kind`` is ``bad_budget``, ``bad_spill`` or ``lost`` (its file is gone or cut off).
    """


def bad_spill(what: str, *ways_out: str) -> StoreError:
    """Arrays cannot be written where it was asked for."""
    return StoreError(what, kind="bad_spill", ways_out=ways_out)


class Spill:
    """A file that goes when this goes, or when Python ends; in a process that was forked off, it stays.

    It is read into memory, not mapped: a mapped file that somebody cuts off ends the process of whoever looks at it.

    Attributes:
        path: where it lies.
        fault: why nothing more is written to it; empty as long as all was.
        remove: removes it now.

    Args:
        folder: where to make it; None or True: in the system's folder for temporary files.

    Raises:
        StoreError: ``bad_spill``.
    """

    def __init__(self, folder: object) -> None:
        is_temporary = folder is None or folder is True
        if not is_temporary and not isinstance(folder, str | os.PathLike):
            raise bad_spill(
                f"{repr_of(folder)} is no folder to write arrays to.", 'Write spill="folder", or leave it out.'
            )
        try:
            from tempfile import gettempdir  # takes its time to import

            place = Path(gettempdir() if is_temporary else folder)  # type: ignore[arg-type]
            place.mkdir(parents=True, exist_ok=True)
            _remove_left_over(place)
            self.path, self._file = _new_file(place)
        except OSError as error:
            where = "the folder for temporary files" if is_temporary else folder
            raise bad_spill(
                f"No file for arrays can be made in {where}: {error.strerror}.",
                'Name a folder that you may write: spill="folder".',
            ) from error
        self.fault = ""
        self.remove = finalize(self, _remove, self.path, self._file, os.getpid())
        self._end = 0

    def write(self, data: Array) -> int | None:
        """Write bytes behind the others; returns where they begin, or None where that fails, and ever after.

        Args:
            data: uint8 (n,).
        """
        if self.fault:
            return None
        start, rest = self._end, memoryview(data)
        try:
            self._file.seek(start)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self.fault = f"Writing arrays to {self.path} stopped: {error.strerror or error}."
            return None
        self._end += len(data)
        return start

    def read(self, start: int, size: int) -> Array:
        """The `size` bytes from `start` on, read-only uint8 (size,).

        Raises:
            StoreError: ``lost``.
        """
        data = np.empty(size, np.uint8)
        rest = data.data
        try:
            with FileIO(self.path) as file:
                file.seek(start)
                while rest and (count := file.readinto(rest)):
                    rest = rest[count:]
        except OSError as error:
            raise self._lost(error.strerror or str(error)) from error
        if rest:
            raise self._lost("it was cut off")
        data.flags.writeable = False
        return data

    def _lost(self, why: str) -> StoreError:
        return StoreError(
            f"An array was written to {self.path} to save memory, and cannot be read back: {why}.",
            kind="lost",
            ways_out=[
                "Leave the file of a recording alone while it is in use.",
                "Record it again with gradviz.debug, with a larger budget or without one.",
            ],
        )


def _new_file(folder: Path) -> tuple[Path, FileIO]:
    """A new file, which is locked where files can be."""
    while True:
        from tempfile import mkstemp  # takes its time to import

        number, name = mkstemp(SUFFIX, PREFIX, folder)
        file = FileIO(number, "w")
        if fcntl is not None:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
        if os.path.exists(name):
            return Path(name), file
        file.close()  # somebody removed what was not locked yet


def _remove_left_over(folder: Path) -> None:
    for path in folder.glob(f"{PREFIX}*{SUFFIX}"):
        if not path.is_file():
            continue
        with suppress(OSError), path.open("rb") as file:
            if fcntl is None:
                file.close()
            else:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _remove(path: Path, file: FileIO, pid: int) -> None:
    with suppress(OSError):
        file.close()
        if pid == os.getpid():
            path.unlink(missing_ok=True)
