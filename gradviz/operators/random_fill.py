"""Fills with random numbers: UniformFill, UniformIntFill, GaussianFill, XavierFill, MSRAFill.

They are the same at every run: a function of the argument `seed` (default 0) and of the name of the output.
"""

from functools import partial
from math import prod, sqrt
from typing import Any

import numpy as np

from ..program import Operator
from .fill import fill_dtype, fill_shape, fill_spec
from .inference import misfit
from .randomness import SEED_ARGS, normal, uniform
from .registry import Array, ArraySpec, operator

SHAPE_ARGS: dict[str, Any] = {"shape": (), "dtype": None, "extra_shape": (), "input_as_shape": 0}
RANDOM_ARGS: dict[str, Any] = {**SHAPE_ARGS, **SEED_ARGS}
fill = partial(operator, derivative="0: y does not depend on values", constant=True)


def wanted_shape(op: Operator, like: Array | None) -> tuple[int, ...]:
    """The shape of a fill."""
    if like is None:
        return fill_shape(op, None)
    return fill_shape(op, tuple(like.tolist()) if op.args.get("input_as_shape", 0) else like.shape)


def wanted_dtype(op: Operator, like: Array | None) -> "np.dtype[Any]":
    """The dtype of a fill."""
    return fill_dtype(op, None if like is None or op.args.get("input_as_shape", 0) else like.dtype)


def between_spec(
    op: Operator, like: ArraySpec | None = None, low: ArraySpec | None = None, high: ArraySpec | None = None
) -> ArraySpec | None:
    """Inference of UniformFill."""
    for name, bound in (("min", low), ("max", high)):
        if bound is not None and prod(bound.shape) != 1:
            raise misfit(f"{name} must have one element, got shape {bound.shape}.")
    return fill_spec(op, like)


def bounds(op: Operator, low: Array | None, high: Array | None) -> tuple[Any, Any]:
    """The least and the greatest number, from the arguments `min` and `max` or from inputs of one element."""
    return (
        op.args.get("min", 0) if low is None else low.reshape(()),
        op.args.get("max", 1) if high is None else high.reshape(()),
    )


@fill(
    "UniformFill",
    "like?, min?, max? -> y",
    formula="y ~ uniform in [min, max)",
    infer=between_spec,
    args={**RANDOM_ARGS, "min": 0.0, "max": 1.0},
)
def uniform_fill(op: Operator, like: Array | None = None, low: Array | None = None, high: Array | None = None) -> Array:
    """Numbers spread evenly from `min` to `max`; shape and dtype as in ConstantFill."""
    least, greatest = bounds(op, low, high)
    numbers = least + uniform(op, wanted_shape(op, like), like) * (greatest - least)
    return numbers.astype(wanted_dtype(op, like))


def int_dtype(op: Operator) -> "np.dtype[Any]":
    """int32, or what the argument `dtype` asks for."""
    return np.dtype(np.int32) if op.args.get("dtype") is None else fill_dtype(op, None)


def between_ints_spec(op: Operator, *specs: ArraySpec) -> ArraySpec | None:
    """Inference of UniformIntFill."""
    spec = between_spec(op, *specs)
    return None if spec is None else spec._replace(dtype=int_dtype(op))


@fill(
    "UniformIntFill",
    "like?, min?, max? -> y",
    formula="y ~ uniform in {min, ..., max}",
    infer=between_ints_spec,
    args={**RANDOM_ARGS, "min": 0, "max": 1},
)
def uniform_int_fill(
    op: Operator, like: Array | None = None, low: Array | None = None, high: Array | None = None
) -> Array:
    """Integers spread evenly from `min` to `max`, both included; int32 unless `dtype` says otherwise."""
    least, greatest = bounds(op, low, high)
    steps = np.floor(uniform(op, wanted_shape(op, like), like) * (greatest - least + 1))
    return (least + steps).astype(int_dtype(op))


@fill(
    "GaussianFill",
    "like? -> y",
    formula="y ~ normal(mean, std²)",
    infer=fill_spec,
    args={**RANDOM_ARGS, "mean": 0.0, "std": 1.0},
)
def gaussian_fill(op: Operator, like: Array | None = None) -> Array:
    """Normal numbers with `mean` and standard deviation `std`; shape and dtype as in ConstantFill."""
    numbers = op.args.get("mean", 0.0) + normal(op, wanted_shape(op, like), like) * op.args.get("std", 1.0)
    return numbers.astype(wanted_dtype(op, like))


def fan(shape: tuple[int, ...], axis: int) -> int:
    """How many elements share one index along `axis`, at least 1.

    Raises:
        RunError: ``shape_mismatch``, there is no such axis.
    """
    if len(shape) <= axis:
        raise misfit(f"a fill by fan needs at least {axis + 1} dimensions, got the shape {shape}.")
    return max(1, prod(size for at, size in enumerate(shape) if at != axis))


def by_fan_spec(op: Operator, like: ArraySpec | None = None) -> ArraySpec | None:
    """Inference of XavierFill and MSRAFill."""
    spec = fill_spec(op, like)
    if spec is not None:
        fan(spec.shape, axis=0 if op.type == "XavierFill" else 1)
    return spec


@fill(
    "XavierFill", "like? -> y", formula="y ~ uniform in [-s, s), s = √(3 / fan in)", infer=by_fan_spec, args=RANDOM_ARGS
)
def xavier_fill(op: Operator, like: Array | None = None) -> Array:
    """Weights (outputs, ...) that keep the variance; fan in: elements for one output. Source: Glorot, Bengio (2010)."""
    shape = wanted_shape(op, like)
    numbers = (2 * uniform(op, shape, like) - 1) * sqrt(3 / fan(shape, axis=0))
    return numbers.astype(wanted_dtype(op, like))


@fill("MSRAFill", "like? -> y", formula="y ~ normal(0, 2 / fan out)", infer=by_fan_spec, args=RANDOM_ARGS)
def msra_fill(op: Operator, like: Array | None = None) -> Array:
    """Weights (outputs, inputs, ...) for rectifiers; fan out: the elements for one input. Source: He et al. (2015)."""
    shape = wanted_shape(op, like)
    numbers = normal(op, shape, like) * sqrt(2 / fan(shape, axis=1))
    return numbers.astype(wanted_dtype(op, like))
