"""Fills with a pattern: DiagonalFill, RangeFill, and Range."""

from math import prod

import numpy as np

from ..program import Operator, RunError
from .fill import FILL_ARGS, fill_spec
from .inference import misfit
from .random_fill import SHAPE_ARGS, fill, wanted_dtype, wanted_shape
from .registry import Array, ArraySpec


def diagonal_step(shape: tuple[int, ...]) -> int:
    """How many elements lie between one of the diagonal and the next.

    Raises:
        RunError: ``shape_mismatch``, an array of `shape` has no diagonal.
    """
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise misfit(f"{shape} has no diagonal.", "Give two dimensions, or more of one size.")
    return sum(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def diagonal_spec(op: Operator, like: ArraySpec | None = None) -> ArraySpec | None:
    """Inference of DiagonalFill."""
    spec = fill_spec(op, like)
    if spec is not None:
        diagonal_step(spec.shape)
    return spec


@fill("DiagonalFill", "like? -> y", formula="yᵢᵢ = value, else 0", infer=diagonal_spec, args=FILL_ARGS)
def diagonal_fill(op: Operator, like: Array | None = None) -> Array:
    """`value` on the diagonal, 0 elsewhere; shape and dtype as in ConstantFill, at least two dimensions."""
    shape = wanted_shape(op, like)
    step = diagonal_step(shape)
    y = np.zeros(prod(shape), wanted_dtype(op, like), like=like)
    y[: min(shape) * step : step] = op.args.get("value", 0.0)
    return y.reshape(shape)


@fill("RangeFill", "like? -> y", formula="y = 0, 1, 2, ...", infer=fill_spec, args=SHAPE_ARGS)
def range_fill(op: Operator, like: Array | None = None) -> Array:
    """Its elements count from 0, the last axis fastest; shape and dtype as in ConstantFill."""
    shape = wanted_shape(op, like)
    return np.arange(prod(shape), dtype=wanted_dtype(op, like), like=like).reshape(shape)


def range_spec(op: Operator, *bounds: ArraySpec) -> None:
    """Inference of Range: how long it gets is data."""
    for position, bound in enumerate(bounds):
        if prod(bound.shape) != 1 or bound.dtype != bounds[0].dtype:
            raise misfit(f"inputs are numbers of one dtype; input {position} is {bound.dtype} {bound.shape}.")


@fill("Range", "first, stop?, step? -> y", formula="y = first, first + step, ... while before stop", infer=range_spec)
def range_(op: Operator, first: Array, stop: Array | None = None, step: Array | None = None) -> Array:
    """Numbers from start to stop, which is left out, in the dtype of the inputs: stop; start, stop; or also step."""
    numbers = [bound.reshape(()).tolist() for bound in (first, stop, step) if bound is not None]
    if step is not None and numbers[2] == 0:
        raise RunError("A range cannot go on by steps of 0.", kind="bad_value")
    return np.arange(*numbers, dtype=first.dtype, like=first)
