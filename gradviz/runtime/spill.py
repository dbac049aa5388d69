"""Spill: a folder of arrays as ``.npy`` files.

They are read into memory, not mapped: a mapped file that somebody cuts off ends the process of whoever looks at it.
"""

from __future__ import annotations

import os
from pathlib import Path

from numpy.lib import format as npy

from ..operators.registry import Array
from ..program import Device
from .devices import CPU, is_on_gpu, moved
from .fingerprint import bits_of, fingerprint
from .own_folder import OwnFolder
from .store_faults import bad_spill, lost


class Spill:
    """Files of arrays, in a folder of their own that goes when this goes, or when Python ends.

    Attributes:
        folder: where they lie.

    Args:
        parent: the folder to make that folder in; True: that of the system for temporary files.

    Raises:
        StoreError: ``bad_spill``.
    """

    def __init__(self, parent: object) -> None:
        if parent is not True and not isinstance(parent, str | os.PathLike):
            raise bad_spill(f"{parent!r} is no folder to write arrays to.", 'Write spill=True or spill="folder".')
        try:
            own = OwnFolder(None if isinstance(parent, bool) else Path(parent))
        except OSError as error:
            raise bad_spill(
                f"No folder for arrays can be made in {parent}: {error.strerror}.", "Name a folder that you may write."
            ) from error
        self.folder = own.path
        self.remove = own.remove
        self._own = own
        self._files = own.files()

    @staticmethod
    def takes(array: Array) -> bool:
        """Whether an array can be read back as it lies in memory: operators may round differently on another layout."""
        return is_on_gpu(array) or bool(array.flags.forc)

    def write(self, array: Array) -> Path:
        """Write `array` to a file of its own; raises OSError, and leaves no file, when it cannot be."""
        path = next(self._files)
        try:
            here = moved(array, CPU)
            with path.open("wb") as file:
                # numpy.save says nothing of bytes that did not reach a full disk.
                npy.write_array_header_1_0(file, npy.header_data_from_array_1_0(here))
                file.write(bits_of(here))
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path

    @staticmethod
    def read(path: Path, device: Device, expected: str) -> Array:
        """The array in a file, read-only, on `device`.

        Raises:
            StoreError: ``lost``: the file is gone, or does not hold what was written to it.
        """
        try:
            with path.open("rb") as file:
                array = npy.read_array(file, allow_pickle=False)
        except (OSError, ValueError, EOFError, MemoryError) as error:  # a damaged header may ask for any memory
            raise lost(path, getattr(error, "strerror", None) or str(error)) from error
        array.flags.writeable = False
        if fingerprint(array) != expected:
            raise lost(path, "it holds something else now")
        return moved(array, device)
