"""Values from nowhere, and values that gradients do not pass: ConstantFill and StopGradient."""

from typing import Any

import numpy as np

from ..program import Operator, RunError
from .arguments import bad_argument
from .inference import like_first, misfit, need_integers
from .registry import Array, ArraySpec, operator

DTYPES = {
    1: "float32",
    2: "int32",
    3: "uint8",
    5: "bool",
    6: "uint8",
    7: "int8",
    8: "uint16",
    9: "int16",
    10: "int64",
    12: "float16",
    13: "float64",
}
"""Numbers of dtypes in Caffe2's TensorProto."""

FILL_ARGS: dict[str, Any] = {"value": 0.0, "shape": (), "dtype": None, "extra_shape": (), "input_as_shape": 0}


def fill_dtype(op: Operator, like: "np.dtype[Any] | None") -> "np.dtype[Any]":
    """The dtype of a fill: the argument `dtype`, else that of the floating-point array it is like, else float32."""
    dtype = op.args.get("dtype")
    if dtype is None:
        return like if like is not None and like.kind == "f" else np.dtype(np.float32)
    name = DTYPES.get(dtype, "") if isinstance(dtype, int) else dtype
    if name not in DTYPES.values():
        known = ", ".join(f"{number} {name}" for number, name in DTYPES.items())
        raise bad_argument(op, "dtype", "is no dtype of a fill", f"Give one of {known}, or its name.")
    return np.dtype(name)


def fill_shape(op: Operator, like: tuple[int, ...] | None) -> tuple[int, ...]:
    """The shape of a fill whose first input is of shape `like` (None: there is no input)."""
    shape, extra = tuple(op.args.get("shape", ())), tuple(op.args.get("extra_shape", ()))
    if like is None:
        if extra or op.args.get("input_as_shape", 0):
            name = "extra_shape" if extra else "input_as_shape"
            raise bad_argument(op, name, "needs an input to take the shape from", "Give shape=[...] instead.")
        like = shape
    elif shape:
        raise bad_argument(op, "shape", "does not go with an input, which gives the shape", "Leave one of them out.")
    if any(size < 0 for size in (*like, *extra)):
        raise RunError(f"An array cannot have the shape {(*like, *extra)}.", kind="bad_value")
    return (*like, *extra)


def fill_spec(op: Operator, like: ArraySpec | None = None, value: ArraySpec | None = None) -> ArraySpec | None:
    """Inference of ConstantFill; None where the shape is data."""
    if value is not None and np.prod(value.shape, dtype=int) != 1:
        raise misfit(f"value must have one element, got shape {value.shape}.")
    if like is None:
        return ArraySpec(fill_shape(op, None), fill_dtype(op, None))
    if not op.args.get("input_as_shape", 0):
        return ArraySpec(fill_shape(op, like.shape), fill_dtype(op, like.dtype))
    need_integers(op, like, 0, "the shape must be integers (n,)")
    if len(like.shape) != 1:
        raise misfit(f"the shape must be a list of integers (n,), got {like.shape}.")
    fill_dtype(op, None)
    return None


@operator(
    "ConstantFill",
    "like?, value? -> y",
    formula="y = value",
    derivative="0: y does not depend on values",
    infer=fill_spec,
    args=FILL_ARGS,
    constant=True,
)
def constant_fill(op: Operator, like: Array | None = None, value: Array | None = None) -> Array:
    """An array of one value everywhere.

    Its shape is the argument `shape` (default: none, a scalar), or that of the input followed by `extra_shape`; with
    `input_as_shape` the input holds the shape as integers. `dtype`: Caffe2's number or numpy's name; by default that
    of the floating-point array it is like, else float32. A second input holds the value in place of `value`.
    """
    number = op.args.get("value", 0.0) if value is None else value.reshape(())
    if like is None:
        shape, dtype = fill_shape(op, None), fill_dtype(op, None)
    elif op.args.get("input_as_shape", 0):
        shape, dtype = fill_shape(op, tuple(like.tolist())), fill_dtype(op, None)
    else:
        shape, dtype = fill_shape(op, like.shape), fill_dtype(op, like.dtype)
    # Not full_like, in which CuPy takes the shape () for none given.
    y = np.empty(shape, dtype, like=like)
    np.copyto(y, number, casting="unsafe")
    return y


@operator(
    "StopGradient",
    "x -> y",
    formula="y = x",
    derivative="0: no gradient passes here",
    infer=like_first,
    constant=True,
)
def stop_gradient(op: Operator, x: Array) -> Array:
    """x unchanged, a constant for the gradient."""
    return x
