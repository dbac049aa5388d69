"""Norms, shares and cosines of gradients, which neither overflow nor underflow on the way.

An array is taken for a vector of real numbers, a complex number for its two parts. So complex gradients have real
shares, which add up to 1, and real cosines:

    <a, b> = Re sum over i: conj(a_i) b_i        |a| = sqrt(<a, a>)

A vector whose squares float64 does not hold is divided by a power of two first, which is exact.
source: Blue, A portable Fortran program to find the Euclidean norm of a vector (1978)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...operators.registry import Array

SAFE = 300
"""Powers of two up to which the greatest element of a vector may lie from 1 for its squares to be exact enough."""

LEAST_SQUARE = 2.0 ** (-2 * SAFE)
"""A sum of squares below this may have lost some of them."""


class Vector(NamedTuple):
    """The vector ``numbers * 2**exponent``; `numbers` are float64, (elements,), where the array lies.

    Attributes:
        square: the sum of the squares of `numbers`.
    """

    numbers: Array
    exponent: int
    square: float


class Compared(NamedTuple):
    """A contribution c to a total t: norm |c|, share <c, t> / <t, t>, and cosine; the latter None where there is none,
    as of zeros. A norm beyond the greatest float64 is infinite."""

    norm: float
    share: float | None
    cosine: float | None


def as_vector(array: Array) -> Array:
    """The elements as float64, (elements,), where they lie; of complex numbers all real parts, then the imaginary."""
    flat = array.reshape(-1)
    if flat.dtype.kind == "c":
        return np.concatenate([flat.real, flat.imag]).astype(np.float64)
    return flat.astype(np.float64)


def vector(array: Array) -> Vector:
    """An array of numbers or truth values, in any shape, as a vector."""
    numbers, exponent = as_vector(array), 0
    with np.errstate(all="ignore"):
        square = float(numbers @ numbers)
        if not LEAST_SQUARE < square < math.inf and numbers.size:
            exponent = exponent_of(float(np.abs(numbers).max()))
            numbers = numbers * 2.0**-exponent
            square = float(numbers @ numbers)
    return Vector(numbers, exponent, square)


def exponent_of(greatest: float) -> int:
    """By which power of two to divide numbers up to `greatest` so that float64 holds their squares; mostly 0."""
    exponent = math.frexp(greatest)[1] if math.isfinite(greatest) else 0
    return 0 if abs(exponent) <= SAFE else max(-1000, min(exponent, 1000))  # 2**1000 and its inverse are normal


def exponents_of(greatest: Array) -> Array:
    """The same of each of some numbers."""
    exponent = np.where(np.isfinite(greatest), np.frexp(greatest)[1], 0)
    return np.where(np.abs(exponent) <= SAFE, 0, np.clip(exponent, -1000, 1000))


def norm(of: Vector) -> float:
    """The Euclidean norm; NaN where one is in it."""
    return times_power(math.sqrt(of.square), of.exponent)


def compare(part: Vector, total: Vector) -> Compared:
    """What a part is of a total of as many elements."""
    with np.errstate(all="ignore"):
        product = float(part.numbers @ total.numbers)
    length, square = math.sqrt(part.square), total.square
    share = times_power(product / square, part.exponent - total.exponent) if square else None
    cosine = product / (length * math.sqrt(square)) if length and square else None
    return Compared(norm(part), share, cosine)


def cancellation(parts: Sequence[Vector], total: Vector) -> float | None:
    """1 - |total| / sum of |part|; None where all parts are zero."""
    most = max(one.exponent for one in (*parts, total))
    whole, *lengths = (times_power(math.sqrt(one.square), one.exponent - most) for one in (total, *parts))
    return 1 - whole / sum(lengths) if sum(lengths) else None


def furthest(one: Array, other: Array) -> float:
    """The largest difference of an element, 0 of none; NaN where infinities of one sign, or a NaN, meet."""
    with np.errstate(all="ignore"):
        return float(np.abs(_wide(one) - _wide(other)).max()) if one.size else 0.0


def absolute(array: Array) -> Array:
    """Complex numbers by their absolute values, in float64, which holds those of complex64; others as they are."""
    if array.dtype.kind != "c":
        return array
    with np.errstate(all="ignore"):
        return np.abs(_wide(array))


def _wide(array: Array) -> Array:
    """The same numbers as float64 or complex128."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def times_power(number: float, exponent: int) -> float:
    """``number * 2**exponent``; infinite where that is beyond the greatest float64."""
    try:
        return math.ldexp(number, exponent)
    except OverflowError:
        return math.copysign(math.inf, number)
