"""Numbers of bytes as people write and read them."""

import re

import numpy as np

from .store_faults import StoreError

UNITS = {
    "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip

_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def bytes_of(budget: object) -> int:
    """The bytes that a budget names: a number of them, or text such as ``"1 GB"``, ``"64 MiB"``.

    kB, MB, GB and TB are powers of 1000, KiB, MiB, GiB and TiB those of 1024; upper and lower case mean the same.

    Raises:
        StoreError: ``bad_budget``.
    """
    if isinstance(budget, int | np.integer) and not isinstance(budget, bool) and budget >= 0:
        return int(budget)
    if isinstance(budget, str) and (match := _WRITTEN.fullmatch(budget)) and match[2].lower() in UNITS:
        return int(float(match[1]) * UNITS[match[2].lower()])
    raise StoreError(
        f"{budget!r} is no budget of bytes.",
        kind="bad_budget",
        ways_out=['Write budget="500 MB", "1 GB" or "64 MiB", or a number of bytes such as 10**9.'],
    )


def written(count: int) -> str:
    """``812 bytes``, ``1.5 MB``."""
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return "1 byte" if count == 1 else f"{count} bytes"
