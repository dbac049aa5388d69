"""Random numbers that are the same at every run and on every device: a function of a seed, a name and a position.

They are computed by arithmetic on arrays alone, so that they lie on the device of the array they are like.
"""

from math import pi, prod
from typing import Any
from zlib import crc32

import numpy as np

from ..program import Operator
from .registry import Array, lookup

_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

SEED_ARGS: dict[str, Any] = {"seed": 0, "drawn_for": ""}
"""The arguments of every type that draws numbers, see `uniform`."""


def draws_by_name(op: Operator) -> bool:
    """Whether `op` draws random numbers, which depend on the name of its first output."""
    operator_type = lookup(op.type)
    return (
        operator_type is not None and operator_type.args is not None and SEED_ARGS.keys() <= operator_type.args.keys()
    )


def uniform(op: Operator, shape: tuple[int, ...], like: Array | None = None, stream: int = 0) -> Array:
    """Numbers in [0, 1), float64: those of the argument `seed` of `op` (default 0) and the name of its output.

    The argument `drawn_for` stands for that name where an operator shall draw what another one has drawn.

    Source: the generator SplitMix64 of Steele, Lea, Flood, Fast splittable pseudorandom number generators (2014).

    Args:
        like: an array on the device where they are wanted.
        stream: which of several independent arrays of numbers.
    """
    name = op.args.get("drawn_for") or op.outputs[0]
    start = _scrambled_number(op.args.get("seed", 0), crc32(name.encode()), stream)
    counter = np.arange(1, prod(shape) + 1, dtype=np.uint64, like=like)
    bits = _scrambled(counter * _STEP + np.uint64(start))
    return ((bits >> np.uint64(11)) * 2.0**-53).reshape(shape)


def normal(op: Operator, shape: tuple[int, ...], like: Array | None = None) -> Array:
    """Standard normal numbers, float64, of the same seed and name.

    Source: Box, Muller, A note on the generation of random normal deviates (1958).
    """
    radius = np.sqrt(-2 * np.log1p(-uniform(op, shape, like)))
    return radius * np.cos(2 * pi * uniform(op, shape, like, stream=1))


def _scrambled(z: Array) -> Array:
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


def _scrambled_number(*parts: int) -> int:
    """One 64-bit number from several."""
    z = np.zeros(1, np.uint64)
    for part in parts:
        z = _scrambled(z + _STEP + np.uint64(part % 2**64))
    return int(z[0])
