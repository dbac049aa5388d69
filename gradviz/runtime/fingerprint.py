"""Fingerprints: a few bytes of each tell whether two arrays are the same, bit for bit and as they lie in memory."""

from zlib import crc32

import numpy as np

from ..operators.registry import Array
from .devices import CPU, moved

X87_MANTISSA, X87_BYTES = 63, 10
"""Bits of the mantissa of a long double of x86 processors, and the bytes that it has."""


def fingerprint(array: Array) -> str:
    """What tells an array: its shape, its dtype, the order of its elements in memory, a CRC-32 of all their bits."""
    here = moved(array, CPU)
    return f"{here.shape} {here.dtype.str} {_order(here)} {crc32(_without_padding(here)):08x}"


def bits_of(array: Array) -> memoryview:
    """The bytes of the elements of a numpy array, in the order in which they lie in memory."""
    flat = array.T if array.flags.f_contiguous else array
    bits: memoryview = np.ascontiguousarray(flat).reshape(-1).view(np.uint8).data
    return bits


def _without_padding(array: Array) -> memoryview:
    """The same but for bytes that stand for nothing, and may be anything: each long double ends in some."""
    bits = bits_of(array)
    if array.dtype.char not in "gG" or np.finfo(np.longdouble).nmant != X87_MANTISSA:
        return bits
    numbers = np.frombuffer(bits, np.uint8).reshape(-1, np.dtype(np.longdouble).itemsize)
    return np.ascontiguousarray(numbers[:, :X87_BYTES]).reshape(-1).data


def _order(array: Array) -> str:
    flags = array.flags
    return f"{flags.c_contiguous:d}{flags.f_contiguous:d}" if flags.forc else str(array.strides)
