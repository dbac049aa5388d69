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
from ...runtime.devices import CPU, moved

SAFE = 300
"""Powers of two up to which the greatest element of a vector may lie from 1 for its squares to be exact enough."""

TOGETHER = 1 << 20
"""Elements that are measured at once."""

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
    """Contributions c to a total t.

    Attributes:
        norms: |c| of each. One beyond the greatest float64 is infinite.
        shares: <c, t> / <t, t>; None where t is zero.
        cosines: of the angles to t; None where there is none, as of zeros.
        cancellation: 1 - |t| / sum of |c|; None where all are zero, NaN where t is not finite.
    """

    norms: list[float]
    shares: list[float | None]
    cosines: list[float | None]
    cancellation: float | None


def as_vector(array: Array) -> Array:
    """The elements as float64, (elements,), where they lie; of complex numbers all real parts, then the imaginary."""
    return _as_real(array.reshape(-1))


def _as_real(table: Array) -> Array:
    """The same of each row of a table."""
    parts = np.concatenate([table.real, table.imag], axis=-1) if table.dtype.kind == "c" else table
    return parts.astype(np.float64)


def vector(array: Array) -> Vector:
    """An array of numbers or truth values, in any shape, as a vector."""
    numbers, exponent = as_vector(array), 0
    square = _square(numbers)
    if not LEAST_SQUARE < square < math.inf and numbers.size:
        with np.errstate(all="ignore"):
            greatest = np.asarray(float(np.abs(numbers).max()))
            exponent = int(exponents_of(greatest))
            numbers = numbers * 2.0**-exponent
        square = _square(numbers)
    return Vector(numbers, exponent, square)


def _square(numbers: Array) -> float:
    return float(np.vdot(numbers, numbers))  # which warns of no overflow


def exponents_of(greatest: Array) -> Array:
    """By which power of two to divide numbers up to each of these so that float64 holds their squares; mostly 0."""
    exponent = np.where(np.isfinite(greatest), np.frexp(greatest)[1], 0)
    return np.where(np.abs(exponent) <= SAFE, 0, np.clip(exponent, -1000, 1000))  # 2**1000 and its inverse are normal


def norm(of: Vector) -> float:
    """The Euclidean norm; NaN where one is in it."""
    return _times_power(math.sqrt(of.square), of.exponent)


def norm_of(array: Array) -> float:
    """The Euclidean norm of an array, wherever it lies."""
    return norm(vector(moved(array, CPU)))


def compare(parts: Sequence[Array], total: Vector) -> Compared:
    """What each of some arrays is of a total that has as many elements, and lies where they do.

    Where some are real and others complex, all are taken for complex ones.
    """
    if parts and len(total.numbers) > parts[0].size:
        parts = [one.astype(np.result_type(one, np.complex64), copy=False) for one in parts]
    elif any(one.dtype.kind == "c" for one in parts) and len(total.numbers) == parts[0].size:
        total = total._replace(numbers=np.concatenate([total.numbers, np.zeros_like(total.numbers)]))
    together = max(1, TOGETHER // max(1, len(total.numbers)))
    batches = [_against(parts[at : at + together], total) for at in range(0, len(parts), together)]
    squares, products, powers = np.concatenate([np.zeros((3, 0)), *batches], axis=1)
    exponents, root = powers.astype(np.int64), math.sqrt(total.square)
    most = max([total.exponent, *exponents.tolist()])
    with np.errstate(all="ignore"):
        lengths = np.sqrt(squares)
        norms = np.ldexp(lengths, exponents)
        shares = np.ldexp(products / total.square, exponents - total.exponent)
        cosines = products / (lengths * root)
        summed = sum(np.ldexp(lengths, exponents - most).tolist())
    return Compared(
        norms.tolist(),
        _where(total.square != 0, shares),
        _where((lengths != 0) & (total.square != 0), cosines),
        _cancelled(_times_power(root, total.exponent - most), summed),
    )


def _cancelled(length: float, summed: float) -> float | None:
    """What part of the lengths that were added up is not in that of the total."""
    if not summed:
        return None
    return 1 - length / summed if math.isfinite(length) else math.nan


def _where(is_there: Array | bool, numbers: Array) -> list[float | None]:
    mask = np.broadcast_to(is_there, numbers.shape).tolist()
    return [number if is_one else None for number, is_one in zip(numbers.tolist(), mask, strict=True)]


def _against(parts: Sequence[Array], total: Vector) -> Array:
    """Of each part its square, its product with the total, and the exponent that both are without: (3, parts)."""
    table = _as_real(np.concatenate([one.reshape(-1) for one in parts]).reshape(len(parts), parts[0].size))
    with np.errstate(all="ignore"):
        measured = np.stack([_products(table, table), _products(table, total.numbers)])
        of_parts = np.concatenate([moved(measured, CPU), np.zeros((1, len(parts)))])
        for place in np.flatnonzero(~((of_parts[0] > LEAST_SQUARE) & (of_parts[0] < math.inf))).tolist():
            numbers, exponent, square = vector(parts[place])
            of_parts[:, place] = square, float(numbers @ total.numbers), exponent
    return of_parts


def _products(table: Array, other: Array) -> Array:
    """The scalar product of each row with that of the other, or with the one other, as it is of two alone."""
    return np.matmul(table[:, None, :], other[..., None])[:, 0, 0]


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


def _times_power(number: float, exponent: int) -> float:
    """``number * 2**exponent``; infinite where that is beyond the greatest float64."""
    try:
        return math.ldexp(number, exponent)
    except OverflowError:
        return math.copysign(math.inf, number)
